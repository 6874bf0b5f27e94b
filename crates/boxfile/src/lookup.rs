//! What a box says of a question: far memory, a collective call, the path between two devices, links that are down.

use crate::{
    BoxFile, Collective, CollectiveKind, CollectiveLibrary, Far, Fault, Figure, Limits, Peer,
    PeerDefault, PeerPath, Transport,
};

impl BoxFile {
    /// Links of a device that are down, by number.
    pub fn nvlinks_down(&self, device: usize) -> impl Iterator<Item = u8> {
        self.fault.iter().filter_map(move |fault| match fault {
            Fault::NvlinkDown { device: of, link } if *of == device => Some(*link),
            _ => None,
        })
    }

    /// What is left of the rate between two devices by the links that are up: 1 without any that are down.
    pub(crate) fn nvlink_share(&self, a: usize, b: usize) -> f64 {
        let down = [a, b].map(|device| self.nvlinks_down(device).count());
        let all = self
            .nvlink
            .as_ref()
            .map_or(0, |table| usize::from(table.links));
        match down.into_iter().max().unwrap_or(0) {
            0 => 1.0,
            down => all.saturating_sub(down) as f64 / all.max(1) as f64,
        }
    }
}

impl BoxFile {
    /// What holds for memory on node `memory` as seen from node `from`; `None` where both are one, and on a box that gives
    /// nothing: such memory is as good as near.
    #[must_use]
    pub fn far(&self, from: u32, memory: u32) -> Option<&Far> {
        if from == memory {
            return None;
        }
        let own = self
            .far
            .iter()
            .find(|far| far.nodes == Some([from, memory]));
        own.or_else(|| {
            let distance = self.distance(from, memory)?;
            self.far.iter().find(|far| far.distance == Some(distance))
        })
    }

    /// The distance between two nodes; `None` where the box has not both.
    fn distance(&self, from: u32, to: u32) -> Option<u32> {
        let column = self.node.iter().position(|node| node.id == to)?;
        let row = self.node.iter().find(|node| node.id == from)?;
        row.distances.get(column).copied()
    }
}

impl BoxFile {
    /// The vendor's library on this box: that of the first table which is no engine's own; `None` without such a table.
    #[must_use]
    pub fn collective_library(&self) -> Option<CollectiveLibrary> {
        let mut libraries = self.collective.iter().map(|table| table.library);
        libraries.find(|library| *library != CollectiveLibrary::Custom)
    }

    /// The table that a library takes for a call of so many bytes, with its time in microseconds as [`Collective::us`]: of those
    /// of the operation and the number of ranks within the limits the fastest, the first of equals.
    ///
    /// A table without a protocol or without a transport fits any. Without a limit to the transport, tables of
    /// [`Transport::Shm`] count only where there is no other.
    #[must_use]
    pub fn collective_of(
        &self,
        library: CollectiveLibrary,
        kind: CollectiveKind,
        ranks: u32,
        bytes: u64,
        limits: &Limits,
    ) -> Option<(&Collective, f64)> {
        let of_call = |table: &&Collective| {
            (table.library, table.kind, table.ranks) == (library, kind, ranks)
        };
        let has_other = self
            .collective
            .iter()
            .filter(of_call)
            .any(|table| table.transport != Some(Transport::Shm));
        let fits = |table: &&Collective| {
            let transport = match limits.transport {
                Some(wanted) => table.transport.is_none_or(|is| is == wanted),
                None => !has_other || table.transport != Some(Transport::Shm),
            };
            let protocol = limits.protocols.is_empty()
                || table
                    .protocol
                    .is_none_or(|protocol| limits.protocols.contains(&protocol));
            transport && protocol
        };
        let timed = |table| Collective::us(table, bytes).map(|us| (table, us));
        let tables = self.collective.iter().filter(of_call).filter(fits);
        tables
            .filter_map(timed)
            .min_by(|(_, one), (_, other)| one.total_cmp(other))
    }

    /// The time of one call on the device in microseconds, without launch cost, as [`Collective::us`]; `None` where the box
    /// has no such table. `bytes` are those that each rank brings.
    #[must_use]
    pub fn collective_us(
        &self,
        library: CollectiveLibrary,
        kind: CollectiveKind,
        ranks: u32,
        bytes: u64,
    ) -> Option<f64> {
        let limits = Limits::default();
        self.collective_of(library, kind, ranks, bytes, &limits)
            .map(|(_, us)| us)
    }
}

impl BoxFile {
    /// The path between two different devices, by their positions in the file.
    ///
    /// Devices with MIG instances have access only where a `[[peer]]` table says `access = true`.
    #[must_use]
    pub fn peer_path(&self, a: usize, b: usize) -> PeerPath {
        let own = self
            .peer
            .iter()
            .find(|peer| peer.pair == [a, b] || peer.pair == [b, a]);
        let node = |device: usize| self.device.get(device).and_then(|device| device.node);
        let same_node = node(a).is_some() && node(a) == node(b);
        let mig = |device: usize| {
            self.device
                .get(device)
                .is_some_and(|device| !device.mig.is_empty())
        };
        let default = self.peer_default.as_ref();

        let default_access = default.is_some_and(|default| default.access) && !mig(a) && !mig(b);
        let default_gbps = default.and_then(|default| {
            if same_node {
                default.same_node.as_ref()
            } else {
                default.cross_node.as_ref()
            }
        });
        let default_segments = || {
            let Some(default) = default else {
                return Vec::new();
            };
            let cross: &[String] = if same_node {
                &[]
            } else {
                &default.cross_segments
            };
            default.segments.iter().chain(cross).cloned().collect()
        };
        // The pair's own figure, else that of `[peer_default]`.
        let figure = |of_pair: fn(&Peer) -> &Option<Figure>,
                      of_all: fn(&PeerDefault) -> &Option<Figure>| {
            own.and_then(|own| of_pair(own).as_ref())
                .or(default.and_then(|default| of_all(default).as_ref()))
                .map(|figure| figure.value)
        };
        let gbps = own
            .and_then(|own| own.gbps.as_ref())
            .or(default_gbps)
            .map(|figure| figure.value);
        let share = self.nvlink_share(a, b);
        PeerPath {
            access: own.and_then(|own| own.access).unwrap_or(default_access),
            gbps: gbps.map(|gbps| gbps * share),
            latency_us: figure(|own| &own.latency_us, |all| &all.latency_us),
            kernel_read: figure(|own| &own.kernel_read, |all| &all.kernel_read)
                .or(gbps)
                .map(|gbps| gbps * share),
            kernel_write: figure(|own| &own.kernel_write, |all| &all.kernel_write)
                .or(gbps)
                .map(|gbps| gbps * share),
            chase_ns: figure(|own| &own.chase_ns, |all| &all.chase_ns),
            segments: own
                .and_then(|own| own.segments.clone())
                .unwrap_or_else(default_segments),
            staged: own.is_some_and(|own| own.staged),
            fabric: own
                .and_then(|own| own.fabric)
                .unwrap_or(default.is_some_and(|default| default.fabric)),
        }
    }
}
