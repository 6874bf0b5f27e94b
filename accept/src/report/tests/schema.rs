//! `report.schema.json` against reports, and against its own source.
//!
//! The faults are the same ones that the program's reader must refuse, so that both are held to one list.

use serde_json::{Value, json};

use super::validator::Schema;
use crate::outputs::tests::sample;
use crate::report::{ReadError, ReasonCode, Verdict, parse};

/// The published schema.
const SCHEMA: &str = include_str!("../../../report.schema.json");

/// A report with one thing changed.
fn with(path: &str, value: Value) -> Value {
    let mut report = serde_json::to_value(sample::good()).unwrap();
    *report
        .pointer_mut(path)
        .unwrap_or_else(|| panic!("there is no {path}")) = value;
    report
}

/// A report of this JSON as the program's reader takes it.
fn read(report: &Value) -> Result<(), String> {
    let read = parse(report.to_string().as_bytes(), "report.json".as_ref());
    read.map(|_| ())
        .map_err(|error: ReadError| error.to_string())
}

#[test]
fn every_kind_of_report_is_valid() {
    let schema = Schema::new(SCHEMA);
    let mut interrupted = sample::good();
    interrupted.status = crate::report::RunStatus::Interrupted {
        signal: "SIGINT".to_owned(),
    };
    interrupted.verdict = crate::report::BoxVerdict::Inconclusive;
    interrupted.exit_code = 130;
    for report in [
        sample::good(),
        sample::bad(),
        sample::simulated(sample::bad()),
        sample::hostile(),
        sample::report(vec![]),
        interrupted,
    ] {
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!(schema.fault(&json), None);
        assert_eq!(read(&json), Ok(()));
    }
}

#[test]
fn what_contradicts_itself_is_neither_valid_nor_read() {
    let schema = Schema::new(SCHEMA);
    let mut not_required = with("/exit_code", json!(0));
    for check in not_required["checks"].as_array_mut().unwrap() {
        check["required"] = json!(false);
    }
    let mut rejected = with("/verdict", json!("rejected"));
    rejected["exit_code"] = json!(1);
    let unseen = json!([{"is": "counted", "what": "w", "before": 3, "after": null, "over_s": 9.0, "source": "s"}]);
    for (what, report) in [
        (
            "a pass without evidence",
            with("/checks/0/evidence", json!([])),
        ),
        (
            "a pass of what was read no times",
            with("/checks/0/evidence/0/n", json!(0)),
        ),
        (
            "a pass of a counter that was not read again",
            with("/checks/0/evidence", unseen),
        ),
        ("accepted without a check", with("/checks", json!([]))),
        ("accepted and nothing of it required", not_required),
        ("accepted with a failed check", {
            let mut bad = serde_json::to_value(sample::bad()).unwrap();
            bad["verdict"] = json!("accepted");
            bad["exit_code"] = json!(0);
            bad
        }),
        ("accepted with a check that was left out", {
            let mut left_out = with("/checks/6/reason/code", json!("excluded_by_user"));
            left_out["checks"][6]["reason"]["text"] = json!("--exclude");
            left_out
        }),
        (
            "accepted though interrupted",
            with(
                "/status",
                json!({"state": "interrupted", "signal": "SIGINT"}),
            ),
        ),
        ("rejected for nothing", rejected),
        (
            "inconclusive with exit code 0",
            with("/verdict", json!("inconclusive")),
        ),
        (
            "an unknown reason",
            with("/checks/0/reason/code", json!("looks_fine")),
        ),
        (
            "a reason of another verdict",
            with("/checks/0/reason/code", json!("below_floor")),
        ),
        (
            "an unknown verdict",
            with("/checks/0/verdict", json!("good")),
        ),
        ("a newer schema", with("/schema", json!(2))),
        ("another program", with("/program", json!("p2p-bw"))),
        ("a check with a field of its own", {
            let mut more = with("/checks/0/required", json!(true));
            more["checks"][0]["passed"] = json!(true);
            more
        }),
        (
            "text in place of a number",
            with("/checks/2/evidence/0/value", json!("26")),
        ),
        (
            "a negative count",
            with("/checks/2/evidence/0/n", json!(-1)),
        ),
        ("no verdict", {
            let mut less = with("/level", json!("quick"));
            less.as_object_mut().unwrap().remove("verdict");
            less
        }),
    ] {
        assert!(schema.fault(&report).is_some(), "{what} is valid");
        assert!(read(&report).is_err(), "{what} is read");
    }
}

#[test]
fn what_a_schema_cannot_say_the_reader_says() {
    let mut twice = with("/level", json!("quick"));
    twice["checks"][1]["id"] = twice["checks"][0]["id"].clone();
    assert!(
        read(&twice)
            .unwrap_err()
            .contains("`link GPU0` stands in it twice")
    );
    let backwards = with("/checks/2/evidence/0/low", json!(99.0));
    assert!(
        read(&backwards)
            .unwrap_err()
            .contains("ends before it begins")
    );
}

#[test]
fn reasons_and_verdicts_are_those_of_the_program() {
    let schema = Schema::new(SCHEMA);
    let words = |verdict: Option<Verdict>| -> Vec<Value> {
        let codes = ReasonCode::ALL.iter();
        let wanted =
            codes.filter(|code| verdict.is_none_or(|verdict| code.verdicts().contains(&verdict)));
        wanted.map(|code| json!(code.word())).collect()
    };
    let check = &schema.root()["$defs"];
    assert_eq!(
        check["reason"]["properties"]["code"]["enum"],
        Value::Array(words(None))
    );
    let rules = check["check"]["allOf"].as_array().unwrap();
    for (verdict, word) in [
        (Verdict::Pass, "pass"),
        (Verdict::Warn, "warn"),
        (Verdict::Fail, "fail"),
        (Verdict::Inconclusive, "inconclusive"),
        (Verdict::Skip, "skip"),
    ] {
        let rule = rules
            .iter()
            .find(|rule| rule["if"]["properties"]["verdict"]["const"] == word);
        let codes = &rule.unwrap()["then"]["properties"]["reason"]["properties"]["code"]["enum"];
        assert_eq!(codes, &Value::Array(words(Some(verdict))), "{word}");
    }
}
