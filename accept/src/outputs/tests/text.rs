//! The text of good, bad and hostile reports.

use super::sample::{self, HOSTILE};
use crate::outputs::text;
use crate::report::{BoxVerdict, ReasonCode, RunStatus, Subject, Verdict};

#[test]
fn a_good_box_is_accepted_in_one_sentence() {
    insta::assert_snapshot!(text(&sample::good()), @r"
    Measured on canary-node-017.cluster.example: 2 x NVIDIA L40

    ACCEPTED: all 6 required checks were measured and none failed, held against the profile l40x2 (two L40, PCIe Gen4 x16)
    at level quick.
    accept 0.1.0, 2026-11-22T20:00:00Z, level quick, 93.40 s; profile l40x2 (came with the program, sha256 0123456789ab)

    Links to the host
      check                figure    95% interval    n  limit                                 verdict
      link GPU0          Gen4 x16               —  312  Gen4 x16                              pass
      link GPU1          Gen4 x16               —  312  Gen4 x16                              pass
      h2d_pinned GPU0  26.00 GB/s  25.74 .. 26.26   15  >= 23.05, warns below 25.35 GB/s [1]  pass
      h2d_pinned GPU1  26.20 GB/s  25.94 .. 26.46   15  >= 23.05, warns below 25.35 GB/s [1]  pass
      [1] 0.80 and 0.88 of 28.81 GB/s, what Gen4 x16 carries at 256 B payload; 0.80 and 0.88 are our choice

    Links between devices
      check               figure    95% interval   n  limit                                 verdict
      p2p GPU0->GPU1  25.90 GB/s  25.64 .. 26.16  15  >= 23.05, warns below 25.35 GB/s [1]  pass
      p2p GPU1->GPU0  26.10 GB/s  25.84 .. 26.36  15  >= 23.05, warns below 25.35 GB/s [1]  pass
      [1] 0.80 and 0.88 of 28.81 GB/s, what Gen4 x16 carries at 256 B payload; 0.80 and 0.88 are our choice

    Not looked at
      - p2p_staged box (not_applicable): every pair reaches the other directly
      - device memory is not marched over; DCGM's memtest or RVS's mem do

    Devices
            name        slot          node  memory  identity
      GPU0  NVIDIA L40  0000:21:00.0  0     48 GiB  GPU-c0ffee00-1111-2222-3333-c4ca123ab00b
      GPU1  NVIDIA L40  0000:31:00.0  0     48 GiB  1563221017744

    Settings (not judged)
      setting  value
      IOMMU    on, pt
      not read: 1 more; the page and --json say why

    complete; exit code 0
    ");
}

#[test]
fn fault_checks_that_were_left_out_stand_in_the_second_sentence() {
    let mut report = sample::good();
    let why = "left out on the command line".to_owned();
    let left_out = Subject::new("counters", ["box".to_owned()], false);
    report
        .checks
        .push(left_out.skipped(ReasonCode::ExcludedByUser, why));
    report.verdict = BoxVerdict::of(&report.checks);
    let told = text(&report);
    assert!(told.contains("ACCEPTED, with warnings: all 6"), "{told}");
    assert!(
        told.contains("\nLeft out on the command line though they see faults, so that nothing is known of those: counters box."),
        "{told}"
    );
}

#[test]
fn a_bad_box_says_what_rejects_it_and_what_to_do() {
    insta::assert_snapshot!(text(&sample::simulated(sample::bad())), @r"
    SIMULATED on soft box l40x4: arithmetic of a box file, not a measurement

    REJECTED: 5 of 9 required checks failed, held against the profile l40x2 (two L40, PCIe Gen4 x16) at level quick.
    What rejects it: link GPU1: Gen4 x8 under load, Gen4 x16 is expected; h2d_pinned GPU1: 12.9 GB/s against 23.05 GB/s; p2p
    GPU0->GPU1: 12.7 GB/s against 23.05 GB/s; and 2 more.
    2 more required checks could not be told.
    To look at: h2d_pinned GPU0: 24.1 GB/s against 23.05 GB/s.
    accept 0.1.0, 2026-11-22T20:00:00Z, level quick, 93.40 s; profile l40x2 (came with the program, sha256 0123456789ab)

    CAUTION
      - run as root: the kernel showed more than a user sees

    What to do
      - link GPU1: reseat the card, look at riser, cable and the slot's setting in the BIOS
      - h2d_pinned GPU1, h2d_pinned GPU0: compare `link`; then payload size, IOMMU and memory channels (p2p-bw doctor)
      - p2p GPU0->GPU1: compare the pair's path class and links; look at ACS
      - p2p GPU1->GPU0: look what the driver logged (dmesg: Xid, resets) and whether the vendor's tool (nvidia-smi, amd-smi,
        mx-smi) still answers; then check power cables and seat of the card, try another slot, and run again
      - counters 0000:20:01.1: reseat GPU1 and look at its riser
      - allreduce small: stop everything else on this machine and run again
      - numa_penalty box: give the run more time: the same command with a longer --budget, and --resume DIR in place of
        --out, goes on with it

    Links to the host
      check                figure    95% interval    n  limit                                 verdict
      link GPU0          Gen4 x16               —  312  Gen4 x16                              pass
      link GPU1           Gen4 x8               —  312  Gen4 x16                              fail
      h2d_pinned GPU0  24.10 GB/s  23.86 .. 24.34   15  >= 23.05, warns below 25.35 GB/s [1]  warn
      h2d_pinned GPU1  12.90 GB/s  12.77 .. 13.03   15  >= 23.05, warns below 25.35 GB/s [1]  fail
      FAIL link GPU1 (link_degraded): Gen4 x8 under load, Gen4 x16 is expected
      WARN h2d_pinned GPU0 (below_floor): 24.1 GB/s against 23.05 GB/s.
      FAIL h2d_pinned GPU1 (below_floor): 12.9 GB/s against 23.05 GB/s.
      [1] 0.80 and 0.88 of 28.81 GB/s, what Gen4 x16 carries at 256 B payload; 0.80 and 0.88 are our choice

    Links between devices
      check                      figure    95% interval    n  limit                                 verdict
      p2p GPU0->GPU1         12.70 GB/s  12.57 .. 12.83   15  >= 23.05, warns below 25.35 GB/s [1]  fail
      p2p GPU1->GPU0  no answer in 10 s               —  312  a number                              fail
      FAIL p2p GPU0->GPU1 (below_floor): 12.7 GB/s against 23.05 GB/s.
      FAIL p2p GPU1->GPU0 (hang): the copy does not end
      [1] 0.80 and 0.88 of 28.81 GB/s, what Gen4 x16 carries at 256 B payload; 0.80 and 0.88 are our choice

    Collectives
      check              figure    95% interval   n  limit                               verdict
      allreduce small  118.0 us  96.00 .. 131.0  60  <= 120.0, warns above 60.00 us [1]  inconclusive
      INCONCLUSIVE allreduce small (noisy): 118 us, the interval lies across 120 us after 60 samples
      [1] fails at 120, warns at 60; our choice

    Errors counted
      check                           figure  95% interval  n  limit  verdict
      counters 0000:20:01.1  3 to 44 in 93 s             —  —  —      fail
      FAIL counters 0000:20:01.1 (counter_rate): AER correctable rose by 41 in 93 s

    Not looked at
      - numa_penalty box (budget): 5 minutes were used up
      - serving box (not_asked): no --serve-url was given
      - device memory is not marched over; DCGM's memtest or RVS's mem do

    Devices
            name        slot          node  memory  identity
      GPU0  NVIDIA L40  0000:21:00.0  0     48 GiB  GPU-c0ffee00-1111-2222-3333-c4ca123ab00b
      GPU1  NVIDIA L40  0000:31:00.0  0     48 GiB  1563221017744

    Settings (not judged)
      setting  value
      IOMMU    on, pt
      not read: 1 more; the page and --json say why

    complete; exit code 1
    ");
}

#[test]
fn an_undecided_box_is_called_neither_good_nor_bad() {
    let mut report = sample::report(vec![sample::copy(
        "h2d_pinned",
        "GPU0",
        23.1,
        Verdict::Pass,
        ReasonCode::WithinLimit,
    )]);
    report.verdict = BoxVerdict::Inconclusive;
    report.exit_code = 130;
    report.status = RunStatus::Interrupted {
        signal: "SIGINT".to_owned(),
    };
    let text = text(&report);
    let head: Vec<&str> = text.lines().skip(2).take(4).collect();
    insta::assert_snapshot!(head.join("\n"), @r"
    INCONCLUSIVE: the run did not end by itself, and what it had measured is good, held against the profile l40x2 (two L40,
    PCIe Gen4 x16) at level quick. This is no word for or against the hardware.
    The run was interrupted by SIGINT; what was measured till then is shown.
    accept 0.1.0, 2026-11-22T20:00:00Z, level quick, 93.40 s; profile l40x2 (came with the program, sha256 0123456789ab)
    ");
    assert!(text.ends_with("interrupted; exit code 130\n"), "{text}");
}

#[test]
fn no_line_is_wider_than_the_page_and_nothing_steers_a_terminal() {
    for report in [sample::good(), sample::bad(), sample::hostile()] {
        let text = text(&report);
        for line in text.lines() {
            assert!(line.chars().count() <= 120, "{line}");
        }
        assert!(!text.contains(|c: char| measure::control::is_unseen(c) && c != '\n'));
        // 10 kB of a name are cut.
        assert!(text.len() < 60_000, "{}", text.len());
    }
    assert!(HOSTILE.contains('\u{1b}'));
}

#[test]
fn many_good_checks_of_a_kind_are_one_line() {
    let pairs = (0..4).flat_map(|from| {
        (0..4)
            .filter(move |to| *to != from)
            .map(move |to| (from, to))
    });
    let checks = pairs.map(|(from, to)| {
        let about = format!("GPU{from}->GPU{to}");
        let rate = 25.5 + f64::from(from) * 0.1;
        sample::copy("p2p", &about, rate, Verdict::Pass, ReasonCode::WithinLimit)
    });
    let mut report = sample::report(checks.collect());
    let folded = text(&report);
    // Twelve pairs from 25.5 to 25.8 GB/s, each interval 1% wide on both sides: 25.5 x 0.99 = 25.245, 25.8 x 1.01 = 26.058.
    let line = folded
        .lines()
        .find(|line| line.starts_with("  p2p"))
        .unwrap();
    assert!(
        line.contains("p2p, all 12") && line.contains("25.50 .. 25.80 GB/s"),
        "{line}"
    );
    assert!(
        line.contains("25.25 .. 26.06  >= 15") || line.contains("25.24 .. 26.06  >= 15"),
        "{line}"
    );
    let link = |index: usize| {
        let about = format!("GPU{index}");
        sample::link(&about, "Gen4 x16", Verdict::Pass, ReasonCode::AsExpected)
    };
    let links = text(&sample::report((0..5).map(link).collect()));
    assert!(links.contains("  link, all 5  Gen4 x16"), "{links}");
    // One that is not good, and each stands by itself.
    report.checks[3] = sample::copy(
        "p2p",
        "GPU1->GPU0",
        24.0,
        Verdict::Warn,
        ReasonCode::BelowFloor,
    );
    assert_eq!(
        text(&report)
            .lines()
            .filter(|line| line.starts_with("  p2p GPU"))
            .count(),
        12
    );
}

#[test]
fn a_run_that_came_to_no_device_says_why_in_a_few_lines() {
    let mut report = sample::good();
    report.devices.clear();
    report.verdict = BoxVerdict::Inconclusive;
    report.exit_code = 3;
    report.status = RunStatus::Failed {
        reason: "cuda: libcuda.so.1 not found; install NVIDIA's driver".to_owned(),
    };
    insta::assert_snapshot!(text(&report), @r"
    No device could be looked at: cuda: libcuda.so.1 not found; install NVIDIA's driver
    INCONCLUSIVE: nothing was measured, held against the profile l40x2 (two L40, PCIe Gen4 x16) at level quick. This is no
    word for or against the hardware.
    What to do: mend that and start again with another --out; `p2p-bw doctor` says what this machine shows of its GPUs.
    accept 0.1.0, 2026-11-22T20:00:00Z, level quick, 93.40 s; profile l40x2 (came with the program, sha256 0123456789ab)
    failed; exit code 3
    ");
}

#[test]
fn what_follows_from_another_check_stands_behind_it_and_is_counted() {
    let open = |id: &str, about: &str, text: &str| {
        let subject = Subject::new(id, [about.to_owned()], true);
        subject.inconclusive(ReasonCode::Unreadable, text.to_owned(), None, vec![])
    };
    let mut report = sample::good();
    let cause = "link GPU1";
    let follows = |kind: &str, about: &str| open(kind, about, "25 GB/s over x8").following(cause);
    report.checks = vec![
        open("link", "GPU1", "x8 was read").advised("read LnkSta"),
        follows("h2d_pinned", "GPU1"),
        follows("p2p", "GPU0->GPU1"),
        // Its cause stands nowhere in this report.
        open("d2h_pinned", "GPU0", "odd").following("link GPU0"),
    ];
    report.verdict = BoxVerdict::of(&report.checks);
    let told = text(&report)
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    for part in [
        "What is open: link GPU1: x8 was read; d2h_pinned GPU0: odd; and 2 that follow from link GPU1.",
        "- link GPU1: read LnkSta (what follows from it, 2 checks: h2d_pinned GPU1, p2p GPU0->GPU1)",
        "- d2h_pinned GPU0: follows from link GPU0: do what is said there",
    ] {
        assert!(told.contains(part), "{part} in {told}");
    }
}
