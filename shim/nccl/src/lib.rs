//! A `libnccl.so.2` that stands before NVIDIA's: it forwards all and delays collectives, as `shimcore` says.

shimcore::library!(shimcore::NCCL, nccl, "nccl");
