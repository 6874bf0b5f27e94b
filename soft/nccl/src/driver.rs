//! The soft libcuda that the program has loaded, found as a loaded library and never loaded here.
#![expect(unsafe_code, reason = "looks up and calls functions of libcuda")]

use crate::abi::{Outcome, Status, refuse};
use softbox::ForeignCall;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::OnceLock;

type GetDevice = unsafe extern "C" fn(*mut c_int) -> c_int;
type GetBusId = unsafe extern "C" fn(*mut c_char, c_int, c_int) -> c_int;
type GetErrorString = unsafe extern "C" fn(c_int, *mut *const c_char) -> c_int;
type Enqueue = unsafe extern "C" fn(*const ForeignCall, *mut c_void) -> c_int;

/// `CUDA_ERROR_INVALID_VALUE`.
pub(crate) const INVALID_VALUE: c_int = 1;

/// The names under which programs load libcuda.
const NAMES: [&CStr; 2] = [c"libcuda.so.1", c"libcuda.so"];

/// Functions of the soft libcuda, which is never unloaded.
pub(crate) struct Driver {
    get_device: GetDevice,
    get_bus_id: GetBusId,
    get_error_string: GetErrorString,
    enqueue: Enqueue,
}

impl Driver {
    /// The loaded library.
    pub(crate) fn get() -> Outcome<&'static Self> {
        static DRIVER: OnceLock<Driver> = OnceLock::new();
        if let Some(driver) = DRIVER.get() {
            return Ok(driver);
        }
        let found = Self::find()?;
        Ok(DRIVER.get_or_init(|| found))
    }

    fn find() -> Outcome<Self> {
        let flags = libc::RTLD_NOLOAD | libc::RTLD_LAZY;
        let loaded = NAMES.iter().find_map(|name| {
            // SAFETY: dlopen(3) of a name that ends in NUL; with RTLD_NOLOAD it loads nothing and runs no constructor.
            let handle = unsafe { libc::dlopen(name.as_ptr(), flags) };
            (!handle.is_null()).then_some(handle)
        });
        let Some(library) = loaded else {
            let words = "Cuda failure 100 'no CUDA driver is loaded in this process'";
            return refuse(Status::UNHANDLED_CUDA, words);
        };
        // SAFETY: cuda.h: `CUresult cuCtxGetDevice(CUdevice *)`.
        let get_device = unsafe { symbol::<GetDevice>(library, c"cuCtxGetDevice") }?;
        // SAFETY: cuda.h: `CUresult cuDeviceGetPCIBusId(char *, int, CUdevice)`.
        let get_bus_id = unsafe { symbol::<GetBusId>(library, c"cuDeviceGetPCIBusId") }?;
        // SAFETY: cuda.h: `CUresult cuGetErrorString(CUresult, const char **)`.
        let get_error_string = unsafe { symbol::<GetErrorString>(library, c"cuGetErrorString") }?;
        // SAFETY: soft/cuda declares it so, and no other library has it.
        let enqueue = unsafe { symbol::<Enqueue>(library, c"tplens_soft_enqueue") }?;
        Ok(Self {
            get_device,
            get_bus_id,
            get_error_string,
            enqueue,
        })
    }

    /// The device of the current context, and its PCI bus id as a number.
    pub(crate) fn current_device(&self) -> Outcome<(c_int, u64)> {
        let mut device = 0;
        // SAFETY: writes one int.
        let code = unsafe { (self.get_device)(&raw mut device) };
        self.check(code)?;
        let mut text = [0_u8; 32];
        // SAFETY: writes at most 32 bytes with an ending NUL.
        let code = unsafe { (self.get_bus_id)(text.as_mut_ptr().cast(), 32, device) };
        self.check(code)?;
        let digits = text.iter().filter(|byte| byte.is_ascii_hexdigit());
        let digits: String = digits.map(|byte| char::from(*byte)).collect();
        Ok((device, u64::from_str_radix(&digits, 16).unwrap_or_default()))
    }

    /// Puts work into a stream; answers the driver's code.
    ///
    /// # Safety
    /// As soft/cuda says of `tplens_soft_enqueue`; the stream is one of the driver's or refused by it.
    pub(crate) unsafe fn enqueue(&self, work: &ForeignCall, stream: *mut c_void) -> c_int {
        // SAFETY: the work is valid for reading; the caller promises the rest.
        unsafe { (self.enqueue)(work, stream) }
    }

    /// A code of the driver as NCCL reports it.
    pub(crate) fn check(&self, code: c_int) -> Outcome<()> {
        if code == 0 {
            return Ok(());
        }
        let mut text = std::ptr::null();
        // SAFETY: writes one pointer, null for a code that the library does not know.
        unsafe { (self.get_error_string)(code, &raw mut text) };
        let meaning = if text.is_null() {
            "unknown error".into()
        } else {
            // SAFETY: not null; a constant of the library that ends in NUL.
            unsafe { CStr::from_ptr(text) }.to_string_lossy()
        };
        refuse(
            Status::UNHANDLED_CUDA,
            format!("Cuda failure {code} '{meaning}'"),
        )
    }
}

/// A function of a library.
///
/// # Safety
/// `T` is the type of a pointer to the function of this name.
unsafe fn symbol<T: Copy>(library: *mut c_void, name: &CStr) -> Outcome<T> {
    // SAFETY: dlsym(3) with the handle of a loaded library and a name that ends in NUL.
    let found = unsafe { libc::dlsym(library, name.as_ptr()) };
    if found.is_null() {
        let words = format!(
            "the loaded libcuda has no {}: the soft libnccl needs the soft libcuda of the same build",
            name.to_string_lossy()
        );
        return refuse(Status::SYSTEM, words);
    }
    // SAFETY: the caller promises that T is such a pointer, and it is not null.
    Ok(unsafe { std::mem::transmute_copy(&found) })
}
