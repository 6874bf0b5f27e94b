//! The peer probes of a run, each in a child with a deadline. What they found is judged in `verdict.rs`.

use doctor::known::HostHang;
use program::{Break, say};
use record::{KernelAccess, LinkDevice, LinksEvent, PeerProbe, PeerStep, PeerVerdict};
use topology::peer_surroundings;

use super::measurer::Measurer;
use super::session::Session;
use super::verdict;
use crate::messages::{ProbeStep, WorkerReply};

impl Session<'_> {
    /// Probes every ordered pair and keeps each verdict; no process is left when it returns.
    pub(super) fn probes(&mut self) -> Result<(), Break> {
        let backend = self.begun.chosen.backend;
        let mut measurer = Measurer::new(backend, self.args.running.deadline, self.interrupt);
        let devices = &self.begun.devices;
        for from in 0..devices.len() {
            for to in (0..devices.len()).filter(|to| *to != from) {
                let probe =
                    self.probe((from, &devices[from]), (to, &devices[to]), &mut measurer)?;
                if !matches!(probe.verdict, PeerVerdict::Direct | PeerVerdict::Denied) {
                    let (from, to) = (&devices[from].label, &devices[to].label);
                    let (verdict, rests_on) = (probe.verdict, &probe.rests_on);
                    say!("peer {from} to {to}: {verdict} ({rests_on})");
                }
                self.recorder.add(LinksEvent::Probe { probe })?;
            }
        }
        // Before anything is timed: it holds both devices, and closing a driver takes its time.
        measurer.finish();
        Ok(())
    }

    fn probe(
        &mut self,
        (from, a): (usize, &LinkDevice),
        (to, b): (usize, &LinkDevice),
        measurer: &mut Measurer<'_>,
    ) -> Result<PeerProbe, Break> {
        let pair = self.pair(from, to);
        let (mut steps, mut step) = (Vec::new(), ProbeStep::Open);
        let (verdict, rests_on, kernels) = match self.danger(&pair, a, b) {
            Some((verdict, why)) => {
                let reason = why.clone();
                (verdict, why, KernelAccess::Untested { reason })
            }
            None => {
                self.recorder.add(LinksEvent::Intent { from, to })?;
                let mut on_reply = |reply: &WorkerReply| match reply {
                    WorkerReply::Step(of, None) => step = *of,
                    WorkerReply::Step(of, Some(outcome)) => steps.push(PeerStep {
                        name: of.name().to_owned(),
                        outcome: outcome.clone(),
                    }),
                    _ => {}
                };
                let ordinals = (a.ordinal, b.ordinal);
                let run = |one: &mut Measurer<'_>| one.probe(ordinals, &mut on_reply);
                let broken = self.remembered.guarded(&[pair], measurer, run)?;
                verdict::judge(self.begun.chosen.backend, &steps, step, broken)
            }
        };
        let (machine, sysfs) = (&self.begun.machine, &self.begun.sysfs);
        let addresses = a.address.zip(b.address);
        Ok(PeerProbe {
            from,
            to,
            verdict,
            rests_on,
            steps,
            kernels,
            surroundings: addresses.map(|(a, b)| peer_surroundings(machine, sysfs, a, b)),
        })
    }

    /// Why copies between two devices may take the machine down.
    fn danger(
        &self,
        pair: &str,
        from: &LinkDevice,
        to: &LinkDevice,
    ) -> Option<(PeerVerdict, String)> {
        if self.args.risk {
            return None;
        }
        if let Some(why) = self.remembered.lost(pair) {
            return Some((PeerVerdict::HostLost, why));
        }
        if let Some(why) = &self.remembered.unread {
            return Some((PeerVerdict::NotTried, format!("{why}; --risk tries it")));
        }
        let machine = &self.begun.machine;
        let hang = HostHang::of(machine)
            .filter(|hang| [from, to].iter().all(|it| hang.has(machine, it.address)))?;
        let why = format!("{}; --risk tries it", hang.why);
        Some((PeerVerdict::NotTried, why))
    }
}
