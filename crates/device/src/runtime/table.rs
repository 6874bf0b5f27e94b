//! What differs between libraries that have the same interface: a table for each vendor. The tables stand in `vendors`.

use super::symbols::{CompilerNames, DriverNames, Names};
use crate::error::{DeviceError, Result};
use crate::kernel::KernelCode;

/// A vendor with a table.
pub trait Vendor: 'static {
    /// What is its own.
    const TABLE: &'static Table;
}

/// What differs between vendors.
pub struct Table {
    /// The backend's name.
    pub(crate) backend: &'static str,
    /// The interface's name.
    pub(crate) interface: &'static str,
    /// The library's name in messages, and the beginning of its files' names.
    pub(crate) library: &'static str,
    /// Names for the loader to find, in this order.
    pub(crate) files: &'static [&'static str],
    /// The variable that names the folder of an installation; empty where the loader alone finds it.
    pub(crate) variable: &'static str,
    /// Usual folders of installations; a `*` at the end stands for anything.
    pub(crate) folders: &'static [&'static str],
    /// Folders of `site-packages` in which Python packages bring it.
    pub(crate) packages: &'static [&'static str],
    /// What to do where the library is missing.
    pub(crate) install: &'static str,
    /// The variables that hide devices.
    pub(crate) visible: &'static str,
    /// What to look at where the library finds no device.
    pub(crate) without_device: &'static str,
    /// Its functions; one that it lacks has an empty name.
    pub(crate) names: Names,
    /// The functions of a driver that has contexts, which stand for those that [`Self::names`] leaves empty.
    pub(crate) driver: Option<DriverNames>,
    /// Its own codes after which a device is of no more use, besides those that all vendors have.
    pub(crate) lost: &'static [u32],
    /// Whether a device that this process opened fell off the bus: an unknown error is its loss then.
    pub(crate) any_is_gone: fn() -> bool,
    /// Where its version is read.
    pub(crate) version: Version,
    /// The text of a device's 16 bytes of UUID, by its name; `None` where it has none.
    pub(crate) uuid: fn(&str, [u8; 16]) -> Option<String>,
    /// Flags of host memory.
    pub(crate) host_flags: HostFlags,
    /// Numbers of attributes, where they are known.
    pub(crate) attributes: Option<Attributes>,
    /// In which form it takes kernels; none where no compiler is at hand.
    pub(crate) kernels: Option<Kernels>,
}

impl Table {
    /// In which form it takes kernels; `Unsupported` where it takes none of ours.
    pub(in crate::runtime) fn takes(&self) -> Result<&Kernels> {
        self.kernels
            .as_ref()
            .ok_or_else(|| DeviceError::Unsupported {
                what: "a kernel",
                why: format!("there is no compiler for {} here", self.interface),
            })
    }
}

/// In which form a vendor's library takes kernels.
pub(crate) enum Kernels {
    /// As PTX text.
    Ptx,
    /// Compiled at run time.
    Compiled(Compiler),
}

/// How a vendor says its version.
pub(crate) enum Version {
    /// As major * 10^7 + minor * 10^5 + patch from the library.
    Decimal,
    /// As major * 1000 + minor * 10 from the library.
    Thousands,
    /// As `Version:x` in a file of the installation's folder; how the library codes it is not public.
    File(&'static str),
}

/// Flags for the allocation of host memory.
pub(crate) struct HostFlags {
    /// Page-locked and usable by all devices.
    pub(crate) pinned: u32,
    /// Added where a NUMA node is asked for.
    pub(crate) on_node: u32,
    /// Added where host and kernel use words at the same time.
    pub(crate) coherent: u32,
}

/// Numbers of attributes.
pub(crate) struct Attributes {
    /// Whether the device is integrated with the processor.
    pub(crate) integrated: u32,
    /// Bytes of the L2 cache.
    pub(crate) l2_bytes: u32,
    /// Multiprocessors or compute units.
    pub(crate) multiprocessors: u32,
}

/// A compiler library with hiprtc's interface.
pub(crate) struct Compiler {
    /// The form of a kernel that it takes.
    pub(crate) source: fn(&KernelCode) -> Option<&'static std::ffi::CStr>,
    /// Its functions.
    pub(crate) names: CompilerNames,
    /// The beginning of its files' names.
    pub(crate) prefix: &'static str,
    /// Names for the loader to find, in this order.
    pub(crate) files: &'static [&'static str],
}
