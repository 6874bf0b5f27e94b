//! How a command begins and what it leaves where nothing began: the flags by which it chooses devices, the machine and its driver, and
//! a record; where no driver answers, that is the record. It measures nothing.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use inventory::{BackendArg, Built, Chosen, Found, choose, played};
use program::command_line::seconds;
use program::outputs::Outputs;
use program::show::Show;
use program::{Effort, Ended, Recorder, Stop, passing_folder, result_folder, say, sim};
use record::unit::{ByteCount, parse_sizes};
use record::{Failure, Growing, Header, LinkDevice};
use runner::Interrupt;
use topology::{Machine, Sysfs};
use view::csv;

/// The program in the header of a record.
pub(crate) const PROGRAM: &str = env!("CARGO_PKG_NAME");

/// Which devices, and whose.
#[derive(Debug, Clone, Args)]
pub(crate) struct DeviceArgs {
    /// Devices: indexes, PCI addresses, UUIDs or MIG UUIDs, separated by commas, or `all`. Default: `all`, on the host
    /// backend `0,1`.
    #[arg(long, value_name = "LIST", allow_negative_numbers = true)]
    pub(crate) gpus: Option<String>,

    /// Whose driver to use. `auto` takes the first that answers, in the order of this list; host memory only on a machine
    /// that shows no GPU at all.
    #[arg(long, value_enum, default_value_t = BackendArg::Auto)]
    pub(crate) backend: BackendArg,

    /// Use a simulated machine instead of this machine's devices: a built-in name or a machine file. Its numbers are
    /// arithmetic, never measurements.
    #[arg(long, value_name = "NAME")]
    pub(crate) sim: Option<String>,
}

/// How long a measurement may take, and where its result goes.
#[derive(Debug, Clone, Args)]
pub(crate) struct RunningArgs {
    /// Seconds without progress after which a measurement counts as hung and its process is ended.
    #[arg(long, value_name = "SECONDS", default_value = "20", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) deadline: Duration,

    #[command(flatten)]
    pub(crate) outputs: Outputs,
}

/// How often each number is measured.
#[derive(Debug, Clone, Args)]
pub(crate) struct SamplingArgs {
    /// Timed samples of each number at most; at least 6 are taken where this allows, so that there is an interval.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100_000), allow_negative_numbers = true)]
    pub(crate) samples: u32,

    /// Seconds to aim at for all samples together; 6 samples of each number are taken even when that takes longer.
    /// Default: 30, for `numa` 60.
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) budget: Option<Duration>,
}

/// One size, for clap.
pub(crate) fn one_size(text: &str) -> Result<ByteCount, String> {
    match parse_sizes(text).map_err(|error| error.to_string())?[..] {
        [size] => Ok(size),
        _ => Err(format!("`{text}` is several sizes; give one")),
    }
}

/// A command that leaves a record of a program, in a folder named by `name` where no name was given: finds the devices and lets `run`
/// measure, prints the record, and gives the exit code.
///
/// # Errors
/// What ended it before there was anything to keep.
pub(crate) fn recorded<P: Growing>(
    (on, running): (&DeviceArgs, &RunningArgs),
    (program, name): (&str, &str),
    (interrupt, show): (&Interrupt, Show),
    run: impl FnOnce(&Begun) -> Result<Ended, Stop>,
) -> Result<u8, Stop> {
    let outputs = &running.outputs;
    outputs.check().map_err(Stop::Usage)?;
    let folder = result_folder(outputs.out.as_deref(), name);
    let found = Begun::find(on, (folder.clone(), &[]), running.deadline, interrupt);
    let ended = found.and_then(|found| match found {
        Ok(begun) => run(&begun),
        Err(none) => {
            let header = header(program, &none.machine, sim::box_name());
            Ok(Recorder::<P>::begin(&folder, header)?.refuse(none.reason))
        }
    });
    sim::forget();
    Ok(outputs.finish(&ended?, csv::links, show))
}

/// A machine whose driver answered, and the devices that were chosen.
pub(crate) struct Begun {
    /// Its sysfs, or that of the simulated machine.
    pub(crate) sysfs: Sysfs,
    pub(crate) machine: Machine,
    /// The driver.
    pub(crate) chosen: Chosen,
    /// The devices that `--gpus` names, as the driver tells of them.
    pub(crate) found: Vec<Found>,
    /// The same as the record has them.
    pub(crate) devices: Vec<LinkDevice>,
    folder: PathBuf,
}

/// A machine none of whose drivers answers, and why.
pub(crate) struct Undriven {
    pub(crate) sysfs: Sysfs,
    pub(crate) machine: Machine,
    pub(crate) reason: Failure,
}

impl Begun {
    /// The same for a command that keeps no record.
    ///
    /// # Errors
    /// What is asked for is not there.
    pub(crate) fn look(
        on: &DeviceArgs,
        name: &str,
        deadline: Duration,
        interrupt: &Interrupt,
    ) -> Result<Self, Stop> {
        let found = Self::find(on, (passing_folder(name), &[]), deadline, interrupt)?;
        found.map_err(|none| Stop::Refused(none.reason))
    }

    /// Reads the machine, this one or the simulated one, whose files go into the folder and which has these libraries besides, finds a
    /// driver and chooses devices.
    ///
    /// # Errors
    /// What is asked for is not there.
    pub(crate) fn find(
        on: &DeviceArgs,
        (folder, libraries): (PathBuf, &[&str]),
        deadline: Duration,
        interrupt: &Interrupt,
    ) -> Result<Result<Self, Undriven>, Stop> {
        played::refuse_host(on.sim.as_deref(), on.backend)?;
        let sysfs = played::sysfs(on.sim.as_deref(), &folder, libraries)?;
        let machine = Machine::read(&sysfs).context("reading sysfs")?;
        let chosen = match choose(on.backend, &machine, deadline, interrupt) {
            Err(Stop::Refused(reason)) => {
                return Ok(Err(Undriven {
                    sysfs,
                    machine,
                    reason,
                }));
            }
            chosen => chosen?,
        };
        played::expect_soft(on.sim.as_deref(), &chosen)?;
        let found = inventory::select(on.gpus.as_deref(), chosen.backend, &chosen.inventory);
        let found = found.map_err(Stop::Usage)?;
        let one = |found| inventory::describe(found, chosen.backend, &sysfs, &machine);
        Ok(Ok(Self {
            devices: found.iter().map(one).collect(),
            found,
            sysfs,
            machine,
            chosen,
            folder,
        }))
    }

    /// Whether the machine is a simulated one.
    pub(crate) fn is_soft(&self) -> bool {
        self.chosen.inventory.soft_box.is_some()
    }

    /// Whether the devices are host memory.
    pub(crate) fn is_host(&self) -> bool {
        self.chosen.backend == Built::Host
    }

    /// How much is copied.
    pub(crate) fn effort(&self) -> &'static Effort {
        Effort::of(self.is_soft())
    }

    /// A device's label.
    pub(crate) fn label(&self, position: usize) -> &str {
        &self.devices[position].label
    }

    /// What a record of this program says first.
    pub(crate) fn header(&self, program: &str) -> Header {
        let soft = self.chosen.inventory.soft_box.clone();
        header(program, &self.machine, soft)
    }

    /// Tells what there is to say of the driver.
    pub(crate) fn tell(&self) {
        self.chosen.said.iter().for_each(|line| say!("{line}"));
    }

    /// Tells what there is to say of the driver, and opens the record.
    ///
    /// # Errors
    /// The folder is taken or cannot be written to.
    pub(crate) fn record<P: Growing>(&self, program: &str) -> Result<Recorder<P>, Stop> {
        self.tell();
        Recorder::begin(&self.folder, self.header(program))
    }
}

fn header(program: &str, machine: &Machine, soft_box: Option<String>) -> Header {
    program::header(program, env!("CARGO_PKG_VERSION"), machine, soft_box)
}
