//! [`refuse_calls`]: this process without some system calls, as a container's seccomp profile has it.
//!
//! It shows, without a container, what is reported where one refuses; nothing measures under it unasked.

use std::ffi::c_long;

use crate::error::{Errno, NumaError};
use crate::ffi;

/// The calls that place threads and memory, by name.
const CALLS: &[(&str, c_long)] = &[
    ("mbind", libc::SYS_mbind),
    ("set_mempolicy", libc::SYS_set_mempolicy),
    ("get_mempolicy", libc::SYS_get_mempolicy),
    ("move_pages", libc::SYS_move_pages),
    ("migrate_pages", libc::SYS_migrate_pages),
    ("sched_setaffinity", libc::SYS_sched_setaffinity),
];

/// The names that [`refuse_calls`] takes.
pub fn refusable_calls() -> impl Iterator<Item = &'static str> {
    CALLS.iter().map(|(name, _)| *name)
}

/// Makes the kernel answer `EPERM` to these calls of this process and of all that it starts, for good.
///
/// # Errors
/// [`NumaError::NoSuchCall`] for a name that is none of [`refusable_calls`], [`NumaError::Filter`] where the kernel takes no filter.
pub fn refuse_calls(names: &[&str]) -> Result<(), NumaError> {
    let number = |name: &&str| {
        let known = CALLS.iter().find(|(known, _)| known == name);
        known
            .map(|(_, number)| *number)
            .ok_or_else(|| NumaError::NoSuchCall {
                name: (*name).to_owned(),
                known: refusable_calls().collect::<Vec<_>>().join(", "),
            })
    };
    let numbers: Vec<c_long> = names.iter().map(number).collect::<Result<_, _>>()?;
    ffi::refuse_calls(&numbers, Errno(libc::EPERM)).map_err(|errno| NumaError::Filter { errno })
}
