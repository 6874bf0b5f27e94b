//! How a run of a command begins: the machine is read and a driver found; where none answers, that is its record. It measures nothing
//! and chooses no devices.

use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use inventory::{BackendArg, Chosen, choose, played};
use measure::record::Growing;
use program::{Ended, Recorder, Stop, sim};
use supervisor::Interrupt;
use topology::{Machine, Sysfs};

/// What a command line says of where it runs.
pub(crate) struct Asked<'a> {
    /// The soft box.
    pub(crate) sim: Option<&'a str>,
    /// Whose driver.
    pub(crate) backend: BackendArg,
    /// How long a driver may be silent.
    pub(crate) deadline: Duration,
    /// Where the result goes.
    pub(crate) folder: &'a Path,
    /// The program's name in its record.
    pub(crate) program: &'a str,
}

/// A machine whose driver answered.
pub(crate) struct Begun {
    /// Its sysfs, or that of the soft box.
    pub(crate) sysfs: Sysfs,
    /// The machine.
    pub(crate) machine: Machine,
    /// The driver.
    pub(crate) chosen: Chosen,
}

impl Begun {
    /// Reads the machine, lets `check` refuse it, and finds a driver; the inner error is the record of a refusal.
    ///
    /// # Errors
    /// What ended it before there was anything to keep.
    pub(crate) fn find<P: Growing>(
        asked: &Asked<'_>,
        check: impl FnOnce(&Machine) -> Result<(), Stop>,
        interrupt: &Interrupt,
    ) -> Result<Result<Self, Box<Ended>>, Stop> {
        let sysfs = played::sysfs(asked.sim, asked.folder, &[])?;
        let machine = Machine::read(&sysfs).context("reading sysfs")?;
        check(&machine)?;
        let chosen = match choose(asked.backend, &machine, asked.deadline, interrupt) {
            Err(Stop::Refused(reason)) => {
                let version = env!("CARGO_PKG_VERSION");
                let header = program::header(asked.program, version, &machine, sim::box_name());
                let recorder = Recorder::<P>::begin(asked.folder, header)?;
                return Ok(Err(Box::new(recorder.refuse(reason))));
            }
            chosen => chosen?,
        };
        played::expect_soft(asked.sim, &chosen)?;
        Ok(Ok(Self {
            sysfs,
            machine,
            chosen,
        }))
    }
}
