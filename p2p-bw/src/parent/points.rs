//! The one loop of `tplens p2p` and `tplens numa`: one point after another, each kept before the next begins; what fails too often is
//! left alone. And what the end of a job means: for its point, and for the exit code.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use program::{Break, Budget, Progress, say};
use record::caveat::Caveat;
use record::plan::Plan;
use record::quantity::{Gate, Unit};
use record::{
    Endpoint, FailureKind, KernelAccess, LinkDevice, LinkUse, Links, NamedQuantity, Outcome,
    PeerProbe, PeerVerdict, Verification, exit, judged,
};
use runner::Interrupt;

use super::measurer::Measurer;
use super::plan::Planned;
use crate::begun::{Begun, SamplingArgs};
use crate::messages::{Blame, Finding, Job, Member};

/// What is measured point by point.
pub(crate) trait Points {
    /// The group of a point, and what it is in it.
    fn words(&self, point: &Planned) -> (String, String);

    /// Why a point is not tried, whatever came before.
    fn refusal(&self, _: &Planned) -> Option<Outcome> {
        None
    }

    /// Measures a point.
    ///
    /// # Errors
    /// A signal came, or nothing can be measured any more.
    fn measured(
        &mut self,
        point: &Planned,
        job: &Job,
        measurer: &mut Measurer<'_>,
    ) -> Result<Finding, Break>;

    /// Keeps what came of it.
    ///
    /// # Errors
    /// The disk does not take it.
    fn keep(&mut self, point: &Planned, found: Finding) -> Result<(), Break>;
}

/// Seconds that a point takes beside its samples, and each of its bytes, which are written, sent and compared; those of a pair's probe.
const POINT_S: f64 = 0.2;
const BYTE_S: f64 = 1.5e-9;
const PROBE_S: f64 = 1.0;

/// Says how many points there are, and about how long they take with the probes of so many pairs.
pub(crate) fn announce(
    planned: &[Planned],
    (begun, sampling, time): (&Begun, &SamplingArgs, Duration),
    probes: usize,
) {
    let window = begun.effort().window.as_secs_f64();
    let least = window * stats::MIN_FOR_INTERVAL as f64;
    let most = least.max(window * f64::from(sampling.samples));
    let share = Budget::new(sampling.budget.unwrap_or(time), planned.len()).share();
    let samples_s = share.as_secs_f64().clamp(least, most);
    let point_s = |point: &Planned| samples_s + POINT_S + BYTE_S * point.bytes.0 as f64;
    let seconds: f64 = planned.iter().map(point_s).sum();
    let about = program::minutes(seconds + PROBE_S * probes as f64);
    let about = match begun.is_soft() {
        true => String::new(),
        false => format!(", about {about}"),
    };
    let s = if planned.len() == 1 { "" } else { "s" };
    say!("{} point{s} to measure{about}", planned.len());
}

/// Measures all points, or as many as it can, in the time that is left to each.
///
/// # Errors
/// What ended it before.
pub(crate) fn measure(
    session: &mut impl Points,
    planned: &[Planned],
    (begun, sampling, time): (&Begun, &SamplingArgs, Duration),
    (deadline, interrupt): (Duration, &Interrupt),
) -> Result<(), Break> {
    let tell = |line: &str| say!("{line}");
    let mut progress = Progress::new(planned.len(), &tell);
    let mut measurer = Measurer::new(begun.chosen.backend, deadline, interrupt);
    let mut budget = Budget::new(sampling.budget.unwrap_or(time), planned.len());
    let mut health = Health::default();
    for point in planned {
        if let Some(signal) = interrupt.signal() {
            return Err(Break::Signal(signal));
        }
        let (group, what) = session.words(point);
        progress.begin(&group, &what);
        let began = Instant::now();
        let refusal = session.refusal(point);
        let suspects = suspects(point, begun);
        let found = match refusal.or_else(|| health.refusal(&suspects)) {
            Some(outcome) => Finding::without_numbers(outcome),
            None => {
                let plan = Plan::new(sampling.samples as usize, budget.share());
                session.measured(point, &job(point, begun, plan), &mut measurer)?
            }
        };
        health.count(&suspects, &found);
        if let Outcome::Failed { reason } = &found.outcome {
            progress.note(&format!("{group} {what}: {reason}"));
        }
        session.keep(point, found)?;
        budget.spend(began.elapsed());
        progress.end();
    }
    measurer.finish();
    Ok(())
}

fn job(point: &Planned, begun: &Begun, plan: Plan) -> Job {
    let ordinal = |end| match end {
        Endpoint::Host | Endpoint::All => end,
        Endpoint::Device(position) => Endpoint::Device(begun.found[position].ordinal),
    };
    // A simulated machine's nodes are not this machine's, so there nothing is bound but what is to be proven.
    let is_soft = begun.is_soft();
    let near = |device: &LinkDevice| device.node.filter(|_| !is_soft);
    let member = |device: &LinkDevice| Member {
        ordinal: device.ordinal,
        node: match point.place {
            Some(place) => place.memory,
            None => near(device),
        },
    };
    // A group's devices may be near different CPUs, and the host backend's workers are on their own already: there the issuing
    // thread is not bound.
    let is_bound = point.place.is_none() && !point.is_group() && !begun.is_host();
    let first = point.devices().first().map(|first| &begun.devices[*first]);
    let node = first.filter(|_| is_bound).and_then(near);
    let node = node.or(point.thread().filter(|_| !is_soft));
    let node = node.and_then(|node| begun.machine.node(node));
    Job {
        case: point.case.key.to_owned(),
        from: ordinal(point.from),
        to: ordinal(point.to),
        bytes: point.bytes.0,
        plan,
        cpus: node.map_or_else(Vec::new, |node| node.cpus.iter().collect()),
        thread_node: point.thread(),
        all: begun.devices.iter().map(member).collect(),
    }
}

/// Failures after which something is left alone.
const LIMIT: u32 = 2;

/// Failures so far by what they speak against, and the last reason.
#[derive(Debug, Default)]
struct Health(BTreeMap<String, (u32, String)>);

impl Health {
    /// Why a point is not tried: what it needs failed so often.
    fn refusal(&self, suspects: &[String]) -> Option<Outcome> {
        let all = suspects.iter();
        let mut all = all.filter_map(|suspect| Some((suspect, self.0.get(suspect)?)));
        let (name, (_, why)) = all.find(|(_, (failures, _))| *failures >= LIMIT)?;
        let reason = FailureKind::Dependency.of(format!(
            "{name} failed {LIMIT} times and is not tried again; last: {why}"
        ));
        Some(Outcome::Skipped { reason })
    }

    /// Counts a failure against the last suspect; what cannot be ended counts against all at once.
    fn count(&mut self, suspects: &[String], found: &Finding) {
        let (nearest, failures) = match found.blame {
            Blame::Nothing => return,
            Blame::Failure => (1, 1),
            Blame::Unkillable => (suspects.len(), LIMIT),
        };
        let why = found.outcome.unmeasured().map_or("", |(_, why)| why);
        for suspect in suspects.iter().rev().take(nearest) {
            let entry = self.0.entry(suspect.clone()).or_default();
            *entry = (entry.0 + failures, why.to_owned());
        }
    }
}

/// What a point's failure speaks against, the nearest last. Which end of a pair is to blame is not known, nor which device of a group.
fn suspects(point: &Planned, begun: &Begun) -> Vec<String> {
    let devices = point.devices().into_iter();
    let mut suspects: Vec<String> = devices.map(|at| begun.label(at).to_owned()).collect();
    if point.is_group() {
        suspects.push(point.case.key.to_owned());
    } else if suspects.len() > 1 {
        suspects.push(suspects.join(" to "));
    }
    suspects
}

impl Finding {
    /// With what the links did, given the numbers, and what is to be said of these.
    pub(crate) fn judged(mut self, link: impl Fn(&[NamedQuantity]) -> LinkUse) -> Self {
        if let Outcome::Measured {
            quantities,
            link: used,
            ..
        } = &mut self.outcome
        {
            *used = link(quantities);
            self.caveats.extend(reservations(quantities, used));
        }
        self
    }
}

/// What interval, outliers, gate and ceiling say against a measured point.
fn reservations(quantities: &[NamedQuantity], link: &LinkUse) -> Vec<Caveat> {
    // What comes before the one launch of a chase is little against its steps.
    let lacks_gate = |named: &NamedQuantity| {
        let quantity = &named.quantity;
        quantity.unit != Unit::Nanoseconds && quantity.timing.gate == Gate::None
    };
    let no_gate = quantities.iter().any(lacks_gate).then_some(Caveat::NoGate);
    let of_samples = judged(quantities).flat_map(|named| program::reservations(&named.quantity));
    let fraction = link.fraction.values().copied().fold(0.0, f64::max);
    let above = (fraction > 1.0).then_some(Caveat::AboveCeiling { fraction });
    let mut caveats: Vec<Caveat> = no_gate.into_iter().chain(of_samples).chain(above).collect();
    caveats.dedup();
    caveats
}

/// The exit code that the findings of a run call for.
pub(crate) fn exit_code(links: &Links) -> u8 {
    let of_probe = |probe: &PeerProbe| match probe.verdict {
        PeerVerdict::WrongData => exit::WRONG_DATA,
        PeerVerdict::Denied => exit::DONE,
        // Where copies are fine, kernels may not be.
        PeerVerdict::Direct | PeerVerdict::Staged
            if !matches!(probe.kernels, KernelAccess::Unusable { .. }) =>
        {
            exit::DONE
        }
        // What was not looked at is not a pass.
        _ => exit::INCONCLUSIVE,
    };
    let outcomes = || links.points.iter().map(|point| &point.outcome);
    let nothing = !outcomes().any(|outcome| matches!(outcome, Outcome::Measured { .. }));
    let nothing = nothing.then_some(exit::INCONCLUSIVE);
    let probes = links.probes.iter().map(of_probe);
    exit::fold(probes.chain(outcomes().map(of_outcome)).chain(nothing))
}

/// The exit code that one outcome calls for.
pub(crate) fn of_outcome(outcome: &Outcome) -> u8 {
    match outcome {
        Outcome::Measured {
            verification: Verification::WrongData { .. },
            ..
        } => exit::WRONG_DATA,
        Outcome::Failed { .. } | Outcome::Hang { .. } => exit::INCONCLUSIVE,
        _ => exit::DONE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fails_twice_is_left_alone_and_what_cannot_be_ended_at_once() {
        let found = |blame| Finding {
            blame,
            ..Finding::failed("lost".into(), true)
        };
        let pair = ["GPU0", "GPU1", "GPU0 to GPU1"].map(str::to_owned);
        let mut health = Health::default();
        health.count(&pair, &found(Blame::Failure));
        assert_eq!(health.refusal(&pair), None);
        health.count(&pair, &found(Blame::Failure));
        assert!(health.refusal(&pair).is_some());
        // Its devices are not taken along.
        assert_eq!(health.refusal(&pair[..2]), None);
        health.count(&pair, &found(Blame::Unkillable));
        assert!(health.refusal(&pair[..1]).is_some() && health.refusal(&pair[1..2]).is_some());
    }
}
