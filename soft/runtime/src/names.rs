//! Names and texts of result codes. Only codes that this library can return have a row.

use crate::abi::Status;
use std::ffi::{CStr, c_char};

/// A result code: its number is the same for all vendors, its names are those of `hipError_t` and `mcError_t` without their
/// prefixes, and the text is HIP's.
struct Row {
    code: Status,
    hip: &'static str,
    maca: &'static str,
    text: &'static CStr,
}

const fn row(code: Status, hip: &'static str, maca: &'static str, text: &'static CStr) -> Row {
    Row {
        code,
        hip,
        maca,
        text,
    }
}

const ROWS: &[Row] = &[
    row(0, "Success", "Success", c"no error"),
    row(
        1,
        "ErrorInvalidValue",
        "ErrorInvalidValue",
        c"invalid argument",
    ),
    row(
        2,
        "ErrorOutOfMemory",
        "ErrorMemoryAllocation",
        c"out of memory",
    ),
    row(
        3,
        "ErrorNotInitialized",
        "ErrorInitializationError",
        c"initialization error",
    ),
    row(
        9,
        "ErrorInvalidConfiguration",
        "ErrorInvalidConfiguration",
        c"invalid configuration argument",
    ),
    row(
        100,
        "ErrorNoDevice",
        "ErrorNoDevice",
        c"no ROCm-capable device is detected",
    ),
    row(
        101,
        "ErrorInvalidDevice",
        "ErrorInvalidDevice",
        c"invalid device ordinal",
    ),
    row(
        200,
        "ErrorInvalidImage",
        "ErrorInvalidKernelImage",
        c"device kernel image is invalid",
    ),
    row(
        201,
        "ErrorInvalidContext",
        "ErrorDeviceUninitialized",
        c"invalid device context",
    ),
    row(
        209,
        "ErrorNoBinaryForGpu",
        "ErrorNoKernelImageForDevice",
        c"no kernel image is available for execution on the device",
    ),
    row(
        217,
        "ErrorPeerAccessUnsupported",
        "ErrorPeerAccessUnsupported",
        c"peer access is not supported between these two devices",
    ),
    row(
        218,
        "ErrorInvalidPtx",
        "ErrorInvalidPtx",
        c"a PTX JIT compilation failed",
    ),
    row(
        400,
        "ErrorInvalidHandle",
        "ErrorInvalidResourceHandle",
        c"invalid resource handle",
    ),
    row(
        401,
        "ErrorIllegalState",
        "ErrorIllegalState",
        c"the operation cannot be performed in the present state",
    ),
    row(
        500,
        "ErrorNotFound",
        "ErrorSymbolNotFound",
        c"named symbol not found",
    ),
    row(600, "ErrorNotReady", "ErrorNotReady", c"device not ready"),
    row(
        700,
        "ErrorIllegalAddress",
        "ErrorIllegalAddress",
        c"an illegal memory access was encountered",
    ),
    row(
        704,
        "ErrorPeerAccessAlreadyEnabled",
        "ErrorPeerAccessAlreadyEnabled",
        c"peer access is already enabled",
    ),
    row(
        705,
        "ErrorPeerAccessNotEnabled",
        "ErrorPeerAccessNotEnabled",
        c"peer access has not been enabled",
    ),
    row(
        716,
        "ErrorMisalignedAddress",
        "ErrorMisalignedAddress",
        c"misaligned address",
    ),
    row(
        719,
        "ErrorLaunchFailure",
        "ErrorLaunchFailure",
        c"unspecified launch failure",
    ),
    row(
        801,
        "ErrorNotSupported",
        "ErrorNotSupported",
        c"operation not supported",
    ),
    row(
        900,
        "ErrorStreamCaptureUnsupported",
        "ErrorStreamCaptureUnsupported",
        c"operation not permitted when stream is capturing",
    ),
    row(
        901,
        "ErrorStreamCaptureInvalidated",
        "ErrorStreamCaptureInvalidated",
        c"operation failed due to a previous error during capture",
    ),
    UNKNOWN,
];

/// What a code without a row is called; the last row.
const UNKNOWN: Row = row(999, "ErrorUnknown", "ErrorUnknown", c"unknown error");

/// Whose names a vendor took over, behind a prefix of its own.
#[derive(Clone, Copy)]
pub(crate) enum Spelling {
    /// HIP's, which are those of CUDA's driver.
    Hip,
    /// MACA's, which are those of CUDA's runtime.
    Maca,
    /// CUDA's driver's: HIP's in capitals, a line before each word.
    Cuda,
}

/// Bytes of a name with its NUL.
const ROOM: usize = 64;

/// A vendor's names, in the order of the rows.
pub(crate) struct Names([[u8; ROOM]; ROWS.len()]);

impl Names {
    /// The names behind a prefix. One that has no room does not compile.
    pub(crate) const fn of(prefix: &str, spelling: Spelling) -> Self {
        let mut names = [[0; ROOM]; ROWS.len()];
        let mut at = 0;
        while at < ROWS.len() {
            let rest = match spelling {
                Spelling::Hip => ROWS[at].hip,
                Spelling::Maca => ROWS[at].maca,
                Spelling::Cuda if ROWS[at].code == 719 => "ErrorLaunchFailed",
                Spelling::Cuda => ROWS[at].hip,
            };
            let (mut to, mut from) = (prefix.len(), 0);
            names[at]
                .split_at_mut(to)
                .0
                .copy_from_slice(prefix.as_bytes());
            while from < rest.len() {
                let letter = rest.as_bytes()[from];
                if let Spelling::Cuda = spelling {
                    if letter.is_ascii_uppercase() {
                        names[at][to] = b'_';
                        to += 1;
                    }
                    names[at][to] = letter.to_ascii_uppercase();
                } else {
                    names[at][to] = letter;
                }
                (to, from) = (to + 1, from + 1);
            }
            assert!(to < ROOM);
            at += 1;
        }
        Self(names)
    }
}

/// The row of a code.
fn of(code: Status) -> usize {
    let row = ROWS.iter().position(|row| row.code == code);
    row.unwrap_or(ROWS.len() - 1)
}

impl Names {
    /// The vendor's name of a code.
    pub(crate) fn name(&self, code: Status) -> *const c_char {
        self.0[of(code)].as_ptr().cast()
    }
}

/// Whether a code has a row.
pub(crate) fn is_known(code: Status) -> bool {
    ROWS.iter().any(|row| row.code == code)
}

/// The text of a code.
pub(crate) fn text(code: Status) -> *const c_char {
    ROWS[of(code)].text.as_ptr()
}
