//! A run of `p2p-bw load` from the command line to the record.

use std::time::Duration;

use inventory::{Built, Chosen, Found, caveats};
use measure::caveat::Caveat;
use measure::record::{LinkDevice, Links, LinksEvent};
use program::{Break, Ended, Recorder, Stop, result_folder};
use supervisor::Interrupt;
use topology::Machine;

use super::args::LoadArgs;
use super::messages::LoadRequest;
use super::{points, workers};
use crate::begun::{Asked, Begun};
use crate::parent::exit_code;
use crate::selection::selected;

/// Memory that is host memory is not all loaded by default.
const SOFT_BYTES: u64 = 16 << 20;
const HOST_BYTES: u64 = 64 << 20;

/// Bytes of a piece: of a GPU's memory, and of memory that is host memory.
const PIECE: u64 = 256 << 20;
const HOST_PIECE: u64 = 4 << 20;

/// What nobody shall believe was looked for.
const NOT_COVERED: &str = "not loaded: tensor or matrix cores, memory that others hold, links; no march over all of the memory and no power \
                           virus runs; the vendor's tests (DCGM diag, RVS) do that";

/// Loads what the command line asks for.
///
/// # Errors
/// What ended it before there was anything to keep.
pub(super) fn run(
    args: &LoadArgs,
    interrupt: &Interrupt,
    say: &dyn Fn(&str),
) -> Result<Ended, Stop> {
    let folder = result_folder(args.outputs.out.as_deref(), "load");
    let asked = Asked {
        sim: args.sim.as_deref(),
        backend: args.backend,
        deadline: args.deadline,
        folder: &folder,
        program: env!("CARGO_PKG_NAME"),
        keeps: true,
    };
    asked.run(|| run_in(args, &asked, interrupt, say))
}

fn run_in(
    args: &LoadArgs,
    asked: &Asked<'_>,
    interrupt: &Interrupt,
    say: &dyn Fn(&str),
) -> Result<Ended, Stop> {
    let begun = match Begun::find::<Links>(asked, |_| Ok(()), interrupt)? {
        Ok(begun) => begun,
        Err(refused) => return Ok(*refused),
    };
    let found = selected(args.gpus.as_deref(), &begun.chosen)?;
    let devices = begun.describe(&found);
    let mut session = Session {
        args,
        chosen: &begun.chosen,
        found: &found,
        interrupt,
        recorder: begun.record(asked, say)?,
    };
    let outcome = session.load(&begun.machine, devices, say);
    session.recorder.end(outcome, exit_code)
}

struct Session<'a> {
    args: &'a LoadArgs,
    chosen: &'a Chosen,
    found: &'a [Found],
    interrupt: &'a Interrupt,
    recorder: Recorder<Links>,
}

impl Session<'_> {
    fn load(
        &mut self,
        machine: &Machine,
        devices: Vec<LinkDevice>,
        say: &dyn Fn(&str),
    ) -> Result<(), Break> {
        let requests: Vec<LoadRequest> = self.found.iter().map(|one| self.request(one)).collect();
        let labels: Vec<String> = devices.iter().map(|device| device.label.clone()).collect();
        let notes = caveats::busy(&devices)
            .chain(caveats::said(self.chosen))
            .chain([Caveat::Note {
                text: NOT_COVERED.to_owned(),
            }]);
        let notes: Vec<Caveat> = notes.collect();
        self.recorder.add(LinksEvent::Found {
            machine: Box::new(machine.clone()),
            backend: inventory::backend(self.chosen),
            devices,
            paths: Vec::new(),
        })?;
        for caveat in notes {
            self.recorder.add(LinksEvent::Caveat { caveat })?;
        }
        say(&format!(
            "loading {} for {:.0} s",
            labels.join(", "),
            self.args.duration.as_secs_f64()
        ));
        let told = |number: usize, text: &str| say(&format!("{}: {text}", labels[number]));
        let seconds = self.args.duration.as_secs_f64();
        let goes_on = |so_far: Duration| {
            say(&format!("{:.0} of {seconds:.0} s", so_far.as_secs_f64()));
        };
        let (came, signal) = workers::load(
            &requests,
            self.args.deadline,
            self.interrupt,
            &told,
            &goes_on,
        )?;
        for (position, came) in came.into_iter().enumerate() {
            let asked = requests[position].bytes.unwrap_or_default();
            for point in points::points(position, came, asked) {
                let point = Box::new(point);
                self.recorder.add(LinksEvent::Point { point })?;
            }
        }
        signal.map_or(Ok(()), |signal| Err(Break::Signal(signal)))
    }

    fn request(&self, found: &Found) -> LoadRequest {
        let by_default = match (&self.chosen.inventory.soft_box, self.chosen.backend) {
            (Some(_), _) => Some(SOFT_BYTES),
            (None, Built::Host) => Some(HOST_BYTES),
            (None, _) => None,
        };
        LoadRequest {
            backend: self.chosen.backend,
            ordinal: found.ordinal,
            bytes: self.args.memory.map(|size| size.0).or(by_default),
            piece_bytes: by_default.map_or(PIECE, |_| HOST_PIECE),
            seconds: self.args.duration.as_secs_f64(),
        }
    }
}
