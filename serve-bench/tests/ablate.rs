//! `tplens ablate` through real processes on a simulated machine: killed and gone on with, an arm whose server dies, a dry run; and the half-width model on one.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use explain::{Ablation, Arm, Change};

use crate::study::common::{Ran, Scratch, can_study, own};

fn run(scratch: &Scratch, line: &str) -> Ran {
    scratch.line(line, &[])
}

fn ablation(scratch: &Scratch) -> Ablation {
    serde_json::from_value(scratch.json("a/ablation.json")).unwrap()
}

/// Records of the servers' loads whose end the ablation saw.
fn whole(scratch: &Scratch) -> BTreeSet<PathBuf> {
    let Ok(launches) = scratch.join("a/launches").read_dir() else {
        return BTreeSet::new();
    };
    let launches = launches.flatten().map(|entry| entry.path());
    let ended = launches.filter(|launch| !launch.join("serve.open").exists());
    let records = ended.map(|launch| launch.join("serve/record.json"));
    records.filter(|record| record.exists()).collect()
}

fn arm<'a>(ablation: &'a Ablation, name: &str) -> &'a Arm {
    let found = ablation.arms.iter().find(|arm| arm.name == name);
    found.unwrap_or_else(|| panic!("no {name} in {ablation:?}"))
}

/// The time of an all-reduce in every launch of an arm, us.
fn times(ablation: &Ablation, name: &str) -> Vec<f64> {
    let launches = arm(ablation, name).launches.iter();
    launches
        .map(|launch| launch.collective_us.unwrap().mid)
        .collect()
}

#[test]
fn an_ablation_that_was_killed_goes_on_and_loses_and_repeats_no_launch() {
    if !can_study() {
        return;
    }
    let scratch = Scratch::new();
    let line = "ablate --sim l40x4 --model llama-3.1-8b --concurrency 4 --requests 16 --input-tokens 16 --output-tokens 32 \
        --arms p2p-off,delay --delays 200 --launches 2 --budget 1 --out a";
    let mut killed = scratch
        .program(&line.split_whitespace().collect::<Vec<_>>())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // Killed as soon as one launch is whole and kept.
    let begun = Instant::now();
    while !scratch.join("a/ablation.json").exists() {
        assert!(
            begun.elapsed() < Duration::from_secs(180),
            "no launch ended"
        );
        assert!(killed.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::sleep(Duration::from_millis(10));
    }
    killed.kill().unwrap();
    killed.wait().unwrap();
    let found = ablation(&scratch).arms;
    assert_eq!(found.len(), 1, "{found:?}");
    let before = whole(&scratch);
    let kept: Vec<Vec<u8>> = before
        .iter()
        .map(|file| std::fs::read(file).unwrap())
        .collect();

    let other = run(&scratch, &line.replace("--launches 2", "--launches 3"));
    let said = &other.expect(2).stderr;
    assert!(said.contains("--launches 2, not 3"), "{said}");

    let output = run(&scratch, line);
    // Two launches an arm decide nothing.
    let said = &output.expect(3).stderr;
    let resumed = said.matches("/serve: measured before").count();
    assert_eq!(resumed, before.len(), "{said}");
    for (file, bytes) in before.iter().zip(kept) {
        assert_eq!(std::fs::read(file).unwrap(), bytes, "{}", file.display());
    }
    assert_eq!(whole(&scratch).len(), 6, "{said}");

    let ablation = ablation(&scratch);
    assert_eq!(ablation.schema, 1);
    assert_eq!(ablation.simulated.as_deref(), Some("l40x4"));
    // One after the embedding, two in each of 32 layers.
    assert_eq!((ablation.tp, ablation.batch, ablation.planned), (2, 4, 65));
    let changes: Vec<(&str, Change)> = ablation
        .arms
        .iter()
        .map(|arm| (arm.name.as_str(), arm.change))
        .collect();
    assert_eq!(changes[0], ("baseline", Change::Baseline));
    assert!(
        changes.contains(&("p2p-off", Change::Link))
            && changes.contains(&("delay-200", Change::Delay))
    );
    let mut orders: Vec<u32> = ablation
        .arms
        .iter()
        .flat_map(|arm| arm.launches.iter().map(|launch| launch.order))
        .collect();
    orders.sort_unstable();
    assert_eq!(orders, [0, 1, 2, 3, 4, 5]);
    // ABBA: a place in the first round and the mirrored one in the second, 0 + 5 and so on.
    for arm in &ablation.arms {
        let places: Vec<u32> = arm.launches.iter().map(|launch| launch.order).collect();
        assert_eq!(places.iter().sum::<u32>(), 5, "{}: {places:?}", arm.name);
    }

    // 4 x 4096 x 2 B are 32 KiB: 9.1 us directly by the box file. The step's gather of logits, 4 x 64128 x 2 B = 501 KiB of each
    // rank, takes 48 us, of which each of the 65 carries 0.7: 9.8 us, and the box's noise is 1%.
    for us in times(&ablation, "baseline") {
        assert!((9.3..10.3).contains(&us), "{us}");
    }
    for (slow, fast) in times(&ablation, "delay-200")
        .iter()
        .zip(times(&ablation, "baseline"))
    {
        assert!((slow - fast - 200.0).abs() < 10.0, "{slow} and {fast}");
    }
    let sum = |name: &str| times(&ablation, name).iter().sum::<f64>();
    assert!(sum("p2p-off") > sum("baseline"));
    // 65 x 200 us are in each step; a busy machine only adds.
    for launch in &arm(&ablation, "delay-200").launches {
        assert!(
            launch.step_ms.mid > 13.0 && launch.steps >= 100,
            "{launch:?}"
        );
        // How late this machine played it is known of each.
        assert!(launch.late_ms.is_some_and(|ms| ms >= 0.0), "{launch:?}");
        let folder = scratch.join("a").join(launch.folder.as_ref().unwrap());
        assert!(folder.join("serve").exists());
    }

    let out = &output.stdout;
    assert!(out.contains("SIMULATED on l40x4"), "{out}");
    // All launches are compared by one metric.
    assert!(ablation.step_from.is_some());
    // The test alone: of the folder, kept in another one, and never of another model. It has the same exit code, whoever asks for it.
    let alone = run(
        &scratch,
        "explain --ablation a --model llama-3.1-8b --out x",
    );
    assert!(alone.expect(3).stdout.contains("Undecided"));
    assert!(scratch.join("x/slope.json").exists());
    run(&scratch, "explain --ablation a --model qwen2.5-72b").expect(2);

    // Nothing is left to do, so nothing is done.
    let again = run(&scratch, line);
    assert_eq!(&again.expect(3).stdout, out);
    assert!(!again.stderr.contains("starting"), "{}", again.stderr);
}

#[test]
fn a_server_that_never_answers_leaves_what_was_measured_and_says_what_to_do() {
    if !can_study() {
        return;
    }
    let scratch = Scratch::new();
    let line = "ablate --backend host --gpus 0,1 --model llama-3.1-8b --concurrency 1 --requests 1 --output-tokens 2 --arms baseline \
        --launches 2 --budget 1 --ready-timeout 1 --out a -- sleep 1000{tp}{port}";
    let output = run(&scratch, line);
    let (out, said) = (&output.expect(3).stdout, &output.stderr);
    assert!(out.contains("[launch-missing]"), "{out}");
    // A server that did not come up is not tried again.
    assert_eq!(said.matches("starting").count(), 1, "{said}");
    for launch in ["000-baseline", "001-baseline"] {
        let kept = scratch.join(&format!("a/launches/{launch}/allreduce"));
        assert!(kept.read_dir().unwrap().next().is_some());
    }
    assert!(ablation(&scratch).arms.is_empty());
    // An engine that is not there is told at once.
    let missing = line.replace("sleep 1000{tp}{port}", "vllm-that-is-not-there serve m");
    let missing = run(&scratch, &missing.replace("--out a", "--out b"));
    let said = &missing.expect(2).stderr;
    assert!(said.contains("vllm-that-is-not-there"), "{said}");
    assert!(!scratch.join("b").exists());
}

#[test]
fn a_half_width_model_runs_on_its_server() {
    let scratch = Scratch::new();
    let line = "half-model --model llama-3.1-8b --tp 2 --run --concurrency 4 --requests 8 --input-tokens 16 --output-tokens 16 \
        --write c --out h";
    // A shell passes over what a half model adds for vLLM.
    let engine = format!(
        "exec {} serve engine --box l40x4 --model $0 --port $1",
        own()
    );
    let run = |line: &str| scratch.line(line, &["--", "sh", "-c", &engine, "{model}", "{port}"]);
    let output = run(line);
    let out = &output.expect(0).stdout;
    assert!(out.contains("--half h/half-tp2"), "{out}");
    let again = run(line);
    assert!(again.expect(0).stderr.contains("half-tp2: measured before"));
    let other = run(&line.replace("--requests 8", "--requests 9"));
    assert!(other.expect(2).stderr.contains("--requests 8, not 9"));
    // A rank of two has half of 32 heads and of 14,336.
    let config = scratch.json("c/config.json");
    assert_eq!(config["num_attention_heads"], 16);
    assert_eq!(config["intermediate_size"], 7168);
}
