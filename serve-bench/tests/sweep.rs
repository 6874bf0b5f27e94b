//! `serve-bench sweep` with the embedded engine as its server: a sweep that is killed again and again ends with the cells of an
//! unbroken one; what cannot be swept is said.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// Kills in the test that all run; more by hand with TPLENS_SWEEP_KILLS.
const KILLS: u64 = 4;

/// Two servers, six cells: 2 x (2 + 1).
const PLAN: &str = r#"
schema = 1
name = "{config}_{model}_TP{tp}_{input}_np{n}"

[server]
manage = true
command = ["PROGRAM", "engine", "--box", "rtxpro6000-mig", "--model", "{path}", "--tp", "{tp}", "--port", "{port}", "--max-model-len", "{max_len}", "--speed", "1000"]
slack = 16

[load]
flags = ["--num-warmups", "1"]
seed = 5

[paths]
8B = "llama-3.1-8b"

[[matrix]]
configs = ["A", "B"]
models = ["8B"]
tp = [1]
inputs = [16]
outputs = [4]
num_prompts = "1..2,4"
"#;

struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let name = format!("serve-bench-sweep-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn plan(&self, text: &str) -> PathBuf {
        let file = self.0.join("plan.toml");
        let text = text.replace("PROGRAM", env!("CARGO_BIN_EXE_serve-bench"));
        std::fs::write(&file, text).unwrap();
        file
    }

    fn sweep(&self, out: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_serve-bench"));
        command
            .arg("sweep")
            .arg(self.0.join("plan.toml"))
            .arg("--out")
            .arg(self.0.join(out))
            .stdin(Stdio::null());
        command
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

#[track_caller]
fn ended(output: &Output, code: i32) -> String {
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{said}");
    said
}

/// What each cell asked for and got, by its name: everything of it that is not a time.
fn cells(sweep: &Path) -> BTreeMap<String, Value> {
    let entries = std::fs::read_dir(sweep.join("cells")).unwrap();
    let cell = |folder: PathBuf| {
        let text = std::fs::read_to_string(folder.join("record.json")).unwrap();
        let record: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            record["status"]["state"],
            "complete",
            "{}",
            folder.display()
        );
        let payload = &record["payload"]["serve"];
        let mut requests: Vec<(u64, u64, u64)> = payload["requests"]
            .as_array()
            .unwrap()
            .iter()
            .map(|request| {
                assert!(request["error"].is_null(), "{request}");
                let number = |key: &str| request[key].as_u64().unwrap();
                (
                    number("id"),
                    number("input_tokens"),
                    number("output_tokens"),
                )
            })
            .collect();
        requests.sort_unstable();
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        (name, serde_json::json!([payload["load"], requests]))
    };
    entries.map(|entry| cell(entry.unwrap().path())).collect()
}

#[test]
fn a_sweep_that_is_killed_again_and_again_ends_with_the_cells_of_an_unbroken_one() {
    let kills = std::env::var("TPLENS_SWEEP_KILLS").ok();
    let kills: u64 = kills.map_or(KILLS, |kills| kills.parse().unwrap());
    let scratch = Scratch::new("killed");
    scratch.plan(PLAN);
    let begun = Instant::now();
    let whole = scratch.sweep("whole").output().unwrap();
    ended(&whole, 0);
    let took = begun.elapsed();
    let expected = cells(&scratch.0.join("whole"));
    let names: Vec<&String> = expected.keys().collect();
    assert_eq!(
        names,
        [
            "A_8B_TP1_16_np1",
            "A_8B_TP1_16_np2",
            "A_8B_TP1_16_np4",
            "B_8B_TP1_16_np1",
            "B_8B_TP1_16_np2",
            "B_8B_TP1_16_np4",
        ]
    );

    // A kill that nobody can tidy up after, at instants that the golden ratio spreads over the sweep's time (the same ones each
    // time); each sweep goes on where the one before was killed, so a cell that was done must stay as it is.
    let mut done: BTreeMap<PathBuf, Vec<u8>> = BTreeMap::new();
    let mut sweep = 0;
    for kill in 0..kills {
        let out = format!("killed-{sweep}");
        let mut child = scratch
            .sweep(&out)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        #[expect(clippy::cast_precision_loss, reason = "a few kills")]
        let part = (kill as f64 * 0.618_034).fract();
        let until = Instant::now() + took.mul_f64(0.02 + 0.5 * part);
        while Instant::now() < until && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        drop(child.kill());
        let finished = child.wait().unwrap().success();
        let folder = scratch.0.join(&out).join("cells");
        for entry in std::fs::read_dir(&folder).into_iter().flatten() {
            let record = entry.unwrap().path().join("record.json");
            let bytes = std::fs::read(&record).unwrap();
            let kept = done.entry(record).or_insert_with(|| bytes.clone());
            assert_eq!(*kept, bytes, "a cell was done again");
        }
        if finished {
            // Killed often enough; the next kills are for another sweep.
            assert_eq!(cells(&scratch.0.join(&out)), expected);
            sweep += 1;
        }
    }
    let out = format!("killed-{sweep}");
    ended(&scratch.sweep(&out).output().unwrap(), 0);
    assert_eq!(cells(&scratch.0.join(&out)), expected);
    for (record, bytes) in done {
        assert_eq!(
            std::fs::read(record).unwrap(),
            bytes,
            "a cell was done again"
        );
    }
}

#[test]
fn a_plan_can_be_listed_narrowed_and_only_gone_on_with_as_it_was() {
    let scratch = Scratch::new("narrowed");
    scratch.plan(PLAN);
    let listed = scratch
        .sweep("out")
        .args(["--list", "--only", "config=B", "--only", "n=1..2"])
        .output()
        .unwrap();
    ended(&listed, 0);
    let listed = String::from_utf8(listed.stdout).unwrap();
    // 16 + 4 + 16 tokens.
    assert!(listed.contains("--max-model-len 36"), "{listed}");
    assert!(listed.contains("  B_8B_TP1_16_np2 to do\n"), "{listed}");
    assert_eq!(listed.lines().count(), 3, "{listed}");
    assert!(!scratch.0.join("out").exists(), "a list runs nothing");

    let one = scratch
        .sweep("out")
        .args(["--only", "config=B", "--only", "n=1"])
        .output()
        .unwrap();
    ended(&one, 0);
    assert_eq!(cells(&scratch.0.join("out")).len(), 1);

    scratch.plan(&PLAN.replace("1..2,4", "1..3"));
    let other = scratch.sweep("out").output().unwrap();
    assert!(ended(&other, 2).contains("another plan"));
}

#[test]
fn why_a_server_did_not_come_up_is_said_with_the_remedy() {
    let scratch = Scratch::new("down");
    // The engine refuses a model that it does not know, in the words of no weights.
    scratch.plan(&PLAN.replace("\"llama-3.1-8b\"", "\"no-such-model\""));
    let said = ended(&scratch.sweep("out").output().unwrap(), 3);
    assert!(
        said.contains("the server of A_8B_TP1 did not come up"),
        "{said}"
    );
    assert!(said.contains("write their folder under [paths]"), "{said}");
}
