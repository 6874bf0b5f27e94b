//! All protocols that are spoken.

use super::mooncake::{Mooncake, Mooncake013};
use super::nixl::Nixl;
use super::sglang::Sglang;
use super::shape::Dialect;

/// The rows, in the order of the help.
pub const DIALECTS: [&dyn Dialect; 5] = [
    &Nixl { pushes: false },
    &Nixl { pushes: true },
    &Mooncake,
    &Mooncake013,
    &Sglang,
];

/// A row by its name.
#[must_use]
pub fn by_name(name: &str) -> Option<&'static dyn Dialect> {
    DIALECTS.iter().copied().find(|row| row.name() == name)
}
