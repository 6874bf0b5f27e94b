//! Hurtful files for every reader of the program, by seed. A program ends within ten seconds of CPU time and 500 MB, with a code that a
//! reader may give, and writes no control character. What it makes of a file is not looked at.
//!
//! `TPLENS_FULL=1` takes 3,000 files for each reader; `TPLENS_FUZZ_INPUT=N` takes one file again.

mod mutation;
mod readers;

use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use mutation::{Random, mutated};
use rustix::process::{Resource, Rlimit};

/// Codes of a reader: done, worse, refused input, inconclusive, wrong data.
const CODES: [i32; 5] = [0, 1, 2, 3, 5];

/// Limits of a run: CPU seconds, bytes of memory, bytes of a file.
const LIMITS: [(Resource, u64); 3] = [
    (Resource::Cpu, 10),
    (Resource::Data, 500_000_000),
    (Resource::Fsize, 64 << 20),
];

/// Time that may pass where no CPU is used: it waits for something.
const WAITING: Duration = Duration::from_secs(60);

/// Gives a reader its samples as they are, then changed ones. Files that show a fault stay.
fn fuzz(name: &str, arguments: &[&str], file: &str, samples: &[&str]) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let samples: Vec<Vec<u8>> = samples
        .iter()
        .map(|path| fs::read(root.join(path)).unwrap())
        .collect();
    let only = std::env::var("TPLENS_FUZZ_INPUT").ok();
    let inputs = match only.map(|input| input.parse::<usize>().unwrap()) {
        Some(input) => input..input + 1,
        None if std::env::var_os("TPLENS_FULL").is_some() => 0..3000,
        None => 0..15,
    };
    let mut faults = Vec::new();
    for index in inputs {
        let sample = &samples[index % samples.len()];
        let is_sample = index < samples.len();
        let input = match is_sample {
            true => sample.clone(),
            false => mutated(sample, &mut Random::of(name, index as u64)),
        };
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{index}"));
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join(file);
        fs::write(&file, &input).unwrap();
        let word = |word: &&str| {
            word.replace("{}", file.to_str().unwrap())
                .replace("{root}", root.to_str().unwrap())
        };
        match run(arguments.iter().map(word), &folder) {
            // A sample that is refused would fuzz nothing but the refusal.
            Ok(2) if is_sample => faults.push(format!("{}: refused", file.display())),
            Ok(_) => fs::remove_dir_all(&folder).unwrap(),
            Err(fault) => faults.push(format!("{}: {fault}", file.display())),
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// The exit code of one run in a folder, or what it may not do.
fn run(arguments: impl Iterator<Item = String>, folder: &Path) -> Result<i32, String> {
    let streams = ["stdout", "stderr"].map(|name| folder.join(name));
    let begun = Instant::now();
    let mut child = Command::new(env!("CARGO_BIN_EXE_tplens"))
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(File::create(&streams[0]).unwrap())
        .stderr(File::create(&streams[1]).unwrap())
        .spawn()
        .unwrap();
    let process = rustix::process::Pid::from_child(&child);
    for (resource, most) in LIMITS {
        let limit = Rlimit {
            current: Some(most),
            maximum: Some(most + 1),
        };
        // It may have ended already.
        let _ = rustix::process::prlimit(Some(process), resource, limit);
    }
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if begun.elapsed() > WAITING {
            child.kill().unwrap();
        }
        std::thread::sleep(Duration::from_millis(4));
    };
    let code = status.code().filter(|code| CODES.contains(code));
    let code = code.ok_or_else(|| {
        let took = begun.elapsed().as_secs_f64();
        format!("{status} (signal {:?}) after {took:.1} s", status.signal())
    })?;
    for stream in streams {
        let written = fs::read(&stream).unwrap();
        let text = str::from_utf8(&written).map_err(|error| format!("output: {error}"))?;
        let is_hurtful = |c: &char| {
            let is_bidi = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
            is_bidi || c.is_control() && !"\n\t".contains(*c)
        };
        if let Some(c) = text.chars().find(is_hurtful) {
            return Err(format!("U+{:04X} in {}", u32::from(c), stream.display()));
        }
    }
    Ok(code)
}
