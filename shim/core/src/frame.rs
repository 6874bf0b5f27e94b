//! The arguments of a call, as the exports save them.

use std::ffi::c_void;

/// The arguments of a call, where the exports save them.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct Frame(*const usize);

impl Frame {
    /// An argument by its number from 0, all up to it being pointers or integers.
    pub(crate) fn argument(&self, number: usize) -> *mut c_void {
        // SAFETY: `slow` saved the registers of arguments in order; on x86_64 the return address and the arguments on the stack
        // stand behind them, and entries name arguments that their C functions have.
        let place = unsafe { self.0.add(position(number)) };
        // SAFETY: as above.
        (unsafe { place.read() }) as *mut c_void
    }
}

/// Six registers hold arguments, and behind them stands the return address (System V ABI, AMD64 supplement).
#[cfg(target_arch = "x86_64")]
const fn position(number: usize) -> usize {
    if number < 6 { number } else { number + 1 }
}

/// Eight registers hold arguments (AAPCS64), more than any entry asks for.
#[cfg(target_arch = "aarch64")]
const fn position(number: usize) -> usize {
    number
}
