#!/usr/bin/env python3
"""Our numbers beside those of peers on one machine, in turns: which agree, which do not, and what was not compared.

    python3 agree.py --tplens ./tplens [--nvbandwidth FOLDER] [--nccl-tests FOLDER] [--markdown FILE]

It needs a GPU of NVIDIA or AMD, Python 3.8 or newer and the tplens archive; every peer is optional. See README.md.
Exit codes: 0 all that was compared agrees, 1 a row differs, 2 usage, 3 nothing could be compared.
"""

import argparse
import csv
import io
import json
import math
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
# Student's t, two-sided 95%, by degrees of freedom.
T95 = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262}

# Our case and quantity -> the row's name; {0} is the GPU, {1} the other one.
COPIES = {
    ("h2d_pinned_ce", "bandwidth"): "h2d pinned GPU{to}",
    ("d2h_pinned_ce", "bandwidth"): "d2h pinned GPU{from}",
    ("h2d_pageable_ce", "bandwidth"): "h2d pageable GPU{to}",
    ("d2h_pageable_ce", "bandwidth"): "d2h pageable GPU{from}",
    ("host_bidir_pinned_ce", "total"): "bidirectional pinned GPU{to}",
    ("local_ce", "bandwidth"): "within GPU{from}",
    ("d2d_write_ce", "bandwidth"): "GPU{from} to GPU{to}",
}
# The tests of nvbandwidth that measure the same, and how a cell becomes a row.
NVBANDWIDTH = {
    "host_to_device_memcpy_ce": lambda row, column: f"h2d pinned GPU{column}",
    "device_to_host_memcpy_ce": lambda row, column: f"d2h pinned GPU{column}",
    # Row: the GPU that issues and from which the bytes go.
    "device_to_device_memcpy_write_ce": lambda row, column: f"GPU{row} to GPU{column}",
}
ALL_REDUCE_SIZES = ("8K", "128K", "1M", "64M")
BYTES = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


class Failed(Exception):
    """A peer or our own program could not be run; its text says why."""


def run(argv, limit, env=None):
    """Standard output of a program that ended well."""
    try:
        ended = subprocess.run(argv, capture_output=True, text=True, timeout=limit, env=env, check=False)
    except FileNotFoundError:
        raise Failed(f"{argv[0]} not found") from None
    except subprocess.TimeoutExpired:
        raise Failed(f"{Path(argv[0]).name} did not end within {limit} s") from None
    if ended.returncode != 0:
        said = (ended.stderr.strip() or ended.stdout.strip()).splitlines()
        raise Failed(f"{Path(argv[0]).name} ended with {ended.returncode}: {said[-1] if said else 'no word'}")
    return ended.stdout


def size(text):
    return int(text[:-1]) * BYTES[text[-1]] if text[-1] in BYTES else int(text)


class Ours:
    """The rows that tplens measures."""

    def __init__(self, args):
        self.args = args
        self.devices = []
        self.record = None

    def base(self, command):
        words = [self.args.tplens, command]
        words += ["--sim", self.args.sim] if self.args.sim else []
        return words + (["--gpus", self.args.gpus] if self.args.gpus else [])

    def list(self):
        """The record without numbers; fails where no driver answers."""
        text = run(self.base("p2p") + ["--list", "--json", "-"], 180)
        record = json.loads(text)
        found = find(record, "devices") or []
        self.devices = [device for device in found if not device["label"].startswith("HOST")]
        if not self.devices:
            raise Failed("tplens finds no GPU here")
        return record

    def measure(self, folder):
        """One turn: copies, and collectives where there are two devices."""
        cases = ",".join(sorted({case for case, _ in COPIES}))
        kept = folder / "p2p.json"
        words = self.base("p2p") + ["--cases", cases, "--csv", "-", "--json", str(kept), "--out", str(folder / "p2p"), "--budget", "20"]
        rows = dict(self.copies(run(words, 600)))
        self.record = json.loads(kept.read_text(encoding="utf-8"))
        if len(self.devices) > 1:
            words = self.base("allreduce") + ["--sizes", ",".join(ALL_REDUCE_SIZES), "--csv", "-", "--out", str(folder / "ar")]
            rows.update(self.collectives(run(words, 600)))
        return rows

    @staticmethod
    def copies(text):
        for row in csv.DictReader(io.StringIO(text)):
            name = COPIES.get((row["case"], row["quantity"]))
            if name and row["outcome"] == "measured":
                ends = {key: re.sub(r"\D", "", row[key]) for key in ("from", "to")}
                yield name.format(**ends), (float(row["median"]), row["unit"])

    @staticmethod
    def collectives(text):
        for row in csv.DictReader(io.StringIO(text)):
            mode = {"back_to_back": "eager", "graph": "graph"}.get(row["mode"])
            if mode and row["outcome"] == "measured":
                yield f"all-reduce {int(row['bytes_per_rank']) >> 10} KiB {mode}", (float(row["time"]), row["unit"])


def find(value, key):
    """The first value of a key anywhere in a document."""
    if isinstance(value, dict):
        if key in value:
            return value[key]
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            found = find(each, key)
            if found is not None:
                return found
    return None


class Torch:
    """PyTorch's copies and its collectives, or a stand-in that prints the same lines."""

    name = "PyTorch"

    def __init__(self, args, devices):
        self.argv = args.torch_peer.split() if args.torch_peer else [args.python, str(HERE / "torch_peer.py")]
        self.env = dict(os.environ, TPLENS_AGREE_SIZES=",".join(str(size(each)) for each in ALL_REDUCE_SIZES))
        self.env["TPLENS_AGREE_DEVICES"] = ",".join(str(device["ordinal"]) for device in devices)

    def measure(self, folder):
        rows = {}
        for line in run(self.argv, 600, self.env).splitlines():
            if line.startswith("{"):
                told = json.loads(line)
                rows[told["row"]] = (float(told["value"]), told["unit"])
        if not rows:
            raise Failed("it printed no row")
        return rows


class Nvbandwidth:
    """nvbandwidth, built in its folder where it is not yet."""

    name = "nvbandwidth"

    def __init__(self, folder):
        self.program = built(folder, ["nvbandwidth", "build/nvbandwidth"],
                             [["cmake", "-S", ".", "-B", "build"], ["cmake", "--build", "build", "-j"]])

    def measure(self, folder):
        words = [self.program, "-j", "-b", "256", "-t", *NVBANDWIDTH]
        rows = {}
        for case in find(json.loads(run(words, 600)), "testcases") or []:
            row_of = NVBANDWIDTH.get(case.get("name"))
            for at, cells in enumerate(case.get("bandwidth_matrix", []) if row_of else []):
                for column, cell in enumerate(cells):
                    if cell != "N/A":
                        rows[row_of(at, column)] = (float(cell), "GB/s")
        return rows


class NcclTests:
    """all_reduce_perf of nccl-tests, one process and a thread a GPU; eager and, with -G, as graphs."""

    name = "nccl-tests"

    def __init__(self, folder, devices):
        self.program = built(folder, ["all_reduce_perf", "build/all_reduce_perf"], [["make", "-j"]])
        self.ranks = len(devices)

    def measure(self, folder):
        rows = {}
        for mode, more in (("eager", []), ("graph", ["-G", "20"])):
            for each in ALL_REDUCE_SIZES:
                words = [self.program, "-b", each, "-e", each, "-d", "bfloat16", "-t", str(self.ranks), "-g", "1", *more]
                for line in run(words, 300).splitlines():
                    fields = line.split()
                    if len(fields) > 5 and fields[0] == str(size(each)):
                        rows[f"all-reduce {size(each) >> 10} KiB {mode}"] = (float(fields[5]), "us")
        return rows


def built(folder, places, steps):
    """The program in a folder, made there where it is missing."""
    for _ in range(2):
        for place in places:
            if (Path(folder) / place).is_file():
                return str((Path(folder) / place).resolve())
        if not shutil.which("nvcc"):
            raise Failed(f"{folder} holds no built {places[0]}, and nvcc is not in PATH")
        for step in steps:
            subprocess.run(step, cwd=folder, check=False, capture_output=True)
    raise Failed(f"{places[0]} could not be built in {folder}; build it by hand")


def interval(ratios):
    """Geometric mean of ratios and its 95% interval; one ratio has none."""
    logs = [math.log(ratio) for ratio in ratios]
    mean = statistics.fmean(logs)
    if len(logs) < 2:
        return math.exp(mean), None
    half = T95.get(len(logs) - 1, 1.96) * statistics.stdev(logs) / math.sqrt(len(logs))
    return math.exp(mean), (math.exp(mean - half), math.exp(mean + half))


def judge(ratio, span, tolerance):
    """`agrees` within the tolerance, `differs` where the whole interval is outside, `unclear` between the two."""
    low, high = 1 - tolerance, 1 + tolerance
    if span and (span[1] < low or span[0] > high):
        return "differs"
    if low <= ratio <= high:
        return "agrees"
    return "unclear" if span else "differs"


def compare(ours, peer, rounds, tolerance):
    """Rows of a peer, measured in turns: ours first in even rounds, the peer first in odd ones."""
    taken = {}
    for turn in range(rounds):
        with tempfile.TemporaryDirectory(prefix="tplens-agree-") as folder:
            pair = [ours, peer] if turn % 2 == 0 else [peer, ours]
            both = {id(each): each.measure(Path(folder)) for each in pair}
        mine, theirs = both[id(ours)], both[id(peer)]
        for row, (value, unit) in mine.items():
            other = theirs.get(row)
            if other and other[1] == unit and value > 0 and other[0] > 0:
                taken.setdefault((row, unit), []).append((value, other[0]))
        print(f"{peer.name}: round {turn + 1} of {rounds}", file=sys.stderr)
    rows = []
    for (row, unit), pairs in taken.items():
        ratio, span = interval([mine / theirs for mine, theirs in pairs])
        rows.append({
            "row": row, "unit": unit, "peer": peer.name, "n": len(pairs), "ratio": ratio, "span": span,
            "ours": statistics.median(mine for mine, _ in pairs), "theirs": statistics.median(theirs for _, theirs in pairs),
            "verdict": judge(ratio, span, tolerance),
        })
    return rows


def readings(record):
    """What nvidia-smi says of links and pairs beside what we read: (what, ours, theirs)."""
    rows = []
    asked = "index,pcie.link.gen.max,pcie.link.width.max"
    text = run(["nvidia-smi", f"--query-gpu={asked}", "--format=csv,noheader"], 60)
    devices = find(record, "devices") or []
    for line in text.splitlines():
        index, generation, width = (field.strip() for field in line.split(","))
        for device in devices:
            loaded = device.get("loaded") or {}
            if str(device["ordinal"]) == index and loaded.get("slot_maximum"):
                ours = loaded["slot_maximum"]
                ours = ours if isinstance(ours, str) else f"Gen{ours['generation']} x{ours['width']}"
                rows.append((f"best link of GPU{index}", ours, f"Gen{generation} x{width}"))
    matrix = [line.split() for line in re.sub(r"\x1b\[[0-9;]*m", "", run(["nvidia-smi", "topo", "-m"], 60)).splitlines()]
    cells = {fields[0]: fields[1:] for fields in matrix if fields and re.fullmatch(r"GPU\d+", fields[0]) and len(fields) > 1}
    for pair in find(record, "paths") or []:
        a, b = (devices[pair[end]]["ordinal"] for end in ("a", "b"))
        theirs = cells.get(f"GPU{a}", [])
        if b < len(theirs):
            rows.append((f"path of GPU{a} and GPU{b}", str(pair["path"]).upper(), theirs[b].upper()))
    return rows


def table(rows, missing, looked, head):
    lines = [f"# Agreement with peers: {head}", ""]
    if rows:
        lines += ["| row | peer | ours | peer's | unit | ratio | 95% interval | n | verdict |", "|---|---|--:|--:|---|--:|---|--:|---|"]
        for row in rows:
            span = f"{row['span'][0]:.3f}-{row['span'][1]:.3f}" if row["span"] else "—"
            lines.append(f"| {row['row']} | {row['peer']} | {row['ours']:.2f} | {row['theirs']:.2f} | {row['unit']} | "
                         f"{row['ratio']:.3f} | {span} | {row['n']} | {row['verdict']} |")
        lines.append("")
    if looked:
        lines += ["| reading | ours | nvidia-smi | verdict |", "|---|---|---|---|"]
        lines += [f"| {what} | {ours} | {theirs} | {'agrees' if ours == theirs else 'differs'} |" for what, ours, theirs in looked]
        lines.append("")
    lines += [f"Not compared: {what}." for what in missing]
    return "\n".join(lines) + "\n"


NEEDS = """What it needs to compare anything:
  a GPU with its driver (nvidia-smi or rocm-smi answers), and the tplens archive (--tplens);
  for PyTorch's copies and its NCCL: a Python with torch for that GPU (--python);
  for nvbandwidth and nccl-tests: their folders (--nvbandwidth, --nccl-tests), built, or with nvcc, make and cmake in PATH;
  for links and paths: nvidia-smi in PATH.
"""


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tplens", default=str(HERE.parent.parent / "bin" / "tplens"), metavar="FILE", help="the program (default: %(default)s)")
    parser.add_argument("--gpus", metavar="LIST", help="devices, as tplens takes them (default: all)")
    parser.add_argument("--python", default=sys.executable, metavar="FILE", help="a Python with torch (default: this one)")
    parser.add_argument("--nvbandwidth", metavar="FOLDER", help="nvbandwidth's folder, built or with its source")
    parser.add_argument("--nccl-tests", metavar="FOLDER", help="nccl-tests' folder, built or with its source")
    parser.add_argument("--rounds", type=int, default=4, metavar="N", help="turns of each pair, 2 to 10 (default: %(default)s)")
    parser.add_argument("--tolerance", type=float, default=2.0, metavar="PERCENT", help="a row within it agrees (default: %(default)s)")
    parser.add_argument("--markdown", metavar="FILE", help="write the table there, too")
    parser.add_argument("--sim", metavar="NAME", help="a simulated machine, to try the kit itself")
    parser.add_argument("--torch-peer", metavar="COMMAND", help="a program in PyTorch's place that prints its lines")
    args = parser.parse_args()
    if not 2 <= args.rounds <= 10:
        parser.error("--rounds is 2 to 10")
    return args


def main():
    args = arguments()
    ours, missing, rows, looked = Ours(args), [], [], []
    try:
        record = ours.list()
    except Failed as why:
        print(f"nothing was compared: {why}\n{NEEDS}", end="")
        return 3
    makers = [("PyTorch", lambda: Torch(args, ours.devices))]
    for name, folder, make in (
        ("nvbandwidth", args.nvbandwidth, lambda: Nvbandwidth(args.nvbandwidth)),
        ("nccl-tests", args.nccl_tests, lambda: NcclTests(args.nccl_tests, ours.devices)),
    ):
        if folder:
            makers.append((name, make))
        else:
            missing.append(f"{name} (its folder was not given)")
    for name, make in makers:
        try:
            rows += compare(ours, make(), args.rounds, args.tolerance / 100)
        except Failed as why:
            missing.append(f"{name} ({why})")
    if args.sim:
        missing.append("nvidia-smi (the machine is simulated)")
    else:
        try:
            looked = readings(ours.record or record)
        except Failed as why:
            missing.append(f"nvidia-smi ({why})")
    head = f"simulated machine {args.sim}, no measurement" if args.sim else f"{ours.devices[0]['name']} x{len(ours.devices)}, {platform.machine()}"
    text = table(rows, missing, looked, head)
    print(text, end="")
    if args.markdown:
        Path(args.markdown).write_text(text, encoding="utf-8")
    if not rows and not looked:
        print(NEEDS, end="")
        return 3
    differs = any(row["verdict"] == "differs" for row in rows) or any(ours != theirs for _, ours, theirs in looked)
    return 1 if differs else 0


if __name__ == "__main__":
    sys.exit(main())
