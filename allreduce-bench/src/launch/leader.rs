//! Copy 0: opens the folder, waits for the followers, and holds a wire to each for as long as the run lasts.

use std::cell::{Cell, RefCell};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Context;
use inventory::{Chosen, Found};
use measure::private::make_new_folder;
use measure::record::{LauncherFacts, LinkDevice, PairPath};
use program::Stop;
use supervisor::Interrupt;
use topology::{Machine, Sysfs};

use super::args::LaunchArgs;
use super::folder;
use super::place::Place;
use super::post::{self, Beat, Inbox, Outbox, Pace, Pulse};
use super::seat::{self, Seat};
use super::words::{Order, Report};
use crate::cli::RunArgs;

/// For how long followers are waited for at the end: those that work, and those that never came and may be on their way.
const GOODBYE: Duration = Duration::from_secs(5);
const LATE: Duration = Duration::from_secs(2);

/// The side of a job that measures.
pub(crate) struct Leader {
    place: Place,
    wait: Duration,
    silence: Duration,
    folder: PathBuf,
    /// The counter stops before the folder goes away.
    beat: Option<Beat>,
    /// To followers, from rank 1 on.
    wires: Vec<RefCell<Wire>>,
    /// One a rank once all came.
    seats: Vec<Seat>,
    groups: Cell<u64>,
}

/// The way to one follower.
struct Wire {
    outbox: Outbox,
    inbox: Inbox,
    pulse: Pulse,
    /// It came.
    is_known: bool,
    /// Why it is of no more use.
    gone: Option<String>,
}

impl Leader {
    /// Makes the folder and calls the followers.
    ///
    /// # Errors
    /// There is no folder to meet in, or it is not this user's.
    pub(crate) fn open(place: Place, args: &LaunchArgs) -> Result<Self, Stop> {
        let folder = folder::meeting_place(&place, args)?;
        let room = folder::begin(&folder)?;
        let made = || format!("in the folder {}", room.display());
        let mut wires = Vec::new();
        for rank in 1..place.size {
            let (to, from) = (post::to(&room, rank), post::from(&room, rank));
            make_new_folder(&to)
                .and_then(|()| make_new_folder(&from))
                .with_context(made)?;
            wires.push(RefCell::new(Wire {
                outbox: Outbox::at(to),
                inbox: Inbox::at(from),
                pulse: Pulse::of(&room, rank),
                is_known: false,
                gone: None,
            }));
        }
        let beat = Beat::start(&room, 0).with_context(made)?;
        folder::call(&folder, &room).with_context(made)?;
        Ok(Self {
            place,
            wait: args.rendezvous_wait,
            silence: args.rendezvous_silence,
            folder,
            beat: Some(beat),
            wires,
            seats: Vec::new(),
            groups: Cell::new(0),
        })
    }

    /// Waits until every rank has said with what it works, and gives the device of each by its own host's indexes.
    ///
    /// # Errors
    /// One did not come, could not work, or has something else than the others ([`Stop::Refused`], or [`Stop::Usage`] where the
    /// command line is to blame); a signal came.
    pub(crate) fn gather(
        &mut self,
        args: &RunArgs,
        chosen: &Chosen,
        sysfs: &Sysfs,
        machine: &Machine,
        interrupt: &Interrupt,
    ) -> Result<Vec<Found>, Stop> {
        let (size, launcher) = (self.place.size, self.place.launcher);
        if let Some(tp) = args.tp.filter(|tp| *tp != size) {
            return Err(Stop::Usage(format!(
                "--tp {tp} and the {size} ranks that {launcher} started contradict each other: start {tp}, or leave --tp out"
            )));
        }
        let own = Seat::take(&self.place, args.gpus.as_deref(), chosen, sysfs, machine);
        let own = own.map_err(Stop::Usage)?;
        self.wait_for_all(own, interrupt)?;
        seat::disagreement(&self.seats).map_or(Ok(()), |reason| Err(Stop::Usage(reason)))?;
        Ok(self.seats.iter().map(|seat| seat.found.clone()).collect())
    }

    fn wait_for_all(&mut self, own: Seat, interrupt: &Interrupt) -> Result<(), Stop> {
        let mut seats: Vec<Option<Seat>> = vec![None; self.wires.len()];
        let (began, mut pace) = (Instant::now(), Pace::new());
        while let Some(missing) = seats.iter().position(Option::is_none) {
            if let Some(signal) = interrupt.signal() {
                return Err(Stop::Interrupted(signal));
            }
            for (index, seat) in seats
                .iter_mut()
                .enumerate()
                .filter(|(_, seat)| seat.is_none())
            {
                let rank = rank_of(index);
                *seat = self.arrival(rank)?;
                if seat.is_some() {
                    pace.hurry();
                }
            }
            if began.elapsed() > self.wait {
                let rank = rank_of(missing);
                return Err(Stop::Refused(folder::did_not_come(
                    rank,
                    self.wait,
                    &self.folder,
                )));
            }
            std::thread::sleep(pace.pause());
        }
        self.seats = [own]
            .into_iter()
            .chain(seats.into_iter().flatten())
            .collect();
        Ok(())
    }

    /// What a follower that has not come yet brings along, where it came now.
    fn arrival(&self, rank: u32) -> Result<Option<Seat>, Stop> {
        let refused = |reason: String| Stop::Refused(format!("rank {rank}: {reason}"));
        match self.take(rank).map_err(refused)? {
            Some(Report::Here { seat }) => {
                self.wire(rank).borrow_mut().is_known = true;
                self.put(rank, &Order::Welcome).map_err(refused)?;
                Ok(Some(*seat))
            }
            Some(Report::Refused { host, code, reason }) => {
                let told = format!("rank {rank} on {host}: {reason}");
                Err(if code == measure::exit::USAGE {
                    Stop::Usage(told)
                } else {
                    Stop::Refused(told)
                })
            }
            Some(other) => Err(refused(format!("it began with {other:?}"))),
            None => Ok(None),
        }
    }

    /// The device of each rank in the record's terms.
    pub(crate) fn devices(&self) -> Vec<LinkDevice> {
        self.seats.iter().map(|seat| seat.device.clone()).collect()
    }

    /// The paths between devices of the same host.
    pub(crate) fn paths(&self) -> Vec<PairPath> {
        seat::paths(&self.seats)
    }

    /// Why one process cannot ask the driver about all ranks' devices; `None` where it can.
    pub(crate) fn not_one_driver(&self) -> Option<String> {
        let (first, others) = self.seats.split_first()?;
        if others.iter().any(|seat| seat.host != first.host) {
            return Some("the ranks are on several hosts".to_owned());
        }
        let ordinal = |seat: &Seat| seat.found.ordinal;
        let hidden = |seat: &&Seat| {
            others
                .iter()
                .chain([first])
                .filter(|other| ordinal(other) == ordinal(seat))
                .count()
                > 1
        };
        others
            .iter()
            .find(hidden)
            .map(|_| "the launcher shows each rank its own device only".to_owned())
    }

    /// What the record says of the launcher.
    pub(crate) fn facts(&self) -> LauncherFacts {
        LauncherFacts {
            name: self.place.launcher.to_owned(),
            hosts: self.seats.iter().map(|seat| seat.host.clone()).collect(),
        }
    }

    /// The number of a new group of processes.
    pub(super) fn next_group(&self) -> u64 {
        self.groups.set(self.groups.get() + 1);
        self.groups.get()
    }

    fn wire(&self, rank: u32) -> &RefCell<Wire> {
        &self.wires[rank as usize - 1]
    }

    /// Tells a follower something; the error says why it cannot be told.
    pub(super) fn put(&self, rank: u32, order: &Order) -> Result<(), String> {
        let mut wire = self.wire(rank).borrow_mut();
        if let Some(gone) = &wire.gone {
            return Err(gone.clone());
        }
        let put = wire.outbox.put(order);
        put.map_err(|error| wire.lose(format!("it cannot be told anything: {error}")))
    }

    /// What a follower said next, if anything; the error says why it says nothing any more.
    pub(super) fn take(&self, rank: u32) -> Result<Option<Report>, String> {
        let mut wire = self.wire(rank).borrow_mut();
        if let Some(gone) = &wire.gone {
            return Err(gone.clone());
        }
        match wire.inbox.take::<Report>() {
            Ok(None) => {}
            Ok(Some(report)) => {
                if let Report::Signalled { .. } = report {
                    wire.lose("a signal ended it".to_owned());
                }
                return Ok(Some(report));
            }
            Err(error) => {
                return Err(wire.lose(format!("what it said was not understood: {error}")));
            }
        }
        let still = wire.pulse.still();
        if wire.is_known && still > self.silence {
            let host = self
                .seats
                .get(rank as usize)
                .map_or("its host", |seat| seat.host.as_str());
            let seconds = still.as_secs_f64();
            return Err(wire.lose(format!(
                "its copy of this program on {host} gave no sign of life for {seconds:.0} s"
            )));
        }
        Ok(None)
    }

    /// Tells all followers that the run is over, and waits for them for a while.
    fn say_goodbye(&self) {
        let mut waited_for = Vec::new();
        for rank in 1..self.place.size {
            let mut wire = self.wire(rank).borrow_mut();
            // Also those that are of no more use are told, and not waited for.
            if wire.outbox.put(&Order::Leave).is_ok() && wire.gone.is_none() {
                waited_for.push(rank);
            }
        }
        let (began, mut pace) = (Instant::now(), Pace::new());
        loop {
            waited_for.retain(|rank| {
                let limit = if self.wire(*rank).borrow().is_known {
                    GOODBYE
                } else {
                    LATE
                };
                let has_left = match self.take(*rank) {
                    Ok(Some(report)) => {
                        matches!(
                            report,
                            Report::Left | Report::Refused { .. } | Report::Signalled { .. }
                        )
                    }
                    Ok(None) => false,
                    Err(_) => true,
                };
                !has_left && began.elapsed() < limit
            });
            if waited_for.is_empty() {
                return;
            }
            std::thread::sleep(pace.pause());
        }
    }
}

impl Wire {
    /// Notes why it is of no more use, and gives that back.
    fn lose(&mut self, reason: String) -> String {
        self.gone = Some(reason.clone());
        reason
    }
}

impl Drop for Leader {
    fn drop(&mut self) {
        self.say_goodbye();
        self.beat = None;
        folder::remove(&self.folder);
    }
}

fn rank_of(index: usize) -> u32 {
    u32::try_from(index + 1).unwrap_or(u32::MAX)
}
