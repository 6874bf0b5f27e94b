//! Which devices there are: the backend that answers, its devices and who uses them, the choice among them, and what sysfs
//! adds.
//!
//! A child process asks the driver and the management library, so that one which hangs or crashes takes nobody along; the
//! parent loads no vendor library. Nothing is measured here.
#![forbid(unsafe_code)]

mod backend;
pub mod caveats;
pub mod child;
mod choose;
mod describe;
pub mod library;
mod memory;
mod messages;
pub mod played;
mod select;

pub use backend::BackendArg;
pub use child::CHILD;
pub use choose::{Chosen, OPENING_STEPS, choose, nvlinks};
pub use describe::{backend, describe, listing, paths};
pub use device::Built;
pub use memory::host_memory_available;
pub use messages::{Found, Inventory};
use program::Stop;
pub use select::select;

/// The files of the simulated drivers that an inventory of a box needs, by the vendor of its GPUs.
///
/// # Errors
/// [`Stop::Usage`]: no driver of that vendor is known here.
pub fn soft_libraries(vendor: boxfile::Vendor) -> Result<&'static [&'static str], Stop> {
    let known = || Built::ALL.iter().filter_map(|built| built.in_boxes());
    let built = Built::of_box(vendor.as_str()).ok_or_else(|| {
        let known: Vec<&str> = known().collect();
        Stop::Usage(format!(
            "no driver is known for a box with `vendor = \"{vendor}\"`; vendors with one are {}",
            known.join(", ")
        ))
    })?;
    Ok(built.soft_libraries())
}
