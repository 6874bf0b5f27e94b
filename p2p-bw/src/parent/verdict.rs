//! The verdict of a peer probe from its steps: on copies, on kernels, and on kernels that are far slower than copies.

use inventory::Built;
use record::caveat::{Caveat, PeerAccess};
use record::quantity::Quantity;
use record::{KernelAccess, Links, PeerProbe, PeerStep, PeerVerdict, StepOutcome};

use crate::messages::ProbeStep;

/// A small copy that takes longer than this was seen to be staged: 0.4 to 0.5 us with access against 12 to 21 us
/// without on PCIe boxes (p2pBandwidthLatencyTest on RTX PRO 6000, RTX 5090, RTX 4090, RTX 2080 Ti).
const STAGED_ABOVE_US: f64 = 5.0;

/// A small copy that gains less than this from access behaves as if there were none (our choice, between the two above).
const STAGED_RATIO: f64 = 0.7;

/// Kernels that reach less than one part in this many of the copy engine's rate go another way than it does (our choice: 15
/// times slower is what was seen where a driver stages them in host memory, voipmonitor/rtx6kpro, topology.md).
const KERNELS_STAGED_RATIO: f64 = 3.0;

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

/// What the rates of copy engine and kernels say of the pairs: one caveat for reads and one for writes.
pub(super) fn signatures(links: &Links) -> Vec<Caveat> {
    let label = |position: usize| {
        let device = links.devices.get(position);
        device.map_or("?", |device| device.label.as_str())
    };
    let of = |(access, by_kernel, by_copy)| {
        let slow: Vec<(&PeerProbe, (f64, f64))> = links
            .probes
            .iter()
            .filter_map(|probe| Some((probe, staged_rates(&probe.steps, by_kernel, by_copy)?)))
            .collect();
        let ratio = |(kernel, copy): (f64, f64)| kernel / copy;
        let (_, (kernel, copy)) = slow
            .iter()
            .min_by(|a, b| ratio(a.1).total_cmp(&ratio(b.1)))?;
        let pair = |probe: &PeerProbe| format!("{}->{}", label(probe.from), label(probe.to));
        Some(Caveat::KernelsStaged {
            access,
            pairs: slow.iter().map(|(probe, _)| pair(probe)).collect(),
            kernel_gb_per_s: *kernel,
            copy_gb_per_s: *copy,
        })
    };
    [
        (
            PeerAccess::Reads,
            ProbeStep::KernelReadRate,
            ProbeStep::ReadRate,
        ),
        (
            PeerAccess::Writes,
            ProbeStep::KernelWriteRate,
            ProbeStep::WriteRate,
        ),
    ]
    .into_iter()
    .filter_map(of)
    .collect()
}

/// The rates of kernel and copy engine where they show that the kernel's access is staged: far below the copy engine's, by
/// a kernel that is as fast as that within its own memory.
fn staged_rates(
    steps: &[PeerStep],
    by_kernel: ProbeStep,
    by_copy: ProbeStep,
) -> Option<(f64, f64)> {
    let rate = |step| quantity(steps, step).map(|quantity| quantity.value);
    let (kernel, copy) = (rate(by_kernel)?, rate(by_copy)?);
    let local = rate(ProbeStep::KernelLocalRate)?;
    (kernel * KERNELS_STAGED_RATIO < copy && local >= copy).then_some((kernel, copy))
}

#[cfg(test)]
mod tests;
