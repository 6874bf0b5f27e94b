//! Runs the peer probes in a child with a deadline, replaced after each pair that did not end well. What they found is
//! judged in `verdict.rs`.

use std::time::{Duration, Instant};

use doctor::known::{HOST_HANGS, HostHang};
use inventory::{Built, Found};
use program::{Break, Recorder, Stop};
use record::{KernelAccess, LinkDevice, Links, LinksEvent, PeerProbe, PeerStep, PeerVerdict};
use runner::child::SHORT_LADDER;
use runner::{Ending, Interrupt, Ladder, RESUMED, Unanswered, Worker};
use topology::{Machine, PeerSurroundings, Sysfs, peer_surroundings};

use super::intent::{self, Remembered};
use super::verdict::{self, Judged};
use crate::children::Child;
use crate::messages::{ProbeStep, WorkerReply, WorkerRequest};

/// Why nothing can be done about it: NCCL's maintainer in NVIDIA/nccl#1716, and NVIDIA's vGPU documentation.
const MIG_HAS_NONE: &str = "MIG instances have no peer access over PCIe or NVLink (NVIDIA/nccl#1716), so what they \
                            exchange goes through host memory";

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
    pub(super) machine: &'a Machine,
    pub(super) sysfs: &'a Sysfs,
}

/// What was seen of a probe until its end.
struct Seen {
    judged: Judged,
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
                let mut probe = match self.refusal(&devices, from, to, &pair[0]) {
                    Some((verdict, rests_on)) => PeerProbe {
                        from,
                        to,
                        verdict,
                        kernels: KernelAccess::Untested {
                            reason: rests_on.clone(),
                        },
                        rests_on,
                        steps: Vec::new(),
                        surroundings: None,
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
                probe.surroundings = self.surroundings(&devices[from], &devices[to]);
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

    /// What lies around the path between two devices on a bus.
    fn surroundings(&self, from: &LinkDevice, to: &LinkDevice) -> Option<PeerSurroundings> {
        let (from, to) = from.address.zip(to.address)?;
        Some(peer_surroundings(self.machine, self.sysfs, from, to))
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
        if let Some(lost) = self.remembered.lost(pair) {
            return Some((PeerVerdict::HostLost, lost.detail));
        }
        if let Some(unknown) = self.remembered.unknown() {
            return Some((PeerVerdict::NotTried, unknown.detail));
        }
        let named = |hang: &&HostHang| {
            let is_one = |name: &str| name.contains(hang.name);
            let count = self.inventory.iter().filter(|found| is_one(&found.name));
            count.count() >= hang.devices
                && is_one(&devices[from].name)
                && is_one(&devices[to].name)
        };
        HOST_HANGS.iter().find(named).map(|hang| {
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
        let request = WorkerRequest::Probe {
            from: devices[from].ordinal,
            to: devices[to].ordinal,
        };
        let mut child = match kept.take().map_or_else(|| self.start(), Ok) {
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
        let probe = seen.map(|Seen { judged, steps, .. }| {
            let mut rests_on = judged.rests_on;
            if judged.verdict == PeerVerdict::Denied && is_mig {
                rests_on = format!("{rests_on}; {MIG_HAS_NONE}");
            }
            if ending == Some(Ending::HangUnkillable) {
                rests_on.push_str("; its process cannot be ended");
            }
            PeerProbe {
                from,
                to,
                verdict: judged.verdict,
                rests_on,
                steps,
                kernels: judged.kernels,
                surroundings: None,
            }
        });
        (probe, ending)
    }

    /// A worker that opens the driver; how that ends, the first probe hears.
    fn start(&self) -> Result<Worker, Stop> {
        let mut child = Child::Worker.start()?;
        let backend = self.backend;
        child.send(&WorkerRequest::Open { backend })?;
        Ok(child)
    }

    /// Follows one probe to its end, or to the deadline.
    fn watch(&self, child: &mut Worker, request: &WorkerRequest) -> Result<Seen, Stop> {
        child.send(request)?;
        let (mut steps, mut step) = (Vec::new(), ProbeStep::Open);
        let began = Instant::now();
        let answer = child.answer(self.deadline, self.interrupt, |reply| {
            match reply {
                WorkerReply::Begin { step: next } => step = next,
                WorkerReply::Step { step, outcome } => steps.push(PeerStep {
                    name: step.name().to_owned(),
                    outcome,
                }),
                WorkerReply::Probed { failed: None } => return Some(Ended::Well),
                WorkerReply::Probed {
                    failed: Some(reason),
                }
                | WorkerReply::Unusable { reason } => return Some(Ended::Failed(reason)),
                _ => {}
            }
            // A child that keeps talking must end, too.
            (began.elapsed() > self.deadline * 10).then_some(Ended::Not)
        });
        let failed =
            |reason| verdict::failed(self.backend, &steps, step, format!("{step}: {reason}"));
        let judged = match &answer {
            Ok(Ended::Well) => {
                let judged = verdict::judge(self.backend, &steps);
                match judged.verdict != PeerVerdict::WrongData && child.was_resumed() {
                    true => verdict::untold(&steps, RESUMED.to_owned()),
                    false => judged,
                }
            }
            Ok(Ended::Failed(reason)) => failed(reason.as_str()),
            Ok(Ended::Not) => {
                let seconds = began.elapsed().as_secs();
                let text = format!("step `{step}` is still going after {seconds} s");
                verdict::hang(&steps, step, text)
            }
            Err(Unanswered::Silent(silence)) => {
                let text = format!("step `{step}`: {silence}");
                match silence.is_hang() {
                    true => verdict::hang(&steps, step, text),
                    false => verdict::untold(&steps, text),
                }
            }
            Err(Unanswered::Interrupted(signal)) => return Err(Stop::Interrupted(*signal)),
            Err(Unanswered::Gone(words)) => failed(words.as_str()),
        };
        Ok(Seen {
            judged,
            steps,
            behaved: matches!(answer, Ok(Ended::Well)),
        })
    }
}

/// How a probe ended that answered.
enum Ended {
    Well,
    Failed(String),
    /// It was still going.
    Not,
}
