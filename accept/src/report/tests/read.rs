//! Reading what is no report: one sentence each, no wait, no crash.

use std::fs;
use std::path::PathBuf;

use crate::outputs::tests::sample;
use crate::report::{Evidence, ReasonCode, Verdict, parse, read};

/// What is said of these bytes.
fn told(bytes: &[u8]) -> String {
    parse(bytes, "a/report.json".as_ref())
        .unwrap_err()
        .to_string()
}

/// A folder of this test's own.
fn scratch(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("tplens-accept-{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn what_was_written_is_read_from_a_folder_and_from_a_file() {
    let folder = scratch("read");
    let report = sample::bad();
    fs::write(
        folder.join("report.json"),
        serde_json::to_vec(&report).unwrap(),
    )
    .unwrap();
    assert_eq!(read(&folder).unwrap(), report);
    assert_eq!(read(&folder.join("report.json")).unwrap(), report);
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn each_fault_is_one_sentence_that_names_the_file() {
    let newer = br#"{"schema": 7, "program": "accept", "verdicts": []}"#;
    let other = br#"{"schema": 3, "program": "p2p-bw", "payload": {}}"#;
    let deep = [b"[".repeat(25), b"]".repeat(25)].concat();
    for (bytes, said) in [
        (&b""[..], "is not a report of accept: EOF while parsing"),
        (b"\xff\xfe", "is not a report of accept: "),
        (
            b"{\"schema\": 1, \"program\": \"accept\"}",
            "is not a report of accept: missing field",
        ),
        (newer, "has schema 7, and this program reads up to 1; "),
        (
            other,
            "is not a report of accept: it says that `p2p-bw` wrote it",
        ),
        (
            &deep,
            "has more than 24 lists and objects within each other",
        ),
    ] {
        let told = told(bytes);
        assert!(
            told.starts_with("a/report.json ") && told.contains(said),
            "{told}"
        );
        assert!(!told.contains('\n'), "{told}");
    }
    // Braces in a text are no depth.
    assert!(
        told(format!("{{\"program\": \"{}\"}}", "[\\\"".repeat(100)).as_bytes())
            .contains("is not a report")
    );
}

#[test]
fn a_report_that_is_cut_or_turned_at_any_byte_is_refused_or_read_and_never_a_crash() {
    let whole = serde_json::to_vec(&sample::good()).unwrap();
    for end in (0..whole.len()).step_by(7) {
        assert!(parse(&whole[..end], "cut".as_ref()).is_err(), "{end}");
    }
    for at in (0..whole.len()).step_by(11) {
        let mut turned = whole.clone();
        turned[at] ^= 0x15;
        if let Ok(report) = parse(&turned, "turned".as_ref()) {
            assert_eq!(crate::report::unsound(&report), None);
        }
    }
}

#[test]
fn a_pipe_a_device_and_a_huge_file_are_refused_at_once() {
    let folder = scratch("pipe");
    let pipe = folder.join("report.json");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    if made.is_ok_and(|status| status.success()) {
        let told = read(&folder).unwrap_err().to_string();
        assert!(told.contains("it is no regular file"), "{told}");
        fs::remove_file(&pipe).unwrap();
    }
    let told = read("/dev/zero".as_ref()).unwrap_err().to_string();
    assert!(told.contains("it is no regular file"), "{told}");
    // A file of 64 MiB and a byte, which takes no room on the disk.
    let file = fs::File::create(&pipe).unwrap();
    file.set_len((64 << 20) + 1).unwrap();
    let told = read(&folder).unwrap_err().to_string();
    assert!(told.contains("is larger than 64 MiB"), "{told}");
    let told = read(&folder.join("none")).unwrap_err().to_string();
    assert!(
        told.starts_with("cannot read ") && told.contains("none"),
        "{told}"
    );
    fs::remove_dir_all(&folder).unwrap();
}

/// Changes value, n, samples and unit of a figure.
type Change<'a> = &'a dyn Fn(&mut f64, &mut usize, &mut Vec<f64>, &mut String);

#[test]
fn a_figure_that_its_own_samples_or_limit_contradict_is_refused_with_its_check() {
    // Passes with 26 GB/s against 25.353 GB/s, of 15 samples of 26.
    let good = || {
        sample::report(vec![sample::copy(
            "h2d_pinned",
            "GPU0",
            26.0,
            Verdict::Pass,
            ReasonCode::WithinLimit,
        )])
    };
    let told = |change: Change<'_>| {
        let mut report = good();
        for evidence in &mut report.checks[0].evidence {
            if let Evidence::Measured {
                value,
                n,
                samples,
                unit,
                ..
            } = evidence
            {
                change(value, n, samples, unit);
            }
        }
        crate::report::unsound(&report).unwrap_or_default()
    };
    assert_eq!(told(&|_, _, _, _| {}), "");
    assert!(told(&|_, n, _, _| *n = 500).contains("has n=500 for"));
    assert!(told(&|value, _, _, _| *value = 30.0).contains("outside its interval"));
    assert!(told(&|value, _, _, _| *value = 26.01).contains("not the median of its samples"));
    assert!(
        told(&|_, _, samples, unit| {
            samples[0] = -1.0;
            *unit = "us".to_owned();
        })
        .contains("below 0 us")
    );
    let mut held = good();
    if let Some(limit) = &mut held.checks[0].limit {
        limit.fail = Some(40.0);
    }
    let told = crate::report::unsound(&held).unwrap_or_default();
    assert_eq!(
        told,
        "check `h2d_pinned GPU0` passes and its figure lies beyond its own limit"
    );
    let mut report = good();
    report.took_s = -1.0;
    assert_eq!(
        crate::report::unsound(&report).as_deref(),
        Some("it took less than 0 s")
    );
}
