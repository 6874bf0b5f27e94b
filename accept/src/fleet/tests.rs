//! Fleets of reports planted in numbers: which devices and machines are called slow, and which stay apart.

use std::path::{Path, PathBuf};

use stats::SplitMix;

use super::gather::gather;
use super::judge::Fleet;
use crate::report::{Check, Report, RunStatus, Verdict};
use crate::tests::made::{bandwidth, folder, measured, report, samples, soft, write};

/// A nearly normal number of mean 0 and standard deviation 1: the sum of twelve uniform ones, less 6.
fn normal(random: &mut SplitMix) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "53 bits")]
    let mut uniform = || (random.next() >> 11) as f64 / (1u64 << 53) as f64;
    (0..12).map(|_| uniform()).sum::<f64>() - 6.0
}

/// Copies of each of so many devices of about 25 GB/s; the first has this part of it.
fn copies(devices: usize, first: f64, random: &mut SplitMix) -> Vec<Check> {
    let of = |device: usize| {
        let part = if device == 0 { first } else { 1.0 };
        let rate = 25.0 * part * (1.0 + 0.003 * normal(random));
        bandwidth("h2d_pinned", &format!("GPU{device}"), rate)
    };
    (0..devices).map(of).collect()
}

/// Writes one report for each list of checks, and judges them.
fn fleet(name: &str, machines: Vec<Vec<Check>>) -> Fleet {
    let folder = folder(name);
    for (at, checks) in machines.into_iter().enumerate() {
        write(
            &folder,
            &format!("n{at}"),
            &report(&format!("n{at}"), checks),
        );
    }
    let fleet = judged(&folder).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    fleet
}

fn judged(folder: &Path) -> Result<Fleet, String> {
    let mut fleet = gather(&[PathBuf::from(folder)], None)?;
    fleet.judge();
    Ok(fleet)
}

/// The machine and the place of each outlier.
fn slow(fleet: &Fleet) -> Vec<(String, String)> {
    let outliers = fleet.groups.iter().flat_map(|group| &group.outliers);
    outliers
        .map(|one| (one.node.clone(), one.about.join(" ")))
        .collect()
}

#[test]
fn one_slow_device_of_sixteen_is_found_and_good_ones_are_left_alone() {
    // 5% slow is 5 of the floor's 1% and 16 of a deviation of 0.3%.
    for (machines, devices) in [(16, 1), (8, 2), (4, 4)] {
        for seed in 0..5 {
            let random = &mut SplitMix::new(seed);
            let mut all: Vec<_> = (1..machines)
                .map(|_| copies(devices, 1.0, random))
                .collect();
            all.push(copies(devices, 0.95, random));
            let fleet = fleet(&format!("sixteen-{machines}-{seed}"), all);
            let last = format!("n{}", machines - 1);
            assert_eq!(slow(&fleet), [(last, "GPU0".to_owned())]);
            assert_eq!(fleet.exit_code, 1);
        }
    }
    let random = &mut SplitMix::new(9);
    let good = fleet("good", (0..8).map(|_| copies(2, 1.0, random)).collect());
    assert_eq!((slow(&good), good.exit_code), (vec![], 0));
}

#[test]
fn a_machine_that_is_slow_throughout_is_one_finding() {
    let all = |part: f64| -> Vec<Check> {
        let rate = |device: usize| bandwidth("h2d_pinned", &format!("GPU{device}"), 25.0 * part);
        (0..4).map(rate).collect()
    };
    let mut checks = vec![all(1.0); 5];
    checks.push(all(0.9));
    let fleet = fleet("whole", checks);
    assert_eq!(slow(&fleet), [("n5".to_owned(), String::new())]);
    assert!((fleet.groups[0].outliers[0].worse_percent - 10.0).abs() < 1e-9);
    assert_eq!(fleet.exit_code, 1);
}

#[test]
fn the_pairs_of_one_card_are_its_own_and_a_slow_slot_of_all_machines_is_none() {
    let pairs = |part: f64| -> Vec<Check> {
        let pairs = [
            ("GPU0->GPU1", part),
            ("GPU1->GPU0", part),
            ("GPU1->GPU2", part),
        ];
        pairs
            .map(|(pair, part)| bandwidth("p2p", pair, 20.0 * part))
            .to_vec()
    };
    let mut machines = vec![pairs(1.0); 5];
    machines.push(pairs(0.9));
    let fleet_of_card = fleet("card", machines);
    assert_eq!(slow(&fleet_of_card).len(), 3);
    // GPU1 has 0.8 of GPU0 everywhere: its like are the GPU1 of the others.
    let both = || {
        vec![
            bandwidth("h2d_pinned", "GPU0", 25.0),
            bandwidth("h2d_pinned", "GPU1", 20.0),
        ]
    };
    assert_eq!(slow(&fleet("slot", vec![both(); 6])), []);
}

#[test]
fn too_few_alike_and_a_rejected_machine_are_no_pass() {
    let good = || vec![bandwidth("h2d_pinned", "GPU0", 25.0)];
    let few = fleet("few", vec![good(); 3]);
    assert_eq!((few.exit_code, few.groups[0].compared), (3, 0));
    let bad = measured("h2d_pinned", "GPU0", Verdict::Fail, "GB/s", samples(25.0));
    let mut machines = vec![good(); 5];
    machines[1] = vec![bad];
    let rejected = fleet("rejected", machines);
    assert_eq!(rejected.exit_code, 1);
    assert_eq!(
        rejected.groups[0].nodes[1].reasons,
        ["h2d_pinned GPU0 [beyond-limit]"]
    );
}

#[test]
fn simulated_reports_other_drivers_and_earlier_runs_stand_apart() {
    let folder = folder("apart");
    let good = |node: &str| report(node, vec![bandwidth("h2d_pinned", "GPU0", 25.0)]);
    let other = |driver: &str, node: &str| -> Report {
        let mut of = good(node);
        of.node.fingerprint.driver = Some(driver.to_owned());
        of
    };
    write(&folder, "a", &good("a"));
    write(&folder, "b", &other("580.10", "b"));
    let mut later = good("a");
    later.started = "2026-11-21T08:00:00Z".to_owned();
    later.status = RunStatus::Broken;
    later.verdict = crate::report::BoxVerdict::Inconclusive;
    write(&folder, "a-later", &later);
    let fleet = judged(&folder).unwrap();
    assert_eq!((fleet.groups.len(), fleet.superseded), (2, 1));
    // The later run counts, though the earlier one was accepted.
    assert_eq!(
        fleet
            .groups
            .iter()
            .flat_map(|group| &group.nodes)
            .filter(|node| !node.reasons.is_empty())
            .count(),
        1
    );
    write(&folder, "c", &soft(good("c"), "l40x4"));
    assert!(judged(&folder).is_err());
    std::fs::remove_dir_all(&folder).unwrap();
}
