//! Where a record comes from: host, kernel, binary, arguments.

use std::fs::File;
use std::io::Read;
use std::time::SystemTime;

use measure::record::{Provenance, allowed_environment, redacted_arguments};
use sha2::{Digest, Sha256};
use topology::{Machine, Sysfs};

/// Bytes of the program that are hashed at a time.
const HASHED_BYTES: usize = 64 << 10;

/// The provenance of this run.
#[must_use]
pub fn provenance(machine: &Machine) -> Provenance {
    let utf8 = |text: std::ffi::OsString| text.to_string_lossy().into_owned();
    Provenance {
        started: now(),
        host: host(),
        kernel: kernel(),
        boot_id: machine.boot_id.clone(),
        arguments: redacted_arguments(std::env::args_os().map(utf8)),
        environment: allowed_environment(
            std::env::vars_os().map(|(name, value)| (utf8(name), utf8(value))),
        ),
        binary_sha256: binary_sha256(),
    }
}

/// UTC, RFC 3339, whole seconds.
#[must_use]
pub fn now() -> String {
    humantime::format_rfc3339_seconds(SystemTime::now()).to_string()
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
