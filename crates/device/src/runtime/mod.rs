//! The backends of GPUs, `cuda`, `hip` and `maca`: one implementation, because vendors took over the interface of CUDA.
//!
//! A vendor is a [`Table`]: its library's files, the prefix of its functions, its flags and codes. Every function
//! may be missing and is then named in an error; what cannot be done without is asked for when the library is loaded. There
//! is no inter-process memory here.

mod codes;
mod context;
mod device;
mod graph;
mod kernel;
mod library;
mod memory;
mod opened;
mod places;
mod queue;
mod symbols;
mod table;

pub(crate) use context::Context;
pub use device::{Device, Runtime};
pub(crate) use device::{grouped_uuid, plain_uuid};
pub use graph::Graph;
pub use kernel::Kernel;
pub use memory::DeviceBuffer;
pub(crate) use opened::any_is_gone;
pub use queue::{Event, Stream};
pub(crate) use symbols::{CompilerNames, DriverNames, Names, compiler_names, driver_names, names};
pub(crate) use table::{Attributes, Compiler, HostFlags, Kernels, Version};
pub use table::{Table, Vendor};
