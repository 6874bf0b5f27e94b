//! Libraries that the loader finds, and functions in them.

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use std::ffi::{CStr, c_int, c_void};

/// A loaded library. It is never unloaded: such libraries have threads of their own.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Handle(&'static Library);

impl Handle {
    /// Loads a file, or the one that the loader finds by name, with its symbols to itself.
    pub(crate) fn open(file: &str) -> Result<Self, String> {
        Self::with(file, RTLD_NOW | RTLD_LOCAL).map_err(|error| format!("{file}: {error}"))
    }

    /// The library of this name, if it is loaded already.
    pub(crate) fn loaded(name: &str) -> Option<Self> {
        Self::with(name, RTLD_NOW | libc::RTLD_NOLOAD).ok()
    }

    fn with(file: &str, flags: c_int) -> Result<Self, libloading::Error> {
        // SAFETY: dlopen(3). It runs the constructors of a library that the user, the environment or the loader's path names, as the
        // program would without the shim.
        let opened = unsafe { Library::open(Some(file), flags) }?;
        Ok(Self(Box::leak(Box::new(opened))))
    }

    /// The address of a function in the library or in those that it needs.
    pub(crate) fn symbol(self, name: &CStr) -> Option<*mut c_void> {
        // SAFETY: an address is looked up, and not taken for a type.
        let found = unsafe { self.0.get::<*mut c_void>(name) };
        Some(found.ok()?.as_raw_ptr()).filter(|address| !address.is_null())
    }

    /// A function of the library.
    ///
    /// # Safety
    /// `F` is the type of a pointer to the function of this name.
    pub(crate) unsafe fn function<F: Copy>(self, name: &CStr) -> Result<F, String> {
        // SAFETY: the caller promises the type.
        let found = unsafe { self.0.get::<F>(name) }.map(|function| *function);
        found.map_err(|error| error.to_string())
    }
}
