//! A `libnvidia-ml.so.1` over a described box: NVIDIA's management library's own symbol names, answered from the box file.
//!
//! It loads no driver state of the soft CUDA library, which may run in another process: link states are read from the
//! generated sysfs tree, so that a link that retrained there is seen here; everything else is what the box says. What the box
//! does not say is `NVML_ERROR_NOT_SUPPORTED`, never 0. Signatures and layouts are those of `nvml.h`; nothing can be set.
//! A device that an injected fault took off the bus is reported as lost, in every process.

mod abi;
mod devices;
mod links;
mod sensors;
