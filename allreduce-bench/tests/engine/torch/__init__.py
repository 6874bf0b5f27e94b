"""Stands in for torch: whole numbers in lists, a device whose clock is arithmetic, and groups of processes over sockets.

STAND_IN_DEVICE=cpu shows no GPU. It knows what the probe of tplens allreduce and the stand-in engines beside it use.
"""

import os

from . import cuda, distributed  # noqa: F401

int64, bfloat16, float16, float32 = "int64", "bfloat16", "float16", "float32"
BYTES = {int64: 8, bfloat16: 2, float16: 2, float32: 4}


class device:
    def __init__(self, type, index=None):
        self.type, self.index = type, index


class Tensor:
    def __init__(self, numbers, dtype, place=device("cpu")):
        self.numbers, self.dtype, self.device = numbers, dtype, place

    def each(self, other, make):
        others = other.numbers if isinstance(other, Tensor) else [other] * len(self.numbers)
        return Tensor([make(a, b) for a, b in zip(self.numbers, others)], self.dtype, self.device)

    def __add__(self, other):
        return self.each(other, lambda a, b: a + b)

    __radd__ = __add__

    def __mul__(self, other):
        return self.each(other, lambda a, b: a * b)

    def __floordiv__(self, other):
        return self.each(other, lambda a, b: a // b)

    def __mod__(self, other):
        return self.each(other, lambda a, b: a % b)

    def __ne__(self, other):
        return self.each(other, lambda a, b: a != b)

    def __getitem__(self, at):
        return self.numbers[at]

    def nonzero(self):
        return Tensor([at for at, value in enumerate(self.numbers) if value], int64)

    def numel(self):
        return len(self.numbers)

    def nbytes(self):
        return len(self.numbers) * BYTES[self.dtype]

    def to(self, what):
        if isinstance(what, device):
            return Tensor(self.numbers, self.dtype, what)
        return Tensor(self.numbers, what, self.device)

    def cpu(self):
        return self.to(device("cpu"))

    def clone(self):
        made = Tensor(list(self.numbers), self.dtype, self.device)
        if cuda.recording is not None:
            cuda.recording.append(lambda: made.copy_(self))
        return made

    def copy_(self, other):
        self.numbers = list(other.numbers)

    def fill_(self, number):
        self.numbers = [number] * len(self.numbers)

    def data_ptr(self):
        return id(self)


def arange(count, dtype):
    return Tensor(list(range(count)), dtype)


def zeros(count, dtype, device):
    return Tensor([0] * count, dtype, device)


class Block:
    """Weights of so many rows and columns; their numbers do not matter."""

    def __init__(self, shape, place):
        self.shape, self.device = shape, place


def ones(shape, dtype, device):
    assert dtype == bfloat16
    return Block(shape, device)


def matmul(row, weights, out):
    """1 us for 32 columns, on the device's clock."""
    assert row.shape[1] == weights.shape[0] and out.shape == (row.shape[0], weights.shape[1])

    def work():
        cuda.takes(weights.shape[1] / 32)

    if cuda.recording is None:
        work()
    else:
        cuda.recording.append(work)


def set_num_threads(count):
    os.environ["STAND_IN_THREADS"] = str(count)
