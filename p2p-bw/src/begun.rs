//! How a run of a command begins and what it leaves where nothing began: the machine is read and a driver found, devices are
//! described, the record is opened; where no driver answers, that is the record. It measures nothing and chooses no devices.

use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use inventory::{Chosen, Found, choose, played};
use program::{Ended, Recorder, Stop, sim};
use record::{Growing, Header, LinkDevice};
use runner::Interrupt;
use topology::{Machine, Sysfs};

use crate::device_args::DeviceArgs;

/// What a command line says of where it runs.
pub(crate) struct Asked<'a> {
    /// Whose devices.
    pub(crate) on: &'a DeviceArgs,
    /// How long a driver may be silent.
    pub(crate) deadline: Duration,
    /// Where the result goes.
    pub(crate) folder: &'a Path,
    /// The program's name in its record.
    pub(crate) program: &'a str,
    /// Whether there is to be a record, of a refusal, too.
    pub(crate) keeps: bool,
}

impl Asked<'_> {
    /// Does what was asked for, and takes a simulated machine's files back where no run began in the folder.
    ///
    /// # Errors
    /// What cannot be asked for at once, and the errors of `run`.
    pub(crate) fn run<T>(&self, run: impl FnOnce() -> Result<T, Stop>) -> Result<T, Stop> {
        played::refuse_host(self.on.sim.as_deref(), self.on.backend)?;
        let outcome = run();
        sim::forget();
        outcome
    }
}

/// A machine whose driver answered.
pub(crate) struct Begun {
    /// Its sysfs, or that of the simulated machine.
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
        let (sysfs, machine) = read(asked.on, asked.folder)?;
        check(&machine)?;
        match choose(asked.on.backend, &machine, asked.deadline, interrupt) {
            Err(Stop::Refused(reason)) if asked.keeps => {
                let header = header(asked.program, &machine, sim::box_name());
                let recorder = Recorder::<P>::begin(asked.folder, header)?;
                Ok(Err(Box::new(recorder.refuse(reason))))
            }
            chosen => Self::of(asked.on, sysfs, machine, chosen?).map(Ok),
        }
    }

    /// Reads the machine, finds a driver and chooses devices, for a command that keeps no record.
    ///
    /// # Errors
    /// What is asked for is not there.
    pub(crate) fn look(
        on: &DeviceArgs,
        name: &str,
        deadline: Duration,
        interrupt: &Interrupt,
    ) -> Result<(Self, Vec<Found>), Stop> {
        played::refuse_host(on.sim.as_deref(), on.backend)?;
        let (sysfs, machine) = read(on, &program::passing_folder(name))?;
        let chosen = choose(on.backend, &machine, deadline, interrupt)?;
        let begun = Self::of(on, sysfs, machine, chosen)?;
        let found = begun.select(on)?;
        Ok((begun, found))
    }

    fn of(on: &DeviceArgs, sysfs: Sysfs, machine: Machine, chosen: Chosen) -> Result<Self, Stop> {
        played::expect_soft(on.sim.as_deref(), &chosen)?;
        Ok(Self {
            sysfs,
            machine,
            chosen,
        })
    }

    /// The devices that `--gpus` names.
    ///
    /// # Errors
    /// One is not there.
    pub(crate) fn select(&self, on: &DeviceArgs) -> Result<Vec<Found>, Stop> {
        let (backend, inventory) = (self.chosen.backend, &self.chosen.inventory);
        inventory::select(on.gpus.as_deref(), backend, inventory).map_err(Stop::Usage)
    }

    /// What is known of these devices, in their order.
    pub(crate) fn describe(&self, found: &[Found]) -> Vec<LinkDevice> {
        let backend = self.chosen.backend;
        let one = |found| inventory::describe(found, backend, &self.sysfs, &self.machine);
        found.iter().map(one).collect()
    }

    /// What a record of this program says first.
    pub(crate) fn header(&self, program: &str) -> Header {
        let soft = self.chosen.inventory.soft_box.clone();
        header(program, &self.machine, soft)
    }

    /// Tells what there is to say of the driver.
    pub(crate) fn tell(&self, say: &dyn Fn(&str)) {
        self.chosen.said.iter().for_each(|line| say(line));
    }

    /// Tells what there is to say of the driver, and opens the record.
    ///
    /// # Errors
    /// The folder is taken or cannot be written to.
    pub(crate) fn record<P: Growing>(
        &self,
        asked: &Asked<'_>,
        say: &dyn Fn(&str),
    ) -> Result<Recorder<P>, Stop> {
        self.tell(say);
        Recorder::begin(asked.folder, self.header(asked.program))
    }
}

/// This machine or the simulated one, whose files go into the folder.
fn read(on: &DeviceArgs, folder: &Path) -> Result<(Sysfs, Machine), Stop> {
    let sysfs = played::sysfs(on.sim.as_deref(), folder, &[])?;
    let machine = Machine::read(&sysfs).context("reading sysfs")?;
    Ok((sysfs, machine))
}

fn header(program: &str, machine: &Machine, soft_box: Option<String>) -> Header {
    program::header(program, env!("CARGO_PKG_VERSION"), machine, soft_box)
}
