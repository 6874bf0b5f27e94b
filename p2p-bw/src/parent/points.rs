//! The one loop of `tplens p2p` and `tplens numa`: one point after another, each kept before the next begins; what fails too often is
//! left alone.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use program::{Break, Budget, Progress, say};
use record::plan::Plan;
use record::{Endpoint, FailureKind, LinkDevice, Outcome};
use runner::Interrupt;

use super::measurer::Measurer;
use super::plan::{Planned, Suspect};
use crate::begun::{Begun, SamplingArgs};
use crate::messages::{Blame, Finding, Job, Member};

/// What is measured point by point.
pub(crate) trait Points {
    /// The group of a point, and what it is in it.
    fn words(&self, point: &Planned) -> (String, String);

    /// Why a point is not tried, whatever came before.
    fn refusal(&self, point: &Planned) -> Option<Outcome>;

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
    let s = if planned.len() == 1 { "" } else { "s" };
    say!("{} point{s} to measure", planned.len());
    for point in planned {
        if let Some(signal) = interrupt.signal() {
            return Err(Break::Signal(signal));
        }
        let (group, what) = session.words(point);
        progress.begin(&group, &what);
        let began = Instant::now();
        let refusal = session.refusal(point);
        let found = match refusal.or_else(|| health.refusal(point, begun)) {
            Some(outcome) => Finding::without_numbers(outcome),
            None => {
                let plan = Plan::new(sampling.samples as usize, budget.share());
                session.measured(point, &job(point, begun, plan), &mut measurer)?
            }
        };
        if let Some(blame) = &found.blame {
            health.failed(&point.suspects(), blame);
        }
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

/// Failures so far, and the last reason.
#[derive(Debug, Default)]
struct Health(BTreeMap<Suspect, (u32, String)>);

impl Health {
    /// The first that is left alone, and why it failed last.
    fn left_alone(&self, suspects: &[Suspect]) -> Option<(Suspect, &str)> {
        suspects.iter().find_map(|suspect| {
            let (count, why) = self.0.get(suspect)?;
            (*count >= LIMIT).then_some((*suspect, why.as_str()))
        })
    }

    /// Why a point is not tried: what it needs failed so often.
    fn refusal(&self, point: &Planned, begun: &Begun) -> Option<Outcome> {
        let (suspect, why) = self.left_alone(&point.suspects())?;
        let name = match suspect {
            Suspect::Device(device) => begun.label(device).to_owned(),
            Suspect::Pair(from, to) => format!("{} to {}", begun.label(from), begun.label(to)),
            Suspect::Group(key) => key.to_owned(),
        };
        let reason = FailureKind::Dependency.of(format!(
            "{name} failed {LIMIT} times and is not tried again; last: {why}"
        ));
        Some(Outcome::Skipped { reason })
    }

    /// Counts a failure against the last suspect; what cannot be ended counts against all at once.
    fn failed(&mut self, suspects: &[Suspect], blame: &Blame) {
        let nearest = match blame.at_once {
            true => suspects.len(),
            false => 1,
        };
        for suspect in suspects.iter().rev().take(nearest) {
            let entry = self.0.entry(*suspect).or_default();
            let failures = if blame.at_once { LIMIT } else { entry.0 + 1 };
            *entry = (failures, blame.why.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use record::unit::ByteCount;

    use super::*;
    use crate::cases;
    use crate::parent::plan::plan;

    fn point(key: &str, at: usize) -> Planned {
        plan(&cases::matching(key).unwrap(), 2, &[ByteCount(1)])[at]
    }

    fn refused(health: &Health, key: &str, at: usize) -> bool {
        health.left_alone(&point(key, at).suspects()).is_some()
    }

    fn fail(health: &mut Health, key: &str, at: usize, at_once: bool) {
        let why = "lost".to_owned();
        health.failed(&point(key, at).suspects(), &Blame { why, at_once });
    }

    #[test]
    fn a_pair_or_a_group_that_hangs_does_not_take_its_devices_along() {
        for key in ["d2d_write_ce", "ring_ce"] {
            let mut health = Health::default();
            fail(&mut health, key, 0, false);
            fail(&mut health, key, 0, false);
            assert!(refused(&health, key, 0), "{key}");
            for other in ["all_pairs_ce", "local_ce"] {
                assert!(!refused(&health, other, 0), "{key} {other}");
            }
        }
        let mut health = Health::default();
        fail(&mut health, "d2d_write_ce", 0, true);
        assert!(refused(&health, "local_ce", 0) && refused(&health, "local_ce", 1));
    }
}
