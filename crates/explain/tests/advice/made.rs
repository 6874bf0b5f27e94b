//! Boxes and readings that the rules of advice are tried on.

use std::collections::BTreeMap;

use crate::advice::boxes::{mean, nvidia, rtxpro6000_mig};
use explain::{Advice, Inputs, Rule, advise, attribute};
use measure::record::{
    BackendFacts, Endpoint, KernelAccess, LinkDevice, LinkReading, LinkUse, Links, NamedQuantity,
    Outcome, PeerProbe, PeerVerdict, Point, Verification,
};
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
pub(crate) const GAINS: [Rule; 11] = [
    Rule::MigWithoutPeers,
    Rule::PeersDenied,
    Rule::PeersStaged,
    Rule::LibraryToldOff,
    Rule::CustomAllReduceByFlag,
    Rule::KernelsFirst,
    Rule::LinkTrainedDown,
    Rule::OtherPair,
    Rule::Eager,
    Rule::ThreadsElsewhere,
    Rule::Padded,
];

pub(crate) fn of(inputs: &Inputs, rule: Rule) -> Option<Advice> {
    let found = all(inputs).into_iter().find(|one| one.rule == rule);
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

/// A copy between two devices, of which only the bandwidth matters here.
pub(crate) fn copy(from: usize, to: usize, gb_per_s: f64) -> Point {
    let quantity = serde_json::json!({
        "value": gb_per_s, "unit": "GB/s", "n": 9, "interval": null,
        "timing": { "source": "device_event", "gate": "none", "copies_per_sample": 1, "warmup_copies": 0 },
        "stopped": "max_samples", "samples": [], "outliers": []
    });
    Point {
        case: "d2d_write_ce".to_owned(),
        from: Endpoint::Device(from),
        to: Endpoint::Device(to),
        bytes: 64 << 20,
        outcome: Outcome::Measured {
            quantities: vec![NamedQuantity {
                name: "bandwidth".to_owned(),
                quantity: serde_json::from_value(quantity).unwrap(),
            }],
            verification: Verification::Passed,
            link: LinkUse {
                path: None,
                ceiling_gb_per_s: None,
                ceilings_gb_per_s: BTreeMap::new(),
                fraction: BTreeMap::new(),
                basis: String::new(),
            },
            placement: None,
        },
        caveats: vec![],
    }
}

pub(crate) fn both_ways(a: usize, b: usize, gb_per_s: f64) -> [Point; 2] {
    [copy(a, b, gb_per_s), copy(b, a, gb_per_s)]
}

pub(crate) fn probe(from: usize, to: usize, verdict: PeerVerdict) -> PeerProbe {
    PeerProbe {
        from,
        to,
        verdict,
        rests_on: String::new(),
        steps: vec![],
        kernels: KernelAccess::default(),
        surroundings: None,
    }
}
