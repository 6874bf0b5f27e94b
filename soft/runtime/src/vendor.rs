//! [`Runtime`]: what differs from vendor to vendor, the ways to the driver, and exports under the vendors' names.

use crate::abi::{CURRENT, id};
use boxfile::{Device, Vendor};
use softbox::abi::{Handle, Out};
use softbox::{Code, Outcome, SoftDriver};
use std::ffi::c_uint;

/// What a device says of an attribute; nothing where the box does not know it.
pub(crate) type Attribute = fn(&Device) -> Option<u32>;

/// What differs from vendor to vendor.
pub(crate) struct Runtime {
    /// Whose boxes the library plays.
    vendor: Vendor,
    /// What the names of its codes begin with in `names.csv`.
    pub(crate) prefix: &'static str,
    /// Whether nothing begins by itself, as in CUDA's driver: it is initialised, and a thread has the device whose context it made
    /// current.
    pub(crate) contexts: bool,
    /// Flags of host allocations that the vendor has.
    pub(crate) host_flags: c_uint,
    /// Attributes of a device that are answered by number; what the box does not say is refused, never made up.
    pub(crate) attributes: &'static [(c_uint, Attribute)],
}

/// Exports: the names of a call by the vendors whose libraries have it, its C parameters, and what it does.
macro_rules! calls {
    ($($(#[$doc:meta])* [$($vendor:ident $name:literal),+] fn $call:ident $parameters:tt $body:block)+) => {$(
        $crate::vendor::define! { $(#[$doc])* $call $parameters $body }
        $($crate::vendor::export! { $vendor $name $call $parameters })+
    )+};
}

/// The body of exports as a function.
macro_rules! define {
    ($(#[$doc:meta])* $call:ident ($runtime:ident $(, $argument:ident: $kind:ty)* $(,)?) $body:block) => {
        $(#[$doc])*
        pub(crate) fn $call($runtime: &$crate::vendor::Runtime, $($argument: $kind),*) -> softbox::Outcome<()> $body
    };
}

/// One export.
macro_rules! export {
    ($vendor:ident $name:literal $call:ident ($runtime:ident $(, $argument:ident: $kind:ty)* $(,)?)) => {
        const _: () = {
            #[unsafe(export_name = $name)]
            extern "C" fn export($($argument: $kind),*) -> $crate::abi::Status {
                $crate::abi::call(|| self::$call(&$crate::vendor::$vendor, $($argument),*))
            }
        };
    };
}

pub(crate) use {calls, define, export};

/// NVIDIA's driver. Attributes are those of cuda.h, enum `CUdevice_attribute`: copy engines, multiprocessors.
pub(crate) static CUDA: Runtime = Runtime {
    vendor: Vendor::NVIDIA,
    prefix: "cu",
    contexts: true,
    // Portable, mapped, write-combined.
    host_flags: 0x7,
    attributes: &[
        (40, |device| Some(device.copy_engines)),
        (16, |device| device.multiprocessors),
    ],
};

/// AMD's runtime. Attributes are those of hip_runtime_api.h of HIP 6 and 7, enum `hipDeviceAttribute_t`.
pub(crate) static HIP: Runtime = Runtime {
    vendor: Vendor::AMD,
    prefix: "hip",
    contexts: false,
    // NumaUser, Uncached, Coherent and NonCoherent besides.
    host_flags: 0xf000_0007,
    attributes: &[
        (2, |device| Some(device.copy_engines)),
        (63, |device| device.multiprocessors),
    ],
};

/// MetaX's runtime. It numbers its attributes in a way of its own, which nobody published: none is answered.
pub(crate) static MACA: Runtime = Runtime {
    vendor: Vendor::METAX,
    prefix: "mc",
    contexts: false,
    host_flags: 0x7,
    attributes: &[],
};

impl Runtime {
    /// Calls the driver of this process's box, initialised.
    pub(crate) fn with<T>(
        &self,
        mut call: impl FnMut(&mut SoftDriver) -> Outcome<T>,
    ) -> Outcome<T> {
        softbox::with_driver(self.vendor, |driver| {
            if !self.contexts && driver.devices().is_err() {
                driver.init()?;
            }
            call(driver)
        })
    }

    /// Calls the driver, and writes what it answers.
    pub(crate) fn tell<T>(
        &self,
        place: Out<T>,
        call: impl FnMut(&mut SoftDriver) -> Outcome<T>,
    ) -> Outcome<()> {
        place.present()?;
        place.put(self.with(call)?)
    }

    /// Calls the driver with this thread's device, whose context it opens where it is not open yet.
    pub(crate) fn on_current<T>(
        &self,
        mut call: impl FnMut(&mut SoftDriver, usize) -> Outcome<T>,
    ) -> Outcome<T> {
        let current = self.current()?;
        self.with(|driver| {
            if !self.contexts && !driver.is_retained(current) {
                driver.retain(current)?;
            }
            call(driver, current)
        })
    }

    /// Calls the driver with a stream.
    pub(crate) fn on_stream<T>(
        &self,
        stream: Handle,
        mut call: impl FnMut(&mut SoftDriver, u64) -> Outcome<T>,
    ) -> Outcome<T> {
        if is_null_stream(stream) {
            return self.on_current(|driver, current| {
                let stream = driver.null_stream(current)?;
                call(driver, stream)
            });
        }
        self.with(|driver| call(driver, id(stream)))
    }

    /// The ordinal of this thread's device: of a runtime the first where it chose none.
    pub(crate) fn current(&self) -> Outcome<usize> {
        match CURRENT.get() {
            None if self.contexts => Err(Code::INVALID_CONTEXT.into()),
            chosen => Ok(chosen.unwrap_or_default()),
        }
    }
}

/// Whether a handle names the null stream: null, or one of the two special handles of `cuda.h`.
pub(crate) fn is_null_stream(stream: Handle) -> bool {
    stream.number() <= 2
}
