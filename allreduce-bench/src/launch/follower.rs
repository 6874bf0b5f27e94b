//! The copies from 1 on: each starts the process of its rank when the leader says so, and passes on what is asked and answered.
//!
//! It prints no result. It leaves when the leader says so, when a signal comes, and when the leader gives no sign of life.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context;
use inventory::{choose, played};
use measure::exit;
use program::child::{SHORT_LADDER, last_line};
use program::{Stop, passing_folder, provenance, sim};
use supervisor::{Ending, Interrupt, Ladder, LineSink, Worker, WorkerSpec};
use topology::Machine;

use super::folder;
use super::link::{self, Heard};
use super::place::Place;
use super::post::{self, Beat, Inbox, Outbox, Pace, Pulse};
use super::seat::Seat;
use super::words::{Order, Report};
use crate::cli::RunArgs;
use crate::messages::RankReply;
use crate::rank;

/// How often it is passed on what the rank is doing, at most: each is a file.
const TELL: Duration = Duration::from_millis(200);

/// Works for the leader until the run is over, and gives the exit code.
pub(crate) fn follow(
    args: &RunArgs,
    place: &Place,
    interrupt: &Interrupt,
    say: &dyn Fn(&str),
) -> u8 {
    if args.list || args.plan {
        return exit::DONE;
    }
    let outcome = follow_in(args, place, interrupt);
    sim::forget();
    let (code, reason) = match outcome {
        Ok(()) => return exit::DONE,
        Err(Stop::Usage(reason)) => (exit::USAGE, reason),
        Err(Stop::Refused(reason)) => (exit::INCONCLUSIVE, reason),
        Err(Stop::Internal(error)) => (exit::INTERNAL, format!("{error:#}")),
        Err(Stop::Interrupted(signal)) => return signal.exit_code(),
    };
    for line in reason.lines() {
        say(&format!("rank {}: {line}", place.rank));
    }
    code
}

fn follow_in(args: &RunArgs, place: &Place, interrupt: &Interrupt) -> Result<(), Stop> {
    let folder = folder::meeting_place(place, &args.launch)?;
    let seat = match seat(args, place, interrupt) {
        Ok(seat) => Ok(seat),
        Err(Stop::Usage(reason)) => Err((exit::USAGE, reason)),
        Err(Stop::Refused(reason)) => Err((exit::INCONCLUSIVE, reason)),
        Err(other) => return Err(other),
    };
    let host = || provenance::host().unwrap_or_default();
    let hello = match &seat {
        Ok(seat) => Report::Here {
            seat: Box::new(seat.clone()),
        },
        Err((code, reason)) => Report::Refused {
            host: host(),
            code: *code,
            reason: reason.clone(),
        },
    };
    let mut desk = Desk::find(args, place, &folder, &hello, interrupt)?;
    if seat.is_ok() {
        return desk.work(interrupt);
    }
    // The leader says why.
    desk.leave(&Report::Left);
    match seat {
        Err((exit::USAGE, reason)) => Err(Stop::Usage(reason)),
        Err((_, reason)) => Err(Stop::Refused(reason)),
        Ok(_) => Ok(()),
    }
}

/// What this copy brings along.
fn seat(args: &RunArgs, place: &Place, interrupt: &Interrupt) -> Result<Seat, Stop> {
    played::refuse_host(args.sim.as_deref(), args.backend)?;
    let passing = passing_folder(&format!("allreduce-rank{}", place.rank));
    let sysfs = crate::parent::sysfs(args, &passing)?;
    let machine = Machine::read(&sysfs).context("reading sysfs")?;
    let chosen = choose(args.backend, &machine, args.deadline, interrupt)?;
    played::expect_soft(args.sim.as_deref(), &chosen)?;
    Seat::take(place, args.gpus.as_deref(), &chosen, &sysfs, &machine).map_err(Stop::Usage)
}

/// This copy's end of the wire, and what it has to do there.
struct Desk {
    folder: PathBuf,
    room: PathBuf,
    silence: Duration,
    inbox: Inbox,
    outbox: Outbox,
    pulse: Pulse,
    beat: Option<Beat>,
    charge: Option<Charge>,
}

/// The process of the rank.
struct Charge {
    group: u64,
    worker: Worker,
    /// Lines that it wrote and that were not passed on yet.
    lines: Arc<Mutex<Vec<String>>>,
    /// What it is doing, where that was not passed on yet.
    doing: Option<RankReply>,
    told: Instant,
}

impl Desk {
    /// Waits for the leader, says who this is, and waits for its first word.
    ///
    /// What an earlier run left in the folder looks like a leader until the right one has cleaned up, so this begins anew whenever
    /// another one calls.
    fn find(
        args: &RunArgs,
        place: &Place,
        folder: &Path,
        hello: &Report,
        interrupt: &Interrupt,
    ) -> Result<Self, Stop> {
        let (began, mut pace) = (Instant::now(), Pace::new());
        let mut desk: Option<Self> = None;
        while began.elapsed() <= args.launch.rendezvous_wait {
            if let Some(signal) = interrupt.signal() {
                return Err(Stop::Interrupted(signal));
            }
            if let Some(room) = folder::called(folder)?
                && desk.as_ref().is_none_or(|desk| desk.room != room)
            {
                // Where this goes wrong, the folder is being cleaned up: it is looked at again.
                desk = Self::at(args, place, folder, room, hello).ok();
            }
            if let Some(mut there) = desk.take() {
                match there.inbox.take::<Order>() {
                    Ok(Some(Order::Welcome)) => return Ok(there),
                    Ok(Some(_)) => {
                        there.leave(&Report::Left);
                        let reason = "rank 0 ended before it measured".to_owned();
                        return Err(Stop::Refused(reason));
                    }
                    Ok(None) | Err(_) => desk = Some(there),
                }
            }
            std::thread::sleep(pace.pause());
        }
        Err(Stop::Refused(folder::did_not_come(
            0,
            args.launch.rendezvous_wait,
            folder,
        )))
    }

    /// Moves in, and says who this is.
    fn at(
        args: &RunArgs,
        place: &Place,
        folder: &Path,
        room: PathBuf,
        hello: &Report,
    ) -> io::Result<Self> {
        let beat = Beat::start(&room, place.rank)?;
        let mut outbox = Outbox::at(post::from(&room, place.rank));
        outbox.put(hello)?;
        Ok(Self {
            folder: folder.to_owned(),
            silence: args.launch.rendezvous_silence,
            inbox: Inbox::at(post::to(&room, place.rank)),
            outbox,
            pulse: Pulse::of(&room, 0),
            beat: Some(beat),
            charge: None,
            room,
        })
    }

    /// Does what the leader says until it says that the run is over.
    fn work(&mut self, interrupt: &Interrupt) -> Result<(), Stop> {
        let mut pace = Pace::new();
        loop {
            if let Some(signal) = interrupt.signal() {
                let code = signal.exit_code();
                self.leave(&Report::Signalled { code });
                return Err(Stop::Interrupted(signal));
            }
            let did = match self.inbox.take::<Order>() {
                Ok(Some(Order::Leave)) => {
                    self.leave(&Report::Left);
                    return Ok(());
                }
                Ok(Some(order)) => self.act(order).map(|()| true),
                Ok(None) => self.pass_on(pace.pause(), interrupt),
                Err(error) => Err(error),
            };
            match did {
                Ok(true) => pace.hurry(),
                Ok(false) => {}
                Err(error) => {
                    let folder = self.folder.display();
                    return Err(Stop::Refused(format!(
                        "what rank 0 is told in {folder} and says there is lost: {error}; rank 0 has ended, or the disk is full"
                    )));
                }
            }
            let still = self.pulse.still();
            if still > self.silence {
                return Err(self.alone(still));
            }
        }
    }

    /// Ends all that is left where the leader is gone.
    fn alone(&mut self, still: Duration) -> Stop {
        self.end(SHORT_LADDER);
        self.beat = None;
        // Another leader may have come and cleaned up.
        if matches!(folder::called(&self.folder), Ok(Some(room)) if room == self.room) {
            folder::remove(&self.folder);
        }
        Stop::Refused(format!(
            "rank 0 gave no sign of life for {:.0} s; its process of the rank was ended",
            still.as_secs_f64()
        ))
    }

    /// Ends the rank and says the last word.
    fn leave(&mut self, word: &Report) {
        self.end(SHORT_LADDER);
        // From the last word on the leader may remove the folder.
        self.beat = None;
        drop(self.outbox.put(word));
    }

    /// Ends the rank's process; whether it cannot be ended.
    fn end(&mut self, ladder: Ladder) -> bool {
        let charge = self.charge.take();
        charge.is_some_and(|mut charge| charge.worker.end(ladder) == Ending::HangUnkillable)
    }

    fn act(&mut self, order: Order) -> io::Result<()> {
        match order {
            Order::Welcome | Order::Leave => Ok(()),
            Order::Start {
                group,
                environment,
                log,
            } => {
                // One process at a time: what is left of the last group is killed.
                self.charge = None;
                match Charge::start(group, environment, log) {
                    Ok(charge) => self.charge = Some(charge),
                    Err(reason) => self.outbox.put(&Report::Lost { group, reason })?,
                }
                Ok(())
            }
            Order::Ask { group, request } => {
                let sent = match self.of(group) {
                    Some(charge) => charge
                        .worker
                        .send(&request)
                        .map_err(|error| format!("{error}: {}", last_line(&charge.worker.tail()))),
                    // That it was lost has been said.
                    None => Ok(()),
                };
                match sent {
                    Ok(()) => Ok(()),
                    Err(reason) => self.outbox.put(&Report::Lost { group, reason }),
                }
            }
            Order::Abort { group } => {
                if let Some(charge) = self.of(group) {
                    charge.worker.abort();
                }
                Ok(())
            }
            Order::End { group, ladder } => {
                let [abort, term, kill] = ladder.map(Duration::from_millis);
                let unkillable = self.of(group).is_some() && self.end(Ladder { abort, term, kill });
                self.outbox.put(&Report::Ended { group, unkillable })
            }
        }
    }

    /// The process of a group, where it is still there.
    fn of(&mut self, group: u64) -> Option<&mut Charge> {
        self.charge.as_mut().filter(|charge| charge.group == group)
    }

    /// Passes on what comes from the rank, waiting for it at most so long; whether an answer came.
    fn pass_on(&mut self, wait: Duration, interrupt: &Interrupt) -> io::Result<bool> {
        let Some(charge) = &mut self.charge else {
            std::thread::sleep(wait);
            return Ok(false);
        };
        let group = charge.group;
        match link::heard(&mut charge.worker, wait, interrupt) {
            Heard::Reply(doing @ RankReply::Doing { .. }) => charge.doing = Some(doing),
            Heard::Reply(reply) => {
                if !matches!(reply, RankReply::Failed { .. }) {
                    charge.doing = None;
                }
                charge.flush(&mut self.outbox)?;
                self.outbox.put(&Report::Reply { group, reply })?;
                return Ok(true);
            }
            Heard::Lost(reason) => {
                charge.flush(&mut self.outbox)?;
                self.charge = None;
                self.outbox.put(&Report::Lost { group, reason })?;
                return Ok(true);
            }
            Heard::Silent | Heard::Interrupted(_) => {}
        }
        if charge.told.elapsed() >= TELL {
            charge.flush(&mut self.outbox)?;
        }
        Ok(false)
    }
}

impl Charge {
    fn start(group: u64, environment: Vec<(String, String)>, log: bool) -> Result<Self, String> {
        let spec = WorkerSpec::this_program("the rank", [rank::CHILD]);
        let mut spec = spec.map_err(|error| error.to_string())?;
        let environment = environment.into_iter();
        spec.environment = environment
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        let lines = Arc::new(Mutex::new(Vec::new()));
        if log {
            let kept = Arc::clone(&lines);
            let sink: LineSink = Arc::new(move |line: &str| locked(&kept).push(line.to_owned()));
            spec.noise = Some(sink);
        }
        Ok(Self {
            group,
            worker: Worker::spawn(spec).map_err(|error| error.to_string())?,
            lines,
            doing: None,
            told: Instant::now(),
        })
    }

    /// Passes on what has gathered.
    fn flush(&mut self, outbox: &mut Outbox) -> io::Result<()> {
        let (group, lines) = (self.group, std::mem::take(&mut *locked(&self.lines)));
        if !lines.is_empty() {
            outbox.put(&Report::Lines { group, lines })?;
        }
        if let Some(reply) = self.doing.take() {
            outbox.put(&Report::Reply { group, reply })?;
        }
        self.told = Instant::now();
        Ok(())
    }
}

/// A holder that panicked leaves whole lines.
fn locked(lines: &Mutex<Vec<String>>) -> MutexGuard<'_, Vec<String>> {
    lines.lock().unwrap_or_else(PoisonError::into_inner)
}
