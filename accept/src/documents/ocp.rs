//! The report as OCP Test & Validation output, version 2.0 (opencomputeproject/ocp-diag-core, `json_spec`): a line of JSON for each artifact.
//! A step is a group of checks; a figure is a measurement with its limit as a validator; a check is a diagnosis.

use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use super::shared::WITHHELD;
use super::tables::grouped;
use super::words::{CameTo, main_evidence};
use crate::report::{
    BoxVerdict, Check, Evidence, Limit, ReasonCode, Report, RunStatus, Side, Verdict,
};

/// All lines.
pub(super) fn ocp(report: &Report) -> String {
    let mut all = vec![
        ("schemaVersion", json!({"major": 2, "minor": 0})),
        ("testRunArtifact", json!({"testRunStart": start(report)})),
    ];
    if let RunStatus::Failed { reason } = &report.status {
        let error = json!({"symptom": ReasonCode::NotMeasured.code(), "message": reason});
        all.push(("testRunArtifact", json!({"error": error})));
    }
    for (number, (name, checks)) in grouped(report).into_iter().enumerate() {
        let id = number.to_string();
        let mut add = |key: &str, value: Value| {
            all.push(("testStepArtifact", json!({"testStepId": id, key: value})));
        };
        add("testStepStart", json!({"name": name}));
        for check in &checks {
            let measured = check.evidence.iter();
            for measured in measured.filter_map(|one| measurement(report, check, one)) {
                add("measurement", measured);
            }
            add("diagnosis", diagnosis(report, check));
        }
        let is_lacking = |check: &&Check| check.reason.code == ReasonCode::NotMeasured;
        let lacks = checks.iter().any(is_lacking);
        let status = if lacks { "ERROR" } else { "COMPLETE" };
        add("testStepEnd", json!({"status": status}));
    }
    let (status, result) = match report.verdict {
        BoxVerdict::Rejected => ("COMPLETE", "FAIL"),
        BoxVerdict::Inconclusive => ("ERROR", "NOT_APPLICABLE"),
        BoxVerdict::Accepted | BoxVerdict::AcceptedWithWarnings => ("COMPLETE", "PASS"),
    };
    let end = json!({"testRunEnd": {"status": status, "result": result}});
    all.push(("testRunArtifact", end));
    let ended = ended(report);
    let line = |(number, (kind, artifact)): (usize, (&str, Value))| {
        // The report has no instant for each figure: all but the first lines are of its end.
        let at = if number < 2 { &report.started } else { &ended };
        json!({"sequenceNumber": number, "timestamp": at, kind: artifact}).to_string() + "\n"
    };
    all.into_iter().enumerate().map(line).collect()
}

/// When the run ended; when it began, where that cannot be read.
fn ended(report: &Report) -> String {
    let took = Duration::try_from_secs_f64(report.took_s).unwrap_or_default();
    let started = humantime::parse_rfc3339(&report.started).ok();
    let ended = started.and_then(|started: SystemTime| started.checked_add(took));
    let ended = ended.map(|ended| humantime::format_rfc3339_millis(ended).to_string());
    ended.unwrap_or_else(|| report.started.clone())
}

/// The same without what is not known.
fn known(mut value: Value) -> Value {
    if let Value::Object(fields) = &mut value {
        fields.retain(|_, field| !field.is_null());
    }
    value
}

fn start(report: &Report) -> Value {
    let hardware = report.devices.iter().map(|device| {
        known(json!({
            "hardwareInfoId": device.label,
            "name": device.name,
            "partType": "GPU",
            "location": device.slot,
            "serialNumber": device.identity,
        }))
    });
    let of = &report.node.fingerprint;
    let software = [
        ("driver", &of.driver),
        ("driver interface", &of.interface),
        ("collective library", &of.collectives),
        ("kernel", &of.kernel),
    ];
    let software = software.into_iter().filter_map(|(name, version)| {
        let version = version.as_ref()?;
        let (id, kind) = (name, "SYSTEM");
        Some(json!({"softwareInfoId": id, "name": name, "softwareType": kind, "version": version}))
    });
    let platform = of.cpu.iter().map(|cpu| json!({"info": cpu}));
    let (profile, level) = (&report.profile.name, &report.level);
    let soft = report.simulated();
    json!({
        "name": "tplens accept",
        "version": report.version,
        "commandLine": format!("tplens accept run --profile {profile} --level {level}"),
        "parameters": {"profile": profile, "profileSha256": report.profile.sha256, "level": level},
        "dutInfo": {
            "dutInfoId": report.node.called(),
            "hardwareInfos": hardware.collect::<Vec<_>>(),
            "softwareInfos": software.collect::<Vec<_>>(),
            "platformInfos": platform.collect::<Vec<_>>(),
        },
        "metadata": {"simulated": soft, "status": report.status, "verdict": report.verdict},
    })
}

/// The device that a check is about, and the pair, direction or part of it.
fn place<'a>(report: &'a Report, check: &Check) -> (Option<&'a str>, Value) {
    let labels = report.devices.iter().map(|device| device.label.as_str());
    let about = check.about.join(" ");
    let ends = |label: &&str| about.split([' ', ',', '>', '-']).any(|end| end == *label);
    let of: Vec<&str> = labels.filter(ends).collect();
    let part = match of[..] {
        [one] if one == about => Value::Null,
        [_, _, ..] => json!({"type": "BUS", "name": about}),
        _ => json!({"type": "UNSPECIFIED", "name": about}),
    };
    (of.first().copied(), part)
}

/// What was measured, counted or seen, with the limit of the figure that a check is read by; words that are withheld are none.
fn measurement(report: &Report, check: &Check, evidence: &Evidence) -> Option<Value> {
    let is_main = main_evidence(check) == Some(evidence);
    let (value, unit, expected) = match evidence {
        Evidence::Measured(one) => (json!(one.value), Some(one.unit.as_str()), None),
        Evidence::Counted(one) => {
            let events = one.after.zip(one.before)?;
            (json!(events.0.checked_sub(events.1)?), Some("events"), None)
        }
        Evidence::Seen(one) if one.value == WITHHELD => return None,
        Evidence::Seen(one) => (json!(one.value), None, one.expected.as_ref()),
    };
    let limit = check.limit.as_ref();
    let limit = limit.filter(|limit| Some(limit.unit.as_str()) == unit);
    let expected = expected.map(|expected| json!([{"type": "EQUAL", "value": expected}]));
    let (hardware, part) = place(report, check);
    Some(known(json!({
        "name": format!("{}: {}", check.id, evidence.what()),
        "value": value,
        "unit": unit,
        "validators": limit.map(validators).or(expected).filter(|_| is_main),
        "hardwareInfoId": hardware,
        "subcomponent": part,
        "metadata": evidence,
    })))
}

/// The line that fails, with the one that warns and the source beside it.
fn validators(limit: &Limit) -> Value {
    let kind = match limit.good {
        Side::AtLeast => "GREATER_THAN_OR_EQUAL",
        Side::AtMost => "LESS_THAN_OR_EQUAL",
    };
    let line = |(name, value): (&str, Option<f64>)| {
        let metadata = json!({"source": limit.source});
        Some(json!({"name": name, "type": kind, "value": value?, "metadata": metadata}))
    };
    let lines = [("fail", limit.fail), ("warn", limit.warn)];
    Value::Array(lines.into_iter().filter_map(line).collect())
}

fn diagnosis(report: &Report, check: &Check) -> Value {
    let (hardware, part) = place(report, check);
    // What is not required decides nothing, and a reader would fail the machine for it.
    let kind = match check.verdict {
        Verdict::Pass | Verdict::Warn => "PASS",
        Verdict::Fail if check.required => "FAIL",
        Verdict::Fail | Verdict::Inconclusive | Verdict::Skip => "UNKNOWN",
    };
    let advice = check.advice.as_ref();
    let advice = advice.map_or_else(String::new, |advice| format!(". Do: {advice}"));
    known(json!({
        "verdict": format!("{}-{}", check.kind, check.reason.code.code()),
        "type": kind,
        "message": format!("{}{advice}", CameTo(check)),
        "hardwareInfoId": hardware,
        "subcomponent": part,
    }))
}
