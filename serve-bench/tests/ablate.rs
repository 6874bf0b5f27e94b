//! `tplens ablate` through real processes on a simulated machine: killed and gone on with, an arm whose server dies, a dry run; and the half-width model on one.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use explain::{Ablation, Arm, Change};

/// A folder for one test, removed at its end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let name = format!("serve-bench-ablate-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn program(&self, arguments: &str) -> Command {
        let mut command = built::named("serve-bench");
        command
            .args(arguments.split(' '))
            .current_dir(&self.0)
            .stdin(Stdio::null());
        command
    }

    fn run(&self, arguments: &str) -> Output {
        self.program(arguments).output().unwrap()
    }

    fn ablation(&self) -> Ablation {
        let text = std::fs::read_to_string(self.0.join("a/ablation.json")).unwrap();
        serde_json::from_str(&text).unwrap()
    }

    /// Launches that are whole, by their folders; one that a busy machine played late is set aside.
    fn whole(&self) -> BTreeSet<PathBuf> {
        let Ok(launches) = self.0.join("a/launches").read_dir() else {
            return BTreeSet::new();
        };
        let files = launches
            .flatten()
            .map(|entry| entry.path().join("launch.json"))
            .filter(|file| !file.to_string_lossy().contains(".broken-"));
        files.filter(|file| file.exists()).collect()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[track_caller]
fn expect(output: &Output, code: i32) {
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{err}\n{out}");
}

/// Whether the simulated libraries are there; where not, the test is noted as skipped.
fn can_ablate() -> bool {
    let program = built::file();
    let soft = program
        .ancestors()
        .nth(2)
        .unwrap()
        .join("soft/libnccl.so.2");
    if soft.exists() {
        return true;
    }
    if let Some(log) = std::env::var_os("TPLENS_SKIP_LOG") {
        let mut file = std::fs::OpenOptions::new()
            .append(true)
            .create(true)
            .open(log)
            .unwrap();
        writeln!(
            file,
            "an ablation needs {soft:?}; `cargo xtask soft` builds it"
        )
        .unwrap();
    }
    false
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
    if !can_ablate() {
        return;
    }
    let scratch = Scratch::new("killed");
    let line = "ablate --sim l40x4 --model llama-3.1-8b --concurrency 4 --requests 16 --input-tokens 16 --output-tokens 32 \
        --arms p2p-off,delay --delays 200 --launches 2 --seed 5 --budget 1 --out a";
    let mut killed = scratch
        .program(line)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // Killed as soon as one launch is whole.
    let begun = Instant::now();
    while scratch.whole().is_empty() {
        assert!(
            begun.elapsed() < Duration::from_secs(180),
            "no launch ended"
        );
        assert!(killed.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::sleep(Duration::from_millis(10));
    }
    killed.kill().unwrap();
    killed.wait().unwrap();
    let before = scratch.whole();
    let kept: Vec<Vec<u8>> = before
        .iter()
        .map(|file| std::fs::read(file).unwrap())
        .collect();

    let other = scratch.run(&line.replace("--launches 2", "--launches 3"));
    expect(&other, 2);
    assert!(
        text(&other.stderr).contains("--launches 2, not 3"),
        "{}",
        text(&other.stderr)
    );

    let output = scratch.run(line);
    // Two launches an arm decide nothing.
    expect(&output, 3);
    let said = text(&output.stderr);
    assert!(
        said.contains(&format!("{} of 6 launches are done", before.len())),
        "{said}"
    );
    for (file, bytes) in before.iter().zip(kept) {
        assert_eq!(std::fs::read(file).unwrap(), bytes, "{}", file.display());
    }
    assert_eq!(scratch.whole().len(), 6, "{said}");

    let ablation = scratch.ablation();
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
        assert!(
            scratch
                .0
                .join("a")
                .join(launch.folder.as_ref().unwrap())
                .join("serve")
                .exists()
        );
    }

    let out = text(&output.stdout);
    assert!(out.contains("SIMULATED on l40x4"), "{out}");
    // All launches are compared by one metric.
    assert!(ablation.step_from.is_some());
    // The test alone: of the folder, kept in another one, and never of another model.
    let alone = scratch.run("explain --ablation a --model llama-3.1-8b --out x");
    // The same test has the same exit code, whoever asks for it.
    expect(&alone, 3);
    assert!(text(&alone.stdout).contains("Undecided"));
    assert!(scratch.0.join("x/slope.json").exists());
    let other = scratch.run("explain --ablation a --model qwen2.5-72b");
    expect(&other, 2);
    assert!(
        text(&other.stderr).contains("is of llama-3.1-8b")
            && text(&other.stderr).contains("qwen2.5-72b"),
        "{}",
        text(&other.stderr)
    );

    // Nothing is left to do, so nothing is done.
    let again = scratch.run(line);
    expect(&again, 3);
    assert_eq!(text(&again.stdout), out);
    assert!(
        !text(&again.stderr).contains("starting"),
        "{}",
        text(&again.stderr)
    );
}

#[test]
fn a_server_that_never_answers_leaves_what_was_measured_and_says_what_to_do() {
    if !can_ablate() {
        return;
    }
    let scratch = Scratch::new("silent");
    let line = "ablate --backend host --gpus 0,1 --model llama-3.1-8b --concurrency 1 --requests 1 --output-tokens 2 --arms baseline \
        --launches 1 --budget 1 --ready-timeout 1 --out a -- sleep 1000{tp}{port}";
    let output = scratch.run(line);
    expect(&output, 3);
    let out = text(&output.stdout);
    assert!(out.contains("[launch-missing]"), "{out}");
    let kept = scratch.0.join("a/launches/000-baseline/allreduce");
    assert!(kept.read_dir().unwrap().next().is_some());
    assert!(scratch.ablation().arms.is_empty());
    // An engine that is not there is told at once.
    let missing = line.replace(
        "-- sleep 1000{tp}{port}",
        "-- vllm-that-is-not-there serve m",
    );
    let missing = scratch.run(&missing.replace("--out a", "--out b"));
    expect(&missing, 2);
    assert!(
        text(&missing.stderr).contains("vllm-that-is-not-there, which serves, is not installed"),
        "{}",
        text(&missing.stderr)
    );
    assert!(!scratch.0.join("b").exists());
}

#[test]
fn a_half_width_model_runs_on_its_server() {
    let scratch = Scratch::new("half");
    let line = "half-model --model llama-3.1-8b --tp 2 --run --concurrency 4 --requests 8 --input-tokens 16 --output-tokens 16 \
        --write c --out h";
    // A shell passes over what a half model adds for vLLM.
    let own = built::file().display().to_string();
    let engine = format!("exec {own} serve engine --box l40x4 --model $0 --port $1");
    let run = |line: &str| {
        let mut program = scratch.program(line);
        program.args(["--", "sh", "-c", &engine, "{model}", "{port}"]);
        program.output().unwrap()
    };
    let output = run(line);
    expect(&output, 0);
    let out = text(&output.stdout);
    assert!(out.contains("--half h/half-tp2"), "{out}");
    let again = run(line);
    expect(&again, 0);
    assert!(text(&again.stderr).contains("half-tp2: measured before"));
    let other = run(&line.replace("--requests 8", "--requests 9"));
    expect(&other, 2);
    assert!(text(&other.stderr).contains("--requests 8, not 9"));
    // A rank of two has half of 32 heads and of 14,336.
    let config = std::fs::read_to_string(scratch.0.join("c/config.json")).unwrap();
    assert!(
        config.contains("\"num_attention_heads\": 16")
            && config.contains("\"intermediate_size\": 7168"),
        "{config}"
    );
}
