//! The simulated driver that the program has loaded, found as a loaded library and never loaded here.
#![expect(unsafe_code, reason = "looks up and calls functions of the driver")]

use crate::Library;
use crate::abi::{Handle, Outcome, Refusal, Status, refuse};
use softbox::ForeignCall;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::OnceLock;

type GetDevice = unsafe extern "C" fn(*mut c_int) -> c_int;
type GetBusId = unsafe extern "C" fn(*mut c_char, c_int, c_int) -> c_int;
type Enqueue = unsafe extern "C" fn(*const ForeignCall, *mut c_void) -> c_int;

/// `CUDA_ERROR_INVALID_VALUE`, and the same of HIP and MACA.
pub(crate) const INVALID_VALUE: c_int = 1;

/// Functions of the simulated driver, which is never unloaded.
pub(crate) struct Driver {
    word: &'static str,
    get_device: GetDevice,
    get_bus_id: GetBusId,
    enqueue: Enqueue,
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
            // SAFETY: dlopen(3) of a name that ends in NUL; with RTLD_NOLOAD it loads nothing and runs no constructor.
            let handle = unsafe { libc::dlopen(name.as_ptr(), flags) };
            (!handle.is_null()).then_some(handle)
        });
        let missing = || Refusal {
            status: Status::UNHANDLED_CUDA,
            words: format!(
                "{} failure 100 'no {} driver is loaded in this process'",
                names.word,
                names.word.to_uppercase()
            ),
        };
        let loaded = loaded.ok_or_else(missing)?;
        // SAFETY: cuda.h: `CUresult cuCtxGetDevice(CUdevice *)`; hip_runtime_api.h: `hipError_t hipGetDevice(int *)`, MACA as HIP.
        let get_device = unsafe { symbol::<GetDevice>(library, loaded, names.get_device) }?;
        // SAFETY: cuda.h: `CUresult cuDeviceGetPCIBusId(char *, int, CUdevice)`, where CUdevice is int; HIP and MACA the same.
        let get_bus_id = unsafe { symbol::<GetBusId>(library, loaded, names.get_bus_id) }?;
        // SAFETY: soft/runtime declares it so, and no other library has it.
        let enqueue = unsafe { symbol::<Enqueue>(library, loaded, c"tplens_soft_enqueue") }?;
        Ok(Self {
            word: names.word,
            get_device,
            get_bus_id,
            enqueue,
        })
    }

    /// The calling thread's device, and its PCI bus id as a number.
    pub(crate) fn current_device(&self) -> Outcome<(c_int, u64)> {
        let mut device = 0;
        // SAFETY: writes one int.
        let code = unsafe { (self.get_device)(&raw mut device) };
        self.check(code)?;
        let mut text = [0_u8; 32];
        // SAFETY: writes at most 32 bytes with an ending NUL.
        let code = unsafe { (self.get_bus_id)(text.as_mut_ptr().cast(), 32, device) };
        self.check(code)?;
        let text = String::from_utf8_lossy(&text);
        Ok((device, bus_number(&text)))
    }

    /// Puts work into a stream; answers the driver's code.
    ///
    /// # Safety
    /// As the driver says of `tplens_soft_enqueue`; the stream is one of the driver's or refused by it.
    pub(crate) unsafe fn enqueue(&self, work: &ForeignCall, stream: Handle) -> c_int {
        // SAFETY: the work is valid for reading; the caller promises the rest.
        unsafe { (self.enqueue)(work, stream.raw()) }
    }

    /// A code of the driver as NCCL reports it.
    pub(crate) fn check(&self, code: c_int) -> Outcome<()> {
        if code == 0 {
            return Ok(());
        }
        refuse(
            Status::UNHANDLED_CUDA,
            format!("{} failure {code}", self.word),
        )
    }
}

/// A PCI address as the number of its digits, as NCCL writes it: 0000:e1:00.0 is 0xe1000.
pub(crate) fn bus_number(address: &str) -> u64 {
    let digits = address.chars().filter_map(|letter| letter.to_digit(16));
    digits.fold(0, |number, digit| number << 4 | u64::from(digit))
}

/// A function of a library.
///
/// # Safety
/// `T` is the type of a pointer to the function of this name.
unsafe fn symbol<T: Copy>(library: &Library, loaded: *mut c_void, name: &CStr) -> Outcome<T> {
    // SAFETY: dlsym(3) with the handle of a loaded library and a name that ends in NUL.
    let found = unsafe { libc::dlsym(loaded, name.as_ptr()) };
    if found.is_null() {
        let (driver, name) = (library.driver.files[0], name.to_string_lossy());
        let words = format!(
            "the loaded {} has no {name}: the soft lib{} needs the simulated driver of the same build",
            driver.to_string_lossy(),
            library.name
        );
        return refuse(Status::SYSTEM, words);
    }
    // SAFETY: the caller promises that T is such a pointer, and it is not null.
    Ok(unsafe { std::mem::transmute_copy(&found) })
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
