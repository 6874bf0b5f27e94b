//! One run of a program under limits, and what is wrong with how it ended.

use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Codes of a reader: done, worse, refused input, inconclusive, wrong data.
const CODES: [i32; 5] = [0, 1, 2, 3, 5];

/// CPU time of a run, s; more time may pass on a busy machine.
const CPU_S: u64 = 10;

/// Time that may pass where no CPU is used: it waits for something.
const WAITING: Duration = Duration::from_secs(30);

/// Limits that programs inherit from here on, until this is dropped.
pub(super) struct Limits(Vec<(Resource, Rlimit)>);

impl Limits {
    /// 500 MB of data, files of 64 MiB, and the CPU time.
    pub(super) fn set() -> Result<Self> {
        let mut before = Self(Vec::new());
        for (resource, most) in [(Resource::Data, 500_000_000), (Resource::Fsize, 64 << 20)] {
            let was = getrlimit(resource);
            setrlimit(
                resource,
                Rlimit {
                    current: Some(most),
                    ..was
                },
            )
            .context("no limit can be set")?;
            before.0.push((resource, was));
        }
        Ok(before)
    }
}

impl Drop for Limits {
    fn drop(&mut self) {
        for (resource, was) in self.0.drain(..) {
            // There is nobody left to tell.
            let _ = setrlimit(resource, was);
        }
    }
}

/// How a run went.
pub(super) struct Ran {
    /// Its exit code; `None` where a signal ended it.
    pub(super) code: Option<i32>,
    pub(super) took: Duration,
    /// What it may not do, in words.
    pub(super) fault: Option<String>,
}

/// Runs a program in a folder, in which what it writes stays.
pub(super) fn run(
    program: &Path,
    arguments: impl Iterator<Item = String>,
    folder: &Path,
) -> Result<Ran> {
    let streams = ["stdout", "stderr"].map(|name| folder.join(name));
    let begun = Instant::now();
    let mut child = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(File::create(&streams[0])?)
        .stderr(File::create(&streams[1])?)
        .spawn()
        .with_context(|| format!("{} did not start", program.display()))?;
    if let Some(process) = rustix::process::Pid::from_raw(i32::try_from(child.id())?) {
        let most = Rlimit {
            current: Some(CPU_S),
            maximum: Some(CPU_S + 1),
        };
        // It may have ended already.
        let _ = rustix::process::prlimit(Some(process), Resource::Cpu, most);
    }
    let mut pause = Duration::from_millis(1);
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if begun.elapsed() > WAITING {
            child.kill()?;
        }
        sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(16));
    };
    let took = begun.elapsed();
    let ended = match (status.code(), status.signal()) {
        (Some(code), _) if CODES.contains(&code) => None,
        (Some(code), _) => Some(format!("exit code {code}")),
        (None, signal) => Some(format!(
            "ended by signal {} after {:.1} s",
            signal.unwrap_or(0),
            took.as_secs_f64()
        )),
    };
    let fault = match ended {
        Some(fault) => Some(fault),
        None => streams
            .iter()
            .find_map(|stream| hurtful(&fs::read(stream).unwrap_or_default())),
    };
    Ok(Ran {
        code: status.code(),
        took,
        fault,
    })
}

/// What of an output a terminal would obey or turn around, with its line.
fn hurtful(output: &[u8]) -> Option<String> {
    for (line, bytes) in (1..).zip(output.split(|byte| *byte == b'\n')) {
        let Ok(text) = std::str::from_utf8(bytes) else {
            return Some(format!("output line {line} is no UTF-8"));
        };
        let is_bidi = |c| matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        if let Some(c) = text
            .chars()
            .find(|c| c.is_control() && *c != '\t' || is_bidi(*c))
        {
            return Some(format!("U+{:04X} in output line {line}", u32::from(c)));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controls_and_bidi_marks_are_found_and_words_are_not() {
        assert_eq!(hurtful("a\tb ± 3 µs\n—\n".as_bytes()), None);
        assert_eq!(
            hurtful(b"a\nb\x1b[2J").as_deref(),
            Some("U+001B in output line 2")
        );
        assert_eq!(
            hurtful("\u{9b}".as_bytes()).as_deref(),
            Some("U+009B in output line 1")
        );
        assert_eq!(
            hurtful("\u{202e}".as_bytes()).as_deref(),
            Some("U+202E in output line 1")
        );
        assert_eq!(
            hurtful(b"\xff").as_deref(),
            Some("output line 1 is no UTF-8")
        );
    }
}
