//! `accept report` and `accept explain` as commands: what they print and write, and their exit codes.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

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

/// A journal of a run with these lines behind its first one, and this behind its last line.
fn journal(folder: &Path, lines: &[Value], torn: &str) {
    let mut begun = report();
    begun["checks"] = json!([]);
    begun["verdict"] = json!("inconclusive");
    begun["exit_code"] = json!(3);
    let key = json!({"profile": "ab", "program": null, "measuring": null, "driver": "570", "devices": [], "asked": []});
    let begin = json!({"begin": {"schema": 1, "key": key, "report": begun}});
    let lines: Vec<String> = [begin].iter().chain(lines).map(Value::to_string).collect();
    let text = format!("{}\n{torn}", lines.join("\n"));
    fs::write(folder.join("journal.jsonl"), text).expect("the tests' folder can be written");
}

/// A run that ended accepted with no time for a step that was asked for, was taken up again, and has these lines behind that.
fn taken_up(folder: &Path, behind: &[Value]) {
    let mut first = report();
    let skipped = json!({"id": "concurrent box", "kind": "concurrent", "about": ["box"], "required": false, "verdict": "skip",
        "reason": {"code": "budget", "text": "no time"}, "limit": null, "evidence": [], "advice": null});
    first["checks"].as_array_mut().unwrap().push(skipped);
    first["verdict"] = json!("accepted_with_warnings");
    fs::write(folder.join("report.json"), first.to_string()).unwrap();
    let again = json!({"segment": {"at": "2026-11-22T21:00:00Z", "boot": null}});
    let lines = [json!({"end": {"report": first}}), again];
    journal(folder, &[&lines[..], behind].concat(), "");
}

#[test]
fn a_run_that_was_taken_up_again_and_did_not_end_counts_by_its_journal_alone() {
    let folder = folder("taken-up", &report());
    let run = folder.to_str().unwrap();
    let out = folder.join("never-written.json");
    let capture = ["baseline", "capture", run, "--out", out.to_str().unwrap()];
    taken_up(&folder, &[]);
    // `report.json` says accepted, with warnings, and the run has not ended since.
    let (text, _) = told(&["report", run], 0);
    assert!(
        text.contains("INCONCLUSIVE") && !text.contains("ACCEPTED"),
        "{text}"
    );
    let (listed, _) = told(&["fleet", run], 3);
    assert!(
        listed.contains("1 inconclusive") && listed.contains("the run was broken off"),
        "{listed}"
    );
    assert!(told(&capture, 3).1.contains("did not end by itself"));
    // What fails behind the end rejects.
    let mut bad = report()["checks"][0].clone();
    bad["verdict"] = json!("fail");
    bad["reason"] = json!({"code": "link_degraded", "text": "Gen4 x8"});
    taken_up(&folder, &[json!({"check": {"check": bad}})]);
    for reports in [run, folder.join("report.json").to_str().unwrap()] {
        let (listed, _) = told(&["fleet", reports], 1);
        assert!(listed.contains("1 rejected"), "{listed}");
    }
    assert!(told(&capture, 3).1.contains("did not end by itself"));
    assert!(told(&["compare", run, run], 3).0.contains("INCONCLUSIVE"));
    // So does the journal alone.
    fs::remove_file(folder.join("report.json")).unwrap();
    assert!(told(&["fleet", run], 1).0.contains("1 rejected"));
    assert!(!out.exists());
}

/// The beginning of a line.
const TORN: &str = "{\"check\": {\"ch";

/// A report with this in place of what stands there.
fn edited(pointer: &str, value: Value) -> Value {
    let mut report = report();
    *report.pointer_mut(pointer).unwrap() = value;
    report
}

/// What `accept` prints to these arguments, and its words on standard error, at this exit code.
fn told(args: &[&str], code: i32) -> (String, String) {
    let out = accept().args(args).output().unwrap();
    assert_eq!(out.status.code(), Some(code), "{out:?}");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (text(out.stdout), text(out.stderr))
}

#[test]
fn a_killed_run_is_shown_from_its_journal_and_never_accepted() {
    let folder = folder("killed", &report());
    let run = folder.to_str().unwrap();
    let mut good = report()["checks"][0].clone();
    journal(&folder, &[json!({"check": {"check": good}})], TORN);
    // No run leaves a report without an end in its journal.
    let (_, refused) = told(&["report", run], 2);
    assert!(
        refused.contains("report.json is refused: the journal beside it has no end"),
        "{refused}"
    );
    fs::remove_file(folder.join("report.json")).unwrap();
    let (text, _) = told(&["report", run], 0);
    assert!(
        text.contains("INCONCLUSIVE") && text.contains("broken off"),
        "{text}"
    );
    // `{"check": {"ch` has 14 bytes.
    assert!(text.contains("torn and passed over (14 bytes)"), "{text}");
    assert!(!text.contains("canary-host"), "{text}");
    assert!(
        told(&["report", run, "--identify"], 0)
            .0
            .contains("GPU-c0ffee00-1111")
    );
    // A required check that failed before it was killed rejects.
    good["verdict"] = json!("fail");
    good["reason"] = json!({"code": "link_degraded", "text": "Gen4 x8"});
    journal(&folder, &[json!({"check": {"check": good}})], TORN);
    assert!(told(&["report", run], 0).0.contains("REJECTED"));
    // A journal that claims more than its checks is refused.
    let claimed = edited("/checks", json!([]));
    journal(&folder, &[json!({"end": {"report": claimed}})], "");
    let (_, refused) = told(
        &["report", folder.join("journal.jsonl").to_str().unwrap()],
        2,
    );
    assert!(
        refused.contains("is refused: it is accepted without a single check"),
        "{refused}"
    );
}

#[test]
fn a_report_that_is_not_what_its_run_wrote_is_refused_by_name_wherever_it_is_read() {
    let folder = folder("edited", &report());
    let run = folder.to_str().unwrap();
    let end = json!({"end": {"report": report()}});
    journal(&folder, std::slice::from_ref(&end), "");
    assert!(told(&["report", run], 0).0.contains("ACCEPTED"));
    for (pointer, value, said) in [
        (
            "/level",
            json!("soak"),
            "level is \"soak\", and \"quick\" in the journal",
        ),
        ("/profile/name", json!("h200x8"), "profile.name is"),
        ("/verdict", json!("accepted_with_warnings"), "verdict is"),
        ("/simulated", json!(null), "simulated is null"),
        (
            "/checks/0/about/0",
            json!("GPU1"),
            "checks.`link GPU0`.about.1 is \"GPU1\", and \"GPU0\" in the journal",
        ),
        (
            "/checks/0/reason/text",
            json!("Gen5 x16 as expected"),
            "checks.`link GPU0`.reason.text is",
        ),
    ] {
        fs::write(
            folder.join("report.json"),
            edited(pointer, value).to_string(),
        )
        .unwrap();
        for args in [
            &["report", run][..],
            &["report", folder.join("report.json").to_str().unwrap()],
            &["report", run, "--identify"],
            &["compare", run, run],
            &["baseline", "capture", run, "--out", "never-written.json"],
        ] {
            let (shown, refused) = told(args, 2);
            assert!(shown.is_empty(), "{shown}");
            assert!(
                refused.contains("report.json is refused: it is not what its run wrote: "),
                "{refused}"
            );
            assert!(refused.contains(said), "{refused}");
        }
        let (listed, _) = told(&["fleet", run], 3);
        assert!(listed.contains("it is not what its run wrote"), "{listed}");
    }
    // Moved away, the journal tells the same.
    fs::remove_file(folder.join("report.json")).unwrap();
    assert!(told(&["report", run], 0).0.contains("ACCEPTED"));
}

#[test]
fn a_report_without_identities_is_what_its_run_wrote_and_an_edited_one_is_not() {
    let folder = folder("withheld", &report());
    let run = folder.to_str().unwrap();
    let (withheld, _) = told(&["report", run, "--json"], 0);
    journal(&folder, &[json!({"end": {"report": report()}})], "");
    fs::write(folder.join("report.json"), &withheld).unwrap();
    assert!(told(&["report", run], 0).0.contains("ACCEPTED"));
    let other = withheld.replace("\"quick\"", "\"standard\"");
    fs::write(folder.join("report.json"), other).unwrap();
    assert!(
        told(&["report", run], 2)
            .1
            .contains("level is \"standard\"")
    );
}

#[test]
fn what_stands_behind_the_end_of_a_run_is_refused() {
    let folder = folder("behind", &report());
    let run = folder.to_str().unwrap();
    let end = json!({"end": {"report": report()}});
    let check = json!({"check": {"check": report()["checks"][0]}});
    let segment = json!({"segment": {"at": "2026-11-22T21:00:00Z", "boot": null}});
    for (lines, torn, said) in [
        (
            vec![end.clone()],
            TORN,
            "line 3, stands behind the end of the run",
        ),
        (vec![end.clone()], "{\"check\": 1}\n", "line 3, is no line"),
        (
            vec![end.clone(), check.clone()],
            "",
            "line 3, stands behind",
        ),
        (
            vec![end.clone(), segment.clone()],
            "",
            "line 3, stands behind",
        ),
        (vec![end.clone(), end.clone()], "", "line 3, stands behind"),
    ] {
        journal(&folder, &lines, torn);
        let (_, refused) = told(&["report", run], 2);
        assert!(refused.contains(said), "{refused}");
    }
    // A run that was told to stop is gone on with, and may be killed while it writes.
    let mut stopped = edited("/verdict", json!("inconclusive"));
    stopped["exit_code"] = json!(143);
    stopped["status"] = json!({"state": "interrupted", "signal": "SIGTERM"});
    fs::write(folder.join("report.json"), stopped.to_string()).unwrap();
    let end = json!({"end": {"report": stopped}});
    journal(&folder, &[end.clone(), segment, check], TORN);
    let (text, _) = told(&["report", run], 0);
    assert!(
        text.contains("INCONCLUSIVE") && text.contains("torn and passed over"),
        "{text}"
    );
    journal(&folder, &[end], TORN);
    assert!(told(&["report", run], 0).0.contains("SIGTERM"));
}

#[test]
fn no_form_replaces_what_the_run_reads() {
    let folder = folder("guarded", &report());
    journal(&folder, &[json!({"end": {"report": report()}})], "");
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
