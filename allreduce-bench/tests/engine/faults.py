"""What goes wrong in a stand-in engine: the word in STAND_IN_FAULT, at messages above 8 KiB, on rank 1."""

import os
import signal

FAULT = os.environ.get("STAND_IN_FAULT", "")
LIMIT = 8192


def at_import():
    # Engines print here, and where messages go to the parent this must not arrive.
    print("INFO the stand-in says something on standard output")
    if FAULT == "import":
        raise ImportError("libcudart.so.13: cannot open shared object file")


def at_call(tensor, rank):
    print("INFO a call", flush=True)
    if rank != 1 or tensor.nbytes() <= LIMIT:
        return
    if FAULT == "crash":
        os._exit(11)
    if FAULT == "hang":
        while True:
            signal.pause()
    if FAULT == "raise":
        raise RuntimeError("custom_ar failed with error 700:\n  an illegal memory access")


def spoilt(numbers, rank, is_replay=False):
    at_fault = FAULT == "wrong" or FAULT == "wrong-replay" and is_replay
    if at_fault and rank == 1 and len(numbers) * 2 > LIMIT:
        return [*numbers[:3], numbers[3] + 1, *numbers[4:]]
    return numbers


def is_lost(numbers, replays):
    """Whether the sum arrives nowhere: that of each replay but the first ones."""
    return FAULT == "lost-replay" and replays > 2 and len(numbers) * 2 > LIMIT
