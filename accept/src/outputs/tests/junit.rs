//! JUnit: counts worked out by hand, and a stock parser where there is one.

use std::io::Write;
use std::process::{Command, Stdio};

use super::sample;
use crate::outputs::junit;
use crate::report::{BoxVerdict, Report};

#[test]
fn a_check_is_a_case_and_the_box_is_one_too() {
    let xml = junit(&sample::bad());
    // Ten checks and the box: fail link, h2d, p2p twice, counters and the box; allreduce is noisy; two were skipped.
    assert!(
        xml.contains("tests=\"11\" failures=\"6\" errors=\"1\" skipped=\"2\" time=\"93.400\""),
        "{xml}"
    );
    assert!(xml.contains("<failure type=\"rejected\""));
    assert!(xml.contains(
        "<failure type=\"link_degraded\" message=\"Gen4 x8 under load, Gen4 x16 is expected\">"
    ));
    assert!(xml.contains("<skipped message=\"budget: 5 minutes were used up\"/>"));
    // A warning passed, and says so.
    assert!(
        xml.contains("<system-out>WARN below_floor: 24.1 GB/s"),
        "{xml}"
    );
}

#[test]
fn a_required_check_that_was_skipped_leaves_the_box_in_error() {
    let mut report = sample::good();
    report.checks[0] = sample::bad().checks.remove(8);
    report.verdict = BoxVerdict::Inconclusive;
    let xml = junit(&report);
    assert!(xml.contains("errors=\"1\""), "{xml}");
    assert!(xml.contains("<error type=\"inconclusive\""), "{xml}");
}

#[test]
fn what_failed_and_is_not_required_is_no_failure_of_the_suite_and_says_what_it_is() {
    let mut report = sample::bad();
    report.checks[1].required = false;
    let open = report
        .checks
        .iter_mut()
        .find(|check| check.kind == "allreduce");
    open.unwrap().required = false;
    let xml = junit(&report);
    // Of six failures the link's is none any more, the one error neither; both join the two that were skipped.
    assert!(
        xml.contains("tests=\"11\" failures=\"5\" errors=\"0\" skipped=\"4\""),
        "{xml}"
    );
    assert!(
        xml.contains("<skipped message=\"FAILED, not required, link_degraded: Gen4 x8 under load"),
        "{xml}"
    );
    assert!(
        xml.contains("<skipped message=\"INCONCLUSIVE, not required, noisy: "),
        "{xml}"
    );
}

#[test]
fn a_soft_box_says_so_in_the_name_of_all() {
    let xml = junit(&sample::simulated(sample::good()));
    assert!(
        xml.contains("<testsuites name=\"SIMULATED accept l40x2\""),
        "{xml}"
    );
    assert!(
        xml.contains("<system-out>SIMULATED on soft box l40x4"),
        "{xml}"
    );
}

/// Reads XML from standard input and prints the sum of cases, and the attributes of the root.
const READER: &str = "import sys, xml.etree.ElementTree as e; r = e.parse(sys.stdin.buffer).getroot(); \
    s = r.findall('testsuite'); print(r.get('tests'), len(r.findall('.//testcase')), sum(int(x.get('tests')) for x in s), \
    len(r.findall('.//failure')), r.get('failures'), len(r.findall('.//skipped')), r.get('skipped'))";

/// What python's own parser counts; `None` where there is no python3.
fn counted(report: &Report) -> Option<String> {
    let mut python = Command::new("python3")
        .args(["-c", READER])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .ok()?;
    let mut stdin = python.stdin.take().unwrap();
    stdin.write_all(junit(report).as_bytes()).unwrap();
    drop(stdin);
    let out = python.wait_with_output().unwrap();
    assert!(out.status.success(), "{out:?}");
    Some(String::from_utf8(out.stdout).unwrap().trim().to_owned())
}

#[test]
fn a_stock_parser_counts_the_same() {
    for (report, expected) in [
        (sample::bad(), "11 11 11 6 6 2 2"),
        (sample::hostile(), "11 11 11 6 6 2 2"),
        // Seven checks and the box; the staged path is not applicable.
        (sample::good(), "8 8 8 0 0 1 1"),
    ] {
        let Some(counted) = counted(&report) else {
            if let Some(log) = std::env::var_os("TPLENS_SKIP_LOG") {
                let file = std::fs::OpenOptions::new()
                    .create(true)
                    .append(true)
                    .open(log);
                writeln!(
                    file.unwrap(),
                    "a_stock_parser_counts_the_same: there is no python3"
                )
                .unwrap();
            }
            return;
        };
        assert_eq!(counted, expected);
    }
}
