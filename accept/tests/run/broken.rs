//! Runs that are broken off: by signals, by a kill at any moment, by a start of the machine. `cargo xtask test --full` kills 50 times.

use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use boxfile::Fault;
use rustix::process::{Pid, Signal, kill_process};

use crate::run::common::{
    Came, Scratch, TWO, arguments, can_run, can_run_in_full, checks, wait_until,
};
use crate::run::planted::Dice;

/// What these runs leave out unless many are killed: it takes as long as all else.
const QUICK: &[&str] = &["--exclude", "allreduce"];

/// A run that has begun.
fn begun(scratch: &Scratch, words: &[&str]) -> Child {
    let mut program = scratch.program(words);
    let program = program.stdout(Stdio::null()).stderr(Stdio::null());
    program.spawn().unwrap()
}

/// How a journal's line on a step that was done begins.
const STEP: &str = "{\"step\":";

/// Waits until a journal holds a line that begins so.
fn wait_for(journal: &Path, begins: &str) {
    wait_until(&format!("the journal has {begins}"), || {
        let text = std::fs::read_to_string(journal).unwrap_or_default();
        text.lines().any(|line| line.starts_with(begins))
    });
}

#[test]
fn a_signal_ends_in_a_valid_report_and_a_kill_at_any_moment_is_gone_on_with_to_the_same_verdict() {
    if !can_run() {
        return;
    }
    let scratch = Scratch::new();
    scratch.two(vec![]);
    scratch.on(TWO, "whole", QUICK).expect(0);
    let whole = checks(&scratch.json("whole/report.json"));
    // In the middle of a step, and right behind one.
    for (number, begins) in [r#"{"before""#, r#"{"step":{"group":"host_links""#]
        .iter()
        .enumerate()
    {
        let out = format!("killed-{number}");
        let mut child = begun(&scratch, &arguments(TWO, ["--out", &out], QUICK));
        wait_for(&scratch.join(&out).join("journal.jsonl"), begins);
        wait_for(&scratch.join(&out).join("report.json"), "{");
        child.kill().unwrap();
        child.wait().unwrap();
        // What was measured can be shown, and is not accepted.
        let shown = scratch.run(&["report", &out, "--json"]);
        let report: serde_json::Value = serde_json::from_str(&shown.expect(0).stdout).unwrap();
        assert_eq!(
            (&report["status"]["state"], &report["verdict"]),
            (&"broken".into(), &"inconclusive".into())
        );
        // What stood for copies until they were measured does not stand beside them.
        let shown = checks(&report);
        let measured = shown.keys().any(|id| id.starts_with("h2d_pinned GPU"));
        assert!(
            !(measured && shown.contains_key("h2d_pinned box")),
            "{shown:?}"
        );
        scratch
            .run(&arguments(TWO, ["--resume", &out], QUICK))
            .expect(0);
        let report = scratch.json(&format!("{out}/report.json"));
        let gone_on = checks(&report);
        assert_eq!(
            whole.keys().collect::<Vec<_>>(),
            gone_on.keys().collect::<Vec<_>>()
        );
        assert_eq!(report["status"]["state"], "complete");
        // Other devices are another run, also where this one is complete and there would be nothing to go on with.
        let other = scratch.run(
            &[
                &arguments(TWO, ["--resume", &out], QUICK)[..],
                &["--gpus", "0"],
            ]
            .concat(),
        );
        other.expect(2);
        scratch.run(&arguments(TWO, ["--resume", &out], QUICK));
    }
    let mut child = begun(&scratch, &arguments(TWO, ["--out", "told"], QUICK));
    wait_for(&scratch.join("told/journal.jsonl"), r#"{"before""#);
    // Nobody else goes on with a run that is under way.
    let second = scratch.run(&arguments(TWO, ["--resume", "told"], QUICK));
    second.expect(2);
    let pid = Pid::from_child(&child);
    kill_process(pid, Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(143));
    let report = scratch.json("told/report.json");
    assert_eq!(report["status"]["signal"], "SIGTERM");
    assert_eq!(
        (&report["verdict"], &report["exit_code"]),
        (&"inconclusive".into(), &143.into())
    );
    scratch
        .run(&arguments(TWO, ["--resume", "told"], QUICK))
        .expect(0);
    assert_eq!(
        scratch.json("told/report.json")["status"]["state"],
        "complete"
    );
}

/// What a run came to: exit code, verdict, and the checks that failed.
fn outcome(scratch: &Scratch, code: i32, out: &str) -> (i32, String, Vec<(String, Came)>) {
    let report = scratch.json(&format!("{out}/report.json"));
    let failed = checks(&report)
        .into_iter()
        .filter(|(_, came)| came.0 == "fail");
    (code, report["verdict"].to_string(), failed.collect())
}

/// Seconds that each step of a whole run took.
fn steps(scratch: &Scratch, out: &str) -> Vec<f64> {
    let text = std::fs::read_to_string(scratch.join(out).join("journal.jsonl")).unwrap();
    let steps = text.lines().filter(|line| line.contains(STEP));
    let step = |line| serde_json::from_str::<serde_json::Value>(line).unwrap();
    steps
        .map(|line| step(line)["step"]["took_s"].as_f64().unwrap())
        .collect()
}

#[test]
fn a_run_that_is_killed_at_a_random_moment_comes_to_the_verdict_of_one_that_is_not() {
    if !can_run_in_full() {
        return;
    }
    let (kills, more): (u32, &[&str]) = (50, &[]);
    let scratch = Scratch::new();
    // A good box on even moments, one that is rejected on odd ones.
    scratch.two(vec![]);
    std::fs::rename(scratch.join(TWO.1), scratch.join("good.toml")).unwrap();
    scratch.two(vec![
        Fault::DropData { pair: [0, 1] },
        Fault::LinkErrors {
            address: "0000:60:01.1".to_owned(),
            correctable: 0,
            nonfatal: 2,
            fatal: 0,
        },
    ]);
    let boxes = ["good.toml", TWO.1];
    let whole: Vec<_> = ["whole-0", "whole-1"]
        .iter()
        .enumerate()
        .map(|(of, out)| {
            let ran = scratch.on((TWO.0, boxes[of]), out, more);
            outcome(&scratch, ran.code, out)
        })
        .collect();
    assert_eq!((whole[0].0, whole[1].0), (0, 1), "{whole:?}");
    let steps = [steps(&scratch, "whole-0"), steps(&scratch, "whole-1")];
    let mut dice = Dice::new(1 + u64::from(kills));
    let mut wrong = Vec::new();
    for number in 0..kills {
        let of = number as usize % 2;
        let out = format!("killed-{number}");
        // Somewhere in one of its steps, before the first, or behind the last.
        let step = dice.below(steps[of].len() + 1);
        let long = steps[of].get(step).copied().unwrap_or(1.0);
        let moment = Duration::from_secs_f64(long * dice.below(1000) as f64 / 1000.0);
        let mut child = begun(
            &scratch,
            &arguments((TWO.0, boxes[of]), ["--out", &out], more),
        );
        wait_until("it is in that step", || {
            let text = std::fs::read_to_string(scratch.join(&out).join("journal.jsonl"));
            text.map_or(0, |text| text.matches(STEP).count()) >= step
        });
        std::thread::sleep(moment);
        child.kill().unwrap();
        child.wait().unwrap();
        let ran = scratch.run(&arguments((TWO.0, boxes[of]), ["--resume", &out], more));
        let came = if ran.code == 2 && ran.stderr.contains("journal.jsonl") {
            // Before the journal's first line there is nothing to go on with, and it says so.
            "nothing to go on with".to_owned()
        } else if ran.stderr.contains("nothing to resume") {
            "it was complete".to_owned()
        } else {
            let came = outcome(&scratch, ran.code, &out);
            if came != whole[of] {
                wrong.push(format!(
                    "{} {moment:.1?} behind {step} steps: {came:?}: {}",
                    boxes[of], ran.stderr
                ));
            }
            came.1
        };
        println!(
            "{number} | {} | killed {:.1} s behind {step} of {} steps | {came}",
            boxes[of],
            moment.as_secs_f64(),
            steps[of].len()
        );
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
