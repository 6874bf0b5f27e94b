//! The log that the library's variables ask for, in the words of the real library: who joined, which way each channel goes, and
//! what each size of a call runs in. Only what the subsystems ask for is written.
//!
//! Shapes are those of NCCL's src/init.cc, src/transport/p2p.cc and shm.cc, src/enqueue.cc (2.29 and 2.30).
#![expect(unsafe_code, reason = "asks for the number of the calling thread")]

use crate::choice::{Choice, variable, word};
use crate::table::Library;
use boxfile::{CollectiveKind, Protocol, Transport};
use std::ffi::c_int;
use std::fs::File;
use std::io::{Write, stdout};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Channels of every ring: a rule of this library alone.
const CHANNELS: usize = 2;

/// Subsystems by their words in `NCCL_DEBUG_SUBSYS`.
const INIT: &str = "INIT";
const P2P: &str = "P2P";
const SHM: &str = "SHM";
const TUNING: &str = "TUNING";
const ENV: &str = "ENV";

/// What a process writes, where it writes anything.
struct Written {
    /// The list of subsystems that are asked for.
    subsystems: String,
    /// Where to; standard output where there is no file.
    file: Option<Mutex<File>>,
    host: String,
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
        lines.push((vec![INIT, ENV], words.banner.to_owned()));
    }
    for (name, end) in [("P2P_DISABLE", "."), ("PROTO", "")] {
        if let Some(value) = variable(own.library, name) {
            let line = format!(
                "{}_{name} set by environment to {value}{end}",
                own.library.variables
            );
            lines.push((vec![ENV], line));
        }
    }
    let end = |rank: usize| match choice.devices.get(rank) {
        _ if words.ends_by_bus => format!("{:x}", choice.buses[rank]),
        Some(number) => number.to_string(),
        None => String::new(),
    };
    let tail = match words.ends_by_bus {
        true => format!(" comm {handle:#x} nRanks {ranks:02}"),
        false => String::new(),
    };
    let next = (rank + 1) % ranks;
    let ways = choice.channels.get(rank).filter(|_| next != rank);
    for channel in 0..CHANNELS {
        let (subsystems, number, way) = match ways {
            Some(Transport::P2p) => (vec![INIT, P2P], format!("{channel:02}/0"), words.direct),
            Some(Transport::Shm) => (vec![INIT, SHM], format!("{channel:02}"), words.shared),
            None => break,
        };
        let ends = format!("{rank}[{}] -> {next}[{}]", end(rank), end(next));
        let line = format!("Channel {number} : {ends} via {way}{tail}");
        lines.push((subsystems, line));
    }
    let device = own.device;
    lines.push((
        vec![INIT],
        format!(
            "comm {handle:#x} rank {rank} nranks {ranks} cudaDev {device} nvmlDev {} busId {:x} commId {:#x} - Init COMPLETE",
            choice.devices.get(rank).copied().unwrap_or(rank),
            choice.buses[rank],
            own.token,
        ),
    ));
    for (subsystems, line) in lines {
        written.write(own, &subsystems, &line);
    }
}

/// Writes what a call of a new size runs in.
pub(crate) fn tuned(own: &Member, kind: CollectiveKind, bytes: usize, protocol: Protocol) {
    if let Some(written) = written(own.library) {
        let line = format!(
            "{kind:?}: {bytes} Bytes -> Algo RING proto {} channel{{Lo..Hi}}={{0..{}}}",
            word(protocol),
            CHANNELS - 1
        );
        written.write(own, &[TUNING], &line);
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
            let process = std::process::id().to_string();
            File::create(pattern.replace("%h", &host).replace("%p", &process)).ok()
        });
        Some(Written {
            subsystems: variable(library, "DEBUG_SUBSYS").unwrap_or_else(|| "INIT,ENV".to_owned()),
            file: file.map(Mutex::new),
            host,
        })
    };
    WRITTEN.get_or_init(open).as_ref()
}

impl Written {
    /// Writes a line where one of its subsystems is asked for.
    fn write(&self, own: &Member, subsystems: &[&str], line: &str) {
        let is_asked = |word: &str| word == "ALL" || subsystems.contains(&word);
        if !self.subsystems.split(',').any(is_asked) {
            return;
        }
        // SAFETY: gettid(2) takes nothing and always succeeds.
        let thread = unsafe { libc::syscall(libc::SYS_gettid) };
        let (host, process, label) = (&self.host, std::process::id(), own.library.variables);
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
