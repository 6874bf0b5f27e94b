//! Disks that are full and readers that go away: the numbers are still printed, and the exit code tells.

use std::process::{Command, Stdio};

use super::common::{Ran, Scratch, skip, two_gpus};

fn with_box<'a>(scratch: &Scratch, more: &[&'a str]) -> Vec<&'a str> {
    scratch.write_box(&two_gpus());
    let run = ["--sim", "box.toml", "--out", "out", "--state-dir", "state"];
    let quick = [
        "--sizes",
        "64K",
        "--samples",
        "6",
        "--cases",
        "h2d_pinned_ce",
    ];
    run.iter().chain(&quick).chain(more).copied().collect()
}

#[test]
fn standard_output_that_is_full_is_exit_4_and_the_record_is_kept() {
    let scratch = Scratch::new();
    let full = std::fs::File::options()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let mut command = scratch.program(with_box(&scratch, &[]));
    let output = command
        .stdout(full)
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    let ran = Ran::of(output);
    assert_eq!(ran.code, 4, "{}", ran.stderr);
    assert!(
        ran.stderr.contains("cannot write to standard output"),
        "{}",
        ran.stderr
    );
    assert!(scratch.join("out/record.json").exists());
}

/// What a run on a disk of this size comes to; `None` where this process may not mount one.
fn on_a_disk_of(size: &str) -> Option<Ran> {
    if rustix::param::page_size() != 4096 {
        skip("tplens p2p: the small disks of its tests are measured in pages of 4 KiB");
        return None;
    }
    let scratch = Scratch::new();
    let disk = scratch.join("disk");
    std::fs::create_dir(&disk).unwrap();
    let size = format!("size={size},nr_inodes=100k");
    if let Err(reason) = mount(&["-t", "tmpfs", "-o", &size, "tmpfs"], &disk) {
        skip(&format!(
            "tplens p2p: no small disk can be mounted: {reason}"
        ));
        return None;
    }
    let ran = std::panic::catch_unwind(|| fills_up(&scratch));
    let freed = Command::new("umount").arg(&disk).status();
    assert!(freed.is_ok_and(|status| status.success()));
    let ran = ran.unwrap();
    assert_eq!(ran.code, 4, "{}", ran.stderr);
    assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
    assert!(ran.stderr.contains("No space left"), "{}", ran.stderr);
    Some(ran)
}

/// Runs onto the small disk, and checks before the disk goes that what is there loads.
fn fills_up(scratch: &Scratch) -> Ran {
    scratch.write_box(&two_gpus());
    let sizes = "1,2,4,8,16,32,64,128,256,512,1K,2K,4K,8K,16K,32K";
    let out = ["--out", "disk/out", "--state-dir", "state"];
    let ran = scratch.run(&[&["--sim", "box.toml", "--sizes", sizes][..], &out].concat());
    let shown = scratch.run(&["show", "disk/out"]);
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    ran
}

// There the box's sysfs tree takes about 320 KiB, the journal 310 KiB and the record 670 KiB.

#[test]
fn a_disk_that_fills_up_during_a_run_is_exit_4_and_the_tables_are_printed() {
    if let Some(ran) = on_a_disk_of("500k") {
        assert!(ran.stderr.contains("journal.jsonl"), "{}", ran.stderr);
    }
}

/// Mounts, where this process may.
fn mount(arguments: &[&str], on: &std::path::Path) -> Result<(), String> {
    let output = Command::new("mount").args(arguments).arg(on).output();
    let output = output.map_err(|error| format!("mount: {error}"))?;
    if output.status.success() {
        Ok(())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).trim().to_owned())
    }
}
