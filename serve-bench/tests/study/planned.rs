//! A study before anything is measured: its plan, what this machine lacks, and sizes that the GPUs' memory does not hold.

use crate::study::common::{Scratch, can_study};

/// 16 requests of 512 tokens on GPUs of 46068 MiB.
const LINE: &str =
    "study --plan --sim l40x4 --model qwen2.5-72b-fp8 --input-tokens 384 --out planned";

#[test]
fn a_size_without_room_is_left_out_of_the_plan_with_its_figures() {
    let scratch = Scratch::new();
    let plan = |more: &str| {
        let line = format!("{LINE} {more}");
        scratch.run(&line.split(' ').collect::<Vec<_>>())
    };
    let ran = plan("--tp 1,2,4");
    ran.expect(0);
    // 90% of 44.99 GiB are 40.5; 72.7 GB of weights are 67.7 GiB, half of them and 1.25 GiB of cache 35.1.
    assert!(ran.stdout.contains("TP1 does not fit") && ran.stdout.contains("40.5 GiB"));
    assert!(ran.stdout.contains("TP2 fits") && ran.stdout.contains("serve-tp2"));
    assert!(
        !ran.stdout.contains("serve-tp1") && ran.stdout.lines().count() <= 25,
        "{}",
        ran.stdout
    );
    let ran = plan("--tp 1");
    ran.expect(2);
    // Without the plan it is the same, before anything is measured.
    let run = format!("{LINE} --tp 1").replace("--plan ", "");
    scratch.run(&run.split(' ').collect::<Vec<_>>()).expect(2);
    assert!(!scratch.join("planned").exists());
}

/// Weights that fit are tried: engines queue what does not fit.
#[test]
fn a_cache_without_room_leaves_no_size_out() {
    let scratch = Scratch::new();
    // 62 layers of keys and values of 16 heads of 128 numbers of 2 B are 496 KiB a token, 248 on a rank: times 8320 x 16 31.5 GiB.
    let line = "study --plan --sim l40x4 --tp 2 --concurrency 16 --out planned --model gemma-3-27b --input-tokens 8192";
    let ran = scratch.run(&line.split(' ').collect::<Vec<_>>());
    ran.expect(0);
    assert!(ran.stdout.contains("serve-tp2"), "{}", ran.stdout);
    assert!(ran.stdout.contains("may wait for cache"), "{}", ran.stdout);
}

#[test]
fn nothing_is_left_out_where_how_the_engine_keeps_its_weights_is_not_known() {
    let scratch = Scratch::new();
    for server in [
        "vllm serve qwen2.5-72b-fp8 --quantization fp8",
        "vllm serve qwen2.5-72b-fp8 --config engine.yaml",
        "vllm serve Qwen/Qwen2.5-72B-Instruct-AWQ",
        "/no/such/server {tp} {port}",
    ] {
        let line = format!("{LINE} --tp 1 -- {server}");
        let ran = scratch.run(&line.split(' ').collect::<Vec<_>>());
        ran.expect(0);
        assert!(ran.stdout.contains("serve-tp1"), "{}", ran.stdout);
        assert!(!ran.stdout.contains("GiB"), "{}", ran.stdout);
    }
}

#[test]
fn a_study_says_what_is_missing_before_it_measures() {
    if !can_study() {
        return;
    }
    let scratch = Scratch::new();
    let study = |more: &[&str]| {
        let begin = ["study", "--model", "llama-3.1-8b", "--out", "s"];
        let ran = scratch.run(&[&begin, more].concat());
        assert!(!scratch.join("s").exists(), "{}", ran.stderr);
        assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
        ran
    };
    let engine = study(&["--", "vllm-that-is-not-there", "serve", "m", "{tp}"]);
    engine.expect(2);
    let says = "vllm-that-is-not-there, which serves, is not installed here";
    assert!(engine.stderr.contains(says), "{}", engine.stderr);
    // A driver that no machine of these tests has ends the first step.
    let begin = ["study", "--model", "llama-3.1-8b", "--out", "s"];
    let driver = ["--backend", "maca", "--", "sh", "{tp}", "{port}"];
    let driver = scratch.run(&[&begin[..], &driver].concat());
    driver.expect(3);
    for says in ["links ended with exit code 3", "s/links.log"] {
        assert!(driver.stderr.contains(says), "{}", driver.stderr);
    }
}

#[test]
fn a_study_that_is_planned_names_every_step_with_its_time_and_measures_nothing() {
    let scratch = Scratch::new();
    let words = "study --plan --sim l40x4 --model llama-3.1-8b --tp 1,2 --budget 20 --out planned";
    let words: Vec<&str> = words.split(' ').collect();
    let ran = scratch.run(&words);
    ran.expect(0);
    // 20 s and 1.5 s for each of two ranks.
    for says in ["SIMULATED on l40x4", "allreduce-tp2", "23 s", "serve-tp2"] {
        assert!(ran.stdout.contains(says), "{says}: {}", ran.stdout);
    }
    assert!(!scratch.join("planned").exists());
    let ran = scratch.run(&[&words[..], &["-v"]].concat());
    for says in [
        "tplens allreduce --gpus 0,1 --model llama-3.1-8b --tp 2",
        "--tensor-parallel-size 2 --port 8000",
        "tplens serve run --base-url http://127.0.0.1:8000 --tp 1 --concurrency 16 --requests 64",
    ] {
        assert!(ran.stdout.contains(says), "{says}: {}", ran.stdout);
    }
    // A program that is not there is said, and the plan is reported all the same: 4 waves and the warm-up of 128 steps of 30 ms are
    // 19.2 s, and 60 s for the start.
    let real = "study --plan --backend host --model llama-3.1-8b --tp 1 -- /no/such/vllm serve m";
    let ran = scratch.run(&real.split(' ').collect::<Vec<_>>());
    ran.expect(0);
    for says in ["[missing-here]", "79 s"] {
        assert!(ran.stdout.contains(says), "{says}: {}", ran.stdout);
    }
}
