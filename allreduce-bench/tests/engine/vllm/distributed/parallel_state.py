"""Groups, and who does their all-reduces: 21 us eager and 5 us in a graph by the engine's kernel, 30 us by the library; and 1 us for
each 2 KiB."""

import logging
import os
from types import SimpleNamespace

import faults
import torch
from vllm import config

logger = logging.getLogger("vllm")
state = SimpleNamespace(ranks=None, rank=None, group=None)


def added(tensor, eager_us, graph_us):
    """The sum as a tensor of its own; in a capture it is made again by each replay."""
    result = torch.Tensor([], tensor.dtype, tensor.device)
    replays = 0

    def work(base_us):
        faults.at_call(tensor, state.rank)
        numbers = faults.spoilt(torch.distributed.summed(tensor.numbers), state.rank, replays > 0)
        if not faults.is_lost(numbers, replays):
            result.numbers = numbers
        torch.cuda.takes(base_us + tensor.nbytes() / 2048)

    def replay():
        nonlocal replays
        replays += 1
        work(graph_us)

    if torch.cuda.recording is None:
        work(eager_us)
    else:
        torch.cuda.recording.append(replay)
    return result


class CustomAllreduce:
    def __init__(self):
        self.disabled = os.environ.get("STAND_IN_PEERS") == "none"
        if self.disabled:
            logger.warning("Custom allreduce is disabled because\nthere is no P2P capability.")
            logger.warning("Something else is not as it should be.")

    def custom_all_reduce(self, tensor):
        return added(tensor, 21.0, 5.0)


class PyNcclCommunicator:
    def __init__(self):
        self.disabled = os.environ.get("STAND_IN_PYNCCL") == "off"

    def all_reduce(self, tensor):
        if self.disabled:
            return None
        return added(tensor, 30.0, 30.0)


class Communicator:
    def __init__(self):
        self.ca_comm = CustomAllreduce()
        self.pynccl_comm = PyNcclCommunicator()

    def all_reduce(self, tensor):
        if tensor.nbytes() <= faults.LIMIT and not self.ca_comm.disabled:
            return self.ca_comm.custom_all_reduce(tensor)
        result = self.pynccl_comm.all_reduce(tensor)
        if result is None:
            result = tensor.clone()
            torch.distributed.all_reduce(result, group=None)
        return result


class Group:
    def __init__(self):
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.device_group = None
        self.device_communicator = Communicator()

    def all_reduce(self, tensor):
        return self.device_communicator.all_reduce(tensor)


def init_distributed_environment(world_size, rank, distributed_init_method, local_rank, backend):
    assert config.current is not None, "the configuration is not set"
    assert backend == ("nccl" if torch.cuda.is_available() else "gloo")
    torch.distributed.init_process_group(distributed_init_method, world_size, rank)
    state.ranks, state.rank = world_size, rank


def initialize_model_parallel(tensor_model_parallel_size):
    assert tensor_model_parallel_size == state.ranks
    state.group = Group()


def get_tp_group():
    return state.group


def graph_capture(device):
    assert device.type == "cuda"
    return torch.cuda.capture()
