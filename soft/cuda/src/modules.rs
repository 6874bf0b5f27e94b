//! Exports: loading modules and finding their kernels. Code is not run: a kernel is known by its name, and launching it is in
//! `launches`.
#![expect(
    unsafe_code,
    reason = "exports C functions that write through their callers' pointers"
)]

use crate::abi::{Status, call, current, present, put, with};
use softbox::{Code, Kernel, KernelName, Outcome};
use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A loaded image.
struct Module {
    /// The ordinal whose context it was loaded into.
    ordinal: usize,
    /// PTX text, or nothing for a binary, which is not looked into.
    text: Option<String>,
    /// Functions that were asked for, by name; the handle of the first lies behind the module's, and so on.
    functions: Vec<String>,
}

/// How many modules were loaded, and those that are, by handle.
static MODULES: Mutex<(usize, BTreeMap<usize, Module>)> = Mutex::new((0, BTreeMap::new()));

/// Module handles are these numbers as pointers, so far from each other.
const MODULE_HANDLES: usize = 0x6d00_0000_0000;
const MODULE_STEP: usize = 1 << 16;
/// Function handles are so far from each other.
const FUNCTION_STEP: usize = 16;

fn modules() -> MutexGuard<'static, (usize, BTreeMap<usize, Module>)> {
    MODULES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes an ELF image, or PTX text whose first directive is `.version`; none where the device takes no kernels.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuModuleLoadData(module: *mut *mut c_void, image: *const c_void) -> Status {
    call(|| {
        present(module)?;
        present(image)?;
        let ordinal = current()?;
        let takes = with(|driver| {
            driver.null_stream(ordinal)?;
            driver.takes_kernels(ordinal)
        })?;
        if !takes {
            return Err(Code::NOT_SUPPORTED.into());
        }
        // SAFETY: cuda.h: the image is a binary with an ELF head or a text that ends in NUL.
        let text = unsafe { ptx_text(image.cast()) }?;
        let mut modules = modules();
        modules.0 += 1;
        let handle = MODULE_HANDLES + modules.0 * MODULE_STEP;
        let loaded = Module {
            ordinal,
            text,
            functions: Vec::new(),
        };
        modules.1.insert(handle, loaded);
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
        let mut modules = modules();
        let found = modules
            .1
            .get_mut(&(module as usize))
            .ok_or(Code::INVALID_HANDLE)?;
        if found
            .text
            .as_ref()
            .is_some_and(|text| !has_entry(text, name))
        {
            return Err(Code::NOT_FOUND.into());
        }
        let known = found.functions.iter().position(|known| known == name);
        let index = known.unwrap_or_else(|| {
            found.functions.push(name.to_owned());
            found.functions.len() - 1
        });
        let handle = module as usize + (index + 1) * FUNCTION_STEP;
        // SAFETY: cuda.h: the caller passes a place for one CUfunction.
        unsafe { put(function, handle as *mut c_void) }
    })
}

/// Everything is loaded as soon as its module is; this only looks at the handle.
#[unsafe(no_mangle)]
extern "C" fn cuFuncLoad(function: *mut c_void) -> Status {
    call(|| function_of(function).map(|_| ()))
}

/// Of the attributes (`cuda.h`, enum `CUfunction_attribute`) only the number of threads a block may have, 0, is known.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuFuncGetAttribute(
    value: *mut c_int,
    attribute: c_uint,
    function: *mut c_void,
) -> Status {
    call(|| {
        present(value)?;
        function_of(function)?;
        if attribute != 0 {
            return Err(Code::INVALID_VALUE.into());
        }
        // SAFETY: cuda.h: the caller passes a place for one int.
        unsafe { put(value, THREADS_PER_BLOCK as c_int) }
    })
}

/// Threads that a block has at most, on every GPU since compute capability 2.0 (CUDA C programming guide).
pub(crate) const THREADS_PER_BLOCK: u64 = 1024;

/// The ordinal and the kernel behind a function's handle; no kernel where `softbox` knows none of that name.
pub(crate) fn function_of(function: *mut c_void) -> Outcome<(usize, Option<KernelName>)> {
    let handle = function as usize;
    let modules = modules();
    let (base, module) = modules
        .1
        .range(..=handle)
        .next_back()
        .ok_or(Code::INVALID_HANDLE)?;
    let offset = handle - base;
    let name = offset
        .is_multiple_of(FUNCTION_STEP)
        .then(|| (offset / FUNCTION_STEP).checked_sub(1))
        .flatten()
        .and_then(|index| module.functions.get(index))
        .ok_or(Code::INVALID_HANDLE)?;
    Ok((module.ordinal, Kernel::named(name)))
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
