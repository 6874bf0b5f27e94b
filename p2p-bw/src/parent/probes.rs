//! Runs the peer probes in a child with a deadline, replaced after each pair that did not end well, and judges them.

use std::time::{Duration, Instant};

use inventory::{Built, Found};
use measure::record::{
    LinkDevice, Links, LinksEvent, PeerProbe, PeerStep, PeerVerdict, StepOutcome,
};
use program::child::{SHORT_LADDER, last_line};
use program::{Break, Recorder, Stop};
use supervisor::{Ending, Event, Interrupt, Ladder, Worker};

use super::intent::{self, Remembered};
use crate::children::Child;
use crate::messages::{ProbeReply, ProbeRequest, SmallCopies};

/// A small copy that takes longer than this was seen to be staged: 0.4 to 0.5 us with access against 12 to 21 us
/// without on PCIe boxes (p2pBandwidthLatencyTest on RTX PRO 6000, RTX 5090, RTX 4090, RTX 2080 Ti).
const STAGED_ABOVE_US: f64 = 5.0;

/// A small copy that gains less than this from access behaves as if there were none (our choice, between the two above).
const STAGED_RATIO: f64 = 0.7;

/// Combinations that are known to take the host down; tried only with `--risk`.
const KNOWN_HANGS: [KnownHang; 1] = [KnownHang {
    name: "R9700",
    devices: 4,
    why: "direct PCIe peer copies hung the host on four R9700 (ROCm/rocm-systems#11348)",
}];

/// Why nothing can be done about it: NCCL's maintainer in NVIDIA/nccl#1716, and NVIDIA's vGPU documentation.
const MIG_HAS_NONE: &str = "MIG instances have no peer access over PCIe or NVLink (NVIDIA/nccl#1716), so what they \
                            exchange goes through host memory";

struct KnownHang {
    /// Part of the device's name.
    name: &'static str,
    /// From this many devices in the box on, however many are chosen.
    devices: usize,
    why: &'static str,
}

/// The probes of one run.
pub(super) struct Probes<'a> {
    pub(super) backend: Built,
    pub(super) deadline: Duration,
    pub(super) risk: bool,
    pub(super) remembered: &'a Remembered,
    /// Driver and box, which together with the devices say what was tried.
    pub(super) identity: String,
    /// Every device of the box.
    pub(super) inventory: &'a [Found],
    pub(super) interrupt: &'a Interrupt,
}

/// What was seen of a probe until its end.
struct Seen {
    verdict: PeerVerdict,
    rests_on: String,
    steps: Vec<PeerStep>,
    /// Whether the process is idle and may do the next pair.
    behaved: bool,
}

impl Probes<'_> {
    /// Probes every ordered pair and puts each intent and verdict on the disk; no process is left when it returns.
    pub(super) fn run(
        &self,
        recorder: &mut Recorder<Links>,
        say: &dyn Fn(&str),
    ) -> Result<(), Break> {
        let mut kept = None;
        let done = self.pairs(recorder, &mut kept, say);
        if let Some(mut child) = kept {
            // Before anything is timed: it holds both devices, and closing a driver takes its time.
            child.end(SHORT_LADDER);
        }
        done
    }

    fn pairs(
        &self,
        recorder: &mut Recorder<Links>,
        kept: &mut Option<Worker>,
        say: &dyn Fn(&str),
    ) -> Result<(), Break> {
        let devices = recorder.payload.devices.clone();
        for from in 0..devices.len() {
            for to in (0..devices.len()).filter(|to| *to != from) {
                let pair = [intent::pair(&self.identity, &devices[from], &devices[to])];
                let probe = match self.refusal(&devices, from, to, &pair[0]) {
                    Some((verdict, rests_on)) => PeerProbe {
                        from,
                        to,
                        verdict,
                        rests_on,
                        steps: Vec::new(),
                    },
                    None => {
                        recorder.add(LinksEvent::Intent { from, to })?;
                        self.remembered.begin(&pair).map_err(Stop::Internal)?;
                        let (probe, ending) = self.probe(&devices, from, to, kept);
                        // A process that cannot be ended may yet take the machine down.
                        if ending != Some(Ending::HangUnkillable) {
                            self.remembered.end(&pair).map_err(Stop::Internal)?;
                        }
                        probe?
                    }
                };
                if !matches!(probe.verdict, PeerVerdict::Direct | PeerVerdict::Denied) {
                    let (from, to) = (&devices[from].label, &devices[to].label);
                    say(&format!(
                        "peer {from} to {to}: {} ({})",
                        probe.verdict, probe.rests_on
                    ));
                }
                recorder.add(LinksEvent::Probe { probe })?;
            }
        }
        Ok(())
    }

    /// Why a pair is not tried.
    fn refusal(
        &self,
        devices: &[LinkDevice],
        from: usize,
        to: usize,
        pair: &str,
    ) -> Option<(PeerVerdict, String)> {
        if self.risk {
            return None;
        }
        if let Some(at) = self.remembered.lost(pair) {
            return Some((PeerVerdict::HostLost, intent::lost_since(at)));
        }
        if let Some(reason) = self.remembered.unknown() {
            return Some((PeerVerdict::NotTried, reason));
        }
        let named = |hang: &&KnownHang| {
            let is_one = |name: &str| name.contains(hang.name);
            let count = self.inventory.iter().filter(|found| is_one(&found.name));
            count.count() >= hang.devices
                && is_one(&devices[from].name)
                && is_one(&devices[to].name)
        };
        KNOWN_HANGS.iter().find(named).map(|hang| {
            (
                PeerVerdict::NotTried,
                format!("{}; --risk tries it", hang.why),
            )
        })
    }

    /// Probes one pair, in the process that did the one before where that behaved; the second value says how the
    /// process ended, where it did.
    fn probe(
        &self,
        devices: &[LinkDevice],
        from: usize,
        to: usize,
        kept: &mut Option<Worker>,
    ) -> (Result<PeerProbe, Stop>, Option<Ending>) {
        const LADDER: Ladder = Ladder {
            abort: Duration::from_secs(1),
            term: Duration::from_secs(2),
            kill: Duration::from_secs(10),
        };
        let request = ProbeRequest {
            backend: self.backend,
            from: devices[from].ordinal,
            to: devices[to].ordinal,
        };
        let mut child = match kept.take().map_or_else(|| Child::Probe.start(), Ok) {
            Ok(child) => child,
            Err(stop) => return (Err(stop), None),
        };
        let seen = self.watch(&mut child, &request);
        let ending = if seen.as_ref().is_ok_and(|seen| seen.behaved) {
            // It may do the next pair, too: opening a driver takes seconds on large boxes.
            *kept = Some(child);
            None
        } else {
            Some(child.end(LADDER))
        };
        let is_mig = devices[from].mig.is_some() || devices[to].mig.is_some();
        let probe = seen.map(|seen| {
            let mut rests_on = seen.rests_on;
            if seen.verdict == PeerVerdict::Denied && is_mig {
                rests_on = format!("{rests_on}; {MIG_HAS_NONE}");
            }
            if ending == Some(Ending::HangUnkillable) {
                rests_on.push_str("; its process cannot be ended");
            }
            PeerProbe {
                from,
                to,
                verdict: seen.verdict,
                rests_on,
                steps: seen.steps,
            }
        });
        (probe, ending)
    }

    /// Follows one probe to its end, or to the deadline.
    fn watch(&self, child: &mut Worker, request: &ProbeRequest) -> Result<Seen, Stop> {
        child
            .send(request)
            .map_err(|error| Stop::Internal(error.into()))?;
        let (mut steps, mut step) = (Vec::new(), "start".to_owned());
        let mut behaved = false;
        let began = Instant::now();
        let (verdict, rests_on) = loop {
            match child.next::<ProbeReply>(self.deadline, self.interrupt) {
                Event::Message(ProbeReply::Begin { step: next }) => step = next,
                Event::Message(ProbeReply::Step { step, outcome }) => steps.push(PeerStep {
                    name: step,
                    outcome,
                }),
                Event::Message(ProbeReply::End { small }) => {
                    behaved = true;
                    break judge(&steps, small.as_ref());
                }
                Event::Message(ProbeReply::Failed { reason }) => {
                    break (PeerVerdict::Failed, format!("{step}: {reason}"));
                }
                Event::Silent { waited } => {
                    let seconds = waited.as_secs_f64().round();
                    let text = format!("step `{step}` made no progress for {seconds} s");
                    break (PeerVerdict::Hang, text);
                }
                Event::Interrupted(signal) => return Err(Stop::Interrupted(signal)),
                Event::Exited(status) => {
                    let text = format!(
                        "step `{step}` ended its process with {status}: {}",
                        last_line(&child.tail())
                    );
                    break (PeerVerdict::Failed, text);
                }
                Event::Garbled { error, .. } => {
                    break (PeerVerdict::Failed, format!("{step}: {error}"));
                }
            }
            // A child that keeps talking must end, too.
            if began.elapsed() > self.deadline * 10 {
                break (
                    PeerVerdict::Hang,
                    format!(
                        "step `{step}` is still going after {} s",
                        began.elapsed().as_secs()
                    ),
                );
            }
        };
        Ok(Seen {
            verdict,
            rests_on,
            steps,
            behaved,
        })
    }
}

/// The verdict of a probe that ended by itself, and what it rests on.
fn judge(steps: &[PeerStep], small: Option<&SmallCopies>) -> (PeerVerdict, String) {
    for step in steps {
        match &step.outcome {
            StepOutcome::Refused { reason } => {
                return (PeerVerdict::Denied, format!("{}: {reason}", step.name));
            }
            StepOutcome::WrongData { seen } => {
                return (
                    PeerVerdict::WrongData,
                    format!("{} reported success, its owner found: {seen}", step.name),
                );
            }
            _ => {}
        }
    }
    let Some(SmallCopies { with, without }) = small else {
        return (
            PeerVerdict::Failed,
            "small copies could not be timed".to_owned(),
        );
    };
    let (on, off) = (with.value, without.value);
    let seen = format!(
        "16 B copies take {on:.2} us with access and {off:.2} us without (medians, n={}); write and read arrived, \
         compared by their owners",
        with.n
    );
    let staged = on > STAGED_ABOVE_US && on > STAGED_RATIO * off;
    (
        if staged {
            PeerVerdict::Staged
        } else {
            PeerVerdict::Direct
        },
        seen,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::plan::StopReason;
    use measure::quantity::{Gate, Quantity, TimeSource, Timing, Unit};

    fn small(with: f64, without: f64) -> SmallCopies {
        let timing = Timing {
            source: TimeSource::DeviceEvent,
            gate: Gate::None,
            copies_per_sample: 100,
            warmup_copies: 100,
        };
        let quantity = |us| {
            Quantity::from_samples(
                vec![us; 10],
                Unit::Microseconds,
                timing,
                StopReason::MaxSamples,
            )
            .unwrap()
        };
        SmallCopies {
            with: quantity(with),
            without: quantity(without),
        }
    }

    #[test]
    fn small_copies_tell_a_staged_path_from_a_direct_one() {
        // The published pairs: 0.45 us with access and 14 us without; 14 us both ways where access is a pretence.
        assert_eq!(judge(&[], Some(&small(0.45, 14.0))).0, PeerVerdict::Direct);
        assert_eq!(judge(&[], Some(&small(14.0, 14.0))).0, PeerVerdict::Staged);
        // A slow CPU that needs 4 us to issue any copy is no evidence of staging.
        assert_eq!(judge(&[], Some(&small(4.0, 4.0))).0, PeerVerdict::Direct);
    }

    #[test]
    fn a_refusal_and_wrong_data_outrank_the_times() {
        let step = |outcome| {
            vec![PeerStep {
                name: "write".to_owned(),
                outcome,
            }]
        };
        let refused = step(StepOutcome::Refused {
            reason: "no".to_owned(),
        });
        assert_eq!(judge(&refused, None).0, PeerVerdict::Denied);
        let wrong = step(StepOutcome::WrongData {
            seen: "byte 0".to_owned(),
        });
        assert_eq!(
            judge(&wrong, Some(&small(0.4, 14.0))).0,
            PeerVerdict::WrongData
        );
    }
}
