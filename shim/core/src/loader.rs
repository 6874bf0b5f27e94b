//! The loader's functions, with results that say what went wrong.

use std::ffi::{CStr, CString, c_int, c_void};
use std::ptr::NonNull;

/// A loaded library. It is never unloaded: such libraries have threads of their own.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Handle(NonNull<c_void>);

// SAFETY: dlopen(3): a handle belongs to the process, not to a thread.
unsafe impl Send for Handle {}
// SAFETY: as above; dlsym(3) is MT-safe.
unsafe impl Sync for Handle {}

impl Handle {
    /// Loads a file, or the one that the loader finds by name, with its symbols to itself.
    pub(crate) fn open(file: &str) -> Result<Self, String> {
        let name = CString::new(file).map_err(|_| format!("{file:?} holds a NUL"))?;
        Self::with(&name, libc::RTLD_NOW | libc::RTLD_LOCAL).ok_or_else(|| {
            // SAFETY: dlerror(3) returns null or text that lives until this thread's next call of the loader.
            let said = unsafe { libc::dlerror() };
            if said.is_null() {
                return format!("{file}: the loader gives no reason");
            }
            // SAFETY: not null, NUL-terminated; copied at once.
            let said = unsafe { CStr::from_ptr(said) };
            said.to_string_lossy().into_owned()
        })
    }

    /// The library of this name, if it is loaded already.
    pub(crate) fn loaded(name: &CStr) -> Option<Self> {
        Self::with(name, libc::RTLD_NOW | libc::RTLD_NOLOAD)
    }

    fn with(name: &CStr, flags: c_int) -> Option<Self> {
        // SAFETY: dlopen(3) of a NUL-terminated name. It runs the constructors of a library that the user, the environment or the
        // loader's path names, as the program would without the shim.
        NonNull::new(unsafe { libc::dlopen(name.as_ptr(), flags) }).map(Self)
    }

    /// The address of a function in the library or in those that it needs.
    pub(crate) fn symbol(self, name: &CStr) -> Option<NonNull<c_void>> {
        // SAFETY: dlsym(3) with the handle of a library that is not unloaded, and a NUL-terminated name.
        NonNull::new(unsafe { libc::dlsym(self.0.as_ptr(), name.as_ptr()) })
    }
}

/// The file that an address was loaded from.
pub(crate) fn file_of(address: NonNull<c_void>) -> Option<String> {
    let mut found = libc::Dl_info {
        dli_fname: std::ptr::null(),
        dli_fbase: std::ptr::null_mut(),
        dli_sname: std::ptr::null(),
        dli_saddr: std::ptr::null_mut(),
    };
    // SAFETY: dladdr(3) looks an address up and fills one Dl_info with pointers into tables of the loader.
    let known = unsafe { libc::dladdr(address.as_ptr(), &raw mut found) };
    if known == 0 || found.dli_fname.is_null() {
        return None;
    }
    // SAFETY: not null; NUL-terminated, and it lives as long as the library, which is never unloaded.
    let name = unsafe { CStr::from_ptr(found.dli_fname) };
    Some(name.to_string_lossy().into_owned())
}

/// An address as a function's type.
///
/// # Safety
/// `F` is the type of a pointer to the function at this address.
pub(crate) unsafe fn function<F: Copy>(address: NonNull<c_void>) -> F {
    const { assert!(size_of::<F>() == size_of::<usize>()) };
    // SAFETY: of the same size; the caller promises the type.
    unsafe { std::mem::transmute_copy(&address) }
}
