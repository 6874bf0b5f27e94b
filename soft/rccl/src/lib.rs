//! A `librccl.so.1` over shared host memory: RCCL's symbols, which have NCCL's names, answered by `softccl`, which says what it
//! does.

softccl::library!(softccl::RCCL, "nccl", "CommCuDevice");
