//! The copies from 1 on: each starts the process of its rank when the leader says so, and passes on what is asked and answered.
//!
//! It prints no result. It leaves when the leader says so, when a signal comes, and when the connection ends.

use std::io;
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use inventory::{choose, played};
use program::{Stop, passing_folder, provenance, sim};
use record::{allowed_environment, exit};
use runner::child::{SHORT_LADDER, last_line};
use runner::{Ending, Interrupt, Ladder, LineSink, Worker, WorkerSpec};
use topology::Machine;

use super::leader::addresses;
use super::link::{Heard, heard};
use super::owner;
use super::place::Place;
use super::seat::Seat;
use super::wire::Wire;
use super::words::{Order, Report};
use crate::cli::RunArgs;
use crate::rank;

/// Between two attempts to reach rank 0, and the longest that one takes.
const RETRY: Duration = Duration::from_millis(100);
const ATTEMPT: Duration = Duration::from_secs(2);

/// How long it listens to one side before the other: to rank 0 alone, and beside its own process.
const IDLE: Duration = Duration::from_millis(100);
const TURN: Duration = Duration::from_millis(2);

/// A rank that waits inside the library does not see that it is asked to leave.
const LADDER: Ladder = Ladder {
    abort: Duration::from_secs(2),
    term: Duration::from_secs(2),
    kill: Duration::from_secs(10),
};

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
        Err(Stop::Refused(reason)) => (exit::INCONCLUSIVE, reason.detail),
        Err(Stop::Internal(error)) => (exit::INTERNAL, format!("{error:#}")),
        Err(Stop::Interrupted(signal)) => return signal.exit_code(),
    };
    for line in reason.lines() {
        say(&format!("rank {}: {line}", place.rank));
    }
    code
}

fn follow_in(args: &RunArgs, place: &Place, interrupt: &Interrupt) -> Result<(), Stop> {
    let seat = seat(args, place, interrupt);
    let (job, rank) = (place.job.clone(), place.rank);
    let refused = |code, reason: &str| Report::Refused {
        job: place.job.clone(),
        rank,
        host: provenance::host().unwrap_or_default(),
        code,
        reason: reason.to_owned(),
    };
    let hello = match &seat {
        Ok(seat) => Report::Here {
            job,
            rank,
            seat: Box::new(seat.clone()),
        },
        Err(Stop::Usage(reason)) => refused(exit::USAGE, reason),
        Err(Stop::Refused(reason)) => refused(exit::INCONCLUSIVE, &reason.detail),
        Err(Stop::Internal(error)) => refused(exit::INTERNAL, &format!("{error:#}")),
        Err(Stop::Interrupted(_)) => return seat.map(drop),
    };
    let wire = reached(args, place, &hello, seat.is_ok(), interrupt)?;
    seat?;
    Desk { wire, charge: None }.work(interrupt)
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

/// The connection to rank 0, which knows this copy then.
fn reached(
    args: &RunArgs,
    place: &Place,
    hello: &Report,
    is_welcome: bool,
    interrupt: &Interrupt,
) -> Result<Wire, Stop> {
    let wait = args.launch.rendezvous_wait;
    let address = place.address(args.launch.rendezvous.as_deref());
    let address = address.map_err(Stop::Usage)?;
    let began = Instant::now();
    while began.elapsed() <= wait {
        let mut found = addresses(&address).into_iter();
        let stream = found.find_map(|at| {
            let stream = TcpStream::connect_timeout(&at, ATTEMPT).ok()?;
            owner::listens_for_this_user(at).then_some(stream)
        });
        let wire = stream.and_then(|stream| Wire::over(stream).ok());
        if let Some(wire) = wire.filter(|wire| wire.put(hello).is_ok()) {
            if !is_welcome {
                return Ok(wire);
            }
            // A leader of another job closes the connection.
            while began.elapsed() <= wait {
                match wire.take::<Order>(IDLE) {
                    Ok(Some(Order::Welcome)) => return Ok(wire),
                    Ok(Some(_)) => {
                        return Err(Stop::Refused("rank 0 ended before it measured".into()));
                    }
                    Ok(None) => {}
                    Err(_) => break,
                }
                if let Some(signal) = interrupt.signal() {
                    return Err(Stop::Interrupted(signal));
                }
            }
        }
        if let Some(signal) = interrupt.signal() {
            return Err(Stop::Interrupted(signal));
        }
        std::thread::sleep(RETRY);
    }
    let ((host, port), waited) = (address, wait.as_secs_f64());
    Err(Stop::Refused(
        format!(
            "rank 0 did not answer at {host}:{port} within {waited:.0} s; was it started? its host is named with --rendezvous"
        )
        .into(),
    ))
}

/// This copy's end of the connection, and the process of its rank.
struct Desk {
    wire: Wire,
    charge: Option<Charge>,
}

/// The process of this copy's rank in one group.
struct Charge {
    group: u64,
    worker: Worker,
}

impl Desk {
    /// Carries out orders.
    fn work(&mut self, interrupt: &Interrupt) -> Result<(), Stop> {
        loop {
            if let Some(signal) = interrupt.signal() {
                self.end(SHORT_LADDER);
                let code = signal.exit_code();
                // Where the leader is gone, too, nobody needs to know.
                drop(self.wire.put(&Report::Signalled { code }));
                return Err(Stop::Interrupted(signal));
            }
            let idle = if self.charge.is_some() { TURN } else { IDLE };
            let done = match self.wire.take::<Order>(idle) {
                Ok(Some(Order::Leave)) => {
                    self.end(SHORT_LADDER);
                    return Ok(());
                }
                Ok(Some(order)) => self.act(order),
                Ok(None) => self.pass_on(interrupt),
                Err(error) => Err(error),
            };
            if done.is_err() {
                self.end(SHORT_LADDER);
                return Err(Stop::Refused(
                    "the connection to rank 0 is lost; the process of this rank was ended".into(),
                ));
            }
        }
    }

    /// Ends the process, where there is one; whether it cannot be ended.
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
                match self.start(group, environment, log) {
                    Ok(worker) => self.charge = Some(Charge { group, worker }),
                    Err(reason) => self.wire.put(&Report::Lost { group, reason })?,
                }
                Ok(())
            }
            Order::Ask { group, request } => {
                // That one of an earlier group was lost has been said.
                let Some(charge) = self.of(group) else {
                    return Ok(());
                };
                let sent = charge.worker.send(&request);
                let Err(error) = sent else { return Ok(()) };
                let reason = format!("{error}: {}", last_line(&charge.worker.tail()));
                self.wire.put(&Report::Lost { group, reason })
            }
            Order::End { group } => {
                let is_hung = self.of(group).is_some() && self.end(LADDER);
                self.wire.put(&Report::Ended { group, is_hung })
            }
        }
    }

    fn of(&mut self, group: u64) -> Option<&mut Charge> {
        self.charge.as_mut().filter(|charge| charge.group == group)
    }

    fn start(
        &self,
        group: u64,
        environment: Vec<(String, String)>,
        log: bool,
    ) -> Result<Worker, String> {
        let spec = WorkerSpec::this_program("the rank", [rank::CHILD]);
        let mut spec = spec.map_err(|error| error.to_string())?;
        // The leader sends what it sets; nothing else is taken from a connection.
        let environment = allowed_environment(environment).into_iter();
        spec.environment = environment
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        if log {
            let writer = self.wire.writer();
            let sink: LineSink = Arc::new(move |line: &str| {
                let line = line.to_owned();
                // A connection that is lost ends this copy.
                drop(writer.put(&Report::Line { group, line }));
            });
            spec.noise = Some(sink);
        }
        Worker::spawn(spec).map_err(|error| error.to_string())
    }

    /// Passes on what the rank says.
    fn pass_on(&mut self, interrupt: &Interrupt) -> io::Result<()> {
        let Some(charge) = &mut self.charge else {
            return Ok(());
        };
        let group = charge.group;
        match heard(&mut charge.worker, TURN, interrupt) {
            Heard::Reply(reply) => self.wire.put(&Report::Reply { group, reply }),
            Heard::Lost(reason) => {
                self.charge = None;
                let reason = reason.detail;
                self.wire.put(&Report::Lost { group, reason })
            }
            Heard::Silent | Heard::Interrupted(_) => Ok(()),
        }
    }
}
