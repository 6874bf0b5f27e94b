//! Exports: loading modules, so that a program can check its images. Kernels cannot be launched: there is no such symbol.
#![expect(
    unsafe_code,
    reason = "exports C functions that write through their callers' pointers"
)]

use crate::abi::{Status, call, current, present, put, with};
use softbox::{Code, Outcome};
use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_void};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Loaded images by handle: PTX text, or nothing for a binary, whose functions are not looked into.
static MODULES: Mutex<(usize, BTreeMap<usize, Option<String>>)> = Mutex::new((0, BTreeMap::new()));

/// Module handles are these numbers as pointers; a function's handle lies behind its module's.
const MODULE_HANDLES: usize = 0x6d00_0000_0000;

fn modules() -> MutexGuard<'static, (usize, BTreeMap<usize, Option<String>>)> {
    MODULES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes an ELF image, or PTX text whose first directive is `.version`.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuModuleLoadData(module: *mut *mut c_void, image: *const c_void) -> Status {
    call(|| {
        present(module)?;
        present(image)?;
        let ordinal = current()?;
        with(|driver| driver.null_stream(ordinal).map(|_| ()))?;
        // SAFETY: cuda.h: the image is a binary with an ELF head or a text that ends in NUL.
        let text = unsafe { ptx_text(image.cast()) }?;
        let mut modules = modules();
        modules.0 += 1;
        let handle = MODULE_HANDLES + modules.0 * 4096;
        modules.1.insert(handle, text);
        // SAFETY: cuda.h: the caller passes a place for one CUmodule.
        unsafe { put(module, handle as *mut c_void) }
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuModuleUnload(module: *mut c_void) -> Status {
    call(|| match modules().1.remove(&(module as usize)) {
        Some(_) => Ok(()),
        None => Err(Code::INVALID_HANDLE.into()),
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuModuleGetFunction(
    function: *mut *mut c_void,
    module: *mut c_void,
    name: *const c_char,
) -> Status {
    call(|| {
        present(function)?;
        present(name)?;
        // SAFETY: cuda.h: the name ends in NUL.
        let name = unsafe { CStr::from_ptr(name) }
            .to_str()
            .map_err(|_| Code::INVALID_VALUE)?;
        let modules = modules();
        let text = modules
            .1
            .get(&(module as usize))
            .ok_or(Code::INVALID_HANDLE)?;
        if text.as_ref().is_some_and(|text| !has_entry(text, name)) {
            return Err(Code::NOT_FOUND.into());
        }
        // SAFETY: cuda.h: the caller passes a place for one CUfunction.
        unsafe { put(function, (module as usize + 16) as *mut c_void) }
    })
}

/// The text of a PTX image, nothing for an ELF image.
///
/// # Safety
/// `image` begins with the ELF magic or ends in NUL.
unsafe fn ptx_text(image: *const c_char) -> Outcome<Option<String>> {
    let magic = b"\x7fELF".iter().enumerate().all(|(at, byte)| {
        // SAFETY: the image goes on to here: all bytes before were those of the magic, hence not the ending NUL.
        let here = unsafe { image.add(at) };
        // SAFETY: as above.
        let found = unsafe { here.read() };
        found as u8 == *byte
    });
    if magic {
        return Ok(None);
    }
    // SAFETY: not ELF, so the text ends in NUL.
    let bytes = unsafe { CStr::from_ptr(image) };
    let text = bytes.to_str().map_err(|_| Code::INVALID_IMAGE)?;
    let directive = text
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty() && !line.starts_with("//"));
    match directive {
        Some(line) if line.starts_with(".version") => Ok(Some(text.to_owned())),
        Some(_) => Err(Code::INVALID_PTX.into()),
        None => Err(Code::INVALID_IMAGE.into()),
    }
}

/// Whether PTX text declares a kernel of this name.
fn has_entry(text: &str, name: &str) -> bool {
    text.match_indices(".entry").any(|(at, found)| {
        let rest = text[at + found.len()..].trim_start();
        rest.strip_prefix(name).is_some_and(|after| {
            after.starts_with(|next: char| next == '(' || next.is_whitespace())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::has_entry;

    #[test]
    fn a_kernel_is_found_by_its_whole_name() {
        let text = ".version 6.4\n.visible .entry copy_all(\n.param .u64 a\n)";
        assert!(has_entry(text, "copy_all"));
        assert!(!has_entry(text, "copy"));
        assert!(!has_entry(text, "a"));
    }
}
