//! The simulated driver that the program has loaded, found as a loaded library and never loaded here.
#![expect(unsafe_code, reason = "looks up and calls functions of the driver")]

use crate::Library;
use crate::abi::{Outcome, Status, refuse};
use libloading::os::unix;
use softbox::ForeignCall;
use softbox::abi::Handle;
use std::ffi::{CStr, OsStr, c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::sync::OnceLock;

type GetDevice = unsafe extern "C" fn(*mut c_int) -> c_int;
type GetBusId = unsafe extern "C" fn(*mut c_char, c_int, c_int) -> c_int;
type Enqueue = unsafe extern "C" fn(*const ForeignCall, Handle) -> c_int;

/// `CUDA_ERROR_INVALID_VALUE`, and the same of HIP and MACA.
pub(crate) const INVALID_VALUE: c_int = 1;

/// Functions of the simulated driver, which stays loaded with its handle here.
pub(crate) struct Driver {
    word: &'static str,
    get_device: GetDevice,
    get_bus_id: GetBusId,
    enqueue: Enqueue,
    _loaded: unix::Library,
}

impl Driver {
    /// The loaded driver of the library, of which a process has one.
    pub(crate) fn get(library: &Library) -> Outcome<&'static Self> {
        static DRIVER: OnceLock<Driver> = OnceLock::new();
        if let Some(driver) = DRIVER.get() {
            return Ok(driver);
        }
        let found = Self::find(library)?;
        Ok(DRIVER.get_or_init(|| found))
    }

    fn find(library: &Library) -> Outcome<Self> {
        let flags = libc::RTLD_NOLOAD | libc::RTLD_LAZY;
        let names = &library.driver;
        let loaded = names.files.iter().find_map(|name| {
            let name = OsStr::from_bytes(name.to_bytes());
            // SAFETY: with RTLD_NOLOAD dlopen(3) loads nothing and runs no constructor.
            unsafe { unix::Library::open(Some(name), flags) }.ok()
        });
        let Some(loaded) = loaded else {
            let words = format!(
                "{} failure 100: no driver is loaded in this process",
                names.word
            );
            return refuse(Status::UNHANDLED_CUDA, words);
        };
        Ok(Self {
            word: names.word,
            // SAFETY: cuda.h: `CUresult cuCtxGetDevice(CUdevice *)`; hip_runtime_api.h: `hipError_t hipGetDevice(int *)`, MACA as HIP.
            get_device: unsafe { symbol::<GetDevice>(&loaded, names.get_device) }?,
            // SAFETY: cuda.h: `CUresult cuDeviceGetPCIBusId(char *, int, CUdevice)`, where CUdevice is int; HIP and MACA the same.
            get_bus_id: unsafe { symbol::<GetBusId>(&loaded, names.get_bus_id) }?,
            // SAFETY: soft/runtime declares it so, and no other library has it.
            enqueue: unsafe { symbol::<Enqueue>(&loaded, c"tplens_soft_enqueue") }?,
            _loaded: loaded,
        })
    }

    /// The calling thread's device, and its PCI bus id as a number.
    pub(crate) fn current_device(&self) -> Outcome<(c_int, u64)> {
        let mut device = 0;
        // SAFETY: writes one int.
        self.check(unsafe { (self.get_device)(&raw mut device) })?;
        let mut text = [0_u8; 32];
        // SAFETY: writes at most 32 bytes with an ending NUL.
        self.check(unsafe { (self.get_bus_id)(text.as_mut_ptr().cast(), 32, device) })?;
        let text = String::from_utf8_lossy(&text);
        Ok((device, bus_number(&text)))
    }

    /// Puts work into a stream; answers the driver's code.
    ///
    /// # Safety
    /// As the driver says of `tplens_soft_enqueue`; the stream is one of the driver's or refused by it.
    pub(crate) unsafe fn enqueue(&self, work: &ForeignCall, stream: Handle) -> c_int {
        // SAFETY: the work is valid for reading; the caller promises the rest.
        unsafe { (self.enqueue)(work, stream) }
    }

    /// A code of the driver as NCCL reports it.
    pub(crate) fn check(&self, code: c_int) -> Outcome<()> {
        match code {
            0 => Ok(()),
            _ => refuse(
                Status::UNHANDLED_CUDA,
                format!("{} failure {code}", self.word),
            ),
        }
    }
}

/// A PCI address as the number of its digits, as NCCL writes it: 0000:e1:00.0 is 0xe1000.
pub(crate) fn bus_number(address: &str) -> u64 {
    let digits = address.chars().filter_map(|letter| letter.to_digit(16));
    digits.fold(0, |number, digit| number << 4 | u64::from(digit))
}

/// A function of the driver.
///
/// # Safety
/// `T` is the type of a pointer to the function of this name.
unsafe fn symbol<T: Copy>(loaded: &unix::Library, name: &CStr) -> Outcome<T> {
    // SAFETY: the caller promises it.
    let found = unsafe { loaded.get::<T>(name.to_bytes_with_nul()) };
    found.map(|symbol| *symbol).or_else(|_| {
        let name = name.to_string_lossy();
        let words = format!(
            "the loaded driver has no {name}: it must be the simulated one of the same build"
        );
        refuse(Status::SYSTEM, words)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bus_number_is_the_digits_of_the_address() {
        assert_eq!(bus_number("0000:e1:00.0"), 0xe1000);
        // A domain of five digits, as behind some host bridges.
        assert_eq!(bus_number("10001:C1:00.0"), 0x10_001c_1000);
    }
}
