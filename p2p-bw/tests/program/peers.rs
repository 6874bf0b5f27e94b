//! Verdicts on peer access: denied, wrong, hanging, staged, lost with the host, known to take hosts down.

use boxfile::{BoxFile, Fault, HangOp, Peer};
use record::{Outcome, PeerVerdict, StepOutcome};
use rustix::process::Signal;

use super::common::{Kept, Running, Scratch, figure, gpu, keep_devices, two_gpus, with};
use super::watch::Watch;

const CASES: [&str; 4] = ["--cases", "d2d_*", "--deadline", "2"];

fn run(described: &BoxFile, more: &[&str]) -> Kept {
    Scratch::new().soft(described, &[&CASES, more].concat())
}

pub(crate) fn verdicts(kept: &Kept) -> [PeerVerdict; 2] {
    [kept.probe(0, 1).verdict, kept.probe(1, 0).verdict]
}

pub(crate) fn not_applicable<'a>(kept: &'a Kept, case: &str, from: usize, to: usize) -> &'a str {
    match kept.outcome(case, gpu(from), gpu(to)) {
        Outcome::NotApplicable { reason } => reason,
        other => panic!("{case} {from} to {to}: {other:?}"),
    }
}

/// The path through host memory works in both directions.
fn is_measured_staged(kept: &Kept) {
    for (from, to) in [(0, 1), (1, 0)] {
        assert!(kept.is_measured("d2d_staged_ce", gpu(from), gpu(to)));
    }
}

#[test]
fn access_denied_one_way_is_a_finding_and_the_other_way_is_measured() {
    let kept = run(&with(Fault::PeerDenied { pair: [0, 1] }), &[]);
    assert_eq!(kept.ran.code, 0, "{}", kept.ran.stderr);
    assert_eq!(verdicts(&kept), [PeerVerdict::Denied, PeerVerdict::Direct]);
    // Device 0 may not reach device 1: neither its writes there nor its reads from there are direct.
    assert!(not_applicable(&kept, "d2d_write_ce", 0, 1).contains("peer access is denied"));
    assert!(not_applicable(&kept, "d2d_read_ce", 1, 0).contains("peer access is denied"));
    // Device 1 may reach device 0: its writes there and its reads from there are.
    assert!(kept.is_measured("d2d_write_ce", gpu(1), gpu(0)));
    assert!(kept.is_measured("d2d_read_ce", gpu(0), gpu(1)));
    not_applicable(&kept, "d2d_bidir_write_ce", 0, 1);
    not_applicable(&kept, "d2d_bidir_read_ce", 0, 1);
    is_measured_staged(&kept);
    assert_eq!(kept.bad(), []);
}

#[test]
fn copies_that_arrive_wrong_are_wrong_data() {
    let fault = Fault::WrongData {
        pair: Some([0, 1]),
        direction: None,
        device: None,
    };
    is_wrong_data(&run(&with(fault), &[]));
}

/// Data from device 0 to device 1 is wrong: found by the write of the one and by the read of the other.
fn is_wrong_data(kept: &Kept) {
    assert_eq!(kept.ran.code, 5, "{}", kept.ran.stderr);
    assert_eq!(
        verdicts(kept),
        [PeerVerdict::WrongData, PeerVerdict::WrongData]
    );
    for (from, to, step) in [(0, 1, "write"), (1, 0, "read")] {
        let last = kept.probe(from, to).steps.last().unwrap();
        assert_eq!(last.name, step);
        assert!(
            matches!(last.outcome, StepOutcome::WrongData { .. }),
            "{last:?}"
        );
    }
    assert!(not_applicable(kept, "d2d_write_ce", 0, 1).contains("wrong-data"));
    is_measured_staged(kept);
}

#[test]
fn a_peer_copy_that_never_ends_is_a_hang_and_the_rest_is_measured() {
    let fault = Fault::Hang {
        op: HangOp::Peer,
        device: None,
        pair: Some([0, 1]),
        after_copies: 0,
    };
    let kept = run(&with(fault), &[]);
    assert_eq!(kept.ran.code, 3, "{}", kept.ran.stderr);
    assert_eq!(verdicts(&kept), [PeerVerdict::Hang, PeerVerdict::Hang]);
    assert!(
        kept.probe(0, 1)
            .rests_on
            .contains("step `write`: no progress for 2 s")
    );
    assert!(kept.probe(1, 0).rests_on.contains("step `read`"));
    assert!(not_applicable(&kept, "d2d_read_ce", 0, 1).contains("hang"));
    is_measured_staged(&kept);
    assert_eq!(kept.bad(), []);
}

fn enabling_hangs() -> BoxFile {
    with(Fault::Hang {
        op: HangOp::EnablePeer,
        device: None,
        pair: Some([0, 1]),
        after_copies: 0,
    })
}

#[test]
fn access_that_is_only_said_to_be_there_is_staged() {
    let mut described = two_gpus();
    described.peer = vec![Peer {
        pair: [0, 1],
        access: Some(true),
        fabric: None,
        gbps: Some(figure(10.0)),
        // A small copy takes 14 us, above the 5 us from which on a path counts as staged, and longer than the 2 + 2 us
        // that the box's driver takes without access.
        latency_us: Some(figure(14.0)),
        kernel_read: None,
        kernel_write: None,
        chase_ns: None,
        segments: None,
        staged: true,
    }];
    let kept = run(&described, &[]);
    assert_eq!(kept.ran.code, 0, "{}", kept.ran.stderr);
    assert_eq!(verdicts(&kept), [PeerVerdict::Staged, PeerVerdict::Staged]);
    assert!(kept.probe(0, 1).rests_on.contains("16 B take 14.0"));
    assert!(kept.is_measured("d2d_write_ce", gpu(0), gpu(1)));
    is_measured_staged(&kept);
}

#[test]
fn a_pair_on_which_the_machine_went_down_is_tried_again_with_risk_only() {
    let scratch = Scratch::new();
    break_off_probing(&scratch);
    boots(&scratch);

    std::fs::remove_dir_all(scratch.join("out")).unwrap();
    let kept = scratch.soft(&enabling_hangs(), &CASES);
    assert_eq!(kept.ran.code, 3, "{}", kept.ran.stderr);
    assert_eq!(
        verdicts(&kept),
        [PeerVerdict::HostLost, PeerVerdict::Direct]
    );
    assert!(kept.probe(0, 1).steps.is_empty(), "it was not tried");
    assert!(kept.probe(0, 1).rests_on.contains("--risk"));
    assert!(not_applicable(&kept, "d2d_write_ce", 0, 1).contains("host_lost"));
    is_measured_staged(&kept);

    // With the risk it goes well on a box without the fault, and is forgotten.
    let risk = [&CASES[..], &["--risk"]].concat();
    for more in [&risk[..], &CASES] {
        std::fs::remove_dir_all(scratch.join("out")).unwrap();
        let kept = scratch.soft(&two_gpus(), more);
        assert_eq!(kept.probe(0, 1).verdict, PeerVerdict::Direct);
        assert_eq!(kept.ran.code, 0);
    }
}

#[test]
fn a_memory_that_cannot_be_written_is_said_and_one_that_cannot_be_read_is_no_leave_to_try() {
    let scratch = Scratch::new();
    let cases = ["--cases", "d2d_write_ce"];
    // What is remembered of this host stands where nothing can be read.
    scratch.soft(&two_gpus(), &cases);
    let mut files = std::fs::read_dir(scratch.join("state")).unwrap();
    let file = files.next().unwrap().unwrap().path();
    std::fs::remove_file(&file).unwrap();
    std::fs::create_dir(&file).unwrap();
    std::fs::remove_dir_all(scratch.join("out")).unwrap();
    let careful = scratch.soft(&two_gpus(), &cases);
    let not_tried = [PeerVerdict::NotTried, PeerVerdict::NotTried];
    assert_eq!(verdicts(&careful), not_tried);
    assert!(careful.probe(0, 1).rests_on.contains("--risk"));

    std::fs::remove_dir_all(scratch.join("out")).unwrap();
    std::fs::remove_dir_all(scratch.join("state")).unwrap();
    std::fs::write(scratch.join("state"), "a file where a folder should be").unwrap();
    let kept = scratch.soft(&two_gpus(), &cases);
    assert_eq!(verdicts(&kept), [PeerVerdict::Direct, PeerVerdict::Direct]);
    let mut caveats = kept.links().caveats.iter();
    assert!(caveats.any(|caveat| caveat.code() == "crash-not-remembered"));
}

/// Makes what is remembered that of another boot.
pub(crate) fn boots(scratch: &Scratch) {
    let state = only_file(scratch, "state");
    let text = std::fs::read_to_string(&state).unwrap();
    assert!(text.contains(boxfile::sysfs::BOOT_ID), "{text}");
    let before = "11111111-0000-4000-8000-000000000000";
    std::fs::write(&state, text.replace(boxfile::sysfs::BOOT_ID, before)).unwrap();
}

/// A run that is killed while it probes device 0 to device 1.
fn break_off_probing(scratch: &Scratch) {
    let cases = ["--cases", "d2d_*"];
    break_off(scratch, &enabling_hangs(), &cases, "\"ended\":false");
}

/// A run that stays in what never ends on this box, and is killed when its memory says this.
fn break_off(scratch: &Scratch, stuck: &BoxFile, cases: &[&str], says: &str) {
    let arguments = scratch.on(stuck, &[cases, &["--deadline", "600"]].concat());
    let mut watch = Watch::on(scratch.join("state"));
    let running = Running::start(scratch.program(arguments));
    watch.until(says);
    running.signal(Signal::KILL);
    assert_eq!(running.end().code, 128 + 9);
    scratch.nobody_is_left();
}

fn only_file(scratch: &Scratch, folder: &str) -> std::path::PathBuf {
    let mut entries = std::fs::read_dir(scratch.join(folder)).unwrap();
    let file = entries.next().unwrap().unwrap().path();
    assert!(entries.next().is_none());
    file
}

#[test]
fn what_is_known_to_take_hosts_down_needs_risk() {
    let mut described = BoxFile::builtin("l40x4").unwrap();
    described.name = "four-r9700".to_owned();
    for device in &mut described.device {
        device.name = "AMD Radeon AI PRO R9700".to_owned();
        device.pci_id = "1002:7551".to_owned();
    }
    let cases = ["--cases", "d2d_write_ce,d2d_staged_ce"];
    let careful = Scratch::new().soft(&described, &cases);
    assert_eq!(careful.ran.code, 3, "{}", careful.ran.stderr);
    // 4 devices have 4 x 3 ordered pairs.
    assert_eq!(careful.links().probes.len(), 12);
    for probe in &careful.links().probes {
        assert_eq!(probe.verdict, PeerVerdict::NotTried);
        assert!(probe.rests_on.contains("--risk"), "{}", probe.rests_on);
    }
    assert!(not_applicable(&careful, "d2d_write_ce", 0, 3).contains("not tried"));
    assert!(careful.is_measured("d2d_staged_ce", gpu(0), gpu(3)));

    // Choosing two of the four takes none of them out of the box; four are tried when asked.
    let two = Scratch::new().soft(&described, &[&cases[..], &["--gpus", "0,1"]].concat());
    assert_eq!(two.probe(0, 1).verdict, PeerVerdict::NotTried);
    let bold = Scratch::new().soft(&described, &[&cases[..], &["--risk"]].concat());
    assert_eq!(bold.probe(0, 3).verdict, PeerVerdict::Direct);
    // A box of three is not known to do it.
    keep_devices(&mut described, 3);
    let three = Scratch::new().soft(&described, &cases);
    assert_eq!(three.probe(0, 2).verdict, PeerVerdict::Direct);
}
