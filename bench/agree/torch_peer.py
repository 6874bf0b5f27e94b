"""PyTorch's numbers for agree.py: a JSON line for each row, `{"row": ..., "value": ..., "unit": ...}`.

Copies are 256 MiB, timed by events over 20 copies, the median of 10; all-reduces are of bfloat16 with one process a GPU, the
slowest rank's mean, eager (calls one after another) and as a graph of 20 calls. Nothing is printed that was not measured.
"""

import json
import os
import statistics
import sys

try:
    import torch
except ImportError:
    sys.exit("this Python has no torch; name one that has with --python")
if not torch.cuda.is_available():
    sys.exit("torch finds no GPU here")

BYTES = 256 << 20
COPIES, SAMPLES = 20, 10


def tell(row, value, unit):
    print(json.dumps({"row": row, "value": value, "unit": unit}), flush=True)


def milliseconds(work, calls):
    """The median of several samples, each of so many calls by the device's own marks."""
    times = []
    for _ in range(SAMPLES + 2):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(calls):
            work()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) / calls)
    # The first two touch the memory and whatever the driver does once.
    return statistics.median(times[2:])


def copies(device):
    with torch.cuda.device(device):
        there = torch.zeros(BYTES, dtype=torch.uint8, device="cuda")
        again = torch.zeros_like(there)
        pinned = torch.zeros(BYTES, dtype=torch.uint8).pin_memory()
        pageable = torch.zeros(BYTES, dtype=torch.uint8)
        rate = lambda work: BYTES / milliseconds(work, COPIES) / 1e6
        tell(f"h2d pinned GPU{device}", rate(lambda: there.copy_(pinned, non_blocking=True)), "GB/s")
        tell(f"d2h pinned GPU{device}", rate(lambda: pinned.copy_(there, non_blocking=True)), "GB/s")
        tell(f"h2d pageable GPU{device}", rate(lambda: there.copy_(pageable)), "GB/s")
        tell(f"d2h pageable GPU{device}", rate(lambda: pageable.copy_(there)), "GB/s")
        tell(f"within GPU{device}", rate(lambda: again.copy_(there)), "GB/s")
        back = torch.zeros(BYTES, dtype=torch.uint8).pin_memory()
        other = torch.cuda.Stream()

        def both():
            other.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(other):
                back.copy_(again, non_blocking=True)
            there.copy_(pinned, non_blocking=True)
            torch.cuda.current_stream().wait_stream(other)

        tell(f"bidirectional pinned GPU{device}", 2 * rate(both), "GB/s")


def pairs(devices):
    for a in devices:
        for b in devices:
            if a != b and torch.cuda.can_device_access_peer(a, b):
                source = torch.zeros(BYTES, dtype=torch.uint8, device=f"cuda:{a}")
                target = torch.zeros(BYTES, dtype=torch.uint8, device=f"cuda:{b}")
                with torch.cuda.device(a):
                    took = milliseconds(lambda: target.copy_(source, non_blocking=True), COPIES)
                tell(f"GPU{a} to GPU{b}", BYTES / took / 1e6, "GB/s")


def rank(number, devices, sizes):
    import torch.distributed as dist

    torch.cuda.set_device(devices[number])
    dist.init_process_group("nccl", init_method="tcp://127.0.0.1:29577", rank=number, world_size=len(devices))
    for size in sizes:
        message = torch.zeros(size // 2, dtype=torch.bfloat16, device="cuda")
        work = lambda: dist.all_reduce(message)
        eager = milliseconds(work, COPIES)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(COPIES):
                work()
        replayed = milliseconds(graph.replay, 1) / COPIES
        for mode, took in (("eager", eager), ("graph", replayed)):
            slowest = torch.tensor([took], device="cuda")
            dist.all_reduce(slowest, op=dist.ReduceOp.MAX)
            if number == 0:
                tell(f"all-reduce {size >> 10} KiB {mode}", slowest.item() * 1000, "us")
    dist.destroy_process_group()


def main():
    asked = os.environ.get("TPLENS_AGREE_DEVICES", "")
    devices = [int(each) for each in asked.split(",") if each] or list(range(torch.cuda.device_count()))
    sizes = [int(each) for each in os.environ.get("TPLENS_AGREE_SIZES", "").split(",") if each]
    for device in devices:
        copies(device)
    pairs(devices)
    if len(devices) > 1 and sizes:
        torch.multiprocessing.spawn(rank, args=(devices, sizes), nprocs=len(devices))


if __name__ == "__main__":
    main()
