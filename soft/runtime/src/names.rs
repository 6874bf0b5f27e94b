//! Names of result codes, by `names.csv`. Only codes that this library can return have a row: the number is the same for
//! all vendors, names are those of `hipError_t` and `mcError_t` without their prefixes.

use crate::abi::Status;
use boxfile::Vendor;
use std::collections::BTreeMap;
use std::ffi::{CString, c_char};
use std::sync::LazyLock;

/// What a code is called by each vendor.
struct Row {
    hip: CString,
    maca: CString,
    cuda: CString,
}

/// The code of every other.
const UNKNOWN: Status = 999;

static ROWS: LazyLock<BTreeMap<Status, Row>> = LazyLock::new(|| {
    let lines = include_str!("names.csv").lines();
    lines.filter_map(row).collect()
});

/// A line of the table; the head is none.
fn row(line: &str) -> Option<(Status, Row)> {
    let mut cells = line.split(',');
    let code = cells.next()?.parse().ok()?;
    let (hip, maca) = (cells.next()?, cells.next()?);
    let c_text = |text: String| CString::new(text).ok();
    let row = Row {
        hip: c_text(format!("hip{hip}"))?,
        maca: c_text(format!("mc{maca}"))?,
        cuda: cuda(hip)?,
    };
    Some((code, row))
}

/// CUDA's driver's names: HIP's in capitals, a line before each word, but for one.
fn cuda(hip: &str) -> Option<CString> {
    let mut name = "CUDA".to_owned();
    for letter in hip.replace("LaunchFailure", "LaunchFailed").chars() {
        if letter.is_ascii_uppercase() {
            name.push('_');
        }
        name.push(letter.to_ascii_uppercase());
    }
    CString::new(name).ok()
}

/// The vendor's name of a code.
pub(crate) fn name(vendor: Vendor, code: Status) -> *const c_char {
    let name = |row: &Row| match vendor {
        Vendor::AMD => row.hip.as_ptr(),
        Vendor::METAX => row.maca.as_ptr(),
        _ => row.cuda.as_ptr(),
    };
    of(code).map_or(std::ptr::null(), name)
}

/// Whether a code has a row.
pub(crate) fn is_known(code: Status) -> bool {
    ROWS.contains_key(&code)
}

fn of(code: Status) -> Option<&'static Row> {
    ROWS.get(&code).or_else(|| ROWS.get(&UNKNOWN))
}
