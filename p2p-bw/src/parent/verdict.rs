//! The verdict of a peer probe from its steps: on copies, on kernels, and on kernels that are far slower than copies.

use inventory::Built;
use record::caveat::{Caveat, PeerAccess};
use record::quantity::Quantity;
use record::{Endpoint, KernelAccess, Links, Outcome, PeerStep, PeerVerdict, Point, StepOutcome};

use crate::messages::ProbeStep;

/// A small copy that takes longer than this was seen to be staged: 0.4 to 0.5 us with access against 12 to 21 us
/// without on PCIe boxes (p2pBandwidthLatencyTest on RTX PRO 6000, RTX 5090, RTX 4090, RTX 2080 Ti).
const STAGED_ABOVE_US: f64 = 5.0;

/// A small copy that gains less than this from access behaves as if there were none (our choice, between the two above).
const STAGED_RATIO: f64 = 0.7;

/// Kernels that reach less than one part in this many of the copy engine's rate go another way than it does (our choice: 15
/// times slower is what was seen where a driver stages them in host memory, voipmonitor/rtx6kpro, topology.md).
const KERNELS_STAGED_RATIO: f64 = 3.0;

/// Smaller copies take as long as a launch does.
const LEAST_BYTES: u64 = 1 << 20;

/// What a probe came to.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Judged {
    pub(super) verdict: PeerVerdict,
    pub(super) rests_on: String,
    pub(super) kernels: KernelAccess,
}

/// The verdict of a probe that ended by itself.
pub(super) fn judge(backend: Built, steps: &[PeerStep]) -> Judged {
    let kernels = kernel_access(steps);
    let (verdict, rests_on) = of_copies(backend, steps);
    Judged {
        verdict,
        rests_on,
        kernels,
    }
}

/// The verdict of a probe whose process was stopped or starved: no word on the pair, copies and kernels alike.
pub(super) fn untold(steps: &[PeerStep], reason: String) -> Judged {
    Judged {
        verdict: PeerVerdict::Failed,
        rests_on: reason,
        kernels: kernel_access(steps),
    }
}

/// The verdict of a probe that failed in a step. Where kernels took that step and copies had come through all of theirs,
/// copies stay allowed.
pub(super) fn failed(
    backend: Built,
    steps: &[PeerStep],
    step: ProbeStep,
    reason: String,
) -> Judged {
    let copied = outcome(steps, ProbeStep::Graph).is_some();
    if step.is_of_kernels() && copied {
        let kernels = KernelAccess::Unusable { reason };
        let (verdict, rests_on) = of_copies(backend, steps);
        return Judged {
            verdict,
            rests_on,
            kernels,
        };
    }
    untold(steps, reason)
}

/// The verdict of a probe whose step did not end: whatever took that step, nothing more is tried on the pair.
pub(super) fn hang(steps: &[PeerStep], step: ProbeStep, reason: String) -> Judged {
    let kernels = if step.is_of_kernels() {
        KernelAccess::Unusable {
            reason: reason.clone(),
        }
    } else {
        kernel_access(steps)
    };
    Judged {
        verdict: PeerVerdict::Hang,
        rests_on: reason,
        kernels,
    }
}

fn of_copies(backend: Built, steps: &[PeerStep]) -> (PeerVerdict, String) {
    for step in steps {
        match &step.outcome {
            StepOutcome::Refused { reason } => {
                return (PeerVerdict::Denied, format!("{}: {reason}", step.name));
            }
            StepOutcome::WrongData { .. } => return (PeerVerdict::WrongData, wrong(step)),
            _ => {}
        }
    }
    let small = quantity(steps, ProbeStep::SmallCopies);
    let Some((with, without)) = small.zip(quantity(steps, ProbeStep::SmallCopiesWithoutAccess))
    else {
        return (
            PeerVerdict::Failed,
            "small copies could not be timed".to_owned(),
        );
    };
    let (on, off) = (with.value, without.value);
    let seen = format!("16 B take {on:.2} us with access, {off:.2} us without");
    // Where the runtime copies as the hardware can, whatever was enabled, small copies tell nothing of staging.
    if !backend.copies_obey_access() {
        return (PeerVerdict::Direct, seen);
    }
    let staged = on > STAGED_ABOVE_US && on > STAGED_RATIO * off;
    let verdict = if staged {
        PeerVerdict::Staged
    } else {
        PeerVerdict::Direct
    };
    (verdict, seen)
}

fn kernel_access(steps: &[PeerStep]) -> KernelAccess {
    let of_kernels = |step: &&PeerStep| {
        [
            ProbeStep::KernelWrite,
            ProbeStep::KernelRead,
            ProbeStep::KernelGraph,
        ]
        .iter()
        .any(|kernel| kernel.name() == step.name)
    };
    let is_wrong = |step: &&PeerStep| matches!(step.outcome, StepOutcome::WrongData { .. });
    if let Some(step) = steps.iter().filter(of_kernels).find(is_wrong) {
        return KernelAccess::Unusable {
            reason: wrong(step),
        };
    }
    let untested = |reason: &str| KernelAccess::Untested {
        reason: reason.to_owned(),
    };
    let kernel_steps = [
        ProbeStep::LoadKernels,
        ProbeStep::KernelWrite,
        ProbeStep::KernelRead,
    ];
    let skipped = kernel_steps
        .iter()
        .find_map(|step| match outcome(steps, *step) {
            Some(StepOutcome::Skipped { reason }) => Some(reason),
            _ => None,
        });
    let passed = |step| matches!(outcome(steps, step), Some(StepOutcome::Passed { .. }));
    match skipped {
        Some(reason) => untested(reason),
        None if passed(ProbeStep::KernelWrite) && passed(ProbeStep::KernelRead) => {
            KernelAccess::Usable
        }
        None => untested("the probe ended before its kernels"),
    }
}

fn wrong(step: &PeerStep) -> String {
    let seen = match &step.outcome {
        StepOutcome::WrongData { seen } => seen.as_str(),
        _ => "",
    };
    format!("{} reported success, its owner found: {seen}", step.name)
}

fn outcome(steps: &[PeerStep], step: ProbeStep) -> Option<&StepOutcome> {
    let is_it = |found: &&PeerStep| found.name == step.name();
    steps.iter().find(is_it).map(|step| &step.outcome)
}

fn quantity(steps: &[PeerStep], step: ProbeStep) -> Option<&Quantity> {
    match outcome(steps, step)? {
        StepOutcome::Timed { quantity } => Some(quantity),
        _ => None,
    }
}

/// What the rates of copy engine and kernels say of the pairs: one caveat for reads and one for writes. A kernel that is far slower
/// than the copy engine between the same devices goes another way.
pub(super) fn staged_kernels(links: &Links) -> Vec<Caveat> {
    let label = |end: Endpoint| match end {
        Endpoint::Device(position) => links.devices.get(position).map_or("?", |one| &one.label),
        Endpoint::Host | Endpoint::All => "?",
    };
    let of = |(access, by_copy, by_kernel)| {
        let rate = |case: &str, point: &Point| {
            let is_it = |other: &&Point| {
                let ends = (other.from, other.to, other.bytes);
                other.case == case && ends == (point.from, point.to, point.bytes)
            };
            match &links.points.iter().find(is_it)?.outcome {
                Outcome::Measured { quantities, .. } => Some(quantities.first()?.quantity.value),
                _ => None,
            }
        };
        let slow = |point: &'_ Point| {
            let (copy, kernel) = (rate(by_copy, point)?, rate(by_kernel, point)?);
            let is_staged = point.bytes >= LEAST_BYTES && kernel * KERNELS_STAGED_RATIO < copy;
            let pair = format!("{}->{}", label(point.from), label(point.to));
            is_staged.then_some((pair, kernel, copy))
        };
        let largest = links.points.iter().map(|point| point.bytes).max();
        let points = links.points.iter();
        let points = points.filter(|point| point.case == by_copy && Some(point.bytes) == largest);
        let slow: Vec<(String, f64, f64)> = points.filter_map(slow).collect();
        let ratio = |(_, kernel, copy): &(String, f64, f64)| kernel / copy;
        let (_, kernel, copy) = slow.iter().min_by(|a, b| ratio(a).total_cmp(&ratio(b)))?;
        Some(Caveat::KernelsStaged {
            access,
            pairs: slow.iter().map(|(pair, ..)| pair.clone()).collect(),
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
mod tests;
