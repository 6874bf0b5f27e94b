//! Fifty random boxes of each vendor with noise on, every case many times, each number against the solver's noise-free answer.
//!
//! # What noise leaves
//!
//! The median of six samples, the fewest that `p2p-bw` takes, has a standard error of 0.46 s, where s is the relative spread
//! of a sample: cv over the root of its copies. At cv 0.5% and one copy that is 0.23%, so 1% is four of them; most samples
//! have three or four copies. A chase is one kernel, whose latency may be 2% off. A copy in three hundred at most is 10 to 20%
//! slower besides.
//!
//! Where flows share a segment or wait for each other's end, noise also moves the answer itself: without it they wait for their
//! latency at the same time, with it one uses what the other leaves, and the last of several is later than each. The solver
//! plays that with noise of its own. Numbers that it moves by more than 0.3% are held against the moved answer, all others
//! against both. Where more streams wait than there are engines, noise decides which is let in first, and a share may have two
//! values that lie apart: such a number must lie between what the solver's samples come to. Some boxes have no noise, and there
//! every number is held against the one answer, to what rounding leaves.
//!
//! The clock is virtual and the generators are seeded, so a run repeats bit by bit.

use std::process::Command;

use boxfile::{BoxFile, Noise};
use measure::record::{Endpoint, Links, Outcome, PeerVerdict};

use super::boxes::{Access, access, random_box};
use super::dice::Dice;
use super::errors::{Comparison, assert_near, distribution};
use super::expected::{Asked, CASES, is_group};
use super::program::{compared, measured, ordinal, verdict};
use super::shapes::{SHAPES, Shape};
use super::solver::Solver;

/// Whether `cargo xtask test --full` runs: as many boxes as shares of them are judged by.
pub(crate) fn full() -> bool {
    std::env::var_os("TPLENS_FULL").is_some()
}

/// Boxes of each vendor with noise.
fn boxes() -> usize {
    if full() { 50 } else { 4 }
}

/// Boxes of each vendor without noise.
fn quiet_boxes() -> usize {
    if full() { 15 } else { 3 }
}

/// Rounding of event times, single-precision milliseconds, and of sums.
const EXACT: f64 = 1e-5;

/// One box with the command line that it is measured with.
struct Draw {
    described: BoxFile,
    sizes: &'static str,
    cases: Vec<&'static str>,
    gpus: String,
    no_peer: bool,
    no_verify: bool,
}

fn draw(shape: &Shape, number: usize, seed: u64, noisy: bool) -> Draw {
    let vendor = SHAPES
        .iter()
        .position(|own| own.vendor == shape.vendor)
        .unwrap() as u64;
    let mut dice = Dice::new(seed ^ (number as u64) << 32 ^ vendor << 48);
    let sizes = match dice.whole(0, 11) {
        0..=6 => "256K",
        7..=10 => "1M",
        _ => "4M",
    };
    let noise = Noise {
        cv: dice.real(0.003, 0.005),
        slow_fraction: dice.real(0.0, 0.003),
        slow_extra: dice.real(0.1, 0.2),
        seed: dice.whole(0, 1 << 30) as u64,
    };
    let mut described = random_box(&mut dice, shape, number, noise);
    described.noise = described.noise.filter(|_| noisy);
    // Some of the devices in any order: numbers in the record are positions in this list.
    let mut left: Vec<usize> = (0..Solver::new(&described).ordinals()).collect();
    let most = left.len().min(4);
    let count = dice.whole(most.min(2), most);
    let chosen: Vec<String> = (0..count)
        .map(|_| left.remove(dice.whole(0, left.len() - 1)).to_string())
        .collect();
    // Groups are one point a box, so each box has them.
    let cases = CASES
        .into_iter()
        .filter(|case| dice.chance(if is_group(case) { 1.0 } else { 0.5 }));
    Draw {
        cases: cases.collect(),
        described,
        sizes,
        gpus: chosen.join(","),
        no_peer: dice.chance(0.15),
        no_verify: dice.chance(0.5),
    }
}

/// The cases that were measured, a word for each point, and the numbers.
type Found = (Vec<String>, Vec<Comparison>);

fn run(draw: &Draw) -> Found {
    let cases = draw.cases.join(",");
    let mut args = vec![
        "--sizes", draw.sizes, "--gpus", &draw.gpus, "--cases", &cases,
    ];
    args.extend(draw.no_peer.then_some("--no-peer"));
    args.extend(draw.no_verify.then_some("--no-verify"));
    let links = measured(&draw.described, &args);
    let asked = Asked {
        described: &draw.described,
        links: &links,
        no_peer: draw.no_peer,
    };
    asked.assert_complete(&draw.cases);
    assert_probes(draw, &links);
    assert_links(draw, &links);
    let is_measured = |outcome: &Outcome| matches!(outcome, Outcome::Measured { .. });
    let points = links
        .points
        .iter()
        .filter(|point| is_measured(&point.outcome));
    let points = points.map(|point| point.case.clone()).collect();
    (points, compared(&draw.described, &links))
}

/// Position in the file of a device of the record.
fn physical(draw: &Draw, links: &Links, position: usize) -> usize {
    match ordinal(links, Endpoint::Device(position)) {
        Endpoint::Device(ordinal) => Solver::new(&draw.described).physical(ordinal),
        Endpoint::Host | Endpoint::All => unreachable!("it is a device"),
    }
}

fn assert_probes(draw: &Draw, links: &Links) {
    let n = links.devices.len();
    let wanted = if draw.no_peer { 0 } else { n * (n - 1) };
    assert_eq!(links.probes.len(), wanted, "{}", draw.described.name);
    for probe in &links.probes {
        let [a, b] = [probe.from, probe.to].map(|position| physical(draw, links, position));
        let expected = match access(&draw.described, a, b) {
            Access::Denied => PeerVerdict::Denied,
            granted if granted.is_staged() => PeerVerdict::Staged,
            Access::Granted { .. } => PeerVerdict::Direct,
        };
        let (found, name) = (verdict(links, probe.from, probe.to), &draw.described.name);
        assert_eq!(found, expected, "{name}: {probe:?}");
    }
}

/// The slot's link is told as it was drawn, whatever the card's own function shows; pairs with links of MetaX' own have its
/// class and no other pairs have.
fn assert_links(draw: &Draw, links: &Links) {
    let name = &draw.described.name;
    for (position, device) in links.devices.iter().enumerate() {
        let Some(slot) = device.loaded.as_ref().and_then(|reading| reading.slot) else {
            continue;
        };
        let drawn = draw
            .described
            .slot_link(physical(draw, links, position))
            .unwrap();
        assert_eq!(
            (slot.generation(), slot.width()),
            (drawn.generation, drawn.width),
            "{name}"
        );
    }
    if draw.described.vendor != boxfile::Vendor::METAX {
        return;
    }
    for point in links
        .points
        .iter()
        .filter(|point| point.case.starts_with("d2d_write"))
    {
        let (Endpoint::Device(from), Endpoint::Device(to)) = (point.from, point.to) else {
            panic!("{point:?}");
        };
        let [a, b] = [from, to].map(|position| physical(draw, links, position));
        if let Outcome::Measured { link, .. } = &point.outcome {
            let is_mx = link.path.is_some_and(|path| path.name() == "MX");
            assert_eq!(
                is_mx,
                draw.described.peer_path(a, b).fabric,
                "{name}: {point:?}"
            );
        }
    }
}

/// So many boxes of a seed for each vendor, on two threads.
fn sweep(seed: u64, boxes: usize, noisy: bool) -> Vec<(&'static Shape, Found)> {
    let each = move |shape| (0..boxes).map(move |number| (shape, number));
    let draws = || SHAPES.iter().flat_map(each);
    let half = |first: usize| {
        move || {
            let mine = draws().skip(first).step_by(2);
            mine.map(|(shape, number)| (shape, run(&draw(shape, number, seed, noisy))))
                .collect::<Vec<_>>()
        }
    };
    std::thread::scope(|scope| {
        let threads = [scope.spawn(half(0)), scope.spawn(half(1))];
        threads
            .into_iter()
            .flat_map(|thread| {
                thread
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
            .collect()
    })
}

/// The distributions of relative errors by vendor and case, for who reads a failure or runs with `--nocapture`.
fn summary(all: &[Comparison]) -> String {
    let mut lines = Vec::new();
    for shape in &SHAPES {
        let own: Vec<&Comparison> = all
            .iter()
            .filter(|one| one.vendor == shape.vendor)
            .collect();
        for case in CASES {
            let some: Vec<&Comparison> =
                own.iter().copied().filter(|one| one.case == case).collect();
            if !some.is_empty() {
                lines.push(distribution(&format!("{} {case}", shape.backend), &some));
            }
        }
        let (loads, others): (Vec<&Comparison>, Vec<_>) =
            own.iter().partition(|one| one.load_ns.is_some());
        lines.push(distribution(&format!("{} chases", shape.backend), &loads));
        lines.push(distribution(
            &format!("{} all others", shape.backend),
            &others,
        ));
    }
    lines.join("\n")
}

/// Times that a case was measured on boxes of a vendor.
fn count(found: &[(&Shape, Found)], shape: &Shape, case: &str) -> usize {
    let own = found.iter().filter(|(of, _)| of.vendor == shape.vendor);
    own.flat_map(|(_, (points, _))| points)
        .filter(|point| *point == case)
        .count()
}

#[test]
fn random_boxes_of_each_vendor_are_measured_within_one_percent() {
    let found = sweep(0x7e57_0b0e, boxes(), true);
    let all: Vec<Comparison> = found
        .iter()
        .flat_map(|(_, (_, some))| some)
        .cloned()
        .collect();
    let text = summary(&all);
    println!("{text}");
    let covered = all.iter().filter(|one| one.covered == Some(true)).count();
    println!(
        "the interval holds the solver's answer in {covered} of {}",
        all.len()
    );
    let (chance, decided): (Vec<&Comparison>, Vec<_>) = all.iter().partition(|one| one.is_chance());
    let (shifted, steady): (Vec<&Comparison>, Vec<_>) =
        decided.iter().copied().partition(|one| one.is_shifted());
    println!("{}", distribution("what noise does not move", &steady));
    println!("{}", distribution("what noise moves", &shifted));
    println!("{}", distribution("what chance decides", &chance));
    for case in CASES.into_iter().filter(|_| full()) {
        let counts = SHAPES.each_ref().map(|shape| count(&found, shape, case));
        println!("{case}: measured {counts:?} times");
        // No kernel runs where there is no compiler.
        let without = if case.ends_with("_sm") { 1 } else { 0 };
        assert_eq!(
            counts.iter().filter(|count| **count == 0).count(),
            without,
            "{case}"
        );
        // AMD's driver stages only where no access is granted.
        let least = if case == "d2d_driver_staged_ce" { 3 } else { 8 };
        let few = counts.iter().any(|count| (1..least).contains(count));
        assert!(
            !few && counts.iter().sum::<usize>() >= 30,
            "{case}: {counts:?}"
        );
    }
    assert_near(
        steady
            .iter()
            .map(|one| (*one, one.expected, one.tolerance())),
    );
    assert_near(
        decided
            .iter()
            .map(|one| (*one, one.noisy.median, one.tolerance())),
    );
    let impossible: Vec<_> = chance.iter().filter(|one| !one.is_possible()).collect();
    assert!(impossible.is_empty(), "{impossible:#?}");
    // A chase is so long that starting it does not show.
    let loads = all
        .iter()
        .filter_map(|one| Some((one, one.load_ns?, one.tolerance())));
    assert_near(loads);
    // 1 in 20, 1 in 50.
    let few = shifted.len() * 20 <= all.len() && chance.len() * 50 <= all.len();
    assert!(
        few || !full(),
        "{} and {} of {}:\n{text}",
        shifted.len(),
        chance.len(),
        all.len()
    );
}

#[test]
fn random_boxes_without_noise_are_measured_exactly() {
    let found = sweep(0x0571_11e5, quiet_boxes(), false);
    let all: Vec<Comparison> = found.into_iter().flat_map(|(_, (_, some))| some).collect();
    println!(
        "{}",
        distribution("without noise", &all.iter().collect::<Vec<_>>())
    );
    for case in CASES.into_iter().filter(|_| full()) {
        assert!(all.iter().any(|one| one.case == case), "{case}");
    }
    assert_near(all.iter().map(|one| (one, one.expected, EXACT)));
}

#[test]
fn every_case_of_the_list_is_known_here() {
    let output = Command::new(env!("CARGO_BIN_EXE_p2p-bw"))
        .args(["--list", "--backend", "host"])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let (cases, _) = text.split_once("\n\n").unwrap();
    let listed: Vec<&str> = cases
        .lines()
        .skip(1)
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert_eq!(listed, CASES);
}
