"""Groups whose widths come from the context, and whose sums take the place of what was sent."""

from types import SimpleNamespace

import faults
import torch
from sglang.srt.runtime_context import get_parallel

state = SimpleNamespace(ranks=None, rank=None, group=None)


class Group:
    def __init__(self):
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.device_group = None

    def all_reduce(self, tensor):
        def work(is_replay):
            tensor.numbers = faults.spoilt(torch.distributed.summed(tensor.numbers), state.rank, is_replay)
            torch.cuda.takes(40.0)

        if torch.cuda.recording is None:
            work(False)
        else:
            torch.cuda.recording.append(lambda: work(True))
        return tensor


def init_distributed_environment(world_size, rank, distributed_init_method, local_rank, backend):
    torch.distributed.init_process_group(distributed_init_method, world_size, rank)
    state.ranks, state.rank = world_size, rank


def initialize_model_parallel(backend=None):
    parallel = get_parallel()
    assert (parallel.tp_size, parallel.pp_size) == (state.ranks, 1)
    state.group = Group()


def get_tp_group():
    return state.group


def graph_capture(stream=None):
    return torch.cuda.capture()
