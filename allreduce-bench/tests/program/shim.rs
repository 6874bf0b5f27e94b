//! The delay shim before the simulated library: on a box without noise every all-reduce takes what was asked for more, and nothing else
//! changes.

use std::path::PathBuf;

use record::{CallMode, CollectiveOutcome};

use super::common::{Kept, Ran, Scratch, exact_us, two_gpus};

/// Where `cargo xtask` puts libraries of a kind.
fn installed(folder: &str, file: &str) -> PathBuf {
    let program = built::file();
    let target = program.parent().unwrap().parent().unwrap();
    target.join(folder).join(file)
}

/// Times on two GPUs that reduce in 50 us and gather in 30 us, with the shim before the simulated library.
fn delayed(scratch: &Scratch, variables: &[(&str, &str)], more: &[&str]) -> Kept {
    let shim = installed("shim", "libnccl.so.2");
    let flags = [
        "--sizes",
        "64K,1M",
        "--modes",
        "back-to-back,graph",
        "--samples",
        "6",
        "--ccl",
    ];
    let flags = [&flags[..], &[shim.to_str().unwrap()], more].concat();
    let mut program = scratch.program(scratch.on(&two_gpus(), &flags));
    program
        .env("TPLENS_DELAY_LIBRARY", installed("soft", "libnccl.so.2"))
        .env("TPLENS_DELAY_LOG", scratch.join("log.jsonl"))
        .envs(variables.iter().copied());
    scratch.left(Ran::of(program.output().unwrap()))
}

/// The simulated driver's events count in nanoseconds as f32 milliseconds, as CUDA's do.
fn close(measured: f64, expected: f64) {
    assert!(
        (measured / expected - 1.0).abs() < 2e-3,
        "{measured} us, not {expected} us"
    );
}

fn all_reduces_take(kept: &Kept, microseconds: f64) {
    assert_eq!(kept.ran.code, 0, "{}{}", kept.ran.stdout, kept.ran.stderr);
    for bytes in [64 << 10, 1 << 20] {
        for mode in [CallMode::BackToBack, CallMode::Graph] {
            close(exact_us(kept.reduced(bytes, mode)), microseconds);
        }
    }
}

/// The lines of the log, and the last of each process.
fn last_lines(scratch: &Scratch) -> Vec<serde_json::Value> {
    let text = std::fs::read_to_string(scratch.join("log.jsonl")).unwrap();
    let mut last = std::collections::BTreeMap::new();
    for line in text.lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        last.insert(line["pid"].as_u64().unwrap(), line);
    }
    last.into_values().collect()
}

#[test]
fn each_all_reduce_takes_the_delay_longer_in_a_graph_and_outside() {
    // 50 us and 0, 20 or 50 us of delay.
    for (asked, us) in [("0", 50.0), ("20", 70.0), ("50", 100.0)] {
        let scratch = Scratch::new();
        let kept = delayed(&scratch, &[("TPLENS_DELAY_US", asked)], &[]);
        all_reduces_take(&kept, us);
        let simulated = kept.record.header.simulated.as_ref().unwrap();
        assert_eq!(simulated.box_name, "two-l40");
        let lines = last_lines(&scratch);
        let busy: Vec<_> = lines
            .iter()
            .filter(|line| line["calls_captured"] != 0)
            .collect();
        // Both ranks captured calls, and made others.
        assert_eq!(busy.len(), 2, "{lines:?}");
        for line in busy {
            assert_eq!(line["delay_us"], asked.parse::<f64>().unwrap(), "{line}");
            assert!(
                line["calls"].as_u64() > line["calls_captured"].as_u64(),
                "{line}"
            );
            assert_eq!(line["calls_refused"], 0, "{line}");
            let library = line["library"].as_str().unwrap();
            assert!(library.ends_with("soft/libnccl.so.2"), "{line}");
            if us == 50.0 {
                assert!(line["measured_us"].is_null(), "{line}");
            } else {
                close(line["measured_us"].as_f64().unwrap(), us - 50.0);
            }
        }
    }
}

#[test]
fn a_delay_shorter_than_a_kernel_fails_the_call_and_says_why() {
    // The box's launch of a kernel takes longer than 0.1 us.
    let scratch = Scratch::new();
    let kept = delayed(&scratch, &[("TPLENS_DELAY_US", "0.1")], &[]);
    assert_ne!(kept.ran.code, 0);
    let outcome = kept.reduced(64 << 10, CallMode::Graph);
    let CollectiveOutcome::Measured { .. } = outcome else {
        assert!(
            kept.ran.stderr.contains("a delay of 0.1 us was asked for"),
            "{}",
            kept.ran.stderr
        );
        return;
    };
    panic!("{outcome:?}");
}
