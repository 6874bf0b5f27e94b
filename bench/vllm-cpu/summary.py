"""What the half model and the engine's all-reduce predict of TP2, beside what TP2 took: tables from a folder of run.sh.

summary.py OUT prints them; summary.py --gap OUT prints the microseconds of work between two all-reduces of the half model.
"""

import json
import pathlib
import statistics
import sys

# Student's t, two-sided 95%, for so many launches.
T95 = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776, 6: 2.571, 7: 2.447, 8: 2.365, 9: 2.306, 10: 2.262}


def payload(folder):
    return json.loads((folder / "record.json").read_text())["payload"]


def step(folder):
    """Mean milliseconds of a decode step: gaps between tokens while nobody's prompt is worked on."""
    summary = payload(folder)["serve"]["summary"]
    if summary["failed"]:
        sys.exit(f"{folder.name}: {summary['failed']} requests failed, so that the batch was not the one asked for")
    return summary["tpot_decode_ms"]["mean"]


def engine_calls(folder, mode):
    """Samples of the engine's own all-reduce in this mode, microseconds a call."""
    points = payload(folder)["collectives"]["points"]
    own = [point for point in points if point["engine"] and point["mode"] == mode and point["outcome"]["is"] == "measured"]
    if not own:
        sys.exit(f"{folder.name}: the engine's all-reduce was not measured in mode {mode}")
    return own[0]["outcome"]["time"]["samples"]


def layers(out):
    return json.loads((out / "model" / "config.json").read_text())["num_hidden_layers"]


def over_launches(values, digits, unit=""):
    """Mean and 95% interval by Student's t: over the launches' means, of one launch over its rounds. `values` have "launch.round" keys."""
    of_launch = {}
    for number, value in values.items():
        of_launch.setdefault(number.split(".")[0], []).append(value)
    several = len(of_launch) > 1
    each = [statistics.mean(rounds) for rounds in of_launch.values()] if several else list(values.values())
    mean, count = statistics.mean(each), len(each)
    if count not in T95:
        return f"{mean:.{digits}f}{unit} (n = {count}, no interval)"
    half = T95[count] * statistics.stdev(each) / count**0.5
    counted = "launches" if several else "rounds of one launch"
    return f"{mean:.{digits}f}{unit} [{mean - half:.{digits}f}, {mean + half:.{digits}f}] (n = {count} {counted})"


def gap(out):
    steps = [step(file.parent) for file in sorted(out.glob("half-[ab]-*/record.json"))]
    # Two all-reduces a layer and one after the embedding leave a piece of work more than there are all-reduces.
    print(round(1e3 * statistics.mean(steps) / (2 * layers(out) + 2)))


def one_round(out, link, number):
    """What was measured in a round, and what is predicted from everything but TP2."""
    # The gather of the logits, of about the same size, is one more call over the same link.
    calls = 2 * layers(out) + 2
    halves = [step(out / f"half-{copy}-{number}") for copy in "ab"]
    reduce = out / f"allreduce-{link}-{number}"
    row = {
        "TP1": step(out / f"tp1-{number}"),
        "half, copy a": halves[0],
        "half, copy b": halves[1],
        "TP2": step(out / f"tp2-{link}-{number}"),
        "call with work between": statistics.mean(engine_calls(reduce, "interleaved")) / 1e3,
        "call back to back": statistics.mean(engine_calls(reduce, "back_to_back")) / 1e3,
    }
    half = statistics.mean(halves)
    row["communication, TP2 - half"] = row["TP2"] - half
    for kind in ("with work between", "back to back"):
        row[f"communication, calls {kind}"] = calls * row[f"call {kind}"]
        row[f"TP2 predicted, calls {kind}"] = half + calls * row[f"call {kind}"]
    return row


def tables(out):
    rounds = sorted(file.parent.name.removeprefix("tp1-") for file in out.glob("tp1-*/record.json"))
    links = [link for link in ("shm", "gloo") if list(out.glob(f"tp2-{link}-*/record.json"))]
    print((out / "machine.txt").read_text())
    for link in links:
        rows = {number: one_round(out, link, number) for number in rounds}
        print(f"TP2 over {link}: {2 * layers(out) + 1} all-reduces and 1 gather a step; milliseconds")
        print(f"  {'launch.round':<45}" + "".join(f"{number:>9}" for number in rounds) + "  mean [95%]")
        for name in next(iter(rows.values())):
            values = {number: row[name] for number, row in rows.items()}
            print(f"  {name:<45}" + "".join(f"{value:9.3f}" for value in values.values()) + "  " + over_launches(values, 3))
        print("  predicted over measured, less one")
        for kind in ("with work between", "back to back"):
            for what, predicted, measured in (
                ("TPOT", f"TP2 predicted, calls {kind}", "TP2"),
                ("communication", f"communication, calls {kind}", "communication, TP2 - half"),
            ):
                errors = {number: 100 * (row[predicted] / row[measured] - 1) for number, row in rows.items()}
                print(f"  {what + ', calls ' + kind:<45}" + "".join(f"{error:+8.1f}%" for error in errors.values()) + "  " + over_launches(errors, 1, "%"))


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] == "--gap":
        gap(pathlib.Path(sys.argv[2]))
    elif len(sys.argv) == 2:
        tables(pathlib.Path(sys.argv[1]))
    else:
        sys.exit(__doc__)
