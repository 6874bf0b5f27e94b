//! Reports for tests, made by hand: a box, its devices, and checks that were measured. Nothing of them was judged by this program.

use record::{LinkDevice, Simulated};

use crate::report::{
    BoxVerdict, Came, Check, Fingerprint, Limit, Measured, Node, ProfileUsed, REPORT_SCHEMA,
    ReasonCode, Report, ReportDevice, RunStatus, Side, Verdict,
};

/// Fifteen samples around a median: -0.7% to 0.7% of it in steps of 0.1%.
pub(crate) fn samples(median: f64) -> Vec<f64> {
    (-7..=7)
        .map(|step| median * (1.0 + f64::from(step) / 1000.0))
        .collect()
}

/// A check that passed, of a bandwidth in GB/s.
pub(crate) fn bandwidth(kind: &str, about: &str, median: f64) -> Check {
    measured(kind, about, Verdict::Pass, "GB/s", samples(median))
}

/// A check with a verdict on a figure, whose median is that of the middle sample.
pub(crate) fn measured(
    kind: &str,
    about: &str,
    verdict: Verdict,
    unit: &str,
    samples: Vec<f64>,
) -> Check {
    let code = match verdict {
        Verdict::Pass => ReasonCode::AsExpected,
        _ => ReasonCode::BeyondLimit,
    };
    let limit = Limit {
        good: if unit == "GB/s" {
            Side::AtLeast
        } else {
            Side::AtMost
        },
        fail: Some(5.0),
        warn: Some(6.0),
        unit: unit.to_owned(),
        basis: "a choice of this test".to_owned(),
        source: "a choice of this test".to_owned(),
        ..Limit::default()
    };
    let evidence = Measured {
        what: "16 MiB copies".to_owned(),
        value: stats::median(&samples).unwrap_or_default(),
        unit: unit.to_owned(),
        n: samples.len(),
        samples,
        source: "links/record.json".to_owned(),
        ..Measured::default()
    };
    let came = Came::new(verdict, code).by(Some(limit)).with([evidence]);
    came.saying("as it was measured")
        .check(kind, &[about], true)
}

/// The report of a box with two devices, and the verdict that these checks come to.
pub(crate) fn report(node: &str, checks: Vec<Check>) -> Report {
    let verdict = BoxVerdict::of(&checks);
    let device = |index: u32| ReportDevice {
        label: format!("GPU{index}"),
        name: "NVIDIA L40".to_owned(),
        slot: Some(format!("0000:{index}1:00.0")),
        identity: Some(format!("GPU-{node}-{index}")),
        node: Some(0),
        memory_bytes: Some(48 << 30),
    };
    Report {
        schema: REPORT_SCHEMA,
        program: "accept".to_owned(),
        version: "0.1.0".to_owned(),
        started: "2026-11-20T08:00:00Z".to_owned(),
        took_s: 120.0,
        status: RunStatus::Complete,
        verdict,
        exit_code: verdict.exit_code(),
        profile: ProfileUsed {
            name: "l40x4".to_owned(),
            title: "four L40".to_owned(),
            sha256: "aa".repeat(32),
            shipped: true,
            ..ProfileUsed::default()
        },
        level: "quick".to_owned(),
        node: Node {
            name: node.to_owned(),
            identified: true,
            fingerprint: Fingerprint {
                backend: "cuda".to_owned(),
                devices: vec!["NVIDIA L40".to_owned(); 2],
                driver: Some("570.133.07".to_owned()),
                interface: Some("12.8".to_owned()),
                collectives: Some("NCCL 2.26.2".to_owned()),
                kernel: Some("6.8.0".to_owned()),
                cpu: Some("EPYC".to_owned()),
                topology: Some("0123".to_owned()),
                max_payload_bytes: vec![256, 256],
            },
            ..Node::default()
        },
        devices: vec![device(0), device(1)],
        checks,
        ..Report::default()
    }
}

/// The same of a simulated machine.
pub(crate) fn soft(mut report: Report, name: &str) -> Report {
    report.simulated = Some(Simulated {
        box_name: name.to_owned(),
    });
    report
}

/// A folder of its own for a test, empty.
pub(crate) fn folder(name: &str) -> std::path::PathBuf {
    let folder = std::env::temp_dir().join(format!("accept-{name}-{}", std::process::id()));
    drop(std::fs::remove_dir_all(&folder));
    std::fs::create_dir_all(&folder).expect("a folder for a test");
    folder
}

/// Writes a report into a folder of its name, as a run does, and gives that folder.
pub(crate) fn write(folder: &std::path::Path, name: &str, report: &Report) -> std::path::PathBuf {
    let run = folder.join(name);
    std::fs::create_dir_all(&run).expect("a folder for a run");
    std::fs::write(
        run.join("report.json"),
        serde_json::to_vec(report).expect("json"),
    )
    .expect("a report");
    run
}

/// A device of which only this is known.
pub(crate) fn device(ordinal: usize, name: &str, address: &str) -> LinkDevice {
    LinkDevice {
        label: format!("GPU{ordinal}"),
        ordinal,
        name: name.to_owned(),
        uuid: None,
        address: address.parse().ok(),
        node: None,
        memory_bytes: None,
        mig: None,
        idle: None,
        loaded: None,
        max_payload_bytes: None,
        busy: None,
    }
}
