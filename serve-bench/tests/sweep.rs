//! `tplens serve sweep` with the embedded engine as its server: a sweep that is killed again and again ends with the cells of an
//! unbroken one; what cannot be swept is said; a cell whose server crashed is measured again where asked.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::engine::served::Served;
use crate::study::common::{Scratch, own};

/// How often the sweep is killed: 50 times by `cargo xtask test --full`.
fn kills() -> u64 {
    if std::env::var_os("TPLENS_FULL").is_some() {
        50
    } else {
        4
    }
}

/// Two servers, six cells: 2 x (2 + 1).
const PLAN: &str = r#"
schema = 1
name = "{config}_{model}_TP{tp}_{input}_np{n}"

[server]
manage = true
command = ["PROGRAM", "serve", "engine", "--box", "rtxpro6000-mig", "--model", "{path}", "--tp", "{tp}", "--port", "{port}", "--max-model-len", "{max_len}", "--speed", "1000"]
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

fn plan(scratch: &Scratch, text: &str) {
    scratch.write("plan.toml", &text.replace("PROGRAM", &own()));
}

fn sweep(scratch: &Scratch, out: &str) -> Command {
    let out = scratch.join(out).display().to_string();
    scratch.program(&["sweep", "plan.toml", "--out", &out])
}

#[track_caller]
fn ended(output: &Output, code: i32) -> String {
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{said}");
    said
}

/// Folders and files below one that others than their owner may open.
fn open_to_others(folder: &Path) -> Vec<PathBuf> {
    let mut open = Vec::new();
    let mut left = vec![folder.to_owned()];
    while let Some(path) = left.pop() {
        let found = path.symlink_metadata().unwrap();
        if found.permissions().mode() & 0o077 != 0 && !found.is_symlink() {
            open.push(path.clone());
        }
        if found.is_dir() {
            left.extend(path.read_dir().unwrap().map(|entry| entry.unwrap().path()));
        }
    }
    open
}

/// What each cell asked for and got, by its name: everything of it that is not a time.
fn cells(sweep: &Path) -> BTreeMap<String, Value> {
    let entries = std::fs::read_dir(sweep.join("cells")).unwrap();
    // Logs stand beside the folders, and what was broken off.
    let folders = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir() && !path.display().to_string().contains(".broken-"));
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
    folders.map(cell).collect()
}

#[test]
fn a_sweep_that_is_killed_again_and_again_ends_with_the_cells_of_an_unbroken_one() {
    let kills = kills();
    let scratch = Scratch::new();
    plan(&scratch, PLAN);
    let begun = Instant::now();
    let whole = sweep(&scratch, "whole").output().unwrap();
    ended(&whole, 0);
    let took = begun.elapsed();
    // A server may print its key.
    let open = open_to_others(&scratch.join("whole"));
    assert!(open.is_empty(), "{open:?}");
    let expected = cells(&scratch.join("whole"));
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
    let mut number = 0;
    for kill in 0..kills {
        let out = format!("killed-{number}");
        let mut child = sweep(&scratch, &out)
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
        let folder = scratch.join(&out).join("cells");
        for entry in std::fs::read_dir(&folder).into_iter().flatten() {
            let cell = entry.unwrap().path();
            let record = cell.join("record.json");
            // Done is what has its record and whose end the sweep saw.
            let is_open = cell.with_extension("open").exists() || !record.exists();
            if is_open || cell.display().to_string().contains(".broken-") {
                continue;
            }
            let bytes = std::fs::read(&record).unwrap();
            let kept = done.entry(record).or_insert_with(|| bytes.clone());
            assert_eq!(*kept, bytes, "a cell was done again");
        }
        if finished {
            // Killed often enough; the next kills are for another sweep.
            assert_eq!(cells(&scratch.join(&out)), expected);
            number += 1;
        }
    }
    let out = format!("killed-{number}");
    ended(&sweep(&scratch, &out).output().unwrap(), 0);
    assert_eq!(cells(&scratch.join(&out)), expected);
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
    let scratch = Scratch::new();
    plan(&scratch, PLAN);
    let listed = sweep(&scratch, "out")
        .args(["--list", "--only", "config=B", "--only", "n=1..2"])
        .output()
        .unwrap();
    ended(&listed, 0);
    let listed = String::from_utf8(listed.stdout).unwrap();
    // 16 + 4 + 16 tokens.
    assert!(listed.contains("--max-model-len 36"), "{listed}");
    assert_eq!(listed.matches("to do").count(), 2, "{listed}");
    assert!(!scratch.join("out").exists(), "a list runs nothing");

    // A server is the same one whatever is narrowed: 64 + 4 + 16 tokens of the longest cell that the plan has for it.
    let two = PLAN.replace("inputs = [16]", "inputs = [16, 64]");
    plan(&scratch, &two);
    let listed = sweep(&scratch, "out")
        .args(["--list", "--only", "input=16"])
        .output()
        .unwrap();
    ended(&listed, 0);
    let listed = String::from_utf8(listed.stdout).unwrap();
    assert!(listed.contains("--max-model-len 84"), "{listed}");
    plan(&scratch, PLAN);

    let one = sweep(&scratch, "out")
        .args(["--only", "config=B", "--only", "n=1"])
        .output()
        .unwrap();
    ended(&one, 0);
    assert_eq!(cells(&scratch.join("out")).len(), 1);

    plan(&scratch, &PLAN.replace("1..2,4", "1..3"));
    let other = sweep(&scratch, "out").output().unwrap();
    let said = ended(&other, 2);
    assert!(said.contains("--matrix"), "{said}");
}

#[test]
fn why_a_server_did_not_come_up_is_said_with_the_remedy() {
    let scratch = Scratch::new();
    // The engine refuses a model that it does not know. The others are tried all the same, and what was left out is named at the end.
    let one = PLAN
        .replace("models = [\"8B\"]", "models = [\"none\", \"8B\"]")
        .replace("[paths]", "[paths]\nnone = \"no-such-model\"");
    plan(&scratch, &one);
    let output = sweep(&scratch, "others").output().unwrap();
    let why = ended(&output, 3);
    assert!(why.contains("no-such-model"), "{why}");
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("6 of 12 cells are done"), "{said}");
    for group in ["A_none_TP1: 3 cells", "B_none_TP1: 3 cells"] {
        assert!(said.contains(group), "no `{group}` in {said}");
    }
    assert_eq!(cells(&scratch.join("others")).len(), 6);
}

#[test]
fn a_cell_that_says_nothing_is_named_with_its_reason_and_measured_again_where_asked() {
    let scratch = Scratch::new();
    plan(
        &scratch,
        &PLAN.replace("configs = [\"A\", \"B\"]", "configs = [\"A\"]"),
    );
    ended(&sweep(&scratch, "out").output().unwrap(), 0);
    let out = scratch.join("out");
    let name = "A_8B_TP1_16_np2";

    // As a client that had no CPU leaves it.
    let file = out.join("cells").join(name).join("record.json");
    let mut record: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    record["exit_code"] = 3.into();
    record["payload"]["serve"]["client"]["invalid"] = serde_json::json!(["client-starved"]);
    std::fs::write(&file, record.to_string()).unwrap();
    // Which is read first, and has no such end.
    std::fs::remove_file(file.with_file_name("journal.jsonl")).unwrap();
    let output = sweep(&scratch, "out").output().unwrap();
    ended(&output, 3);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains(name) && said.contains("--redo"), "{said}");

    let again = sweep(&scratch, "out").arg("--redo").output().unwrap();
    ended(&again, 0);
    let kept = out.join("cells").join(format!("{name}.broken-1"));
    assert!(kept.is_dir());
    assert_eq!(cells(&out).len(), 3);
}

#[test]
fn a_matrix_of_flags_loads_one_server_and_resumes() {
    let scratch = Scratch::new();
    let engine = Served::start(1000, &[]);
    let line = "sweep --concurrency 1,2,4 --input-len 16,64 --output-len 4 --num-prompts 8 --out out --base-url";
    let (first, again) = (
        scratch.line(line, &[&engine.url]),
        scratch.line(line, &[&engine.url]),
    );
    // 3 where a busy machine made the client late.
    assert!(matches!(first.code, 0 | 3), "{}", first.stderr);
    let out = scratch.join("out");
    let expected: Vec<String> = [16, 64]
        .iter()
        .flat_map(|input| [1, 2, 4].map(|n| format!("in{input}_out4_c{n}_rinf")))
        .collect();
    let names: Vec<String> = cells(&out).into_keys().collect();
    assert_eq!(names, expected);
    assert!(out.join("sweep.html").is_file());
    let resumed = again.stderr;
    assert_eq!(resumed.matches("measured before").count(), 6, "{resumed}");
    // A row of each cell, and whether a curve has a knee.
    let screen = first.stdout;
    assert!(screen.matches("in flight ").count() >= 6, "{screen}");
    assert!(screen.matches("knee").count() >= 2, "{screen}");
}

#[test]
fn a_plan_of_several_servers_that_starts_none_is_swept_server_by_server() {
    let scratch = Scratch::new();
    let server = "manage = false\nbase_url = \"http://127.0.0.1:9\"";
    plan(&scratch, &PLAN.replace("manage = true", server));
    ended(&sweep(&scratch, "out").output().unwrap(), 2);
    let one = sweep(&scratch, "out").args(["--only", "config=B"]).output();
    let said = ended(&one.unwrap(), 3);
    assert!(said.contains("http://127.0.0.1:9"), "{said}");
}
