//! Single verdicts on hand-made findings: what a box file cannot show.

use record::{Outcome, Payload, PeerVerdict};

use super::{Plant, Played, good, judged, links, one, played, profile, run, told, verdict};
use crate::cli::Level;
use crate::findings::Findings;
use crate::judge::judge;
use crate::profile::Expected;
use crate::report::{BoxVerdict, ReasonCode as R, Verdict};

#[test]
fn a_fraction_is_of_the_link_in_use_and_the_limit_says_so() {
    let checks = judged("l40x4", &good());
    // Gen4 x16 at 256 B carries 31.508 * 256 / 280 = 28.807 GB/s; 0.80 of it is 23.05, 0.88 is 25.35.
    let limit = one(&checks, "h2d_pinned GPU1").limit.clone().unwrap();
    assert!(
        (limit.fail.unwrap() - 23.05).abs() < 0.01 && (limit.warn.unwrap() - 25.35).abs() < 0.01
    );
    assert!((limit.ceiling.unwrap() - 28.807).abs() < 0.001);
    // At half the width the same copy is compared with half of it: the link fails, the copy does not.
    let plant = Plant::Slot {
        device: 1,
        link: topology::PcieLink::new(4, 8).unwrap(),
    };
    let checks = judged("l40x4", &played(&[plant]));
    let narrow = one(&checks, "h2d_pinned GPU1");
    assert!((narrow.limit.as_ref().unwrap().fail.unwrap() - 11.52).abs() < 0.01);
    assert_eq!(narrow.verdict, Verdict::Pass);
    assert_eq!(one(&checks, "link GPU1").verdict, Verdict::Fail);
}

#[test]
fn a_device_s_own_word_condemns_its_link_and_never_clears_it() {
    let half = Plant::Slot {
        device: 0,
        link: topology::PcieLink::new(4, 8).unwrap(),
    };
    let mut findings = played(&[half]);
    for device in &mut links(&mut findings).devices {
        let loaded = device.loaded.as_mut().unwrap();
        (loaded.slot, loaded.card, loaded.device) = (None, None, None);
    }
    let checks = judged("l40x4", &findings);
    let link = one(&checks, "link GPU0");
    assert_eq!(link.reason.code, R::Unreadable);
    let own = |findings: &mut Findings, link| {
        let loaded = links(findings).devices[0].loaded.as_mut();
        loaded.unwrap().device = link;
    };
    own(&mut findings, topology::PcieLink::new(4, 8).ok());
    let checks = judged("l40x4", &findings);
    assert_eq!(one(&checks, "link GPU0").reason.code, R::LinkDegraded);
    // In a guest there is nothing to see.
    own(&mut findings, None);
    links(&mut findings).machine.as_mut().unwrap().hypervisor = Some(true);
    let checks = judged("l40x4", &findings);
    assert_eq!(one(&checks, "link GPU0").reason.code, R::Unreadable);
}

#[test]
fn a_link_that_is_not_stated_leaves_the_box_open_until_a_profile_states_it() {
    let checks = run(
        &profile("mxc500x4"),
        &mut Played::new("mxc500x4", 1, &[]),
        None,
    );
    assert_eq!(one(&checks, "link GPU0").reason.code, R::Unreadable);
    assert_eq!(verdict(&checks), BoxVerdict::Inconclusive);
    let mut stated = profile("mxc500x4");
    (stated.link.generation, stated.link.width) = (Some(5), Some(16));
    for seed in 0..20 {
        let checks = run(&stated, &mut Played::new("mxc500x4", seed, &[]), None);
        assert_eq!(verdict(&checks).exit_code(), 0, "{seed}");
    }
}

#[test]
fn what_a_busy_device_does_slowly_is_open_and_what_is_broken_fails() {
    let slow = Plant::SlowDevice {
        device: 0,
        part: 0.7,
    };
    // The box file has a process on device 0.
    let findings = Played::new("l40x4", 1, &[slow]).findings(20);
    let checks = judged("l40x4", &findings);
    // 25.6 * 0.7 = 17.9 GB/s, below 23.05.
    assert_eq!(one(&checks, "h2d_pinned GPU0").reason.code, R::DeviceBusy);
    assert_eq!(one(&checks, "idle GPU0").reason.code, R::DeviceBusy);
    assert_eq!(verdict(&checks), BoxVerdict::Inconclusive);
    let drops = Plant::DropsData { from: 0, to: 1 };
    let checks = judged("l40x4", &Played::new("l40x4", 1, &[drops]).findings(20));
    assert_eq!(verdict(&checks), BoxVerdict::Rejected);
}

#[test]
fn peer_access_is_judged_as_the_profile_expects_it() {
    use Expected::{Direct, Forbidden, Staged};
    use PeerVerdict as P;
    use Verdict::{Fail, Inconclusive, Pass, Warn};
    for (expected, found, verdict, code) in [
        (Some(Direct), P::Direct, Pass, R::AsExpected),
        (Some(Direct), P::Staged, Fail, R::ConfigMismatch),
        (Some(Direct), P::Denied, Fail, R::ConfigMismatch),
        (Some(Direct), P::HostLost, Fail, R::DeviceLost),
        (Some(Direct), P::Failed, Inconclusive, R::NotMeasured),
        (Some(Staged), P::Staged, Pass, R::AsExpected),
        (Some(Staged), P::Direct, Warn, R::ConfigMismatch),
        (Some(Forbidden), P::Denied, Pass, R::AsExpected),
        (Some(Forbidden), P::Direct, Warn, R::ConfigMismatch),
        (Some(Forbidden), P::WrongData, Fail, R::WrongData),
        (None, P::Direct, Inconclusive, R::Unreadable),
    ] {
        let mut findings = good();
        links(&mut findings).probes[0].verdict = found;
        let mut profile = profile("l40x4");
        profile.peer.expect = expected;
        let checks = judge(&profile, Level::Standard, &findings, &[]);
        let check = one(&checks, "peer_access GPU0->GPU1");
        assert_eq!(
            (check.verdict, check.reason.code),
            (verdict, code),
            "{expected:?} {found}"
        );
    }
}

#[test]
fn memory_that_is_faster_far_than_near_is_told_as_an_inversion() {
    let mut findings = good();
    if let Payload::Numa(numa) = &mut findings.numa[0].it.payload {
        for point in &mut numa.points {
            let is_far = point.memory_node != point.thread_node;
            if let Outcome::Measured { quantities, .. } = &mut point.outcome
                && is_far
            {
                // 0.87 and 0.9 of the near rate times 1.3 are 1.13 and 1.17 of it.
                let samples = &mut quantities[0].quantity.samples;
                samples.iter_mut().for_each(|sample| *sample *= 1.3);
            }
        }
    }
    let checks = judged("l40x4", &findings);
    assert_eq!(
        one(&checks, "numa_penalty GPU0").reason.code,
        R::ConfigMismatch
    );
}

#[test]
fn the_kernel_s_log_rejects_where_it_tells_of_a_fault() {
    let mut findings = good();
    let fell_off = "NVRM: Xid (PCI:0000:21:00): 79, pid=1, GPU has fallen off the bus.";
    findings.kernel_log = Some(Ok(vec![fell_off.to_owned()]));
    let checks = judged("l40x4", &findings);
    assert!(told(&checks, "kernel_log", "Xid 79", R::ErrorsCounted));
    assert_eq!(verdict(&checks), BoxVerdict::Rejected);
    findings.kernel_log = Some(Err("permission denied".to_owned()));
    let checks = judged("l40x4", &findings);
    assert_eq!(one(&checks, "kernel_log box").reason.code, R::Unreadable);
    assert_eq!(verdict(&checks), BoxVerdict::AcceptedWithWarnings);
    // Of no lines there is no count.
    findings.kernel_log = Some(Ok(vec![]));
    let read = one(&judged("l40x4", &findings), "kernel_log box").evidence[0].to_string();
    assert!(!read.contains('0'), "{read}");
}

#[test]
fn a_few_errors_in_a_short_run_warn_and_many_fail() {
    // In 200 s: 2 errors are 36 an hour, 8 are 144 an hour and with 97.5% confidence at least 3.45, that is 62; the limit is 60.
    for (events, expected) in [
        (0, Verdict::Pass),
        (2, Verdict::Warn),
        (7, Verdict::Warn),
        (8, Verdict::Fail),
    ] {
        let plant = Plant::Aer { device: 1, events };
        let checks = judged("l40x4", &played(&[plant]));
        let check = one(&checks, "counters GPU1");
        assert_eq!(check.verdict, expected, "{events}");
        // What decides is the figure that stands beside the limit.
        if let (Some(limit), Verdict::Fail) = (&check.limit, check.verdict) {
            assert_eq!(limit.unit, "events/h");
            let what = check.evidence[0].what();
            assert!(what.starts_with("aer_correctable "), "{what}");
        }
    }
}

#[test]
fn an_nvlink_that_is_down_a_fabric_that_failed_and_errors_that_rise_reject_and_old_errors_warn() {
    use record::NvlinkReading;
    use topology::FabricState::{Completed, NotStarted};

    let reading = |active, errors, fabric| NvlinkReading {
        device: "GPU0".to_owned(),
        active,
        links: 18,
        errors: Some(errors),
        fabric: Some(fabric),
    };
    let good = || reading(18, 0, Completed);
    let (fail, errors) = (Verdict::Fail, R::ErrorsCounted);
    #[rustfmt::skip]
    let known = [
        (vec![good()], (Verdict::Pass, R::AsExpected), "NVLinks"),
        (vec![reading(17, 0, Completed)], (fail, R::LinkDegraded), "nvlink-inactive"),
        (vec![reading(18, 0, NotStarted)], (fail, R::ConfigMismatch), "fabric-manager"),
        (vec![reading(18, 3, Completed); 2], (Verdict::Warn, errors), "nvlink-errors"),
        (vec![reading(18, 3, Completed), reading(18, 5, Completed)], (fail, errors), "nvlink-errors"),
    ];
    let uncounted = NvlinkReading {
        errors: None,
        ..good()
    };
    let unread = (vec![uncounted], (Verdict::Warn, R::Unreadable), "NVLinks");
    for (readings, came, named) in known.into_iter().chain([unread]) {
        let mut findings = Played::new("h200x8", 1, &[]).idle().findings(20);
        links(&mut findings).nvlinks = readings;
        let checks = judged("h200x8", &findings);
        let check = one(&checks, "nvlink GPU0");
        assert_eq!((check.verdict, check.reason.code), came, "{named}");
        assert_eq!(check.evidence[0].what(), named);
        assert_eq!(
            check.required,
            came.0 != Verdict::Pass && came.0 != Verdict::Warn
        );
    }
}
