//! Random boxes from a seed: devices, nodes, MIG, peers of every kind, segments that bind and that do not.
//!
//! What is drawn is only kept clear of ambiguity: a pair's small copies are well above or below what the probe calls staged.

use boxfile::{
    BoxFile, Device, Figure, Link, MigInstance, Node, Noise, Peer, PeerDefault, Segment, Vendor,
};

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
#[derive(Debug, Clone)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from `low` to below `high`.
    pub(crate) fn real(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * ((self.next() >> 11) as f64 / (1_u64 << 53) as f64)
    }

    /// A whole number from `low` to `high`, both possible.
    pub(crate) fn whole(&mut self, low: usize, high: usize) -> usize {
        low + usize::try_from(self.next() % (high - low + 1) as u64).unwrap()
    }

    pub(crate) fn chance(&mut self, probability: f64) -> bool {
        self.real(0.0, 1.0) < probability
    }

    fn figure(&mut self, low: f64, high: f64) -> Figure {
        figure(self.real(low, high))
    }
}

fn figure(value: f64) -> Figure {
    Figure::assumed(value, "drawn by a test")
}

/// Box `number` with this noise.
pub(crate) fn random_box(dice: &mut Dice, number: usize, noise: Noise) -> BoxFile {
    loop {
        let described = draw(dice, number, noise.clone());
        described.validate(&described.name).unwrap();
        if is_clear(&described) {
            return described;
        }
    }
}

/// What the probe of a pair must say: access denied, or small copies that take the pair's latency, which is staged above
/// 5 us and 70% of the time without access, which is both devices' latencies.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Access {
    Denied,
    Granted { us: f64, without_us: f64 },
}

pub(crate) fn access(described: &BoxFile, a: usize, b: usize) -> Access {
    // MIG instances of one GPU do not reach each other.
    let path = (a != b).then(|| described.peer_path(a, b));
    match path.filter(|path| path.access) {
        None => Access::Denied,
        Some(path) => {
            let own = |device: usize| described.device[device].copy_latency_us.value;
            Access::Granted {
                us: path.latency_us.unwrap(),
                without_us: own(a) + own(b),
            }
        }
    }
}

/// Whether noise cannot turn a verdict: 5% from both limits, where the copies' own noise is a tenth of that.
fn is_clear(described: &BoxFile) -> bool {
    let pairs = (0..described.device.len()).flat_map(|a| (0..a).map(move |b| (a, b)));
    pairs
        .map(|(a, b)| access(described, a, b))
        .all(|access| match access {
            Access::Denied => true,
            Access::Granted { us, without_us } => {
                (us / 5.0 - 1.0).abs() > 0.05 && (us / without_us / 0.7 - 1.0).abs() > 0.05
            }
        })
}

fn draw(dice: &mut Dice, number: usize, noise: Noise) -> BoxFile {
    let nodes = dice.whole(1, 2);
    let devices = dice.whole(1, 4);
    let mig = dice.chance(0.2);
    let segment = segments(dice);
    let device: Vec<Device> = (0..devices)
        .map(|index| draw_device(dice, index, nodes, mig))
        .collect();
    let peer = if mig {
        Vec::new()
    } else {
        peers(dice, devices)
    };
    BoxFile {
        schema: boxfile::SCHEMA,
        name: format!("random-{number}"),
        title: "drawn by a test".to_owned(),
        vendor: Vendor::Nvidia,
        driver: "570.133.07".to_owned(),
        driver_api: 12080,
        guest: mig,
        cpu_model: "Drawn by a test".to_owned(),
        last_level_cache_kib: None,
        driver_staging_fraction: dice.figure(0.3, 1.0),
        node: (0..nodes).map(|id| draw_node(id, nodes)).collect(),
        port: Vec::new(),
        segment,
        device,
        peer_default: dice
            .chance(0.9)
            .then(|| peer_default(dice))
            .or_else(|| (!peer.is_empty()).then(|| peer_default(dice))),
        peer,
        collective: Vec::new(),
        noise: Some(noise),
        fault: Vec::new(),
    }
}

fn draw_node(id: usize, nodes: usize) -> Node {
    Node {
        id: u32::try_from(id).unwrap(),
        cpus: format!("{}-{}", id * 8, id * 8 + 7),
        distances: (0..nodes)
            .map(|other| if other == id { 10 } else { 21 })
            .collect(),
        memory_gib: 64,
    }
}

/// Names that routes use; `root` is both a host segment and one that pairs may name.
const SEGMENTS: [&str; 4] = ["socket0", "socket1", "root", "between"];

/// From below one link's rate to above the sum of several.
fn segments(dice: &mut Dice) -> Vec<Segment> {
    SEGMENTS
        .iter()
        .map(|id| Segment {
            id: (*id).to_owned(),
            gbps: dice.figure(8.0, 120.0),
            duplex: dice.chance(0.5),
        })
        .collect()
}

fn draw_device(dice: &mut Dice, index: usize, nodes: usize, mig: bool) -> Device {
    let node = dice
        .chance(0.9)
        .then(|| u32::try_from(dice.whole(0, nodes - 1)).unwrap());
    let (down, up) = (dice.real(6.0, 60.0), dice.real(6.0, 60.0));
    // Pageable memory is never faster than pinned.
    let pageable = |dice: &mut Dice, pinned: f64| figure((pinned * dice.real(0.2, 0.9)).max(3.0));
    let mut host_segments = Vec::new();
    if dice.chance(0.7) {
        host_segments.push(format!("socket{}", node.unwrap_or(0)));
    }
    if dice.chance(0.3) {
        host_segments.push("root".to_owned());
    }
    let link = (!mig).then_some(Link {
        generation: 5,
        width: 16,
    });
    let instances = if mig { dice.whole(1, 2) } else { 0 };
    let bus = 0x21 + 0x20 * index;
    Device {
        address: format!("0000:{bus:02x}:00.0"),
        parent: format!("pci0000:{:02x}", bus - 1),
        uuid: format!("GPU-00000000-0000-4000-8000-0000000000{index:02}"),
        name: "NVIDIA Drawn".to_owned(),
        pci_id: "10de:26b5".to_owned(),
        class: "030200".to_owned(),
        node,
        memory_mib: 16384,
        copy_engines: u32::try_from(dice.whole(1, 3)).unwrap(),
        link,
        idle_link: None,
        maximum: link,
        h2d_pinned: figure(down),
        d2h_pinned: figure(up),
        h2d_pageable: pageable(dice, down),
        d2h_pageable: pageable(dice, up),
        local: dice.figure(60.0, 600.0),
        copy_latency_us: dice.figure(0.5, 20.0),
        host_segments,
        busy: None,
        sensors: None,
        mig: (0..instances)
            .map(|instance| MigInstance {
                profile: "2g.8gb".to_owned(),
                uuid: format!("MIG-00000000-0000-5000-8000-0000000000{index}{instance}"),
                memory_mib: 8000,
            })
            .collect(),
    }
}

fn peer_default(dice: &mut Dice) -> PeerDefault {
    let some = |dice: &mut Dice, id: &str| {
        if dice.chance(0.4) {
            vec![id.to_owned()]
        } else {
            Vec::new()
        }
    };
    PeerDefault {
        access: dice.chance(0.8),
        fabric: dice.chance(0.15),
        same_node: Some(dice.figure(3.0, 60.0)),
        cross_node: Some(dice.figure(3.0, 60.0)),
        latency_us: Some(dice.figure(0.5, 20.0)),
        segments: some(dice, "root"),
        cross_segments: some(dice, "between"),
    }
}

/// Exceptions: a pair of another kind, rate or route.
fn peers(dice: &mut Dice, devices: usize) -> Vec<Peer> {
    let mut peers = Vec::new();
    for a in 0..devices {
        for b in a + 1..devices {
            if !dice.chance(0.5) {
                continue;
            }
            let staged = dice.chance(0.3);
            let own = staged || dice.chance(0.5);
            let route = |dice: &mut Dice| {
                SEGMENTS
                    .iter()
                    .filter(|_| dice.chance(0.3))
                    .map(|id| (*id).to_owned())
                    .collect()
            };
            peers.push(Peer {
                pair: if dice.chance(0.5) { [a, b] } else { [b, a] },
                access: if staged {
                    Some(true)
                } else {
                    dice.chance(0.4).then(|| dice.chance(0.5))
                },
                // What the format leaves open, a staged pair with links of its own, is not drawn.
                fabric: if staged {
                    Some(false)
                } else {
                    dice.chance(0.3).then(|| dice.chance(0.5))
                },
                gbps: own.then(|| dice.figure(3.0, 60.0)),
                latency_us: own.then(|| dice.figure(0.5, 20.0)),
                segments: dice.chance(0.4).then(|| route(dice)),
                staged,
            });
        }
    }
    peers
}
