"""What bench/vllm-cpu changes of vLLM while it is imported. Python imports a module of this name at its start from PYTHONPATH.

vLLM's processes spin for a second on each message that they wait for. Where the ranks have all CPUs, the engine's process takes
time from them that way, and two half models have two of those where TP2 has one: here they sleep until the message comes. With
TPLENS_LINK=gloo the ranks disagree about the name of their shared memory besides, which makes vLLM reduce over gloo: the slow link.
"""

import importlib.abc
import importlib.util
import os
import sys

PACKAGE = "vllm.distributed.device_communicators."


def sleep_at_once(module):
    """Waiting readers of messages take no CPU time."""
    begin = module.SpinCondition.__init__

    def begin_without_spinning(self, *arguments, **named):
        begin(self, *arguments, **named)
        self.busy_loop_s = 0

    module.SpinCondition.__init__ = begin_without_spinning


def leave_shared_memory(module):
    """Ranks reduce over gloo."""
    module.CpuCommunicator._all_group_ranks_share_shm_group_name = lambda self: False


CHANGES = {PACKAGE + "shm_broadcast": sleep_at_once}
if os.environ.get("TPLENS_LINK") == "gloo":
    CHANGES[PACKAGE + "cpu_communicator"] = leave_shared_memory


class Finder(importlib.abc.MetaPathFinder):
    """Finds these modules as the others would, and changes each once it is loaded."""

    def find_spec(self, name, path, target=None):
        change = CHANGES.pop(name, None)
        if change is None:
            return None
        spec = importlib.util.find_spec(name)
        load = spec.loader.exec_module

        def loaded(module):
            load(module)
            change(module)

        spec.loader.exec_module = loaded
        return spec


sys.meta_path.insert(0, Finder())
