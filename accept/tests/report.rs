//! `tplens accept report` as a command: what it prints and writes, and its exit codes.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use serde_json::{Value, json};

fn accept() -> Command {
    Command::from_std(built::named("accept"))
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
            "reason": {"code": "as-expected", "text": "Gen4 x16 as expected"}, "limit": null, "evidence": [seen], "advice": null}],
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
    let (html, ocp, json) = (path("a.html"), path("a.jsonl"), path("report.json"));
    let run = folder.to_str().unwrap();
    let text = told(&["report", run, "--html", &html, "--ocp", &ocp], 0).0;
    assert!(text.contains("SIMULATED on l40x4"), "{text}");
    for form in [&html, &ocp] {
        let form = fs::read_to_string(form).unwrap();
        assert!(
            form.to_lowercase().contains("simulated") && !form.contains("canary-host"),
            "{form}"
        );
    }
    let shown = told(&["report", &json, "--json"], 0).0;
    let shown: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(shown["node"]["identified"], json!(false));
    let identity = shown["devices"][0]["identity"].as_str().unwrap();
    assert!(identity.starts_with("id-"));
    let shown = told(&["report", &json, "--identify", "--json"], 0).0;
    assert!(shown.contains("GPU-c0ffee00-1111"), "{shown}");
}

#[test]
fn a_full_disk_is_exit_code_4_said_once() {
    let folder = folder("full", &report());
    for form in ["--html", "--ocp"] {
        let told = told(&["report", folder.to_str().unwrap(), form, "/dev/full"], 4).1;
        assert_eq!(told.matches("/dev/full").count(), 1, "{told}");
    }
    let full = fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let mut command = built::named("accept");
    let status = command
        .arg("report")
        .arg(&folder)
        .stdout(full)
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(4));
}

/// What `accept` prints to these arguments, and its words on standard error, at this exit code.
fn told(args: &[&str], code: i32) -> (String, String) {
    let out = accept().args(args).output().unwrap();
    assert_eq!(out.status.code(), Some(code), "{out:?}");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (text(out.stdout), text(out.stderr))
}

#[test]
fn a_run_that_has_not_ended_is_shown_and_never_accepted() {
    let mut broken = report();
    broken["status"] = json!({"state": "broken"});
    let folder = folder("broken", &broken);
    let run = folder.to_str().unwrap();
    // It says accepted, and its run did not end: no run writes that.
    told(&["report", run], 2);
    told(&["report", folder.join("none").to_str().unwrap()], 2);
    broken["verdict"] = json!("inconclusive");
    broken["exit_code"] = json!(3);
    fs::write(folder.join("report.json"), broken.to_string()).unwrap();
    told(&["report", run], 0);
    told(&["fleet", run], 3);
}

#[test]
fn what_a_run_keeps_for_itself_is_shown_with_identities_and_replaced_by_no_form() {
    let folder = folder("full-report", &report());
    let run = folder.to_str().unwrap();
    let handed_on = told(&["report", run, "--json"], 0).0;
    fs::write(folder.join("report.json"), handed_on).unwrap();
    fs::write(folder.join("run.json"), report().to_string()).unwrap();
    fs::write(folder.join("journal.jsonl"), "").unwrap();
    let shown = told(&["report", run, "--identify", "--json"], 0).0;
    assert!(shown.contains("GPU-c0ffee00-1111"));
    assert!(
        !told(&["report", run, "--json"], 0)
            .0
            .contains("GPU-c0ffee00-1111")
    );
    for name in ["journal.jsonl", "run.json", "report.json"] {
        let file = folder.join(name);
        told(&["report", run, "--html", file.to_str().unwrap()], 2);
    }
}
