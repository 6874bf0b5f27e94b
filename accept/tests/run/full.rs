//! Disks that take nothing: exit code 4, one sentence, and what was there before as it was.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::run::common::{Ran, Scratch, TWO, arguments, can_run, skipped};

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
    assert!(
        ran.stderr.contains("No space left") || ran.stderr.contains("not on the disk"),
        "{}",
        ran.stderr
    );
    assert!(!place.join("out/report.json").exists());
}

#[test]
fn a_report_is_as_it_was_where_its_disk_has_no_room_for_another() {
    if !can_run() {
        return;
    }
    let scratch = Scratch::new();
    scratch.two(vec![]);
    let place = scratch.join("small");
    let Some(_disk) = Disk::of_1_mib(&place) else {
        return;
    };
    // A run without time leaves a report that fits.
    scratch.on(TWO, "small/out", &["--budget", "1s"]).expect(3);
    let report = place.join("out/report.json");
    let before = std::fs::read(&report).unwrap();
    // All that is left of the disk is taken.
    let filler = std::fs::File::create(place.join("filler")).unwrap();
    drop(std::io::copy(&mut std::io::repeat(b'x'), &mut &filler));
    let ran = scratch.run(&["report", "small/out", "--html", "small/page.html"]);
    ran.expect(4);
    assert_eq!(errors(&ran).len(), 1, "{}", ran.stderr);
    assert_eq!(std::fs::read(&report).unwrap(), before);
    assert!(!place.join("page.html").exists());
    let ran = scratch.on(TWO, "small/other", &["--budget", "1s"]);
    ran.expect(4);
    assert_eq!(errors(&ran).len(), 1, "{}", ran.stderr);
    assert_eq!(std::fs::read(&report).unwrap(), before);
}

#[test]
fn a_standard_output_that_takes_nothing_is_told_once_and_the_report_stands() {
    if !can_run() {
        return;
    }
    let scratch = Scratch::new();
    scratch.two(vec![]);
    let full = std::fs::File::options()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let mut command = scratch.program(&arguments(
        TWO,
        ["--out", "out"],
        &["--budget", "10s", "--json"],
    ));
    let mut child = command.stdout(full).stderr(Stdio::piped()).spawn().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(4));
    assert_eq!(scratch.json("out/report.json")["verdict"], "inconclusive");
    let ran = scratch.on(TWO, "page", &["--budget", "10s", "--html", "/dev/full"]);
    ran.expect(4);
    assert_eq!(
        ran.stderr.matches("No space left").count(),
        1,
        "{}",
        ran.stderr
    );
}
