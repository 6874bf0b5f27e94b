"""Compiles CUDA C++ from standard input to PTX on standard output, with the NVRTC of a Python wheel.

Argument: the architecture. No GPU and no header is needed. What the compiler says goes to standard error, and is a failure.
Signatures are those of nvrtc.h; a program handle is a pointer, and every call answers an enum that is 0 where it went well.
"""

import ctypes
import glob
import sys

import nvidia.cuda_nvrtc

(architecture,) = sys.argv[1:]
(library,) = glob.glob(nvidia.cuda_nvrtc.__path__[0] + "/lib/libnvrtc.so.*")
nvrtc = ctypes.CDLL(library)


def call(name, *arguments):
    """Makes a call, and ends the process where it fails."""
    code = getattr(nvrtc, name)(*arguments)
    if code != 0:
        if name == "nvrtcCompileProgram":
            sys.stderr.write(text("ProgramLog"))
        nvrtc.nvrtcGetErrorString.restype = ctypes.c_char_p
        sys.exit(f"{name}: {nvrtc.nvrtcGetErrorString(code).decode()}")


def text(what):
    """A text of the program: its size is asked for first, and counts the NUL."""
    size = ctypes.c_size_t()
    call(f"nvrtcGet{what}Size", program, ctypes.byref(size))
    buffer = ctypes.create_string_buffer(size.value)
    call(f"nvrtcGet{what}", program, buffer)
    return buffer.value.decode()


program = ctypes.c_void_p()
source = sys.stdin.buffer.read()
call("nvrtcCreateProgram", ctypes.byref(program), source, b"kernel.cu", 0, None, None)
# In later dialects NVRTC adds the tables of nv/target to every module.
options = [f"--gpu-architecture={architecture}".encode(), b"--std=c++03"]
call("nvrtcCompileProgram", program, len(options), (ctypes.c_char_p * len(options))(*options))
warnings = text("ProgramLog").strip()
if warnings:
    sys.exit(warnings)
sys.stdout.write(text("PTX"))
