"""What the half model and the engine's all-reduce predict of TP2, beside what TP2 took: tables from a folder of run.sh.

summary.py OUT prints them over the launches that are complete, and names the others; summary.py --gap OUT LAUNCH prints the
microseconds of work between two all-reduces of that launch's half model.
"""

import json
import pathlib
import statistics
import sys

# Student's t, two-sided 95%, for so many launches.
T95 = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776, 6: 2.571, 7: 2.447, 8: 2.365, 9: 2.306, 10: 2.262}


class LeftOut(Exception):
    """Why a launch is not in the table."""


def payload(folder):
    file = folder / "record.json"
    if not file.exists():
        raise LeftOut(f"{folder.name} was not measured")
    record = json.loads(file.read_text())
    if record["status"]["state"] != "complete":
        raise LeftOut(f"{folder.name} was broken off")
    return record["payload"]


def step(folder):
    """Mean milliseconds of a decode step: gaps between tokens while nobody's prompt is worked on."""
    serve = payload(folder)["serve"]
    if serve["summary"]["failed"]:
        raise LeftOut(f"{serve['summary']['failed']} requests of {folder.name} failed, so that the batch was not the one asked for")
    if serve["client"]["invalid"]:
        raise LeftOut(f"{folder.name} is invalid: {'; '.join(serve['client']['invalid'])}")
    return serve["summary"]["tpot_decode_ms"]["mean"]


def engine_calls(folder, mode):
    """Samples of the engine's own all-reduce in this mode, microseconds a call."""
    points = payload(folder)["collectives"]["points"]
    own = [point for point in points if point["engine"] and point["mode"] == mode and point["outcome"]["is"] == "measured"]
    if not own:
        raise LeftOut(f"{folder.name} has no time of the engine's all-reduce in mode {mode}")
    return own[0]["outcome"]["time"]["samples"]


def layers(out):
    return json.loads((out / "model" / "config.json").read_text())["num_hidden_layers"]


def over_launches(values, digits, unit=""):
    """Mean and 95% interval over launches by Student's t."""
    mean, count = statistics.mean(values), len(values)
    if count not in T95:
        return f"{mean:.{digits}f}{unit} (n = {count}, no interval)"
    half = T95[count] * statistics.stdev(values) / count**0.5
    return f"{mean:.{digits}f}{unit} [{mean - half:.{digits}f}, {mean + half:.{digits}f}] (n = {count})"


def gap(out, launch):
    """Prints it. It need not be exact, so that a load that is not judged will do."""
    half = statistics.mean(payload(out / launch / f"half-{copy}")["serve"]["summary"]["tpot_decode_ms"]["mean"] for copy in "ab")
    # Two all-reduces a layer and one after the embedding leave a piece of work more than there are all-reduces.
    print(round(1e3 * half / (2 * layers(out) + 2)))


def one_launch(out, link, launch):
    """What was measured in a launch, and what is predicted from everything but TP2."""
    # The gather of the logits, of about the same size, is one more call over the same link.
    calls = 2 * layers(out) + 2
    folder = out / launch
    halves = [step(folder / f"half-{copy}") for copy in "ab"]
    row = {
        "TP1": step(folder / "tp1"),
        "half, copy a": halves[0],
        "half, copy b": halves[1],
        "TP2": step(folder / f"tp2-{link}"),
        "call with work between": statistics.mean(engine_calls(folder / f"allreduce-{link}", "interleaved")) / 1e3,
        "call back to back": statistics.mean(engine_calls(folder / f"allreduce-{link}", "back_to_back")) / 1e3,
    }
    half = statistics.mean(halves)
    row["communication, TP2 - half"] = row["TP2"] - half
    for kind in ("with work between", "back to back"):
        row[f"communication, calls {kind}"] = calls * row[f"call {kind}"]
        row[f"TP2 predicted, calls {kind}"] = half + calls * row[f"call {kind}"]
    return row


def tables(out):
    print((out / "machine.txt").read_text())
    launches = sorted((folder.name for folder in out.iterdir() if folder.name.isdigit()), key=int)
    shm = json.loads((out / "engine.json").read_text())["shm"]
    for link in ("shm", "gloo") if shm else ("gloo",):
        print(f"TP2 over {link}: {2 * layers(out) + 1} all-reduces and 1 gather a step; milliseconds")
        rows = {}
        for launch in launches:
            try:
                rows[launch] = one_launch(out, link, launch)
            except LeftOut as reason:
                print(f"  launch {launch} is left out: {reason}")
        if not rows:
            print("  no launch is complete")
            continue
        print(f"  {'launch':<45}" + "".join(f"{launch:>9}" for launch in rows) + "  mean [95%]")
        for name in next(iter(rows.values())):
            values = [row[name] for row in rows.values()]
            print(f"  {name:<45}" + "".join(f"{value:9.3f}" for value in values) + "  " + over_launches(values, 3))
        print("  predicted over measured, less one")
        for kind in ("with work between", "back to back"):
            for what, predicted, measured in (
                ("TPOT", f"TP2 predicted, calls {kind}", "TP2"),
                ("communication", f"communication, calls {kind}", "communication, TP2 - half"),
            ):
                errors = [100 * (row[predicted] / row[measured] - 1) for row in rows.values()]
                print(f"  {what + ', calls ' + kind:<45}" + "".join(f"{error:+8.1f}%" for error in errors) + "  " + over_launches(errors, 1, "%"))


if __name__ == "__main__":
    if len(sys.argv) == 4 and sys.argv[1] == "--gap":
        try:
            gap(pathlib.Path(sys.argv[2]), sys.argv[3])
        except LeftOut as reason:
            sys.exit(f"no gap: {reason}")
    elif len(sys.argv) == 2:
        tables(pathlib.Path(sys.argv[1]))
    else:
        sys.exit(__doc__)
