//! The driver's library: loaded, checked, and its answers turned into errors.

mod codes;
mod ffi;

pub(super) use codes::{EVENT_INVALID, NOT_READY, PEER_ENABLED, PEER_NOT_ENABLED};
pub(super) use ffi::{
    check, check_memory, device_count, has_symbol, interface_version, load, require, soft_box,
};
