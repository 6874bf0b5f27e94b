//! A `libnccl.so.2` over shared host memory: NCCL's own symbol names, answered by `softccl`, which says what it does.

softccl::library!(softccl::NCCL, "nccl", "CommCuDevice");
