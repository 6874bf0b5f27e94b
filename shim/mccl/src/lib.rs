//! A `libmccl.so` that stands before MetaX's: it forwards all, and refuses to delay, as `shimcore` says.

shimcore::library!(shimcore::MCCL, nccl, "mccl");
shimcore::more!(shimcore::MCCL, mccl, "mccl");
