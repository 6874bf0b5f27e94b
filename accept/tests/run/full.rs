//! Disks that take nothing: exit code 4, one sentence, and what was there before as it was.

use std::path::Path;
use std::process::Command;

use crate::run::common::{Ran, Scratch, TWO, can_run, skipped};

/// A small disk, unmounted at its end.
struct Disk<'a>(&'a Path);

impl Disk<'_> {
    /// None where this user may not mount, which is noted as skipped.
    fn of_1_mib(at: &Path) -> Option<Disk<'_>> {
        std::fs::create_dir(at).unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=1m,mode=0700", "tmpfs"])
            .arg(at)
            .output();
        let why = match mounted {
            Ok(ended) if ended.status.success() => return Some(Disk(at)),
            Ok(ended) => String::from_utf8_lossy(&ended.stderr).trim().to_owned(),
            Err(error) => error.to_string(),
        };
        skipped(&format!("a disk of 1 MiB cannot be mounted here: {why}"));
        None
    }
}

impl Drop for Disk<'_> {
    fn drop(&mut self) {
        drop(Command::new("umount").arg("--lazy").arg(self.0).status());
    }
}

/// The sentences that begin as errors do.
fn errors(ran: &Ran) -> Vec<&str> {
    ran.stderr
        .lines()
        .filter(|line| line.starts_with("error: "))
        .collect()
}

#[test]
fn a_disk_of_1_mib_ends_the_run_in_one_sentence_and_keeps_the_report_that_was_there() {
    if !can_run() {
        return;
    }
    let scratch = Scratch::new();
    scratch.two(vec![]);
    let place = scratch.join("small");
    let Some(_disk) = Disk::of_1_mib(&place) else {
        return;
    };
    // Eight megabytes are what a run of four devices leaves.
    let ran = scratch.on(TWO, "small/out", &["--exclude", "allreduce"]);
    ran.expect(4);
    assert_eq!(errors(&ran).len(), 1, "{}", ran.stderr);
    let report = std::fs::read_to_string(place.join("out/report.json")).unwrap_or_default();
    assert!(!report.contains("\"accepted"), "{report}");
}
