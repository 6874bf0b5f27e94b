//! The monitor of a run: started before the first step, ended behind the last, its lines taken up.
//!
//! Where it is lost, the rest of the run stands.

use program::say;

use super::monitor::{Monitor, read};
use super::session::Session;
use crate::checks::Group;
use crate::report::{Came, ReasonCode};

impl Session<'_> {
    /// Takes up what the monitors of earlier processes of this run saw, and starts one.
    pub(super) fn watch(&mut self) {
        // Each process of a run has a file of its own, numbered from 1.
        let file = |number: usize| self.folder.join(&format!("monitor-{number}.jsonl"));
        let earlier: Vec<_> = (1..).map(file).take_while(|file| file.exists()).collect();
        let lines = earlier.iter().flat_map(|file| read(file));
        self.findings.monitor = lines.collect();
        let devices = self.bench.devices.iter().map(|one| one.number.as_str());
        let devices: Vec<&str> = devices.collect();
        let words = [
            "--backend",
            self.bench.backend,
            "--gpus",
            &devices.join(","),
        ];
        let mut words = words.map(str::to_owned).to_vec();
        words.extend(self.bench.simulated());
        let file = file(earlier.len() + 1);
        let started = Monitor::start(&words, &file, self.interrupt);
        self.monitor = Some(started.map_err(|error| format!("{error:#}")));
    }

    /// Whether somebody watches what runs now, or ran until now.
    pub(super) fn is_watched(&mut self) -> bool {
        match &mut self.monitor {
            Some(Ok(monitor)) => monitor.lost().is_none(),
            _ => false,
        }
    }

    /// Ends the monitor and takes what it saw. What ran unwatched is done, and stays unwatched.
    pub(super) fn unwatch(&mut self) {
        let lost = match self.monitor.take() {
            None => None,
            Some(Err(why)) => Some(why),
            Some(Ok(mut monitor)) => {
                let lost = monitor.lost();
                self.findings.monitor.extend(monitor.end());
                lost
            }
        };
        let mut unwatched = self.done.iter().filter(|done| !done.is_watched);
        let unwatched = unwatched
            .next()
            .map(|done| format!("not during {}", done.name));
        match lost.or(unwatched) {
            None => drop(self.findings.missing.remove(&Group::Watch)),
            Some(why) => {
                say!("the monitor was lost: {why}");
                let missing = Came::open(ReasonCode::Unreadable).saying(why);
                self.findings.missing.insert(Group::Watch, missing);
            }
        }
    }
}
