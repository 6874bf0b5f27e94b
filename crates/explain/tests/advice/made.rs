//! Boxes and readings that the rules of advice are tried on.

use crate::advice::boxes::{mean, nvidia, rtxpro6000_mig};
use explain::{Advice, Inputs, advise, attribute};
use record::{BackendFacts, LinkDevice, LinkReading, Links, PeerVerdict};
use topology::PcieLink;
use tp_plan::EngineFacts;

pub(crate) const DRAWS: u32 = 3000;

/// Two whole RTX Pro 6000 on bare metal with the runs of field case 2.
pub(crate) fn bare(peer: PeerVerdict) -> Inputs {
    let mut inputs = rtxpro6000_mig();
    let access = peer == PeerVerdict::Direct;
    inputs.around = nvidia(
        Some(access),
        if access { "" } else { "the driver allows none" },
        96,
    );
    inputs.engines = vec![
        EngineFacts::vllm(1, &inputs.around),
        EngineFacts::vllm(2, &inputs.around),
    ];
    inputs.known.mig = false;
    inputs.known.guest = Some(false);
    inputs.known.peers = vec![peer; 2];
    inputs
}

/// The same where a step of TP2 takes so long, four waves of 256 tokens.
pub(crate) fn with_step(mut inputs: Inputs, ms: f64) -> Inputs {
    let second = &mut inputs.serve[1].1;
    second.e2el_ms = Some(mean(256.0 * ms));
    second.duration_s = 4.0 * 256.0 * ms / 1e3;
    second.requests_per_s = 64.0 / second.duration_s;
    inputs
}

pub(crate) fn all(inputs: &Inputs) -> Vec<Advice> {
    advise(inputs, &attribute(inputs, 1, DRAWS).unwrap())
}

/// Rules whose gain arithmetic tells, wherever they fire.
pub(crate) const GAINS: [&str; 8] = [
    "mig_without_peers",
    "through_host",
    "library_told_off",
    "custom_all_reduce_by_flag",
    "kernels_first",
    "link_trained_down",
    "other_pair",
    "eager",
];

/// The name of a rule as it stands in JSON.
pub(crate) fn name(advice: &Advice) -> String {
    let rule = serde_json::to_value(&advice.rule).unwrap();
    rule["is"].as_str().unwrap().to_owned()
}

pub(crate) fn of(inputs: &Inputs, rule: &str) -> Option<Advice> {
    let found = all(inputs).into_iter().find(|one| name(one) == rule);
    if let Some(advice) = found.as_ref().filter(|_| GAINS.contains(&rule)) {
        let times = advice.effect.as_ref().unwrap().times;
        assert!(
            times.low <= times.mid && times.mid <= times.high && times.low > 0.5,
            "{advice:?}"
        );
    }
    found
}

pub(crate) fn device(ordinal: usize, node: u32) -> LinkDevice {
    LinkDevice {
        label: format!("GPU{ordinal}"),
        ordinal,
        name: "NVIDIA RTX PRO 6000".to_owned(),
        uuid: None,
        address: None,
        node: Some(node),
        memory_bytes: None,
        mig: None,
        idle: None,
        loaded: None,
        max_payload_bytes: None,
        busy: None,
    }
}

pub(crate) fn links(devices: Vec<LinkDevice>) -> Links {
    Links {
        backend: Some(BackendFacts::default()),
        devices,
        ..Links::default()
    }
}

pub(crate) fn reading(now: (u8, u8), most: (u8, u8)) -> LinkReading {
    LinkReading {
        slot: PcieLink::new(now.0, now.1).ok(),
        slot_maximum: PcieLink::new(most.0, most.1).ok(),
        ..LinkReading::default()
    }
}
