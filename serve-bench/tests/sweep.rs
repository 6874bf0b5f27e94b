//! `serve-bench sweep` with the embedded engine as its server: a sweep that is killed again and again ends with the cells of an
//! unbroken one; what cannot be swept is said; a server that crashes is started again, and one that the user runs is waited for.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

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
    let kills = kills();
    let scratch = Scratch::new("killed");
    scratch.plan(PLAN);
    let begun = Instant::now();
    let whole = scratch.sweep("whole").output().unwrap();
    ended(&whole, 0);
    let took = begun.elapsed();
    // A server may print its key.
    let open = open_to_others(&scratch.0.join("whole"));
    assert!(open.is_empty(), "{open:?}");
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

    // A server is the same one whatever is narrowed: 64 + 4 + 16 tokens of the longest cell that the plan has for it.
    let two = PLAN.replace("inputs = [16]", "inputs = [16, 64]");
    scratch.plan(&two);
    let listed = scratch
        .sweep("out")
        .args(["--list", "--only", "input=16"])
        .output()
        .unwrap();
    ended(&listed, 0);
    let listed = String::from_utf8(listed.stdout).unwrap();
    assert!(listed.contains("--max-model-len 84"), "{listed}");
    scratch.plan(PLAN);

    let one = scratch
        .sweep("out")
        .args(["--only", "config=B", "--only", "n=1"])
        .output()
        .unwrap();
    ended(&one, 0);
    assert_eq!(cells(&scratch.0.join("out")).len(), 1);

    scratch.plan(&PLAN.replace("1..2,4", "1..3"));
    let other = scratch.sweep("out").output().unwrap();
    let said = ended(&other, 2);
    assert!(
        said.contains("another plan (plan.toml there differs from line"),
        "{said}"
    );
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

    // The others are tried all the same, and what was left out is named at the end.
    let one = PLAN
        .replace("models = [\"8B\"]", "models = [\"none\", \"8B\"]")
        .replace("[paths]", "[paths]\nnone = \"no-such-model\"");
    scratch.plan(&one);
    let output = scratch.sweep("others").output().unwrap();
    ended(&output, 3);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.starts_with("6 of 12 cells are done"), "{said}");
    for group in ["A_none_TP1", "B_none_TP1"] {
        let line = format!("left out: {group} (3 cells): the server of {group} did not come up");
        assert!(said.contains(&line), "no `{line}` in {said}");
    }
    assert_eq!(cells(&scratch.0.join("others")).len(), 6);
}

#[test]
fn a_cell_that_says_nothing_is_named_with_its_reason_and_measured_again_where_asked() {
    let scratch = Scratch::new("redo");
    scratch.plan(&PLAN.replace("configs = [\"A\", \"B\"]", "configs = [\"A\"]"));
    ended(&scratch.sweep("out").output().unwrap(), 0);
    let out = scratch.0.join("out");
    let name = "A_8B_TP1_16_np2";
    let log = std::fs::read_to_string(out.join("load.log")).unwrap();
    assert!(!log.contains("prints it again"), "{log}");
    let told = format!("result: {}", out.join("cells").join(name).display());
    assert!(log.contains(&told), "{log}");

    // As a client that had no CPU leaves it.
    let file = out.join("cells").join(name).join("record.json");
    let mut record: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    record["exit_code"] = 3.into();
    record["payload"]["serve"]["client"]["invalid"] =
        serde_json::json!(["it waited 34% (limit 10%), so times hold its own delay"]);
    std::fs::write(&file, record.to_string()).unwrap();
    // Which is read first, and has no such end.
    std::fs::remove_file(file.with_file_name("journal.jsonl")).unwrap();
    let output = scratch.sweep("out").output().unwrap();
    ended(&output, 3);
    let said = String::from_utf8(output.stdout).unwrap();
    let line = format!(
        "not to be relied on: {name}: the load generator was the limit: it waited 34% (limit 10%)\n"
    );
    assert!(said.contains(&line), "{said}");
    assert!(said.contains("--redo failed"), "{said}");

    let wrong = scratch
        .sweep("out")
        .args(["--redo", "A_8B"])
        .output()
        .unwrap();
    assert!(ended(&wrong, 2).contains("no cell has this name"));
    let again = scratch
        .sweep("out")
        .args(["--redo", "failed"])
        .output()
        .unwrap();
    ended(&again, 0);
    assert!(out.join("aside").join(format!("{name}.aside-1")).is_dir());
    assert_eq!(cells(&out).len(), 3);
}

/// Whether a file beside this program is there; where not, the test is noted as skipped.
fn has(program: &str) -> bool {
    let file = Path::new(env!("CARGO_BIN_EXE_serve-bench")).with_file_name(program);
    let is_there = file.is_file();
    if let Some(log) = std::env::var_os("TPLENS_SKIP_LOG").filter(|_| !is_there) {
        use std::io::Write as _;
        let mut log = std::fs::OpenOptions::new()
            .append(true)
            .create(true)
            .open(log)
            .unwrap();
        writeln!(log, "{program} is not built; `cargo xtask test` builds it").unwrap();
    }
    is_there
}

#[test]
fn what_certainly_does_not_fit_is_left_out_and_said() {
    let scratch = Scratch::new("fit");
    // 141.2 GB of weights are no 40 GiB; the 16.1 GB of the other are.
    let plan = PLAN
        .replace("slack = 16", "slack = 16\nmemory = \"40 GiB\"")
        .replace("models = [\"8B\"]", "models = [\"8B\", \"70B\"]")
        .replace(
            "8B = \"llama-3.1-8b\"",
            "8B = \"llama-3.1-8b\"\n70B = \"llama-3.3-70b\"",
        )
        .replace("configs = [\"A\", \"B\"]", "configs = [\"A\"]");
    scratch.plan(&plan);
    let checked = scratch.sweep("out").arg("--check").output().unwrap();
    ended(&checked, 3);
    let table = String::from_utf8(checked.stdout).unwrap();
    for part in [
        "each GPU has 40.00 GiB (server.memory)",
        "takes 1.00 GiB: activations, runtime, captured graphs (assumed; server.reserve says otherwise)",
        "the engine uses 0.9 of a GPU's memory, vLLM's default",
        // 70,553,706,496 parameters of two bytes; 0.9 * 40.
        "A_70B_TP1: does not fit: weights of 131.42 GiB on each GPU are more than the 36.00 GiB that the engine uses",
    ] {
        assert!(table.contains(part), "no `{part}` in {table}");
    }
    assert!(!scratch.0.join("out").exists(), "a check runs nothing");
    let fitting = scratch
        .sweep("out")
        .args(["--check", "--only", "model=8B"])
        .output()
        .unwrap();
    ended(&fitting, 0);

    let swept = scratch.sweep("out").output().unwrap();
    ended(&swept, 3);
    let said = String::from_utf8(swept.stdout).unwrap();
    assert!(said.starts_with("3 of 6 cells are done"), "{said}");
    assert!(
        said.contains("does not fit, not run: A_70B_TP1_16_np1: weights of 131.42 GiB"),
        "{said}"
    );
    assert_eq!(cells(&scratch.0.join("out")).len(), 3);

    let without = PLAN.replace("slack = 16", "slack = 17");
    scratch.plan(&without);
    let refused = scratch.sweep("other").arg("--check").output().unwrap();
    assert!(ended(&refused, 2).contains("add server.memory"));
}

/// Lines of a child's standard error, as they come.
struct Said(std::io::Lines<std::io::BufReader<std::process::ChildStderr>>);

impl Said {
    fn of(child: &mut std::process::Child) -> Self {
        use std::io::BufRead as _;
        let stderr = child.stderr.take().unwrap();
        Self(std::io::BufReader::new(stderr).lines())
    }

    /// Reads on to a line with these words; all that was read where there is none.
    #[track_caller]
    fn until(&mut self, words: &str) -> String {
        let mut read = String::new();
        for line in self.0.by_ref() {
            let line = line.unwrap();
            read.push_str(&line);
            read.push('\n');
            if line.contains(words) {
                return read;
            }
        }
        panic!("no `{words}` in {read}");
    }

    fn rest(self) -> String {
        self.0.map(|line| line.unwrap() + "\n").collect()
    }
}

#[test]
fn a_server_that_crashes_is_started_again_and_its_cell_done_again() {
    let scratch = Scratch::new("crash");
    let pid = scratch.0.join("pid");
    // The shell becomes the engine, so that the number is its own. The last cell takes 200 tokens of some 10 ms.
    let shell = format!("echo $$ > {}; exec \"$@\"", pid.display());
    let plan = PLAN
        .replace(
            "[\"PROGRAM\"",
            &format!("[\"sh\", \"-c\", {shell:?}, \"sh\", \"PROGRAM\""),
        )
        .replace("\"--speed\", \"1000\"", "\"--speed\", \"1\"")
        .replace("slack = 16", "slack = 16\nrestarts = 1")
        .replace("outputs = [4]", "outputs = [200]")
        .replace("configs = [\"A\", \"B\"]", "configs = [\"A\"]")
        .replace("1..2,4", "1");
    scratch.plan(&plan);
    let mut sweep = scratch
        .sweep("out")
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = Said::of(&mut sweep);
    said.until("A_8B_TP1_16_np1: 1 requests");
    let number = std::fs::read_to_string(&pid).unwrap();
    let killed = Command::new("kill")
        .args(["-9", number.trim()])
        .status()
        .unwrap();
    assert!(killed.success());
    let rest = said.rest();
    assert!(
        rest.contains("A_8B_TP1_16_np1: the server ended; it is started again"),
        "{rest}"
    );
    assert_eq!(sweep.wait().unwrap().code(), Some(0), "{rest}");
    // Without an error, and with the tokens of the whole reply.
    let cells = cells(&scratch.0.join("out"));
    assert_eq!(cells["A_8B_TP1_16_np1"][1][0][2], 200);
    assert_ne!(std::fs::read_to_string(&pid).unwrap(), number);
}

#[test]
fn a_server_that_the_user_runs_is_not_taken_for_the_next_one() {
    let scratch = Scratch::new("theirs");
    let free = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = free.local_addr().unwrap().port().to_string();
    drop(free);
    let plan = PLAN
        .replace(
            "manage = true",
            &format!("manage = false\nbase_url = \"http://127.0.0.1:{port}\""),
        )
        .replace("1..2,4", "1..2");
    scratch.plan(&plan);
    let engine = |soft: &str| {
        let mut engine = Command::new(env!("CARGO_BIN_EXE_serve-bench"));
        engine.args([
            "engine",
            "--model",
            "llama-3.1-8b",
            "--speed",
            "1000",
            "--box",
            soft,
            "--port",
            &port,
        ]);
        engine
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    };
    let mut sweep = scratch
        .sweep("out")
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = Said::of(&mut sweep);
    let asked = said.until("--port");
    assert!(asked.contains("start the server of A_8B_TP1:"), "{asked}");
    let mut first = engine("rtxpro6000-mig");
    let asked = said.until("end the server of A_8B_TP1");
    assert!(asked.contains("then start that of B_8B_TP1"), "{asked}");
    first.kill().unwrap();
    first.wait().unwrap();
    said.until("the server of A_8B_TP1 is gone");
    let mut second = engine("l40x4");
    let rest = said.rest();
    let code = sweep.wait().unwrap().code();
    drop(second.kill());
    second.wait().unwrap();
    assert_eq!(code, Some(0), "{rest}");
    for (cell, soft) in [
        ("A_8B_TP1_16_np2", "rtxpro6000-mig"),
        ("B_8B_TP1_16_np1", "l40x4"),
        ("B_8B_TP1_16_np2", "l40x4"),
    ] {
        let record = scratch.0.join("out/cells").join(cell).join("record.json");
        let text = std::fs::read_to_string(record).unwrap();
        assert!(text.contains(soft), "{cell} is not of {soft}");
    }
}

#[test]
fn a_server_is_bound_to_the_nodes_of_its_gpus() {
    if !has("p2p-bw") {
        return;
    }
    let scratch = Scratch::new("bound");
    let plan = PLAN
        .replace(
            "slack = 16",
            "slack = 16\nbind = \"gpus\"\nbind_flags = [\"--backend\", \"host\"]\nenv = { HIP_VISIBLE_DEVICES = \"{gpus}\", OTHER = \"x\" }",
        )
        .replace("[paths]", "[gpus]\nA = \"0\"\nB = \"0,1\"\n\n[paths]")
        .replace("configs = [\"A\", \"B\"]", "configs = [\"A\"]")
        .replace("1..2,4", "1");
    scratch.plan(&plan);
    let listed = scratch.sweep("out").arg("--list").output().unwrap();
    ended(&listed, 0);
    let listed = String::from_utf8(listed.stdout).unwrap();
    // Its own variable behind the binding, which would else number other devices.
    for part in [
        "A_8B_TP1: OTHER=x ",
        "p2p-bw numa exec --gpus 0 --backend host -- env HIP_VISIBLE_DEVICES=0 ",
    ] {
        assert!(listed.contains(part), "no `{part}` in {listed}");
    }
    ended(&scratch.sweep("out").output().unwrap(), 0);
    assert_eq!(cells(&scratch.0.join("out")).len(), 1);
    let log = std::fs::read_to_string(scratch.0.join("out/server_A_8B_TP1.log")).unwrap();
    assert!(
        log.contains("numa exec: as numactl --cpunodebind="),
        "{log}"
    );
}
