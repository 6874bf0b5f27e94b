//! What a collective library writes of its choices: the transport of each channel, algorithm and protocol of each call.
//!
//! NCCL writes a line for each channel when ranks connect, such as `Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM`
//! (src/transport/*.cc, subsystem INIT), and rank 0 one for each collective, such as `AllReduce: 16384 Bytes -> Algo RING proto LL
//! channel{Lo..Hi}={0..1}` (src/enqueue.cc, subsystem TUNING, from 2.22 on). RCCL has device addresses in the brackets and more
//! words behind. MetaX's library is taken to write the same, as its log is not public.

use std::collections::BTreeSet;

use record::{Channel, Choice, CollectiveKind};

/// Names of operations in the log, each with the operation.
const KINDS: [(&str, CollectiveKind); 3] = [
    ("AllReduce", CollectiveKind::AllReduce),
    ("AllGather", CollectiveKind::AllGather),
    ("ReduceScatter", CollectiveKind::ReduceScatter),
];

/// Remarks that are kept: a library that writes without end must not fill memory and record.
const REMARKS: usize = 16;

/// What was read so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Log {
    pub(super) channels: BTreeSet<Channel>,
    /// In the order of the log, each size of an operation once.
    pub(super) choices: Vec<Choice>,
    /// Lines that say why something is off, without the place that wrote them; each once.
    pub(super) remarks: Vec<String>,
}

impl Log {
    /// Takes a line.
    pub(super) fn take(&mut self, line: &str) {
        if let Some(channel) = channel(line) {
            self.channels.insert(channel);
        } else if let Some(choice) = choice(line) {
            let same = |known: &Choice| {
                (known.kind, known.bytes_per_rank) == (choice.kind, choice.bytes_per_rank)
            };
            match self.choices.iter_mut().find(|known| same(known)) {
                // A size is called several times: the last is the one that would be timed.
                Some(known) => *known = choice,
                None => self.choices.push(choice),
            }
        } else if let Some(remark) = remark(line)
            && self.remarks.len() < REMARKS
            && !self.remarks.iter().any(|known| known == remark)
        {
            self.remarks.push(remark.to_owned());
        }
    }
}

/// The channel that a line tells.
fn channel(line: &str) -> Option<Channel> {
    let (_, rest) = line.split_once("Channel ")?;
    let (number, rest) = rest.split_once(" : ")?;
    let (ends, via) = rest.split_once(" via ")?;
    let (from, to) = ends.split_once(" -> ")?;
    let rank = |end: &str| -> Option<u32> { end.split('[').next()?.trim().parse().ok() };
    Some(Channel {
        number: number.split('/').next()?.trim().parse().ok()?,
        from: rank(from)?,
        to: rank(to)?,
        via: transport(via)?.to_owned(),
    })
}

/// The transport at the beginning of what follows `via`.
fn transport(via: &str) -> Option<&str> {
    // The one name of two words.
    const TWO_WORDS: &str = "P2P/direct pointer";
    let via = via.trim();
    if via.starts_with(TWO_WORDS) {
        return Some(TWO_WORDS);
    }
    via.split_whitespace().next()
}

/// The choice that a line tells. Bytes are the number of elements of the call times their size: those of one rank.
fn choice(line: &str) -> Option<Choice> {
    let (before, after) = line.split_once(" Bytes -> Algo ")?;
    let (name, bytes) = before.rsplit_once(": ")?;
    let name = name.split_whitespace().last()?;
    let (_, kind) = KINDS.iter().find(|(known, _)| *known == name)?;
    let mut words = after.split_whitespace();
    let algorithm = words.next()?.to_owned();
    let protocol = words.skip_while(|word| *word != "proto").nth(1)?.to_owned();
    Some(Choice {
        kind: *kind,
        bytes_per_rank: bytes.trim().parse().ok()?,
        algorithm,
        protocol,
        channels: channels(after),
    })
}

/// How many channels `channel{Lo..Hi}={0..1}` means.
fn channels(words: &str) -> Option<u32> {
    let (_, range) = words.split_once("channel{Lo..Hi}={")?;
    let (low, high) = range.split_once('}')?.0.split_once("..")?;
    let (low, high): (u32, u32) = (low.parse().ok()?, high.parse().ok()?);
    high.checked_sub(low)?.checked_add(1)
}

/// What a line says of direct access that is off, or of a setting that the library warns of.
fn remark(line: &str) -> Option<&str> {
    const TOLD: [&str; 3] = ["P2P is disabled", "CCL_P2P_", "Missing \"iommu=pt\""];
    let (_, words) = line
        .split_once(" INFO ")
        .or_else(|| line.split_once(" WARN "))?;
    TOLD.iter()
        .any(|part| words.contains(part))
        .then(|| words.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(lines: &[&str]) -> Log {
        let mut log = Log::default();
        lines.iter().for_each(|line| log.take(line));
        log
    }

    #[test]
    fn the_transport_of_a_channel_is_read_from_old_and_new_lines() {
        // Lines as NCCL 2.26 and 2.30 and RCCL 2.22 write them.
        for (line, number, from, to, via) in [
            (
                "h:1:2 [0] NCCL INFO Channel 00 : 1[1] -> 0[0] via SHM/direct/direct",
                0,
                1,
                0,
                "SHM/direct/direct",
            ),
            (
                "h:1:2 [0] NCCL INFO Channel 01/0 : 0[0] -> 1[1] via P2P/CUMEM/read",
                1,
                0,
                1,
                "P2P/CUMEM/read",
            ),
            (
                "h:1:2 [0] NCCL INFO Channel 01/1 : 0[0] -> 15[7] [send] via NET/IB/7(6)/GDRDMA",
                1,
                0,
                15,
                "NET/IB/7(6)/GDRDMA",
            ),
            (
                "NCCL INFO Channel 0 : 0[0] -> 1[1] via P2P/direct pointer",
                0,
                0,
                1,
                "P2P/direct pointer",
            ),
            (
                "s:402:402 [0] NCCL INFO Channel 00/0 : 0[3000] -> 1[c000] via P2P/IPC comm 0x55d0c8f0 nRanks 02",
                0,
                0,
                1,
                "P2P/IPC",
            ),
        ] {
            let expected = Channel {
                number,
                from,
                to,
                via: via.to_owned(),
            };
            assert_eq!(channel(line), Some(expected), "{line}");
        }
        for other in [
            "NCCL INFO Channel 00/02 : 0 1",
            "something went via elsewhere",
            "NCCL INFO Channel xx : 0[0] -> 1[1] via SHM",
        ] {
            assert_eq!(channel(other), None, "{other}");
        }
    }

    #[test]
    fn algorithm_and_protocol_are_those_of_the_last_call_of_a_size() {
        let line = |bytes: u32, proto: &str| {
            format!(
                "n:52:264 [0] NCCL INFO AllReduce: {bytes} Bytes -> Algo RING proto {proto} channel{{Lo..Hi}}={{0..1}}"
            )
        };
        let log = of(&[&line(4096, "LL"), &line(4096, "SIMPLE"), &line(8192, "LL")]);
        let told: Vec<(u64, &str, Option<u32>)> = log
            .choices
            .iter()
            .map(|choice| {
                (
                    choice.bytes_per_rank,
                    choice.protocol.as_str(),
                    choice.channels,
                )
            })
            .collect();
        assert_eq!(told, [(4096, "SIMPLE", Some(2)), (8192, "LL", Some(2))]);
        assert_eq!(log.choices[0].algorithm, "RING");
        assert_eq!(
            choice("NCCL INFO SendRecv: 4 Bytes -> Algo RING proto LL"),
            None
        );
    }
}
