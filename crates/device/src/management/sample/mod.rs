//! What a monitor reads of a device at one moment, by who answers for its vendor.

mod amd;
mod nvml;
mod repairs;
mod values;

pub(super) use amd::sample as amd_sample;
pub(super) use nvml::nvml_sample;
pub(super) use repairs::repairs;
pub use values::Sample;
pub(super) use values::told;
