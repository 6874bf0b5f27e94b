//! `accept report` and `accept explain` as commands: what they print and write, and their exit codes.

use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use serde_json::{Value, json};

fn accept() -> Command {
    Command::new(env!("CARGO_BIN_EXE_accept"))
}

/// A report as a run on a made-up box writes it.
fn report() -> Value {
    let seen = json!({"is": "seen", "what": "link at the slot under load", "value": "Gen4 x16", "expected": "Gen4 x16", "n": 300,
        "source": "monitor.jsonl"});
    json!({
        "schema": 1, "program": "accept", "version": "0.1.0", "program_sha256": null, "simulated": {"box_name": "l40x4"},
        "started": "2026-11-22T20:00:00Z", "took_s": 60.0, "status": {"state": "complete"}, "verdict": "accepted", "exit_code": 0,
        "profile": {"name": "l40x4", "title": "four L40", "sha256": "ab", "shipped": true, "baseline_sha256": null},
        "level": "quick",
        "node": {"name": "canary-host", "identified": true, "fingerprint": {"backend": "cuda", "devices": ["NVIDIA L40"],
            "driver": null, "interface": null, "collectives": null, "kernel": null, "cpu": null, "topology": null,
            "max_payload_bytes": []}},
        "devices": [{"label": "GPU0", "name": "NVIDIA L40", "slot": "0000:21:00.0", "identity": "GPU-c0ffee00-1111-2222-3333-c4ca123ab00b",
            "node": 0, "memory_bytes": null}],
        "checks": [{"id": "link GPU0", "kind": "link", "about": ["GPU0"], "required": true, "verdict": "pass",
            "reason": {"code": "as_expected", "text": "Gen4 x16 as expected"}, "limit": null, "evidence": [seen], "advice": null}],
        "settings": [], "series": [], "not_covered": [], "notes": []
    })
}

/// A result folder with this report in it.
fn folder(name: &str, report: &Value) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&folder).expect("the tests' folder can be written");
    fs::write(folder.join("report.json"), report.to_string())
        .expect("the tests' folder can be written");
    folder
}

#[test]
fn a_report_is_printed_and_written_in_every_form_without_identities() {
    let folder = folder("every-form", &report());
    let path = |name: &str| folder.join(name).display().to_string();
    let out = accept()
        .args([
            "report",
            &folder.display().to_string(),
            "--html",
            &path("a.html"),
            "--junit",
            &path("a.xml"),
        ])
        .args(["--prometheus", &path("a.prom")])
        .output()
        .unwrap();
    assert_eq!(out.status.code(), Some(0), "{out:?}");
    let text = String::from_utf8(out.stdout).unwrap();
    assert!(text.starts_with("SIMULATED on soft box l40x4"), "{text}");
    assert!(text.contains("ACCEPTED: the one required check"), "{text}");
    for name in ["a.html", "a.xml", "a.prom"] {
        let form = fs::read_to_string(folder.join(name)).unwrap();
        assert!(
            form.contains("SIMULATED") && !form.contains("canary-host"),
            "{form}"
        );
    }
    let json = accept()
        .args(["report", &path("report.json"), "--json"])
        .output()
        .unwrap();
    let json: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json["node"]["identified"], json!(false));
    assert!(
        json["devices"][0]["identity"]
            .as_str()
            .unwrap()
            .starts_with("id-")
    );
    let shown = accept()
        .args(["report", &path("report.json"), "--identify"])
        .output()
        .unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains("GPU-c0ffee00-1111"), "{shown}");
}

#[test]
fn a_wrong_input_is_exit_code_2_and_one_sentence() {
    let mut believed = report();
    believed["checks"][0]["evidence"] = json!([]);
    let folder = folder("believed", &believed);
    let none = folder.join("none");
    for (args, said) in [
        (
            vec!["report", folder.to_str().unwrap()],
            "is refused: check `link GPU0` is judged Pass without evidence",
        ),
        (vec!["report", none.to_str().unwrap()], "cannot read "),
        (
            vec!["explain", "h2d_pined"],
            "there is no check or reason `h2d_pined`; `h2d_pinned` is near it",
        ),
    ] {
        let out = accept().args(&args).output().unwrap();
        let told = String::from_utf8(out.stderr).unwrap();
        assert_eq!(out.status.code(), Some(2), "{told}");
        assert!(told.starts_with("error: ") && told.contains(said), "{told}");
        assert_eq!(told.lines().count(), 1, "{told}");
        assert!(out.stdout.is_empty());
    }
}

#[test]
fn a_full_disk_is_exit_code_4_said_once() {
    let folder = folder("full", &report());
    for form in ["--html", "--junit", "--prometheus"] {
        let out = accept()
            .args(["report", folder.to_str().unwrap(), form, "/dev/full"])
            .output()
            .unwrap();
        let told = String::from_utf8(out.stderr).unwrap();
        assert_eq!(out.status.code(), Some(4), "{told}");
        assert_eq!(told.matches("/dev/full").count(), 1, "{told}");
    }
    let full = fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_accept"));
    let status = command
        .arg("report")
        .arg(&folder)
        .stdout(full)
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(4));
}

#[test]
fn every_check_is_listed_and_explained() {
    let out = accept().arg("explain").output().unwrap();
    let text = String::from_utf8(out.stdout).unwrap();
    // A row begins with two blanks; what goes on from the row before with more.
    let rows = text.lines().filter_map(|line| line.strip_prefix("  "));
    let rows = rows.filter(|row| !row.starts_with([' ', '`']) && !row.starts_with("check "));
    let keys: Vec<&str> = rows
        .filter_map(|row| row.split_whitespace().next())
        .collect();
    assert!(keys.len() > 20, "{keys:?}");
    let out = accept().args(["explain", keys[5]]).output().unwrap();
    assert!(String::from_utf8(out.stdout).unwrap().starts_with(keys[5]));
    let out = accept().args(["explain", "noisy"]).output().unwrap();
    assert!(
        String::from_utf8(out.stdout)
            .unwrap()
            .starts_with("noisy (inconclusive): ")
    );
}

/// A journal of a run with these lines behind its first one.
fn journal(folder: &Path, lines: &[Value]) {
    let mut begun = report();
    begun["checks"] = json!([]);
    begun["verdict"] = json!("inconclusive");
    begun["exit_code"] = json!(3);
    let key = json!({"profile": "ab", "program": null, "measuring": null, "driver": "570", "devices": [], "asked": []});
    let begin = json!({"begin": {"schema": 1, "key": key, "report": begun}});
    let lines: Vec<String> = [begin].iter().chain(lines).map(Value::to_string).collect();
    // The last line is torn.
    let text = format!("{}\n{{\"check\": {{\"ch", lines.join("\n"));
    fs::write(folder.join("journal.jsonl"), text).expect("the tests' folder can be written");
}

#[test]
fn a_killed_run_is_shown_from_its_journal_and_never_accepted() {
    let folder = folder("killed", &report());
    let mut good = report()["checks"][0].clone();
    journal(&folder, &[json!({"check": {"check": good}})]);
    let shown = |args: &[&str]| {
        let out = accept()
            .arg("report")
            .arg(&folder)
            .args(args)
            .output()
            .unwrap();
        assert_eq!(out.status.code(), Some(0), "{out:?}");
        String::from_utf8(out.stdout).unwrap()
    };
    // The report beside it is of an earlier part of the run, and says accepted.
    let text = shown(&[]);
    assert!(
        text.contains("INCONCLUSIVE") && text.contains("broken off"),
        "{text}"
    );
    assert!(!text.contains("canary-host"), "{text}");
    assert!(shown(&["--identify"]).contains("GPU-c0ffee00-1111"));
    // A required check that failed before it was killed rejects.
    good["verdict"] = json!("fail");
    good["reason"] = json!({"code": "link_degraded", "text": "Gen4 x8"});
    journal(&folder, &[json!({"check": {"check": good}})]);
    assert!(shown(&[]).contains("REJECTED"));
    // A run that ended by itself is shown from its report.
    journal(&folder, &[json!({"end": {"report": report()}})]);
    assert!(shown(&[]).contains("ACCEPTED"));
    // A journal that claims more than its checks is refused.
    let mut claimed = report();
    claimed["checks"] = json!([]);
    journal(&folder, &[json!({"end": {"report": claimed}})]);
    let out = accept()
        .arg("report")
        .arg(folder.join("journal.jsonl"))
        .output()
        .unwrap();
    let told = String::from_utf8(out.stderr).unwrap();
    assert_eq!(out.status.code(), Some(2), "{told}");
    assert!(
        told.contains("is refused: it is accepted without a single check"),
        "{told}"
    );
}

#[test]
fn no_form_replaces_what_the_run_reads() {
    let folder = folder("guarded", &report());
    journal(&folder, &[json!({"end": {"report": report()}})]);
    let before = fs::read(folder.join("journal.jsonl")).unwrap();
    for form in ["--html", "--junit", "--prometheus"] {
        for of in [folder.clone(), folder.join("journal.jsonl")] {
            let out = accept()
                .arg("report")
                .arg(&of)
                .arg(form)
                .arg(folder.join("journal.jsonl"))
                .output()
                .unwrap();
            let told = String::from_utf8(out.stderr).unwrap();
            assert_eq!(out.status.code(), Some(2), "{told}");
            assert!(told.contains(form), "{told}");
        }
    }
    assert_eq!(fs::read(folder.join("journal.jsonl")).unwrap(), before);
}
