//! Names of result codes, by `names.csv`. Only codes that this library can return have a row: the number is the same for
//! all vendors, names are those of `hipError_t` and `mcError_t` without their prefixes.
#![expect(unsafe_code, reason = "exports C functions under their vendors' names")]

use crate::abi::Status;
use crate::vendor::{HIP, MACA, Runtime, calls};
use softbox::Code;
use softbox::abi::Out;
use std::collections::BTreeMap;
use std::ffi::{CString, c_char};
use std::sync::LazyLock;

/// Names by the prefix of their vendor and by code.
static NAMES: LazyLock<BTreeMap<(&str, Status), CString>> = LazyLock::new(|| {
    let mut names = BTreeMap::new();
    for line in include_str!("names.csv").lines() {
        let cells: Vec<&str> = line.split(',').collect();
        // The head is no row.
        if let ([_, hip, maca], Ok(code)) = (&cells[..], cells[0].parse()) {
            let of = |prefix, name| CString::new([prefix, name].concat()).unwrap_or_default();
            names.insert(("hip", code), of("hip", hip));
            names.insert(("mc", code), of("mc", maca));
            names.insert(("cu", code), cuda(hip));
        }
    }
    names
});

/// CUDA's driver's names: HIP's in capitals, a line before each word, but for one.
fn cuda(hip: &str) -> CString {
    let mut name = "CUDA".to_owned();
    for letter in hip.replace("LaunchFailure", "LaunchFailed").chars() {
        if letter.is_ascii_uppercase() {
            name.push('_');
        }
        name.push(letter.to_ascii_uppercase());
    }
    CString::new(name).unwrap_or_default()
}

fn known(runtime: &Runtime, code: Status) -> Option<*const c_char> {
    let name = NAMES.get(&(runtime.prefix, code));
    name.map(|name| name.as_ptr())
}

/// The name of a code, of one that is not known that of the unknown error.
fn name(runtime: &Runtime, code: Status) -> *const c_char {
    let name = known(runtime, code).or_else(|| known(runtime, Code::UNKNOWN.0));
    name.unwrap_or(std::ptr::null())
}

#[unsafe(no_mangle)]
extern "C" fn hipGetErrorName(code: Status) -> *const c_char {
    name(&HIP, code)
}

#[unsafe(no_mangle)]
extern "C" fn mcGetErrorName(code: Status) -> *const c_char {
    name(&MACA, code)
}

calls! {
    /// A code that is not known has the null pointer as its name (cuda.h).
    [CUDA "cuGetErrorName"]
    fn write_name(runtime, code: Status, to: Out<*const c_char>) {
        let known = known(runtime, code);
        to.put(known.unwrap_or(std::ptr::null()))?;
        known.map(drop).ok_or(Code::INVALID_VALUE.into())
    }
}
