//! Random boxes from a seed, in the shape of their vendor: devices, nodes, MIG, kernels, slots, peers of every kind, segments
//! that bind and that do not.
//!
//! What is drawn is only kept clear of ambiguity: a pair's small copies are well above or below what the probe calls staged.

use boxfile::{
    BoxFile, Device, Figure, KernelFigures, MigInstance, Node, Noise, Peer, PeerDefault, Segment,
};

use super::dice::{Dice, drawn};
use super::routes::Routes;
use super::shapes::{Shape, Slot};

/// Box `number` of a vendor with this noise.
pub(crate) fn random_box(dice: &mut Dice, shape: &Shape, number: usize, noise: Noise) -> BoxFile {
    loop {
        let described = draw(dice, shape, number, noise.clone());
        described.validate(&described.name).unwrap();
        if is_clear(&described) {
            return described;
        }
    }
}

/// What the probe of a pair must say: access denied, or small copies that take the pair's latency, which is staged above
/// 5 us and 70% of the time without access, unless the vendor's copies heed no access.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Access {
    Denied,
    Granted {
        us: f64,
        without_us: f64,
        heeded: bool,
    },
}

impl Access {
    /// Whether a probe must call it staged.
    pub(crate) fn is_staged(self) -> bool {
        matches!(self, Self::Granted { us, without_us, heeded } if heeded && us > 5.0 && us > 0.7 * without_us)
    }

    /// Whether a probe must call it direct.
    pub(crate) fn is_direct(self) -> bool {
        self != Self::Denied && !self.is_staged()
    }
}

/// Whether the copies of the box's vendor go direct only where access was enabled: AMD's go as the hardware can.
pub(crate) fn heeds_access(described: &BoxFile) -> bool {
    described.vendor != boxfile::Vendor::AMD
}

/// What the probe of two devices of the file must say.
pub(crate) fn access(described: &BoxFile, a: usize, b: usize) -> Access {
    // MIG instances of one GPU do not reach each other.
    let path = (a != b).then(|| described.peer_path(a, b));
    match path.filter(|path| path.access) {
        None => Access::Denied,
        Some(path) => Access::Granted {
            us: path.latency_us.unwrap(),
            without_us: Routes(described).unassisted_us(a, b),
            heeded: heeds_access(described),
        },
    }
}

/// Whether noise cannot turn a verdict: 5% from both limits, where the copies' own noise is a tenth of that.
fn is_clear(described: &BoxFile) -> bool {
    let pairs = (0..described.device.len()).flat_map(|a| (0..a).map(move |b| (a, b)));
    pairs
        .map(|(a, b)| access(described, a, b))
        .all(|access| match access {
            Access::Denied => true,
            Access::Granted { us, without_us, .. } => {
                (us / 5.0 - 1.0).abs() > 0.05 && (us / without_us / 0.7 - 1.0).abs() > 0.05
            }
        })
}

fn draw(dice: &mut Dice, shape: &Shape, number: usize, noise: Noise) -> BoxFile {
    let nodes = dice.whole(1, 2);
    // Most boxes have pairs and groups.
    let devices = dice.whole(1, 4).max(dice.whole(1, 3));
    let mig = dice.chance(shape.mig);
    let kernels = dice.chance(shape.kernels);
    let segment = segments(dice);
    let mut port = Vec::new();
    let device: Vec<Device> = (0..devices)
        .map(|index| {
            let node = dice
                .chance(0.9)
                .then(|| u32::try_from(dice.whole(0, nodes - 1)).unwrap());
            let slot = shape.slot(dice, index, node, mig);
            port.extend(slot.ports.clone());
            draw_device(dice, shape, (index, node, slot), mig, kernels)
        })
        .collect();
    let peer = if mig {
        Vec::new()
    } else {
        peers(dice, devices, kernels)
    };
    let peer_default = dice
        .chance(0.95)
        .then(|| peer_default(dice, shape, kernels))
        .or_else(|| (!peer.is_empty()).then(|| peer_default(dice, shape, kernels)));
    BoxFile {
        schema: boxfile::SCHEMA,
        name: format!("random-{number}"),
        title: "drawn by a test".to_owned(),
        vendor: shape.vendor,
        driver: shape.driver.to_owned(),
        driver_api: shape.driver_api,
        guest: mig,
        iommu: None,
        cpu_model: "Drawn by a test".to_owned(),
        last_level_cache_kib: None,
        driver_staging_fraction: dice.figure(0.3, 1.0),
        driver_staging_latency_us: dice.chance(0.4).then(|| dice.figure(5.0, 90.0)),
        node: (0..nodes).map(|id| draw_node(id, nodes)).collect(),
        port,
        segment,
        device,
        nic: Vec::new(),
        far: Vec::new(),
        peer_default,
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

/// Sometimes one of its own around a figure, above it, too.
fn maybe_near(dice: &mut Dice, value: f64) -> Option<Figure> {
    dice.chance(0.6).then(|| drawn(value * dice.real(0.4, 1.2)))
}

fn draw_device(
    dice: &mut Dice,
    shape: &Shape,
    (index, node, slot): (usize, Option<u32>, Slot),
    mig: bool,
    kernels: bool,
) -> Device {
    let (down, up) = (dice.real(6.0, 60.0), dice.real(6.0, 60.0));
    // Pageable memory is never faster than pinned.
    let pageable = |dice: &mut Dice, pinned: f64| drawn((pinned * dice.real(0.2, 0.9)).max(3.0));
    let mut host_segments = Vec::new();
    if dice.chance(0.7) {
        host_segments.push(format!("socket{}", node.unwrap_or(0)));
    }
    if dice.chance(0.3) {
        host_segments.push("root".to_owned());
    }
    let instances = if mig { dice.whole(1, 3) } else { 0 };
    Device {
        address: slot.address,
        parent: slot.parent,
        uuid: format!("GPU-00000000-0000-4000-8000-0000000000{index:02}"),
        name: shape.name.to_owned(),
        pci_id: shape.pci_id.to_owned(),
        class: shape.class.to_owned(),
        node,
        memory_mib: 16384,
        bar_mib: None,
        copy_engines: u32::try_from(dice.whole(1, 3)).unwrap(),
        multiprocessors: dice
            .chance(0.8)
            .then(|| u32::try_from(dice.whole(1, 200)).unwrap()),
        link: slot.link,
        idle_link: None,
        maximum: slot.link,
        h2d_pinned: drawn(down),
        d2h_pinned: drawn(up),
        h2d_pageable: pageable(dice, down),
        d2h_pageable: pageable(dice, up),
        h2d_write_combined: maybe_near(dice, down),
        d2h_write_combined: maybe_near(dice, up),
        h2d_registered: maybe_near(dice, down),
        d2h_registered: maybe_near(dice, up),
        h2d_huge: None,
        d2h_huge: None,
        pageable_up_to: None,
        local: dice.figure(60.0, 600.0),
        copy_latency_us: dice.figure(0.5, 20.0),
        kernels: kernels.then(|| kernel_figures(dice, down, up)),
        host_segments,
        busy: None,
        sensors: None,
        mig: (0..instances)
            .map(|instance| MigInstance {
                profile: "2g.5gb".to_owned(),
                uuid: format!("MIG-00000000-0000-5000-8000-0000000000{index}{instance}"),
                memory_mib: 5000,
            })
            .collect(),
    }
}

/// Kernels below what copy engines reach, and above, where the link then decides.
fn kernel_figures(dice: &mut Dice, down: f64, up: f64) -> KernelFigures {
    KernelFigures {
        h2d: drawn(down * dice.real(0.3, 1.2)),
        d2h: drawn(up * dice.real(0.3, 1.2)),
        local: dice.figure(60.0, 600.0),
        launch_us: dice.figure(0.5, 10.0),
        host_chase_ns: dice.figure(400.0, 2500.0),
        local_chase_ns: dice.figure(150.0, 600.0),
        fp32_tflops: None,
    }
}

fn peer_default(dice: &mut Dice, shape: &Shape, kernels: bool) -> PeerDefault {
    let some = |dice: &mut Dice, id: &str| {
        if dice.chance(0.4) {
            vec![id.to_owned()]
        } else {
            Vec::new()
        }
    };
    let rate = |dice: &mut Dice| (kernels && dice.chance(0.5)).then(|| dice.figure(3.0, 60.0));
    PeerDefault {
        access: dice.chance(0.9),
        fabric: dice.chance(shape.fabric),
        same_node: Some(dice.figure(3.0, 60.0)),
        cross_node: Some(dice.figure(3.0, 60.0)),
        latency_us: Some(latency(dice)),
        kernel_read: rate(dice),
        kernel_write: rate(dice),
        chase_ns: kernels.then(|| dice.figure(300.0, 3000.0)),
        segments: some(dice, "root"),
        cross_segments: some(dice, "between"),
    }
}

/// Most pairs are direct: below 5 us.
fn latency(dice: &mut Dice) -> Figure {
    if dice.chance(0.7) {
        dice.figure(0.5, 4.7)
    } else {
        dice.figure(0.5, 20.0)
    }
}

/// Exceptions: a pair of another kind, rate or route.
fn peers(dice: &mut Dice, devices: usize, kernels: bool) -> Vec<Peer> {
    let mut peers = Vec::new();
    for a in 0..devices {
        for b in a + 1..devices {
            if dice.chance(0.4) {
                peers.push(draw_peer(dice, a, b, kernels));
            }
        }
    }
    peers
}

fn draw_peer(dice: &mut Dice, a: usize, b: usize, kernels: bool) -> Peer {
    let staged = dice.chance(0.25);
    let own = staged || dice.chance(0.5);
    let route = |dice: &mut Dice| {
        SEGMENTS
            .iter()
            .filter(|_| dice.chance(0.3))
            .map(|id| (*id).to_owned())
            .collect()
    };
    let rate = |dice: &mut Dice| (kernels && dice.chance(0.4)).then(|| dice.figure(3.0, 60.0));
    Peer {
        pair: if dice.chance(0.5) { [a, b] } else { [b, a] },
        access: if staged {
            Some(true)
        } else {
            dice.chance(0.4).then(|| dice.chance(0.7))
        },
        // What the format leaves open, a staged pair with links of its own, is not drawn.
        fabric: if staged {
            Some(false)
        } else {
            dice.chance(0.3).then(|| dice.chance(0.5))
        },
        gbps: own.then(|| dice.figure(3.0, 60.0)),
        latency_us: own.then(|| latency(dice)),
        kernel_read: rate(dice),
        kernel_write: rate(dice),
        chase_ns: (kernels && dice.chance(0.4)).then(|| dice.figure(300.0, 3000.0)),
        segments: dice.chance(0.4).then(|| route(dice)),
        staged,
    }
}
