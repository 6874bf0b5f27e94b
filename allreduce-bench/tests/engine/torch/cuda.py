"""A device whose clock goes on by what its work takes, and by nothing else."""

import contextlib
import os
import types

now_us = 0.0
recording = None


def is_available():
    return os.environ.get("STAND_IN_DEVICE") != "cpu"


def set_device(_):
    pass


def synchronize():
    pass


def takes(microseconds):
    global now_us
    now_us += microseconds


class Event:
    def __init__(self, enable_timing):
        assert enable_timing

    def record(self):
        self.at = now_us

    def synchronize(self):
        pass

    def elapsed_time(self, end):
        return (end.at - self.at) / 1e3


class CUDAGraph:
    def __init__(self):
        self.work = []

    def replay(self):
        for work in self.work:
            work()


@contextlib.contextmanager
def graph(made, stream):
    global recording
    assert stream == "the stream of the capture"
    recording = made.work
    yield
    recording = None


@contextlib.contextmanager
def capture():
    yield types.SimpleNamespace(stream="the stream of the capture")
