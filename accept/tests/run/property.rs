//! Random faults, several at once: every run ends in time with a report, and no box that has a fault is accepted.
//!
//! `cargo xtask test --full` runs all of them.

use std::time::Instant;

use boxfile::{AllocSite, BoxFile, Direction, Fault, HangOp};

use crate::run::common::{Scratch, TWO, can_run, checks, full};
use crate::run::planted::{self, Dice, seeded};

/// How many cases run; two where not all tests do.
const CASES: u64 = 100;

/// What a run may take, s.
const BUDGET_S: u32 = 40;

/// What it may take besides, to end what is under way, s.
const BESIDE_S: f64 = 30.0;

/// Plants one fault that no good box has, of two devices, and gives its name.
fn plant(described: &mut BoxFile, dice: &mut Dice) -> String {
    let device = dice.below(2);
    let pair = [device, 1 - device];
    let after_copies = dice.below(60) as u64;
    let after_calls = dice.below(20) as u64;
    let rank = u32::try_from(device).unwrap();
    #[rustfmt::skip]
    let hang = |op, device, pair, after_copies| Fault::Hang { op, device, pair, after_copies };
    let of_pair = |op| hang(op, None, Some(pair), 0);
    let of_device = |op| hang(op, Some(device), None, after_copies);
    #[rustfmt::skip]
    let wrong = |pair, direction, device| Fault::WrongData { pair, direction, device };
    #[rustfmt::skip]
    let fault = match dice.below(23) {
        0 => Fault::InitFailure { code: 999 },
        1 => Fault::PeerDenied { pair },
        2 => Fault::DropData { pair },
        3 => wrong(Some(pair), None, None),
        4 => wrong(None, Some(Direction::H2d), Some(device)),
        5 => wrong(None, Some(Direction::D2h), Some(device)),
        6 => Fault::DeviceLost { device, after_copies, off_the_bus: None },
        7 => of_pair(HangOp::Peer),
        8 => of_pair(HangOp::EnablePeer),
        9 => of_device(HangOp::H2d),
        10 => of_device(HangOp::D2h),
        11 => Fault::Retrain { device, after_copies: 0, generation: 3, width: 16 },
        12 => Fault::CollectiveInitFailure { rank, code: 2 },
        13 => Fault::CollectiveWrong { rank, after_calls, captured: false },
        14 => Fault::CollectiveHang { rank, after_calls, protocol: None },
        15 => Fault::CollectiveDeath { rank, after_calls },
        16 => Fault::AllocFailure { on: AllocSite::Device, nth: 1 },
        17 => Fault::SlowWay { pair, percent: 80 },
        18 => {
            planted::link_errors(described, device, 0, 1);
            return format!("a packet lost above GPU{device}");
        }
        19 => {
            planted::slot(described, device, 4, 8);
            return format!("x8 of GPU{device}");
        }
        20 => {
            planted::hot(described, device);
            return format!("heat of GPU{device}");
        }
        21 => {
            planted::on_node(described, device, 1);
            return format!("GPU{device} on node 1");
        }
        _ => hang(HangOp::Init, None, None, 0),
    };
    let name = format!("{fault:?}");
    described.fault.push(fault);
    name
}

/// Makes the profile demand all that its box of two can be judged by, with a smaller large all-reduce, which takes less time.
fn strict(scratch: &Scratch) {
    let file = scratch.join(TWO.0);
    let text = std::fs::read_to_string(&file).unwrap();
    let (before, after) = text.split_once("\"counters\"]").unwrap();
    let text = format!(
        "{before}\"counters\", \"numa_node\", \"symmetry\", \"allreduce\"]{after}\n[allreduce]\nlarge_bytes = 4194304\n"
    );
    std::fs::write(&file, text).unwrap();
}

#[test]
fn a_box_of_two_without_a_fault_is_accepted_by_what_is_demanded_here() {
    if !can_run() {
        return;
    }
    let scratch = Scratch::new();
    scratch.two(vec![]);
    strict(&scratch);
    scratch.on(TWO, "out", &[]).expect(0);
}

#[test]
fn any_faults_end_in_time_in_a_valid_report_and_never_in_accepted() {
    if !can_run() {
        return;
    }
    let mut wrong = Vec::new();
    let cases = if full() { CASES } else { 2 };
    for case in 0..cases {
        let mut dice = Dice::new(9000 + case);
        let mut described = seeded("l40x4", case);
        planted::two(&mut described);
        let names: Vec<String> = (0..=dice.below(3))
            .map(|_| plant(&mut described, &mut dice))
            .collect();
        let scratch = Scratch::new();
        scratch.two(vec![]);
        strict(&scratch);
        let file = scratch.describe(&described, "faulty.toml");
        let begun = Instant::now();
        let budget = format!("{BUDGET_S}s");
        let ran = scratch.on(
            (TWO.0, &file),
            "out",
            &["--budget", &budget, "--deadline", "2s"],
        );
        let took_s = begun.elapsed().as_secs_f64();
        let report = scratch.json("out/report.json");
        let bad: Vec<String> = checks(&report)
            .into_iter()
            .filter(|(_, came)| came.0 == "fail")
            .map(|(id, came)| format!("{id}: {}", came.1))
            .collect();
        println!(
            "{case} | {} | exit {} {} | {took_s:.0} s | {}",
            names.join(" + "),
            ran.code,
            report["verdict"],
            bad.join("; ")
        );
        let faults = [
            (![1, 3].contains(&ran.code)).then(|| format!("exit {}: {}", ran.code, ran.stderr)),
            (took_s > f64::from(BUDGET_S) + BESIDE_S).then(|| format!("it took {took_s:.0} s")),
            ran.stderr.contains("panicked").then(|| ran.stderr.clone()),
            report["verdict"]
                .as_str()
                .filter(|verdict| verdict.starts_with("accepted"))
                .map(str::to_owned),
        ];
        wrong.extend(
            faults
                .into_iter()
                .flatten()
                .map(|what| format!("case {case}, {}: {what}", names.join(" + "))),
        );
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
