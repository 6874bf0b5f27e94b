//! What a collective library says of the transport it chose, read from its log.
//!
//! NCCL and its relatives write a line for each channel when ranks connect, such as `Channel 00/02 : 0[0] -> 1[1] via SHM/direct`
//! (src/transport/*.cc, subsystem INIT). They connect before anything is timed, so the log costs no time.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::sync::{Arc, Mutex, PoisonError};

use supervisor::LineSink;

/// Variables that make the library say it, unless the user has set them. A named file is written line by line, where standard
/// output would be kept back until the process ends (src/debug.cc).
const ASK: [(&str, &str); 3] = [
    ("NCCL_DEBUG", "INFO"),
    ("NCCL_DEBUG_SUBSYS", "INIT"),
    ("NCCL_DEBUG_FILE", "/dev/stderr"),
];

/// Collects transports from the lines of all ranks.
#[derive(Debug, Clone, Default)]
pub(super) struct Transports(Arc<Mutex<BTreeSet<String>>>);

impl Transports {
    /// Takes the lines of a rank.
    pub(super) fn sink(&self) -> LineSink {
        let seen = Arc::clone(&self.0);
        Arc::new(move |line: &str| {
            if let Some(transport) = transport(line) {
                seen.lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .insert(transport.to_owned());
            }
        })
    }

    /// All that were named; `None` where none was.
    pub(super) fn seen(&self) -> Option<String> {
        let seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let seen: Vec<&str> = seen.iter().map(String::as_str).collect();
        (!seen.is_empty()).then(|| seen.join(", "))
    }
}

/// The variables to set in a rank.
pub(super) fn environment() -> Vec<(OsString, OsString)> {
    let is_set = |name: &str| std::env::var_os(name).is_some();
    // Whoever debugs with these keeps what was set, as a whole.
    let by_user = ASK.iter().any(|(name, _)| is_set(name));
    let ask = ASK.iter().filter(|_| !by_user);
    ask.map(|(name, value)| (name.into(), value.into()))
        .collect()
}

/// The transport that a line names.
fn transport(line: &str) -> Option<&str> {
    let (channel, via) = line.rsplit_once(" via ")?;
    if !channel.contains("Channel ") || !channel.contains(" -> ") {
        return None;
    }
    let via = via.trim();
    // `P2P/direct pointer` is the one name of two words.
    if via.starts_with("P2P/direct pointer") {
        return Some("P2P/direct pointer");
    }
    via.split_whitespace().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_transport_of_a_channel_is_read_from_old_and_new_lines() {
        // Lines as NCCL 2.26 and 2.30 write them.
        for (line, named) in [
            (
                "h:1:2 [0] NCCL INFO Channel 00 : 1[1] -> 0[0] via SHM/direct/direct",
                Some("SHM/direct/direct"),
            ),
            (
                "h:1:2 [0] NCCL INFO Channel 01/0 : 0[0] -> 1[1] via P2P/CUMEM/read",
                Some("P2P/CUMEM/read"),
            ),
            (
                "h:1:2 [0] NCCL INFO Channel 01/1 : 0[0] -> 1[1] [send] via NET/IB/0",
                Some("NET/IB/0"),
            ),
            (
                "NCCL INFO Channel 0 : 0[0] -> 1[1] via P2P/direct pointer",
                Some("P2P/direct pointer"),
            ),
            ("NCCL INFO Channel 00/02 : 0 1", None),
            ("something went via elsewhere", None),
        ] {
            assert_eq!(transport(line), named, "{line}");
        }
    }

    #[test]
    fn what_several_ranks_say_is_told_once() {
        let transports = Transports::default();
        assert_eq!(transports.seen(), None);
        let (one, other) = (transports.sink(), transports.sink());
        one("Channel 00 : 0[0] -> 1[1] via SHM/direct");
        other("Channel 00 : 1[1] -> 0[0] via SHM/direct");
        assert_eq!(transports.seen(), Some("SHM/direct".to_owned()));
    }
}
