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
    // 90% of 44.99 GiB are 40.5. 80 layers of keys and values of 8 heads of 128 numbers of 2 B are 320 KiB a token: on one of two
    // ranks, times 512 x 16, 1.25 GiB, shown as 1.2.
    for says in [
        "left out: TP1 does not fit: weights alone take ",
        " GiB of a GPU, and the engine fills 40.5 GiB of it\n",
        "\nTP2: weights and cache alone fit: a GPU needs ",
        "the cache of 16 requests of 512 tokens 1.2, and the engine fills 40.5 GiB of it\n",
        "1. links: ",
        "2. allreduce-tp2: ",
        "4. serve-tp2: ",
        "6. explanation: of each size against the size before it",
    ] {
        assert!(ran.stdout.contains(says), "{says}: {}", ran.stdout);
    }
    assert!(!ran.stdout.contains("serve-tp1"), "{}", ran.stdout);
    // 384 + 512 tokens take 2.2 GiB, so that 3.3 are left, which is less than a tenth of 40.5.
    let ran = plan("--tp 2 --output-tokens 512");
    ran.expect(0);
    let close = " GiB left may not be enough for activations, captured graphs and the runtime\n";
    assert!(ran.stdout.contains(close), "{}", ran.stdout);
    let ran = plan("--tp 1");
    ran.expect(2);
    assert!(
        ran.stderr
            .contains("no size of --tp fits: TP1 does not fit: weights alone take")
            && ran
                .stderr
                .contains("or start the servers yourself and give --base-url"),
        "{}",
        ran.stderr
    );
    // Without the plan it is the same, before anything is measured.
    let run = format!("{LINE} --tp 1").replace("--plan ", "");
    scratch.run(&run.split(' ').collect::<Vec<_>>()).expect(2);
    assert!(!scratch.join("planned").exists());
}

/// Weights that fit are tried: of gpt-oss's layers half forget what is beyond 128 tokens, and engines queue what does not fit.
#[test]
fn a_cache_without_room_is_a_warning_and_no_size_is_left_out() {
    let scratch = Scratch::new();
    let plan = |model: &str, input: &str| {
        let line = "study --plan --sim l40x4 --tp 2 --concurrency 16 --out planned";
        let mut words: Vec<&str> = line.split(' ').collect();
        words.extend(["--model", model, "--input-tokens", input]);
        let ran = scratch.run(&words);
        ran.expect(0);
        ran.stdout
    };
    // 62 layers of keys and values of 16 heads of 128 numbers of 2 B are 496 KiB a token, 248 on a rank: times 8320 x 16 31.5 GiB.
    let gemma = plan("gemma-3-27b", "8192");
    for says in [
        "warning: TP2: the weights fit, and the cache of so many requests does not, unless layers with sliding windows",
        "16 requests of 8320 tokens 31.5 at most, and the engine fills 40.5 GiB of it",
        "serve-tp2: ",
    ] {
        assert!(gemma.contains(says), "{says}: {gemma}");
    }
    // 36 layers of 8 heads of 64 are 72 KiB a token, 36 on a rank: times 32896 x 16 18.1 GiB.
    let oss = plan("gpt-oss-120b", "32768");
    assert!(oss.contains("serve-tp2: "), "{oss}");
    assert!(oss.contains("32896 tokens 18.1 at most"), "{oss}");
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
        assert!(!ran.stdout.contains("a GPU needs"), "{}", ran.stdout);
        let says = "warning: the server command serves Qwen/Qwen2.5-72B-Instruct-AWQ and --model is qwen2.5-72b-fp8";
        assert_eq!(ran.stdout.contains(says), server.contains("AWQ"));
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
    // A driver that no machine of these tests has.
    let driver = study(&["--backend", "maca", "--", "sh", "{tp}", "{port}"]);
    driver.expect(3);
    for says in ["no GPU driver answers (maca: ", "--sim BOX"] {
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
    for says in [
        "SIMULATED on the soft box l40x4",
        "study of llama-3.1-8b at TP1, TP2: 16 in flight, 64 requests of 128 tokens in and 128 out",
        // 20 s and 1.5 s for each of two ranks.
        "2. allreduce-tp2: collectives at the sizes that the model sends, about 23 s",
        "allreduce-bench --gpus 0,1 --model llama-3.1-8b --tp 2",
        "--tensor-parallel-size 2 --port 8000",
        "serve-bench run --base-url http://127.0.0.1:8000 --tp 1 --concurrency 16 --requests 64",
        "5. explanation",
    ] {
        assert!(ran.stdout.contains(says), "{says}: {}", ran.stdout);
    }
    assert!(!scratch.join("planned").exists());
    // A program that is not there is said, and the plan is told all the same: 4 waves and the warm-up of 128 steps of 30 ms are
    // 19.2 s, and 60 s for the start.
    let real = "study --plan --backend host --model llama-3.1-8b --tp 1 -- /no/such/vllm serve m";
    let real: Vec<&str> = real.split(' ').collect();
    let ran = scratch.run(&real);
    ran.expect(0);
    for says in [
        "not on this machine as it is: /no/such/vllm, which serves, is not installed here",
        "serve-tp1: load on the server with 1 GPU(s), about 79 s",
    ] {
        assert!(ran.stdout.contains(says), "{says}: {}", ran.stdout);
    }
}
