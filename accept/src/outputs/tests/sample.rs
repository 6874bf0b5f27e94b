//! Hand-made reports: a good box of two L40, the same with faults, and one whose names want to be believed.

use measure::record::Simulated;

use crate::report::{
    BoxVerdict, Check, Evidence, Fingerprint, Limit, Node, ProfileUsed, REPORT_SCHEMA, ReasonCode,
    Report, ReportDevice, RunStatus, Seen, Series, Setting, Side, Subject, Verdict,
};

/// Names that no output may show where they are withheld.
pub(crate) const HOST: &str = "canary-node-017.cluster.example";
pub(crate) const UUID: &str = "GPU-c0ffee00-1111-2222-3333-c4ca123ab00b";
pub(crate) const SERIAL: &str = "1563221017744";

/// A name that wants to be markup, a terminal's command, and more than a line.
pub(crate) const HOSTILE: &str = "<script>alert('x')</script>\u{1b}[31m\u{202e}\n\"]]>&";

/// A measured figure.
pub(crate) fn measured(
    what: &str,
    (value, low, high): (f64, f64, f64),
    unit: &str,
    n: usize,
) -> Evidence {
    Evidence::Measured {
        what: what.to_owned(),
        value,
        unit: unit.to_owned(),
        n,
        low: Some(low),
        high: Some(high),
        samples: vec![value; n],
        source: "links/record.json".to_owned(),
    }
}

/// A state that was seen.
pub(crate) fn seen(what: &str, value: &str, expected: Option<&str>) -> Evidence {
    Evidence::Seen {
        what: what.to_owned(),
        value: value.to_owned(),
        expected: expected.map(str::to_owned),
        n: 312,
        source: "monitor.jsonl".to_owned(),
    }
}

/// 0.80 and 0.88 of 28.81 GB/s: 23.048 and 25.353.
pub(crate) fn copies() -> Limit {
    Limit {
        good: Side::AtLeast,
        fail: Some(23.048),
        warn: Some(25.353),
        unit: "GB/s".to_owned(),
        basis: "0.80 and 0.88 of 28.81 GB/s, what Gen4 x16 carries at 256 B payload".to_owned(),
        source: "0.80 and 0.88 are our choice".to_owned(),
    }
}

fn subject(kind: &str, about: &str) -> Subject {
    Subject::new(kind, [about.to_owned()], true)
}

/// A copy of this many GB/s, within 1%, judged by hand.
pub(crate) fn copy(
    kind: &str,
    about: &str,
    rate: f64,
    verdict: Verdict,
    code: ReasonCode,
) -> Check {
    let text = format!("{rate} GB/s against 23.05 GB/s.");
    let evidence = measured(
        "bandwidth of 16 MiB copies",
        (rate, rate * 0.99, rate * 1.01),
        "GB/s",
        15,
    );
    subject(kind, about).judged(verdict, code, text, Some(copies()), Seen::new(evidence, []))
}

/// A link as it was seen.
pub(crate) fn link(about: &str, value: &str, verdict: Verdict, code: ReasonCode) -> Check {
    let text = format!("{value} under load, Gen4 x16 is expected");
    let evidence = seen("link at the slot under load", value, Some("Gen4 x16"));
    subject("link", about).judged(verdict, code, text, None, Seen::new(evidence, []))
}

/// A report of these checks, with the verdict that they come to.
pub(crate) fn report(checks: Vec<Check>) -> Report {
    let verdict = BoxVerdict::of(&checks);
    let device = |index: u32, identity: &str| ReportDevice {
        label: format!("GPU{index}"),
        name: "NVIDIA L40".to_owned(),
        slot: Some(format!("0000:{}1:00.0", index + 2)),
        identity: Some(identity.to_owned()),
        node: Some(0),
        memory_bytes: Some(48 << 30),
    };
    Report {
        schema: REPORT_SCHEMA,
        program: "accept".to_owned(),
        version: "0.1.0".to_owned(),
        program_sha256: Some("a".repeat(64)),
        simulated: None,
        started: "2026-11-22T20:00:00Z".to_owned(),
        took_s: 93.4,
        status: RunStatus::Complete,
        verdict,
        exit_code: verdict.exit_code(),
        profile: ProfileUsed {
            name: "l40x2".to_owned(),
            title: "two L40, PCIe Gen4 x16".to_owned(),
            sha256: "0123456789abcdef".repeat(4),
            shipped: true,
            baseline_sha256: None,
        },
        level: "quick".to_owned(),
        node: Node {
            name: HOST.to_owned(),
            identified: true,
            fingerprint: Fingerprint {
                backend: "cuda".to_owned(),
                devices: vec!["NVIDIA L40".to_owned(); 2],
                driver: Some("570.133.07".to_owned()),
                interface: Some("CUDA 12.8".to_owned()),
                max_payload_bytes: vec![256, 256],
                ..Fingerprint::default()
            },
        },
        devices: vec![device(0, UUID), device(1, SERIAL)],
        checks,
        settings: vec![
            Setting {
                name: "IOMMU".to_owned(),
                value: Some("on, pt".to_owned()),
                why_not: None,
            },
            Setting {
                name: "MPS of GPU0".to_owned(),
                value: None,
                why_not: Some("its configuration space is not shown".to_owned()),
            },
        ],
        series: vec![
            Series {
                device: "GPU0".to_owned(),
                key: "temperature_c".to_owned(),
                unit: "degrees Celsius".to_owned(),
                points: vec![(0.0, 41.0), (30.0, 63.0), (90.0, 66.0)],
                states: vec![],
            },
            Series {
                device: "GPU0".to_owned(),
                key: "slot_link".to_owned(),
                unit: "generation and lanes".to_owned(),
                points: vec![],
                states: vec![(0.0, "Gen1 x16".to_owned()), (4.0, "Gen4 x16".to_owned())],
            },
        ],
        not_covered: vec![
            "device memory is not marched over; DCGM's memtest or RVS's mem do".to_owned(),
        ],
        notes: vec![],
    }
}

/// A good box.
pub(crate) fn good() -> Report {
    use ReasonCode::{AsExpected, NotApplicable, WithinLimit};
    report(vec![
        link("GPU0", "Gen4 x16", Verdict::Pass, AsExpected),
        link("GPU1", "Gen4 x16", Verdict::Pass, AsExpected),
        copy("h2d_pinned", "GPU0", 26.0, Verdict::Pass, WithinLimit),
        copy("h2d_pinned", "GPU1", 26.2, Verdict::Pass, WithinLimit),
        copy("p2p", "GPU0->GPU1", 25.9, Verdict::Pass, WithinLimit),
        copy("p2p", "GPU1->GPU0", 26.1, Verdict::Pass, WithinLimit),
        subject("p2p_staged", "box").skipped(
            NotApplicable,
            "every pair reaches the other directly".to_owned(),
        ),
    ])
}

/// A box with faults of every kind of verdict.
pub(crate) fn bad() -> Report {
    use ReasonCode as R;
    let mut counted = subject("counters", "0000:20:01.1").judged(
        Verdict::Fail,
        R::CounterRate,
        "AER correctable rose by 41 in 93 s".to_owned(),
        None,
        Seen::new(
            Evidence::Counted {
                what: "aer_correctable of 0000:20:01.1".to_owned(),
                before: Some(3),
                after: Some(44),
                over_s: 93.0,
                source: "counters".to_owned(),
            },
            [],
        ),
    );
    counted.advice = Some("reseat GPU1 and look at its riser.".to_owned());
    let noisy = measured("median of 16 KiB", (118.0, 96.0, 131.0), "us", 60);
    let limit = Limit {
        good: Side::AtMost,
        fail: Some(120.0),
        warn: Some(60.0),
        unit: "us".to_owned(),
        basis: "fails at 120, warns at 60".to_owned(),
        source: "our choice".to_owned(),
    };
    let mut made = report(vec![
        link("GPU0", "Gen4 x16", Verdict::Pass, R::AsExpected),
        link("GPU1", "Gen4 x8", Verdict::Fail, R::LinkDegraded),
        copy("h2d_pinned", "GPU0", 24.1, Verdict::Warn, R::BelowFloor),
        copy("h2d_pinned", "GPU1", 12.9, Verdict::Fail, R::BelowFloor),
        copy("p2p", "GPU0->GPU1", 12.7, Verdict::Fail, R::BelowFloor),
        subject("p2p", "GPU1->GPU0").judged(
            Verdict::Fail,
            R::Hang,
            "the copy does not end".to_owned(),
            None,
            Seen::new(
                seen("what came of it", "no answer in 10 s", Some("a number")),
                [],
            ),
        ),
        subject("allreduce", "small").inconclusive(
            R::Noisy,
            "118 us, the interval lies across 120 us after 60 samples".to_owned(),
            Some(limit),
            vec![noisy],
        ),
        counted,
        subject("numa_penalty", "box").skipped(R::Budget, "5 minutes were used up".to_owned()),
        Subject::new("serving", ["box".to_owned()], false)
            .skipped(R::NotAsked, "no --serve-url was given".to_owned()),
    ]);
    made.notes = vec!["run as root: the kernel showed more than a user sees".to_owned()];
    made
}

/// The same run on a soft box.
pub(crate) fn simulated(mut report: Report) -> Report {
    report.simulated = Some(Simulated {
        box_name: "l40x4".to_owned(),
    });
    report
}

/// A box whose names and texts are hostile, and 10 kB long.
pub(crate) fn hostile() -> Report {
    let long = HOSTILE.repeat(200);
    let mut report = bad();
    for device in &mut report.devices {
        device.name.clone_from(&long);
        device.label = format!("{HOSTILE}{}", device.label);
    }
    report.node.name.clone_from(&long);
    report.profile.title.clone_from(&long);
    report.notes = vec![long.clone()];
    for (index, check) in report.checks.iter_mut().enumerate() {
        check.id = format!("{HOSTILE}{index}");
        check.about = vec![format!("{HOSTILE}->{HOSTILE}")];
        check.reason.text.clone_from(&long);
        check.advice = Some(long.clone());
    }
    for series in &mut report.series {
        series.device.clone_from(&long);
        for (_, state) in &mut series.states {
            state.push_str(HOSTILE);
        }
    }
    report
}
