//! The all-reduce of a serving engine: stand-ins for torch, vLLM and SGLang whose device's clock is arithmetic, on ranks that are real
//! processes and really add up; with what goes wrong in engines. A real vLLM on the CPU where `TPLENS_VLLM_PYTHON` names its Python.

use std::process::Command;

use record::{CallMode, CollectiveKind, CollectiveOutcome, CollectivePoint, Verification};

use super::common::{Kept, Ran, Scratch, exact_us, has_two_cpus, no_progress, skipped};

const STAND_INS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/engine");

/// 2 KiB is done by the stand-in's own kernel, 16 KiB by the library; faults are of 16 KiB.
const SMALL: u64 = 2048;
const LARGE: u64 = 16384;

/// A run of two ranks on the host backend in all three modes.
fn arguments<'a>(python: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut arguments = vec!["--backend", "host", "--gpus", "0,1", "--samples", "6"];
    arguments.extend(["--out", "out", "--engine-python", python]);
    if !more.contains(&"--sizes") {
        arguments.extend(["--sizes", "2K,16K"]);
    }
    if !more.contains(&"--modes") {
        arguments.extend(["--modes", "host-synced,back-to-back,graph"]);
    }
    arguments.extend(more);
    arguments
}

fn with_stand_ins(scratch: &Scratch, more: &[&str], environment: &[(&str, &str)]) -> Command {
    let mut command = scratch.program(arguments("python3", more));
    command.env("PYTHONPATH", STAND_INS);
    command.env("PYTHONDONTWRITEBYTECODE", "1");
    command.envs(environment.iter().copied());
    command
}

fn run(scratch: &Scratch, more: &[&str], environment: &[(&str, &str)]) -> Kept {
    let mut command = with_stand_ins(scratch, more, environment);
    scratch.left(Ran::of(command.output().unwrap()))
}

/// Whether there is what these tests need; where there is not, that is noted as a skip.
fn can_run() -> bool {
    let answers = Command::new("python3").arg("--version").output();
    let there = answers.is_ok_and(|output| output.status.success());
    if !there {
        skipped("there is no python3, in which the stand-in engines run");
    }
    there && has_two_cpus()
}

/// The engine's points of a size, in the order of the modes.
fn of_engine(kept: &Kept, bytes: u64) -> Vec<&CollectivePoint> {
    let points = kept.collectives().points.iter();
    points
        .filter(|point| point.engine.is_some() && point.bytes_per_rank == bytes)
        .collect()
}

fn point(kept: &Kept, bytes: u64, mode: CallMode) -> &CollectivePoint {
    let points = of_engine(kept, bytes);
    let found = points.into_iter().find(|point| point.mode == mode);
    found.unwrap_or_else(|| panic!("no {bytes} B, {mode}: {}", kept.ran.stderr))
}

/// That the library was measured at both sizes, whatever became of the engine.
fn library_is_whole(kept: &Kept) {
    for bytes in [SMALL, LARGE] {
        for mode in [CallMode::HostSynced, CallMode::BackToBack] {
            let points = kept.collectives().points.iter();
            let mut of_library = points.filter(|point| {
                point.engine.is_none() && (point.bytes_per_rank, point.mode) == (bytes, mode)
            });
            assert!(exact_us(&of_library.next().unwrap().outcome) > 0.0);
        }
    }
}

fn failed(point: &CollectivePoint) -> &str {
    let CollectiveOutcome::Failed { reason } = &point.outcome else {
        panic!("{point:?}");
    };
    reason
}

#[test]
fn an_engines_times_are_those_of_its_device_and_name_who_did_each_size() {
    if !can_run() {
        return;
    }
    let scratch = Scratch::new();
    let kept = run(&scratch, &[], &[]);
    assert_eq!(kept.ran.code, 0, "{}", kept.ran.stderr);
    // The stand-in's kernel takes 21 us eager and 5 us in a graph, its library 30 us, and each 2 KiB takes 1 us. The 7 us until
    // work comes to a device that the host waited for are in none of them.
    for (bytes, mode, exact, by) in [
        (SMALL, CallMode::BackToBack, 22.0, "CustomAllreduce"),
        (SMALL, CallMode::Graph, 6.0, "CustomAllreduce"),
        (LARGE, CallMode::BackToBack, 38.0, "PyNcclCommunicator"),
        (LARGE, CallMode::Graph, 38.0, "PyNcclCommunicator"),
    ] {
        let point = point(&kept, bytes, mode);
        let time = exact_us(&point.outcome);
        assert!((time - exact).abs() < 1e-6, "{bytes} B {mode}: {time}");
        assert_eq!(point.engine, Some(format!("vllm 0.32.0 {by}")));
        assert_eq!((point.ranks, point.kind), (2, CollectiveKind::AllReduce));
        let CollectiveOutcome::Measured { time, .. } = &point.outcome else {
            panic!("{point:?}");
        };
        assert!(time.n >= 6 && time.timing.copies_per_sample >= 20);
    }
    // By the host's clock, which is real.
    assert!(exact_us(&point(&kept, SMALL, CallMode::HostSynced).outcome) > 0.0);
    library_is_whole(&kept);
    let engine = kept.collectives().engine.as_ref().unwrap();
    assert_eq!(
        (engine.name.as_str(), engine.device.as_str()),
        ("vllm", "cuda")
    );
    assert_eq!(engine.version.as_deref(), Some("0.32.0"));
    assert!(engine.python.ends_with("/python3"), "{}", engine.python);
    assert_eq!(
        engine.notes,
        ["CustomAllreduce is on", "PyNcclCommunicator is on"]
    );
}

#[test]
fn an_engines_wrong_sum_is_wrong_data() {
    if !can_run() {
        return;
    }
    let scratch = Scratch::new();
    let kept = run(&scratch, &[], &[("STAND_IN_FAULT", "wrong")]);
    assert_eq!(kept.ran.code, 5, "{}", kept.ran.stderr);
    let verification = |bytes| match &point(&kept, bytes, CallMode::Graph).outcome {
        CollectiveOutcome::Measured { verification, .. } => verification,
        other => panic!("{other:?}"),
    };
    assert_eq!(*verification(SMALL), Verification::Passed);
    let Verification::WrongData { seen } = verification(LARGE) else {
        panic!("{:?}", verification(LARGE));
    };
    // At position 3 rank 0 has 7 * 3 = 21 and rank 1 has 21 + 5 = 26: 47, and the stand-in adds 1.
    assert_eq!(seen, "element 3 of 8192 is 48.0 where 47.0 is exact");
}

#[test]
fn a_replay_that_is_wrong_where_calls_are_right_is_wrong_data() {
    if !can_run() {
        return;
    }
    for (engine, fault, wrong) in [
        // At position 3 rank 0 has 7 * 3 = 21 and rank 1 has 21 + 5 = 26: 47, and the stand-in adds 1.
        (
            "vllm",
            "wrong-replay",
            "element 3 of 8192 is 48.0 where 47.0",
        ),
        // The same, where the sum takes the place of what was sent.
        (
            "sglang",
            "wrong-replay",
            "element 3 of 8192 is 48.0 where 47.0",
        ),
        // Sums of the first replays that lie there still do not pass: at position 0 they are 0 + 5.
        ("vllm", "lost-replay", "element 0 of 8192 is -1.0 where 5.0"),
    ] {
        let scratch = Scratch::new();
        let more = ["--engine", engine, "--sizes", "16K"];
        let kept = run(&scratch, &more, &[("STAND_IN_FAULT", fault)]);
        assert_eq!(kept.ran.code, 5, "{}", kept.ran.stderr);
        let verification = |mode| match &point(&kept, LARGE, mode).outcome {
            CollectiveOutcome::Measured { verification, .. } => verification,
            other => panic!("{other:?}"),
        };
        for mode in [CallMode::HostSynced, CallMode::BackToBack] {
            assert_eq!(*verification(mode), Verification::Passed);
        }
        let Verification::WrongData { seen } = verification(CallMode::Graph) else {
            panic!("{engine} {fault}: {:?}", verification(CallMode::Graph));
        };
        assert!(seen.starts_with(wrong), "{engine} {fault}: {seen}");
    }
}

#[test]
fn an_engine_that_crashes_or_raises_loses_its_size_and_nothing_else() {
    if !can_run() {
        return;
    }
    for (fault, words) in [
        ("crash", "exit status: 11"),
        ("raise", "illegal memory access"),
    ] {
        let scratch = Scratch::new();
        let kept = run(&scratch, &[], &[("STAND_IN_FAULT", fault)]);
        assert_eq!(kept.ran.code, 3, "{}", kept.ran.stderr);
        library_is_whole(&kept);
        assert!((exact_us(&point(&kept, SMALL, CallMode::Graph).outcome) - 6.0).abs() < 1e-6);
        let lost = of_engine(&kept, LARGE);
        assert_eq!(lost.len(), 3);
        for point in lost {
            assert!(failed(point).contains(words), "{point:?}");
        }
    }
}

#[test]
fn an_engine_that_hangs_is_ended_at_its_deadline() {
    if !can_run() {
        return;
    }
    let scratch = Scratch::new();
    let more = ["--modes", "back-to-back", "--deadline", "5"];
    let kept = run(&scratch, &more, &[("STAND_IN_FAULT", "hang")]);
    assert_eq!(kept.ran.code, 3, "{}", kept.ran.stderr);
    let hung = point(&kept, LARGE, CallMode::BackToBack);
    assert!(
        no_progress(&hung.outcome).is_some_and(|said| said.contains("rank 1 in `the first call`")),
        "{hung:?}"
    );
    assert!((exact_us(&point(&kept, SMALL, CallMode::BackToBack).outcome) - 22.0).abs() < 1e-6);
}

#[test]
fn a_real_vllm_on_the_cpu_is_measured() {
    let Some(python) = std::env::var_os("TPLENS_VLLM_PYTHON") else {
        skipped(
            "TPLENS_VLLM_PYTHON names no Python with vLLM for CPUs, so that no real engine was measured",
        );
        return;
    };
    if !has_two_cpus() {
        return;
    }
    let scratch = Scratch::new();
    let python = python.to_str().unwrap();
    let mut command = scratch.program(arguments(python, &["--sizes", "2K,16K,1M"]));
    command.envs([
        ("VLLM_HOST_IP", "127.0.0.1"),
        ("GLOO_SOCKET_IFNAME", "lo"),
        ("VLLM_NO_USAGE_STATS", "1"),
        ("HF_HUB_OFFLINE", "1"),
    ]);
    let kept = scratch.left(Ran::of(command.output().unwrap()));
    assert_eq!(kept.ran.code, 0, "{}", kept.ran.stderr);
    for bytes in [SMALL, LARGE, 1 << 20] {
        for mode in [CallMode::HostSynced, CallMode::BackToBack] {
            let point = point(&kept, bytes, mode);
            assert!(exact_us(&point.outcome) > 0.0);
            assert!(point.engine.as_deref().unwrap().starts_with("vllm "));
        }
    }
    assert_eq!(kept.collectives().engine.as_ref().unwrap().device, "cpu");
}
