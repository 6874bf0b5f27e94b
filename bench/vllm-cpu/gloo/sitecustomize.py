"""Makes vLLM for CPUs reduce over gloo where it would reduce over shared memory: the slow link of a machine that has both.

vLLM has no setting for it. It does so of itself where ranks disagree about the name of their shared memory: here they do. Python
imports a module of this name at its start from PYTHONPATH, in the ranks too.
"""

import importlib.abc
import importlib.util
import sys

MODULE = "vllm.distributed.device_communicators.cpu_communicator"


class Finder(importlib.abc.MetaPathFinder):
    """Finds the module as the others would, once, and changes it when it is loaded."""

    def find_spec(self, name, path, target=None):
        if name != MODULE:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        load = spec.loader.exec_module

        def loaded(module):
            load(module)
            module.CpuCommunicator._all_group_ranks_share_shm_group_name = lambda self: False

        spec.loader.exec_module = loaded
        return spec


sys.meta_path.insert(0, Finder())
