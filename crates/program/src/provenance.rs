//! Where a record comes from: host, kernel, binary, arguments.

use std::fs::File;
use std::io::Read;
use std::time::{SystemTime, UNIX_EPOCH};

use record::{Provenance, allowed_environment, redacted_arguments};
use sha2::{Digest, Sha256};
use topology::{Machine, Sysfs};

/// Bytes of the program that are hashed at a time.
const HASHED_BYTES: usize = 64 << 10;

/// 10000-01-01T00:00:00Z in seconds since 1970.
const YEAR_10000: u64 = 253_402_300_800;

/// The provenance of this run.
#[must_use]
pub fn provenance(machine: &Machine) -> Provenance {
    let utf8 = |text: std::ffi::OsString| text.to_string_lossy().into_owned();
    Provenance {
        started: now(),
        host: host(),
        kernel: kernel(),
        boot_id: machine.boot_id.clone(),
        arguments: redacted_arguments(crate::command_line::words().into_iter().map(utf8)),
        environment: allowed_environment(
            std::env::vars_os().map(|(name, value)| (utf8(name), utf8(value))),
        ),
        binary_sha256: binary_sha256(),
    }
}

/// UTC, RFC 3339, whole seconds; `unknown` where the machine's clock is outside of what that can say.
#[must_use]
pub fn now() -> String {
    stamp(SystemTime::now()).unwrap_or_else(|| "unknown".to_owned())
}

/// Whether this machine's clock is one that a stamp can say, and the `Date` of a reply.
#[must_use]
pub fn is_clock_set() -> bool {
    stamp(SystemTime::now()).is_some()
}

/// UTC, RFC 3339, whole seconds; `None` before 1970 and after 9999, of which `humantime` makes a panic.
fn stamp(time: SystemTime) -> Option<String> {
    let since = time.duration_since(UNIX_EPOCH).ok()?;
    (since.as_secs() < YEAR_10000).then(|| humantime::format_rfc3339_seconds(time).to_string())
}

/// The kernel's host name.
#[must_use]
pub fn host() -> Option<String> {
    let name = rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned();
    Some(name).filter(|name| !name.is_empty())
}

fn kernel() -> Option<String> {
    let name = rustix::system::uname();
    Some(format!(
        "{} {}",
        name.release().to_string_lossy(),
        name.machine().to_string_lossy()
    ))
}

/// The running program, in pieces, since it may be large.
fn binary_sha256() -> Option<String> {
    let mut program = File::open(Sysfs::real().root().join("proc/self/exe")).ok()?;
    let mut hash = Sha256::new();
    let mut part = vec![0; HASHED_BYTES];
    loop {
        match program.read(&mut part).ok()? {
            0 => break,
            bytes => hash.update(&part[..bytes]),
        }
    }
    Some(
        hash.finalize()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_clock_outside_of_what_a_stamp_can_say_is_no_panic() {
        let at = |seconds| stamp(UNIX_EPOCH + Duration::from_secs(seconds));
        // 20,454 days are 56 years with 14 leap days.
        assert_eq!(
            at(20_454 * 86_400 + 3661).as_deref(),
            Some("2026-01-01T01:01:01Z")
        );
        assert_eq!(at(0).as_deref(), Some("1970-01-01T00:00:00Z"));
        let last = "9999-12-31T23:59:59Z";
        assert_eq!(at(YEAR_10000 - 1).as_deref(), Some(last));
        assert_eq!(at(YEAR_10000), None);
        assert_eq!(stamp(UNIX_EPOCH - Duration::from_nanos(1)), None);
    }
}
