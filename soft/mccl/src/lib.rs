//! A `libmccl.so` over shared host memory: MCCL's own symbol names, answered by `softccl`, which says what it does.

softccl::library!(softccl::MCCL, "mccl", "CommMcDevice");
