//! What stood before the run, or stands beside what is judged: lines of the kernel's log, memory of unequal devices, heat.

use std::time::Duration;

use measure::record::{MonitorLine, Payload};
use program::kernel_log::Logged;

use super::{Played, profile, verdict};
use crate::cli::Level;
use crate::findings::Findings;
use crate::judge::judge;
use crate::report::{BoxVerdict, Check, ReasonCode as R, Verdict};

fn good() -> Findings {
    Played::new("l40x4", 1, &[]).idle().findings(20)
}

fn judged(findings: &Findings) -> Vec<Check> {
    judge(&profile("l40x4"), Level::Standard, findings, &[]).unwrap()
}

fn one<'a>(checks: &'a [Check], id: &str) -> &'a Check {
    checks.iter().find(|check| check.id == id).unwrap()
}

fn line(ago_s: Option<u64>, text: &str) -> Logged {
    Logged {
        ago: ago_s.map(Duration::from_secs),
        text: text.to_owned(),
    }
}

#[test]
fn faults_that_stood_in_the_log_before_warn_with_their_count_and_when() {
    const ID: &str = "kernel_log before the run";
    let fell_off = "NVRM: Xid (PCI:0000:21:00): 79, pid=1, GPU has fallen off the bus.";
    let reset = "amdgpu 0000:03:00.0: amdgpu: GPU reset begin!";
    let mut findings = good();
    findings.kernel_log_before = Some(Ok(vec![
        line(Some(90_000), fell_off),
        // An application's fault, and a line on nothing.
        line(Some(80_000), "NVRM: Xid (PCI:0000:21:00): 31, pid=7"),
        line(Some(11_000), reset),
        line(Some(5), "EXT4-fs (sda1): mounted filesystem"),
    ]));
    let checks = judged(&findings);
    let check = one(&checks, ID);
    assert_eq!(
        (check.verdict, check.reason.code),
        (Verdict::Warn, R::KernelEvents)
    );
    // 11 000 s are 3.06 hours.
    assert_eq!(
        check.reason.text,
        "2 events of a fault stood in the log before the run, the last one 3 hours before the run: an AMD GPU was reset"
    );
    assert_eq!(verdict(&checks), BoxVerdict::AcceptedWithWarnings);
    // A log file says itself when.
    findings.kernel_log_before = Some(Ok(vec![line(None, fell_off)]));
    let checks = judged(&findings);
    assert_eq!(
        one(&checks, ID).reason.text,
        format!(
            "1 event of a fault stood in the log before the run, the last one: {fell_off}: Xid 79: the device fell off the bus"
        )
    );
    findings.kernel_log_before = Some(Ok(vec![line(Some(5), "EXT4-fs (sda1): mounted")]));
    let checks = judged(&findings);
    assert_eq!(one(&checks, ID).verdict, Verdict::Pass);
    assert_eq!(verdict(&checks), verdict(&judged(&good())));
    // An empty log is a container's.
    findings.kernel_log_before = Some(Ok(vec![]));
    assert!(judged(&findings).iter().all(|check| check.id != ID));
}

#[test]
fn devices_of_one_kind_with_unequal_memory_warn() {
    let mut findings = good();
    let with = |findings: &mut Findings, bytes: u64| {
        let Payload::Links(links) = &mut findings.links[0].it.payload else {
            panic!("{:?}", findings.links[0]);
        };
        for device in &mut links.devices {
            device.memory_bytes = Some(48 << 30);
        }
        links.devices[2].memory_bytes = Some(bytes);
    };
    // Half of 1% of 48 GiB less is what a driver keeps; 45 of 48 GiB is a sixteenth less.
    with(&mut findings, (48 << 30) - (48 << 30) / 200);
    let checks = judged(&findings);
    assert_eq!(one(&checks, "inventory devices").verdict, Verdict::Pass);
    with(&mut findings, 45 << 30);
    let checks = judged(&findings);
    let check = one(&checks, "inventory devices");
    assert_eq!(
        (check.verdict, check.reason.code),
        (Verdict::Warn, R::Outlier)
    );
    assert!(
        check
            .reason
            .text
            .starts_with("GPU2 has 45 GiB and GPU3 48 GiB, both NVIDIA L40: ECC"),
        "{}",
        check.reason.text
    );
    assert_eq!(verdict(&checks), BoxVerdict::AcceptedWithWarnings);
}

#[test]
fn the_highest_temperature_is_told_where_nothing_says_what_holds_clocks_down() {
    let mut findings = good();
    for line in &mut findings.monitor {
        if let MonitorLine::Sample(sample) = line {
            sample.values.throttle = None;
        }
    }
    let checks = judged(&findings);
    let check = one(&checks, "throttle GPU1");
    assert_eq!(
        (check.verdict, check.reason.code),
        (Verdict::Skip, R::UnsupportedByDevice)
    );
    // Of the played readings, 50 each.
    assert!(
        check.reason.text.ends_with("; at most 50 degrees Celsius"),
        "{}",
        check.reason.text
    );
}
