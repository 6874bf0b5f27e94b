//! A `librccl.so.1` that stands before AMD's: it forwards all and delays collectives, as `shimcore` says.

shimcore::library!(shimcore::RCCL, nccl, "nccl");
shimcore::more!(shimcore::RCCL, rccl, "nccl");
shimcore::more!(shimcore::RCCL, msccl, "msccl");
