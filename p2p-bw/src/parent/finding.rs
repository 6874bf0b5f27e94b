//! [`Finding`]: what the end of a job means for its point, and for how often its devices are tried again.

use record::caveat::Caveat;
use record::{LinkUse, NamedQuantity, Outcome, Placement};
use runner::Signal;

use super::judge::judge;
use super::measurer::JobEnd;
use crate::messages::Ended;

/// What a job came to.
pub(crate) struct Finding {
    pub(crate) outcome: Outcome,
    /// Where the issuing thread was, where the job wanted it on a node.
    pub(crate) thread: Option<Placement>,
    pub(crate) caveats: Vec<Caveat>,
    /// What speaks against trying its devices again.
    pub(crate) blame: Option<Blame>,
}

/// A hang, a crash or a loss.
pub(crate) struct Blame {
    pub(crate) why: String,
    /// Whether its process cannot be ended, so that the devices are given up at once.
    pub(crate) at_once: bool,
}

impl Finding {
    /// Of a job with one outcome; `link` says what the links did, given the numbers.
    ///
    /// # Errors
    /// The signal that ended the job.
    pub(crate) fn of(
        end: JobEnd,
        link: impl Fn(&[NamedQuantity]) -> LinkUse,
    ) -> Result<Self, Signal> {
        let mut all = Self::all(end, link)?;
        let out_of_turn = || {
            let reason = "it answered out of turn".into();
            Self::without_numbers(Outcome::Failed { reason })
        };
        Ok(all.pop().unwrap_or_else(out_of_turn))
    }

    /// Of a job with several outcomes: one for each, or one for all where it did not end well.
    ///
    /// # Errors
    /// The signal that ended the job.
    pub(crate) fn all(
        end: JobEnd,
        link: impl Fn(&[NamedQuantity]) -> LinkUse,
    ) -> Result<Vec<Self>, Signal> {
        let one = match end {
            JobEnd::Interrupted { signal, .. } => return Err(signal),
            JobEnd::Hang {
                mut doing,
                silence,
                unkillable,
            } => {
                doing = format!("{doing}: {silence}");
                if unkillable {
                    doing.push_str("; its process cannot be ended");
                }
                if silence.is_hang() || unkillable {
                    let why = doing.clone();
                    Self::without_numbers(Outcome::Hang { doing }).blamed(why, unkillable)
                } else {
                    // Nothing speaks against the device.
                    let reason = silence.kind().of(doing);
                    Self::without_numbers(Outcome::Failed { reason })
                }
            }
            JobEnd::Crashed { reason } => {
                let failed = Outcome::Failed {
                    reason: reason.clone().into(),
                };
                Self::without_numbers(failed).blamed(reason, false)
            }
            JobEnd::Done(ended) => {
                let of = |ended| Self::of_ended(ended, &link);
                return Ok(ended.into_iter().map(of).collect());
            }
        };
        Ok(vec![one])
    }

    fn of_ended(ended: Ended, link: &impl Fn(&[NamedQuantity]) -> LinkUse) -> Self {
        let Ended {
            mut outcome,
            thread,
            mut caveats,
            lost,
        } = ended;
        let mut blame = None;
        match &mut outcome {
            Outcome::Measured {
                quantities,
                link: used,
                ..
            } => {
                *used = link(quantities);
                caveats.extend(judge(quantities, used));
            }
            Outcome::Failed { reason } if lost => {
                blame = Some(Blame {
                    why: reason.detail.clone(),
                    at_once: false,
                });
            }
            _ => {}
        }
        Self {
            outcome,
            thread,
            caveats,
            blame,
        }
    }

    /// A point that was not measured.
    pub(crate) fn without_numbers(outcome: Outcome) -> Self {
        Self {
            outcome,
            thread: None,
            caveats: Vec::new(),
            blame: None,
        }
    }

    fn blamed(self, why: String, at_once: bool) -> Self {
        let blame = Some(Blame { why, at_once });
        Self { blame, ..self }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use runner::Silence;

    use super::*;

    fn of(end: JobEnd) -> Finding {
        Finding::of(end, |_| LinkUse::default()).unwrap()
    }

    fn blame(found: &Finding) -> Option<(&str, bool)> {
        let blame = found.blame.as_ref()?;
        Some((&blame.why, blame.at_once))
    }

    #[test]
    fn hangs_crashes_and_losses_speak_against_a_device_and_refusals_do_not() {
        let ended = |for_cpu, is_starved, unkillable| JobEnd::Hang {
            doing: "copying".to_owned(),
            silence: Silence {
                waited: Duration::from_secs(20),
                for_cpu: Duration::from_secs(for_cpu),
                is_starved,
                is_stopped: false,
            },
            unkillable,
        };
        let hang = |unkillable| ended(0, false, unkillable);
        let found = of(hang(false));
        let doing = "copying: no progress for 20 s";
        assert_eq!(blame(&found), Some((doing, false)));
        assert!(matches!(found.outcome, Outcome::Hang { doing: told } if told == doing));
        let at_once = "copying: no progress for 20 s; its process cannot be ended";
        assert_eq!(blame(&of(hang(true))), Some((at_once, true)));
        // 19 of 20 s were the machine's.
        let starved = of(ended(19, true, false));
        assert_eq!(blame(&starved), None);
        assert!(
            matches!(&starved.outcome, Outcome::Failed { reason } if reason.contains("19 s were waits for a CPU")),
            "{:?}",
            starved.outcome
        );
        let mut stopped = ended(0, false, false);
        if let JobEnd::Hang { silence, .. } = &mut stopped {
            silence.is_stopped = true;
        }
        let stopped = of(stopped);
        assert_eq!(blame(&stopped), None);
        assert!(matches!(stopped.outcome, Outcome::Failed { .. }));
        let reason = || "why".to_owned();
        let crashed = of(JobEnd::Crashed { reason: reason() });
        assert_eq!(blame(&crashed), Some(("why", false)));
        let failed = |lost| {
            let reason = reason().into();
            let failed = Ended::of(Outcome::Failed { reason });
            of(JobEnd::Done(vec![Ended { lost, ..failed }]))
        };
        assert_eq!(blame(&failed(true)), Some(("why", false)));
        assert_eq!(blame(&failed(false)), None);
        let skipped = of(JobEnd::Done(vec![Ended::of(Outcome::Skipped {
            reason: reason().into(),
        })]));
        assert_eq!(blame(&skipped), None);
        assert!(matches!(skipped.outcome, Outcome::Skipped { .. }));
    }
}
