//! What a communicator may choose from, by the environment and the box, and what a call then takes.

use crate::abi::{Outcome, Status, refuse};
use crate::driver::bus_number;
use crate::table::Library;
use boxfile::{BoxFile, CollectiveKind, Fault, Limits, Protocol, Transport};

/// Bytes up to which a call of a table without a protocol is said to run in LL: a rule of this library alone.
const LL_UP_TO: usize = 64 << 10;

/// The protocols by the words of `NCCL_PROTO`, as the log writes them.
const PROTOCOLS: [(Protocol, &str); 3] = [
    (Protocol::Ll, "LL"),
    (Protocol::Ll128, "LL128"),
    (Protocol::Simple, "SIMPLE"),
];

/// What limits the calls of a communicator, and where its ranks' devices are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Choice {
    limits: Limits,
    /// By rank, the bus id of its device.
    pub(crate) buses: Vec<u64>,
    /// By rank, the position of its device in the box.
    pub(crate) devices: Vec<usize>,
    /// By rank, how bytes go to the next.
    pub(crate) channels: Vec<Transport>,
}

/// What a call takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Plan {
    /// Time on the device, and the least time when it is called by itself, in microseconds.
    pub(crate) us: f64,
    pub(crate) launch_us: f64,
    /// What it runs in.
    pub(crate) protocol: Protocol,
}

impl Choice {
    /// Asks the environment and the box.
    pub(crate) fn of(library: &Library, described: &BoxFile, buses: &[u64]) -> Outcome<Self> {
        let position = |bus: &u64| {
            let mut devices = described.device.iter();
            devices.position(|device| bus_number(&device.address) == *bus)
        };
        let devices: Vec<usize> = buses.iter().filter_map(position).collect();
        let is_off = variable(library, "P2P_DISABLE")
            .and_then(|text| text.trim().parse::<i64>().ok())
            .is_some_and(|number| number != 0);
        let protocols = variable(library, "PROTO").map_or(Ok(Vec::new()), |text| {
            protocols(&text).or_else(|word| {
                let words = format!(
                    "{}_PROTO : unrecognized \"{word}\" in \"{text}\"; the protocols are LL, LL128 and Simple",
                    library.variables
                );
                refuse(Status::INVALID_USAGE, words)
            })
        })?;
        let ring: Vec<(usize, usize)> = (0..devices.len())
            .map(|rank| (devices[rank], devices[(rank + 1) % devices.len()]))
            .collect();
        let reaches =
            |(a, b): &(usize, usize)| a == b || (may(described, *a, *b) && may(described, *b, *a));
        // Where the box has tables of the library through host memory only, that is what it takes by itself.
        let mut own = described
            .collective
            .iter()
            .filter(|table| table.library == library.tables && table.ranks as usize == buses.len());
        let is_shared = own.clone().next().is_some()
            && own.all(|table| table.transport == Some(Transport::Shm));
        let channel = |pair| match is_off || is_shared || !reaches(pair) {
            true => Transport::Shm,
            false => Transport::P2p,
        };
        let is_limited = is_off || !ring.iter().all(reaches);
        Ok(Self {
            limits: Limits {
                transport: is_limited.then_some(Transport::Shm),
                protocols,
            },
            buses: buses.to_vec(),
            channels: ring.iter().map(channel).collect(),
            devices,
        })
    }

    /// The table that a call takes, refused in words where the box has none.
    pub(crate) fn plan(
        &self,
        (library, described): (&Library, &BoxFile),
        kind: CollectiveKind,
        ranks: usize,
        bytes: usize,
    ) -> Outcome<Plan> {
        let (count, size, limits) = (ranks as u32, bytes as u64, &self.limits);
        let found = described.collective_of(library.tables, kind, count, size, limits);
        let Some((table, us)) = found else {
            let (name, of) = (&described.name, library.name);
            let through = limits.transport.map_or("", |_| " through host memory");
            let only: Vec<&str> = limits.protocols.iter().map(|one| word(*one)).collect();
            let only = match only.is_empty() {
                true => String::new(),
                false => format!(" in {}", only.join(" or ")),
            };
            let words = format!(
                "the box {name} does not say how long collectives take: {kind:?} of {ranks} ranks{through}{only}; \
                 add a [[collective]] table with library = \"{of}\" and ranks = {ranks}"
            );
            return refuse(Status::INVALID_USAGE, words);
        };
        let may = |protocol| limits.protocols.is_empty() || limits.protocols.contains(&protocol);
        let by_size = match bytes <= LL_UP_TO {
            true => [Protocol::Ll, Protocol::Simple],
            false => [Protocol::Simple, Protocol::Ll],
        };
        let by_size = by_size.into_iter().find(|protocol| may(*protocol));
        Ok(Plan {
            us,
            launch_us: table.launch_us.as_ref().map_or(0.0, |figure| figure.value),
            protocol: table.protocol.or(by_size).unwrap_or(Protocol::Ll128),
        })
    }
}

/// Whether a device may access another's memory.
fn may(described: &BoxFile, a: usize, b: usize) -> bool {
    let denied = Fault::PeerDenied { pair: [a, b] };
    described.peer_path(a, b).access && !described.fault.contains(&denied)
}

/// A variable that the library obeys; `None` where it is not set.
pub(crate) fn variable(library: &Library, name: &str) -> Option<String> {
    std::env::var(format!("{}_{name}", library.variables)).ok()
}

/// The word of a protocol in the log.
pub(crate) fn word(protocol: Protocol) -> &'static str {
    let row = PROTOCOLS.iter().find(|row| row.0 == protocol);
    row.map_or("", |row| row.1)
}

/// The protocols of a list: those that it names, or after `^` all but those. An error is the word that names none.
fn protocols(text: &str) -> Result<Vec<Protocol>, String> {
    let (is_negated, list) = text
        .strip_prefix('^')
        .map_or((false, text), |list| (true, list));
    let mut named = Vec::new();
    for word in list.split(',') {
        let row = PROTOCOLS
            .iter()
            .find(|row| row.1.eq_ignore_ascii_case(word.trim()));
        named.push(row.ok_or(word)?.0);
    }
    let rows = PROTOCOLS.iter().map(|row| row.0);
    Ok(rows
        .filter(|protocol| named.contains(protocol) != is_negated)
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_names_protocols_or_all_but_them() {
        use Protocol::{Ll, Ll128, Simple};
        assert_eq!(protocols("Simple"), Ok(vec![Simple]));
        assert_eq!(protocols("simple,LL"), Ok(vec![Ll, Simple]));
        assert_eq!(protocols("^LL"), Ok(vec![Ll128, Simple]));
        assert_eq!(protocols("^LL,ll128"), Ok(vec![Simple]));
        assert_eq!(protocols("LL,Fast"), Err("Fast".to_owned()));
        assert_eq!(protocols(""), Err(String::new()));
    }
}
