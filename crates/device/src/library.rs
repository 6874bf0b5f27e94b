//! Vendor libraries that are loaded at run time: finding a file that loads, and functions that may be missing.
//!
//! A library is loaded with its symbols to itself (two vendors' libraries have names in common) and is never unloaded, because
//! such libraries have threads of their own. What a function does and what its answers mean is the caller's matter.
#![expect(unsafe_code, reason = "dlopen, dlsym and dladdr")]

use std::ffi::{CStr, OsStr, c_char, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr;

use libloading::Library;

/// The first of some files that loads.
///
/// # Errors
/// What the loader said of each, in order.
pub(crate) fn first_of(candidates: &[PathBuf]) -> Result<Library, Vec<String>> {
    let mut said = Vec::new();
    for file in candidates {
        // SAFETY: loading runs the constructors of whatever the user, the environment or the loader's path names; they are
        // the user's to keep clean. Nothing of ours depends on their order.
        match unsafe { Library::new(file) } {
            Ok(library) => return Ok(library),
            Err(error) => said.push(words(file, &error)),
        }
    }
    Err(said)
}

/// Why a file could not be loaded, in the loader's words, which name it.
fn words(file: &Path, error: &libloading::Error) -> String {
    let cause =
        std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string);
    let shown = file.display().to_string();
    if cause.contains(&shown) {
        cause
    } else {
        format!("{shown}: {cause}")
    }
}

/// Text of a library; `None` for null.
///
/// # Safety
/// The pointer is null or leads to text that ends in NUL and stays as it is during the call.
pub(crate) unsafe fn text(pointer: *const c_char) -> Option<String> {
    if pointer.is_null() {
        return None;
    }
    // SAFETY: not null, and by the caller's word NUL-terminated; it is copied at once.
    let text = unsafe { CStr::from_ptr(pointer) };
    Some(text.to_string_lossy().into_owned())
}

/// The text up to the NUL that a library wrote into a buffer; empty where there is none.
pub(crate) fn until_nul(text: &[u8]) -> String {
    CStr::from_bytes_until_nul(text)
        .map(|text| text.to_string_lossy().into_owned())
        .unwrap_or_default()
}

/// The file that the loader took the function at an address from.
pub(crate) fn file_of(function: *const c_void) -> Option<PathBuf> {
    let mut found = libc::Dl_info {
        dli_fname: ptr::null(),
        dli_fbase: ptr::null_mut(),
        dli_sname: ptr::null(),
        dli_saddr: ptr::null_mut(),
    };
    // SAFETY: dladdr(3) looks an address up and fills one Dl_info with pointers into tables of the loader.
    let known = unsafe { libc::dladdr(function, &raw mut found) };
    if known == 0 || found.dli_fname.is_null() {
        return None;
    }
    // SAFETY: not null; a NUL-terminated string that lives as long as the library, which is never unloaded.
    let name = unsafe { CStr::from_ptr(found.dli_fname) };
    Some(PathBuf::from(OsStr::from_bytes(name.to_bytes())))
}

/// A function by its name, which the library may lack.
pub(crate) struct Function<F> {
    /// Its name, also where it is missing.
    pub(crate) name: &'static str,
    /// Its address, of the type that it is called by.
    pub(crate) call: Option<F>,
}

impl<F: Copy> Function<F> {
    /// Looks it up.
    ///
    /// # Safety
    /// `F` is the type of the function that the library has by this name, if it has one, and the library is never unloaded.
    pub(crate) unsafe fn find(library: &Library, name: &'static str) -> Self {
        // SAFETY: by the caller's word.
        let call = unsafe { library.get::<F>(name) }.ok().map(|call| *call);
        Self { name, call }
    }
}

/// Declares the functions of a library: their names under a vendor's prefix, and a table of addresses that may be missing.
///
/// `symbols!($ Names, Functions, names; field: "Suffix" => type; ...)` makes the struct `Names`, the struct `Functions` with
/// `Functions::of(&Library, &Names)`, and a macro `names!("prefix")` that gives the `Names` of a vendor as a constant.
macro_rules! symbols {
    ($d:tt $names:ident, $functions:ident, $make:ident; $($field:ident: $suffix:literal => $kind:ty;)+) => {
        /// The functions' names in one vendor's library.
        #[derive(Debug, Clone, Copy)]
        pub(crate) struct $names {
            $(pub(crate) $field: &'static str,)+
        }

        /// The functions of one vendor's library, as far as it has them.
        pub(crate) struct $functions {
            $(pub(crate) $field: $crate::library::Function<$kind>,)+
        }

        impl $functions {
            /// Looks them all up.
            ///
            /// # Safety
            /// The library's functions of these names have these types, and it is never unloaded.
            pub(crate) unsafe fn of(library: &libloading::Library, names: &$names) -> Self {
                Self {
                    $($field: {
                        // SAFETY: by the caller's word.
                        unsafe { $crate::library::Function::find(library, names.$field) }
                    },)+
                }
            }
        }

        macro_rules! $make {
            ($d prefix:literal) => {
                $names { $($field: concat!($d prefix, $suffix),)+ }
            };
        }
        pub(crate) use $make;
    };
}
pub(crate) use symbols;
