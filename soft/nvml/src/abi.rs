//! What every export shares: the way in, result codes, and handles of devices.

use boxfile::{BoxFile, Device, MigInstance, Vendor};
use softbox::abi::{Handle, OutText};
use softbox::{Code, Failure};
use std::ffi::{c_char, c_int, c_uint};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering};

/// `nvmlReturn_t`.
pub(crate) type Status = c_int;
/// A result code other than success.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Refused(pub(crate) Status);
pub(crate) type Answer<T> = Result<T, Refused>;

pub(crate) const UNINITIALIZED: Refused = Refused(1);
pub(crate) const INVALID_ARGUMENT: Refused = Refused(2);
pub(crate) const NOT_SUPPORTED: Refused = Refused(3);
pub(crate) const NOT_FOUND: Refused = Refused(6);
pub(crate) const INSUFFICIENT_SIZE: Refused = Refused(7);
pub(crate) const DRIVER_NOT_LOADED: Refused = Refused(9);
pub(crate) const GPU_IS_LOST: Refused = Refused(15);
pub(crate) const VERSION_MISMATCH: Refused = Refused(25);
pub(crate) const UNKNOWN: Refused = Refused(999);

impl From<Failure> for Refused {
    /// Of what a caller passed: a null pointer, or what is no text.
    fn from(_: Failure) -> Self {
        INVALID_ARGUMENT
    }
}

/// Handles are these numbers as pointers: 4096 for each device, 16 for each of its MIG instances.
const HANDLES: usize = 0x6e00_0000_0000;

/// Open initialisations: NVML counts them.
pub(crate) static INITIALIZED: AtomicU32 = AtomicU32::new(0);

/// What a handle names: a device, or one of its MIG instances.
#[derive(Clone, Copy)]
pub(crate) struct Target {
    pub(crate) index: usize,
    pub(crate) device: &'static Device,
    pub(crate) mig: Option<&'static MigInstance>,
}

/// Runs the body of an export; a panic becomes `NVML_ERROR_UNKNOWN`.
pub(crate) fn call(body: impl FnOnce() -> Answer<()>) -> Status {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => 0,
        Ok(Err(refused)) => refused.0,
        Err(_) => UNKNOWN.0,
    }
}

/// Exports of calls: name, parameters, and what they do.
macro_rules! calls {
    ($($(#[$doc:meta])* $name:ident($($argument:ident: $kind:ty),*) $body:block)+) => {$(
        $(#[$doc])*
        #[unsafe(no_mangle)]
        extern "C" fn $name($($argument: $kind),*) -> $crate::abi::Status {
            $crate::abi::call(|| $body)
        }
    )+};
}

/// Exports of calls that answer one value: the name, the parameters before the place of the answer, its type, and the answer.
macro_rules! answers {
    ($($(#[$doc:meta])* $name:ident($($argument:ident: $kind:ty),*) -> $answer:ty $body:block)+) => {$(
        $(#[$doc])*
        #[unsafe(no_mangle)]
        extern "C" fn $name($($argument: $kind,)* place: softbox::abi::Out<$answer>) -> $crate::abi::Status {
            $crate::abi::call(|| {
                place.present()?;
                let answer: $answer = $body;
                Ok(place.put(answer)?)
            })
        }
    )+};
}

pub(crate) use {answers, calls};

/// The box, which must be NVIDIA's; without one there is no driver to talk to.
pub(crate) fn nvidia_box() -> Answer<&'static BoxFile> {
    match softbox::described() {
        Ok(described) if described.vendor == Vendor::NVIDIA => Ok(described),
        Ok(_) | Err(Failure::Code(Code::NO_DEVICE)) => Err(DRIVER_NOT_LOADED),
        Err(_) => Err(UNKNOWN),
    }
}

/// The box, once the library is initialised.
pub(crate) fn described() -> Answer<&'static BoxFile> {
    match INITIALIZED.load(Ordering::Relaxed) {
        0 => Err(UNINITIALIZED),
        _ => nvidia_box(),
    }
}

/// The handle of a device, or of its MIG instance of this number from 1.
pub(crate) fn handle(index: usize, instance: usize) -> Handle {
    Handle::at(HANDLES + (index + 1) * 4096 + instance * 16)
}

/// What a handle that this library gave out names.
pub(crate) fn target(named: Handle) -> Answer<Target> {
    let devices = &described()?.device;
    let offset = named.number().checked_sub(HANDLES + 4096);
    let offset = offset.ok_or(INVALID_ARGUMENT)?;
    let (index, instance) = (offset / 4096, offset % 4096 / 16);
    let device = devices.get(index).ok_or(INVALID_ARGUMENT)?;
    let mig = match instance {
        0 => None,
        number => Some(device.mig.get(number - 1).ok_or(INVALID_ARGUMENT)?),
    };
    Ok(Target { index, device, mig })
}

/// What a handle names, which must be a whole device.
pub(crate) fn whole(handle: Handle) -> Answer<Target> {
    let target = target(handle)?;
    match target.mig {
        Some(_) => Err(NOT_SUPPORTED),
        None => Ok(target),
    }
}

/// Writes text with its ending NUL; text that does not fit is refused.
pub(crate) fn put_text(place: OutText, room: c_uint, text: &str) -> Answer<()> {
    match room as usize <= text.len() {
        true => Err(INSUFFICIENT_SIZE),
        false => Ok(place.put(room as usize, text)?),
    }
}

/// Text as a fixed array with its ending NUL, cut short where it must be.
pub(crate) fn fixed<const ROOM: usize>(text: &str) -> [c_char; ROOM] {
    let mut array = [0; ROOM];
    for (place, byte) in array.iter_mut().take(ROOM - 1).zip(text.bytes()) {
        *place = byte as c_char;
    }
    array
}

/// `NVML_STRUCT_VERSION`: what a caller writes into the first field of a structure.
pub(crate) const fn version_of<T>(version: c_uint) -> c_uint {
    size_of::<T>() as c_uint | version << 24
}
