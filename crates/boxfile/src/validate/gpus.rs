//! Checks of devices, peers and noise.

use super::{Check, Keys, hex};
use crate::device::uuid_bytes;
use crate::{BoxFile, Device, Vendor};
use std::collections::HashSet;

impl BoxFile {
    pub(super) fn check_device(&self, keys: &Keys<'_>, index: usize, device: &Device) -> Check {
        let key = |name: &str| format!("device[{index}].{name}");
        keys.pci_id(&key("pci_id"), &device.pci_id)?;
        keys.require(
            hex(&device.class, 6),
            &key("class"),
            &device.class,
            "a class has six hexadecimal digits, such as 030200",
        )?;
        self.check_node(keys, &key("node"), device.node)?;
        keys.require(
            (1..=1 << 30).contains(&device.memory_mib),
            &key("memory_mib"),
            device.memory_mib,
            "a device has memory, and less than 2^30 MiB",
        )?;
        keys.require(
            device.copy_engines > 0,
            &key("copy_engines"),
            0,
            "a device has at least one copy engine",
        )?;
        for (name, link) in [
            ("link", device.link),
            ("idle_link", device.idle_link),
            ("maximum", device.maximum),
        ] {
            keys.link(&key(name), link)?;
        }
        for (name, count) in [
            ("bar_mib", device.bar_mib),
            ("multiprocessors", device.multiprocessors.map(u64::from)),
        ] {
            keys.require(
                count.is_none_or(|count| (1..=1 << 30).contains(&count)),
                &key(name),
                count.unwrap_or(0),
                "a count is 1 to 2^30",
            )?;
        }
        let up_to = device.pageable_up_to.as_ref().map(|small| small.bytes);
        keys.require(
            up_to != Some(0),
            &key("pageable_up_to.bytes"),
            0,
            "a copy has at least one byte; leave the table out where all copies are alike",
        )?;
        self.check_route(keys, &key("host_segments"), &device.host_segments)?;
        let prefix = |uuid: &str, kind: &str| {
            self.vendor != Vendor::NVIDIA || uuid.strip_prefix(kind).and_then(uuid_bytes).is_some()
        };
        keys.require(
            prefix(&device.uuid, "GPU-"),
            &key("uuid"),
            &device.uuid,
            "an NVIDIA uuid is GPU- and 8-4-4-4-12 hexadecimal digits",
        )?;
        let twin = self
            .device
            .iter()
            .position(|other| other.uuid == device.uuid);
        keys.require(
            twin == Some(index),
            &key("uuid"),
            &device.uuid,
            "uuids are unique",
        )?;
        if let Some(busy) = &device.busy {
            keys.require(
                busy.memory_mib <= device.memory_mib,
                &key("busy.memory_mib"),
                busy.memory_mib,
                "more than the device has",
            )?;
        }
        if let Some(power) = device.sensors.as_ref().and_then(|sensors| sensors.power_w) {
            keys.require(
                power.is_finite() && power >= 0.0,
                &key("sensors.power_w"),
                power,
                "a power is 0 W or above",
            )?;
        }
        let mut total = 0_u64;
        for (number, instance) in device.mig.iter().enumerate() {
            let key = |name: &str| format!("device[{index}].mig[{number}].{name}");
            total = total.saturating_add(instance.memory_mib);
            keys.require(
                instance.memory_mib > 0 && total <= device.memory_mib,
                &key("memory_mib"),
                instance.memory_mib,
                "the instances have memory and together no more than the device",
            )?;
            keys.require(
                prefix(&instance.uuid, "MIG-"),
                &key("uuid"),
                &instance.uuid,
                "a MIG uuid is MIG- and 8-4-4-4-12 hexadecimal digits",
            )?;
        }
        Ok(())
    }

    pub(super) fn check_pair(&self, keys: &Keys<'_>, key: &str, pair: [usize; 2]) -> Check {
        for device in pair {
            self.check_index(keys, key, device)?;
        }
        keys.require(
            pair[0] != pair[1],
            key,
            format!("{pair:?}"),
            "a pair has two different devices",
        )
    }

    pub(super) fn check_index(&self, keys: &Keys<'_>, key: &str, device: usize) -> Check {
        let problem = format!(
            "the box has devices 0 to {}",
            self.device.len().saturating_sub(1)
        );
        keys.require(device < self.device.len(), key, device, &problem)
    }

    pub(super) fn check_peers(&self, keys: &Keys<'_>) -> Check {
        if let Some(default) = &self.peer_default {
            self.check_route(keys, "peer_default.segments", &default.segments)?;
            self.check_route(keys, "peer_default.cross_segments", &default.cross_segments)?;
            let both: Vec<_> = default
                .segments
                .iter()
                .chain(&default.cross_segments)
                .cloned()
                .collect();
            self.check_route(keys, "peer_default.cross_segments", &both)?;
        }
        let mut pairs = HashSet::new();
        for (index, peer) in self.peer.iter().enumerate() {
            let key = |name: &str| format!("peer[{index}].{name}");
            self.check_pair(keys, &key("pair"), peer.pair)?;
            let [a, b] = peer.pair;
            let value = format!("{:?}", peer.pair);
            let new = pairs.insert((a.min(b), a.max(b)));
            keys.require(
                new,
                &key("pair"),
                value,
                "a pair, in either order, has one [[peer]] table",
            )?;
            self.check_route(
                keys,
                &key("segments"),
                peer.segments.as_deref().unwrap_or_default(),
            )?;
            let own = peer.gbps.is_some() && peer.latency_us.is_some();
            keys.require(
                !peer.staged || own,
                &key("staged"),
                true,
                "a staged pair gives gbps and latency_us of its own",
            )?;
            let access = self.peer_path(a, b).access;
            keys.require(
                !peer.staged || access,
                &key("staged"),
                true,
                "a staged pair reports access; set access = true",
            )?;
        }
        for a in 0..self.device.len() {
            for b in a + 1..self.device.len() {
                let path = self.peer_path(a, b);
                let complete = !path.access || (path.gbps.is_some() && path.latency_us.is_some());
                keys.require(
                    complete,
                    "peer_default",
                    format!("pair [{a}, {b}]"),
                    "a pair with access needs a rate (same_node or cross_node, or gbps of its own) and latency_us",
                )?;
            }
        }
        Ok(())
    }

    pub(super) fn check_noise(&self, keys: &Keys<'_>) -> Check {
        let Some(noise) = &self.noise else {
            return Ok(());
        };
        keys.require(
            (0.0..=0.3).contains(&noise.cv),
            "noise.cv",
            noise.cv,
            "the coefficient of variation is 0 to 0.3, so that 3 of it stay below 1",
        )?;
        let fraction = noise.slow_fraction;
        keys.require(
            (0.0..=1.0).contains(&fraction),
            "noise.slow_fraction",
            fraction,
            "a probability is 0 to 1",
        )?;
        let extra = noise.slow_extra;
        keys.require(
            extra.is_finite() && extra >= 0.0,
            "noise.slow_extra",
            extra,
            "what is added is 0 or above",
        )
    }
}
