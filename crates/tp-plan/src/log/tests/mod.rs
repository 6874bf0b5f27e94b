//! What logs of several versions say. Lines are written in the form that the named file prints; excerpts marked genuine are of a run.

mod robust;
mod sglang;
mod vllm;

use super::Said;
use crate::engine::{Surroundings, Vendor};

/// Two GPUs of 48 GB of which nobody asked whether they are peers.
fn around() -> Surroundings {
    Surroundings {
        vendor: Vendor::Nvidia,
        architecture: Some("sm_89".to_owned()),
        peer_access: None,
        no_peer_reason: String::new(),
        full_nvlink: false,
        memory_bytes: None,
    }
}

fn value<T: Clone>(said: &Option<Said<T>>) -> Option<(T, u64)> {
    said.as_ref().map(|said| (said.value.clone(), said.line))
}
