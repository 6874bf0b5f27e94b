//! The verdict of a peer probe from its steps: on copies, on kernels, and on kernels that are far slower than copies; and which points
//! it rules out.

use std::collections::BTreeMap;

use inventory::Built;
use record::caveat::{Caveat, PeerAccess};
use record::{Endpoint, KernelAccess, Links, Outcome, PeerStep, PeerVerdict, StepOutcome};

use super::plan::Planned;
use crate::cases::{Engine, Pattern};
use crate::messages::{Blame, Finding, ProbeStep};

/// A small copy that takes longer than this was seen to be staged: 0.4 to 0.5 us with access against 12 to 21 us
/// without on PCIe boxes (p2pBandwidthLatencyTest on RTX PRO 6000, RTX 5090, RTX 4090, RTX 2080 Ti).
const STAGED_ABOVE_US: f64 = 5.0;

/// A small copy that gains less than this from access behaves as if there were none (our choice, between the two above).
const STAGED_RATIO: f64 = 0.7;

/// Kernels that reach less than one part in this many of the copy engine's rate go another way than it does (our choice: 15
/// times slower is what was seen where a driver stages them in host memory, voipmonitor/rtx6kpro, topology.md).
const KERNELS_STAGED_RATIO: f64 = 3.0;

/// Copies by which kernels and copy engine are compared have so many bytes at least.
const LEAST_BYTES: u64 = 1 << 20;

/// The verdict of a probe from its steps, its last one, and what broke it off there, if anything did; what the verdict rests on, and
/// whether kernels may use the path.
pub(super) fn judge(
    backend: Built,
    steps: &[PeerStep],
    step: ProbeStep,
    broken: Option<Finding>,
) -> (PeerVerdict, String, KernelAccess) {
    let kernels = kernel_access(steps);
    let (verdict, rests_on) = of_copies(backend, steps);
    let Some(broken) = broken else {
        return (verdict, rests_on, kernels);
    };
    let is_of_kernels = step.is_of_kernels() && broken.blame != Blame::Nothing;
    let unusable = |reason: &String| KernelAccess::Unusable {
        reason: reason.clone(),
    };
    match broken.outcome {
        // Whatever took that step, nothing more is tried on the pair.
        Outcome::Hang { doing } if is_of_kernels => {
            let kernels = unusable(&doing);
            (PeerVerdict::Hang, doing, kernels)
        }
        Outcome::Hang { doing } => (PeerVerdict::Hang, doing, kernels),
        // Copies had come through all of their steps: these stay allowed.
        Outcome::Failed { reason }
            if is_of_kernels && outcome(steps, ProbeStep::Graph).is_some() =>
        {
            (verdict, rests_on, unusable(&reason.detail))
        }
        Outcome::Failed { .. } if verdict == PeerVerdict::WrongData => (verdict, rests_on, kernels),
        Outcome::Failed { reason } => (PeerVerdict::Failed, reason.detail, kernels),
        _ => (PeerVerdict::Failed, String::new(), kernels),
    }
}

fn of_copies(backend: Built, steps: &[PeerStep]) -> (PeerVerdict, String) {
    for step in steps {
        match &step.outcome {
            StepOutcome::Refused { reason } => {
                return (PeerVerdict::Denied, format!("{}: {reason}", step.name));
            }
            StepOutcome::WrongData { seen } => {
                return (PeerVerdict::WrongData, wrong(&step.name, seen));
            }
            _ => {}
        }
    }
    let (Some(on), Some(off)) = (
        microseconds(steps, ProbeStep::SmallCopies),
        microseconds(steps, ProbeStep::SmallCopiesWithoutAccess),
    ) else {
        let why = "small copies could not be timed".to_owned();
        return (PeerVerdict::Failed, why);
    };
    let seen = format!("16 B take {on:.2} us with access, {off:.2} us without");
    // Where the runtime copies as the hardware can, whatever was enabled, small copies tell nothing of staging.
    let tells = backend.copies_obey_access();
    match tells && on > STAGED_ABOVE_US && on > STAGED_RATIO * off {
        true => (PeerVerdict::Staged, seen),
        false => (PeerVerdict::Direct, seen),
    }
}

fn kernel_access(steps: &[PeerStep]) -> KernelAccess {
    let untested = |reason: &str| KernelAccess::Untested {
        reason: reason.to_owned(),
    };
    for step in steps.iter().filter(|step| step.name.contains("kernel")) {
        match &step.outcome {
            StepOutcome::WrongData { seen } => {
                let reason = wrong(&step.name, seen);
                return KernelAccess::Unusable { reason };
            }
            StepOutcome::Skipped { reason } if step.name != ProbeStep::KernelGraph.name() => {
                return untested(reason);
            }
            _ => {}
        }
    }
    match outcome(steps, ProbeStep::KernelRead) {
        Some(_) => KernelAccess::Usable,
        None => untested("the probe ended before its kernels"),
    }
}

fn wrong(step: &str, seen: &str) -> String {
    format!("{step} reported success, its owner found: {seen}")
}

fn outcome(steps: &[PeerStep], step: ProbeStep) -> Option<&StepOutcome> {
    let is_it = |found: &&PeerStep| found.name == step.name();
    steps.iter().find(is_it).map(|step| &step.outcome)
}

fn microseconds(steps: &[PeerStep], step: ProbeStep) -> Option<f64> {
    match outcome(steps, step)? {
        StepOutcome::Timed { quantity } => Some(quantity.value),
        _ => None,
    }
}

/// Why a point is not measured; `None` where it is. What was not looked at is skipped, and does not count as broken.
pub(super) fn refusal(point: &Planned, no_peer: bool, links: &Links) -> Option<Outcome> {
    let not_applicable = |reason: String| {
        let reason = reason.into();
        Some(Outcome::NotApplicable { reason })
    };
    let probe = |pair| {
        let mut probes = links.probes.iter();
        probes.find(|probe| (probe.from, probe.to) == pair)
    };
    let verdict = |pair| probe(pair).map_or(PeerVerdict::NotTried, |probe| probe.verdict);
    let pattern = point.case.pattern;
    if let (Pattern::Staged, Some((a, b))) = (pattern, point.pair()) {
        let ways = [verdict((a, b)), verdict((b, a))];
        if no_peer || ways != [PeerVerdict::Direct; 2] {
            return None;
        }
        let reason = "peer access is direct; --no-peer measures the staged path";
        return not_applicable(reason.to_owned());
    }
    if no_peer && pattern.uses_peer_access() {
        return not_applicable("peer access is switched off by --no-peer".to_owned());
    }
    point.accesses().into_iter().find_map(|pair| {
        let label = |at: usize| &links.devices[at].label;
        let group = point.is_group().then_some(pair);
        let between = group.map(|(a, b)| format!("between {} and {} ", label(a), label(b)));
        let between = between.unwrap_or_default();
        let kernels = probe(pair).map(|probe| &probe.kernels);
        match (verdict(pair), point.case.engine, kernels) {
            // A staged path works, only slowly: it is measured and named.
            (PeerVerdict::Direct | PeerVerdict::Staged, Engine::Copy, _)
            | (PeerVerdict::Direct, Engine::Kernel, Some(KernelAccess::Usable)) => None,
            (PeerVerdict::Direct, _, Some(KernelAccess::Untested { reason })) => {
                let reason = format!("{between}no kernel tried peer access: {reason}").into();
                Some(Outcome::Skipped { reason })
            }
            (PeerVerdict::Direct, _, Some(KernelAccess::Unusable { reason })) => not_applicable(
                format!("{between}kernels must not use peer access: {reason}"),
            ),
            (verdict, ..) => not_applicable(format!(
                "{between}peer access is {verdict}; what that rests on stands with its probe"
            )),
        }
    })
}

/// What the rates of copy engine and kernels say of the pairs: one caveat for reads and one for writes. A kernel that is far slower
/// than the copy engine between the same devices goes another way.
pub(super) fn staged_kernels(links: &Links) -> Vec<Caveat> {
    let largest = links.points.iter().map(|point| point.bytes).max();
    // Smaller copies take as long as a launch does.
    if largest < Some(LEAST_BYTES) {
        return Vec::new();
    }
    let rates = |case: &'static str| {
        let points = links.points.iter();
        let points = points.filter(move |one| one.case == case && Some(one.bytes) == largest);
        points.filter_map(|point| match (&point.outcome, point.from, point.to) {
            (
                Outcome::Measured { quantities, .. },
                Endpoint::Device(from),
                Endpoint::Device(to),
            ) => Some(((from, to), quantities.first()?.quantity.value)),
            _ => None,
        })
    };
    let of = |(access, by_copy, by_kernel)| {
        let kernels: BTreeMap<_, f64> = rates(by_kernel).collect();
        let both =
            rates(by_copy).filter_map(|(pair, copy)| Some((pair, *kernels.get(&pair)?, copy)));
        let slow = both.filter(|(_, kernel, copy)| kernel * KERNELS_STAGED_RATIO < *copy);
        let slow: Vec<((usize, usize), f64, f64)> = slow.collect();
        let all = slow.iter();
        let (_, kernel, copy) = all.min_by(|a, b| (a.1 / a.2).total_cmp(&(b.1 / b.2)))?;
        let label = |at: usize| &links.devices[at].label;
        let all = slow.iter();
        let pairs = all.map(|((from, to), ..)| format!("{}->{}", label(*from), label(*to)));
        Some(Caveat::KernelsStaged {
            access,
            pairs: pairs.collect(),
            kernel_gb_per_s: *kernel,
            copy_gb_per_s: *copy,
        })
    };
    let ways = [
        (PeerAccess::Reads, "d2d_read_ce", "d2d_read_sm"),
        (PeerAccess::Writes, "d2d_write_ce", "d2d_write_sm"),
    ];
    ways.into_iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use record::plan::StopReason;
    use record::quantity::{Gate, Quantity, TimeSource, Timing, Unit};

    use super::*;

    fn step(step: ProbeStep, outcome: StepOutcome) -> PeerStep {
        let name = step.name().to_owned();
        PeerStep { name, outcome }
    }

    fn timed(of: ProbeStep, value: f64) -> PeerStep {
        let timing = Timing {
            source: TimeSource::DeviceEvent,
            gate: Gate::None,
            copies_per_sample: 100,
            warmup_copies: 100,
        };
        let (samples, stopped) = (vec![value; 10], StopReason::MaxSamples);
        let quantity = Quantity::from_samples(samples, Unit::Microseconds, timing, stopped);
        let quantity = Box::new(quantity.unwrap());
        step(of, StepOutcome::Timed { quantity })
    }

    fn passed(of: ProbeStep) -> PeerStep {
        let seen = "all of it".to_owned();
        step(of, StepOutcome::Passed { seen })
    }

    /// The steps of copies, with the time of a small one with access and without, and more.
    fn copies(with: f64, without: f64, more: &[PeerStep]) -> Vec<PeerStep> {
        let copies = [
            timed(ProbeStep::SmallCopiesWithoutAccess, without),
            passed(ProbeStep::Write),
            passed(ProbeStep::Read),
            timed(ProbeStep::SmallCopies, with),
        ];
        copies.iter().chain(more).cloned().collect()
    }

    fn verdict(backend: Built, steps: &[PeerStep]) -> PeerVerdict {
        judge(backend, steps, ProbeStep::Disable, None).0
    }

    #[test]
    fn small_copies_tell_a_staged_path_from_a_direct_one() {
        let verdict = |backend, with, without| verdict(backend, &copies(with, without, &[]));
        // The published pairs: 0.45 us with access and 14 us without; 14 us both ways where access is a pretence.
        assert_eq!(verdict(Built::Cuda, 0.45, 14.0), PeerVerdict::Direct);
        assert_eq!(verdict(Built::Cuda, 14.0, 14.0), PeerVerdict::Staged);
        // A slow CPU that needs 4 us to issue any copy is no evidence of staging.
        assert_eq!(verdict(Built::Cuda, 4.0, 4.0), PeerVerdict::Direct);
        // AMD's runtime does not heed access.
        assert_eq!(verdict(Built::Hip, 21.07, 21.04), PeerVerdict::Direct);
    }

    #[test]
    fn a_kernel_that_fails_leaves_the_copies_and_one_that_is_not_there_is_no_failure() {
        let crashed = |at, steps: &[PeerStep]| {
            let reason = "lost".to_owned();
            let end = Some(Finding::failed(reason.into(), true));
            let (verdict, _, kernels) = judge(Built::Cuda, steps, at, end);
            (verdict, matches!(kernels, KernelAccess::Unusable { .. }))
        };
        let steps = copies(0.4, 14.0, &[passed(ProbeStep::Graph)]);
        assert_eq!(
            crashed(ProbeStep::KernelRead, &steps),
            (PeerVerdict::Direct, true)
        );
        assert_eq!(
            crashed(ProbeStep::Graph, &steps),
            (PeerVerdict::Failed, false)
        );
        // Kernels are loaded before copies have come through.
        assert_eq!(
            crashed(ProbeStep::LoadKernels, &steps[..3]),
            (PeerVerdict::Failed, false)
        );

        let reason = "no compiler".to_owned();
        let skipped = step(ProbeStep::LoadKernels, StepOutcome::Skipped { reason });
        let steps = copies(0.4, 14.0, &[skipped]);
        let (verdict, _, kernels) = judge(Built::Cuda, &steps, ProbeStep::Disable, None);
        assert_eq!(verdict, PeerVerdict::Direct);
        assert!(matches!(kernels, KernelAccess::Untested { reason } if reason == "no compiler"));
        let both = [ProbeStep::KernelWrite, ProbeStep::KernelRead].map(passed);
        let (_, _, kernels) = judge(
            Built::Cuda,
            &copies(0.4, 14.0, &both),
            ProbeStep::Disable,
            None,
        );
        assert_eq!(kernels, KernelAccess::Usable);
    }
}
