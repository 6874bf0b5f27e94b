//! The log that the library's variables ask for, in the words of the real library: who joined, which way each channel goes, and
//! what each size of a call runs in. Only what the subsystems ask for is written.
//!
//! Shapes are those of NCCL's src/init.cc, src/transport/p2p.cc and shm.cc, src/enqueue.cc (2.29 and 2.30).
#![expect(unsafe_code, reason = "asks for the number of the calling thread")]

use crate::choice::{Choice, variable, word};
use crate::table::{Ends, Library};
use boxfile::{CollectiveKind, Protocol, Transport};
use std::ffi::c_int;
use std::fs::File;
use std::io::{Write, stdout};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Channels of every ring: a rule of this library alone.
const CHANNELS: usize = 2;

/// A subsystem: its word in `NCCL_DEBUG_SUBSYS`, and whether it is written where that is not set.
struct Subsystem {
    word: &'static str,
    is_default: bool,
}

const INIT: u32 = 1 << 0;
const P2P: u32 = 1 << 2;
const SHM: u32 = 1 << 3;
const TUNING: u32 = 1 << 6;
const ENV: u32 = 1 << 7;

/// The subsystems in the order of their bits; those that this library writes nothing of are there to be known.
const SUBSYSTEMS: [Subsystem; 14] = [
    subsystem("INIT", true),
    subsystem("COLL", false),
    subsystem("P2P", false),
    subsystem("SHM", false),
    subsystem("NET", false),
    subsystem("GRAPH", false),
    subsystem("TUNING", false),
    subsystem("ENV", true),
    subsystem("ALLOC", false),
    subsystem("CALL", false),
    subsystem("PROXY", false),
    subsystem("NVLS", false),
    subsystem("BOOTSTRAP", true),
    subsystem("REG", false),
];

const fn subsystem(word: &'static str, is_default: bool) -> Subsystem {
    Subsystem { word, is_default }
}

/// What a process writes, where it writes anything.
struct Written {
    /// One bit for each subsystem.
    subsystems: u32,
    /// Where to; standard output where there is no file.
    file: Option<Mutex<File>>,
    host: String,
}

/// The name of an operation in the log and in words about its calls.
pub(crate) fn name_of(kind: CollectiveKind) -> &'static str {
    match kind {
        CollectiveKind::AllReduce => "AllReduce",
        CollectiveKind::AllGather => "AllGather",
        CollectiveKind::ReduceScatter => "ReduceScatter",
    }
}

/// The rank of a communicator that a line is of.
pub(crate) struct Member {
    pub(crate) library: &'static Library,
    pub(crate) ranks: usize,
    pub(crate) rank: usize,
    /// The ordinal of its device.
    pub(crate) device: c_int,
    /// The communicator's number, the same on every rank.
    pub(crate) token: u64,
}

/// Writes what a rank says when it has joined.
pub(crate) fn joined(own: &Member, handle: usize, choice: &Choice) {
    let Some(written) = written(own.library) else {
        return;
    };
    let (rank, ranks, words) = (own.rank, own.ranks, &own.library.log);
    let mut lines = Vec::new();
    if rank == 0 {
        let banner = words.banner.join("\n").replace("{host}", &written.host);
        lines.push((u32::MAX, banner));
    }
    for (name, end) in [("P2P_DISABLE", "."), ("PROTO", "")] {
        if let Some(value) = variable(own.library, name) {
            let line = format!(
                "{}_{name} set by environment to {value}{end}",
                own.library.variables
            );
            lines.push((ENV, line));
        }
    }
    let end = |rank: usize| match words.ends {
        Ends::Number => choice
            .devices
            .get(rank)
            .map_or(String::new(), usize::to_string),
        Ends::Bus => format!("{:x}", choice.buses[rank]),
    };
    let tail = match words.names_communicator {
        true => format!(" comm {handle:#x} nRanks {ranks:02}"),
        false => String::new(),
    };
    let next = (rank + 1) % ranks;
    let ways = choice.channels.get(rank).filter(|_| next != rank);
    for channel in 0..CHANNELS {
        let (subsystems, number, way) = match ways {
            Some(Transport::P2p) => (INIT | P2P, format!("{channel:02}/0"), words.direct),
            Some(Transport::Shm) => (INIT | SHM, format!("{channel:02}"), words.shared),
            None => break,
        };
        let ends = format!("{rank}[{}] -> {next}[{}]", end(rank), end(next));
        let line = format!("Channel {number} : {ends} via {way}{tail}");
        lines.push((subsystems, line));
    }
    let device = own.device;
    lines.push((
        INIT,
        format!(
            "comm {handle:#x} rank {rank} nranks {ranks} cudaDev {device} nvmlDev {} busId {:x} commId {:#x} - Init COMPLETE",
            choice.devices.get(rank).copied().unwrap_or(rank),
            choice.buses[rank],
            own.token,
        ),
    ));
    for (subsystems, line) in lines {
        written.write(own, subsystems, &line);
    }
}

/// Writes what a call of a new size runs in.
pub(crate) fn tuned(own: &Member, kind: CollectiveKind, bytes: usize, protocol: Protocol) {
    if let Some(written) = written(own.library) {
        let line = format!(
            "{}: {bytes} Bytes -> Algo RING proto {} channel{{Lo..Hi}}={{0..{}}}",
            name_of(kind),
            word(protocol),
            CHANNELS - 1
        );
        written.write(own, TUNING, &line);
    }
}

/// The log of this process, by its first communicator's variables.
fn written(library: &Library) -> Option<&'static Written> {
    static WRITTEN: OnceLock<Option<Written>> = OnceLock::new();
    let open = || {
        let level = variable(library, "DEBUG")?.to_ascii_uppercase();
        if !matches!(level.as_str(), "INFO" | "TRACE") {
            return None;
        }
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let host = host.trim().split('.').next().unwrap_or_default().to_owned();
        let file = variable(library, "DEBUG_FILE").and_then(|pattern| {
            // What cannot be opened is written to standard output, as by NCCL.
            File::create(file_name(&pattern, &host)).ok()
        });
        Some(Written {
            subsystems: subsystems(variable(library, "DEBUG_SUBSYS").as_deref()),
            file: file.map(Mutex::new),
            host,
        })
    };
    WRITTEN.get_or_init(open).as_ref()
}

/// A file's name with the machine for `%h`, the process for `%p` and a per cent sign for two.
fn file_name(pattern: &str, host: &str) -> String {
    let mut name = String::new();
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        match (letter, letter == '%') {
            (_, false) => name.push(letter),
            (_, true) => match letters.next() {
                Some('h') => name.push_str(host),
                Some('p') => name.push_str(&std::process::id().to_string()),
                Some('%') => name.push('%'),
                other => {
                    name.push('%');
                    name.extend(other);
                }
            },
        }
    }
    name
}

/// The bits of a list of subsystems: those that it names, or after `^` all but those; without a list the usual ones.
fn subsystems(list: Option<&str>) -> u32 {
    let bits = |is_meant: &dyn Fn(&Subsystem) -> bool| {
        let rows = SUBSYSTEMS.iter().enumerate();
        rows.filter(|(_, row)| is_meant(row))
            .fold(0, |bits, (number, _)| bits | 1 << number)
    };
    let Some(list) = list else {
        return bits(&|row| row.is_default);
    };
    let (is_negated, list) = list
        .strip_prefix('^')
        .map_or((false, list), |list| (true, list));
    let is_named = |row: &Subsystem| {
        list.split(',').any(|word| {
            ["ALL", row.word]
                .iter()
                .any(|own| own.eq_ignore_ascii_case(word))
        })
    };
    bits(&|row| is_named(row) != is_negated)
}

impl Written {
    /// Writes a line where one of its subsystems is asked for.
    fn write(&self, own: &Member, subsystems: u32, line: &str) {
        if self.subsystems & subsystems == 0 {
            return;
        }
        // SAFETY: gettid(2) takes nothing and always succeeds.
        let thread = unsafe { libc::syscall(libc::SYS_gettid) };
        let (host, process, label) = (&self.host, std::process::id(), own.library.log.label);
        let line = format!(
            "{host}:{process}:{thread} [{}] {label} INFO {line}\n",
            own.device
        );
        // A log that cannot be written changes nothing else.
        let _ = match &self.file {
            Some(file) => {
                let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
                file.write_all(line.as_bytes())
            }
            None => stdout().write_all(line.as_bytes()),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_subsystems_names_some_or_all_but_some() {
        // Bits by their numbers in the table: INIT 0, TUNING 6, ENV 7, BOOTSTRAP 12; 14 in all.
        assert_eq!(subsystems(None), 1 | 1 << 7 | 1 << 12);
        assert_eq!(subsystems(Some("INIT,tuning")), 1 | 1 << 6);
        assert_eq!(subsystems(Some("^INIT")), (1 << 14) - 2);
        assert_eq!(subsystems(Some("ALL")), (1 << 14) - 1);
        assert_eq!(SUBSYSTEMS[6].word, "TUNING");
        let bits = [INIT, P2P, SHM, TUNING, ENV].map(u32::trailing_zeros);
        let words = bits.map(|bit| SUBSYSTEMS[bit as usize].word);
        assert_eq!(words, ["INIT", "P2P", "SHM", "TUNING", "ENV"]);
    }

    #[test]
    fn a_file_is_named_by_machine_and_process() {
        let own = std::process::id();
        assert_eq!(
            file_name("logs/log.%h.%p", "node01"),
            format!("logs/log.node01.{own}")
        );
        assert_eq!(file_name("100%%%x", "node01"), "100%%x");
    }
}
