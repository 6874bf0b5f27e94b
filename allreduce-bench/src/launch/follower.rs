//! The copies from 1 on: each starts the process of its rank when the leader says so, and passes on what is asked and answered.
//!
//! It prints no result. It leaves when the leader says so, when a signal comes, and when the connection ends.

use std::io;
use std::net::{TcpStream, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use inventory::{choose, played};
use program::{Stop, passing_folder, provenance, say, sim};
use record::{Failure, exit};
use runner::child::SHORT_LADDER;
use runner::{Ending, Interrupt, Ladder, LineSink, Worker, WorkerSpec};
use topology::Machine;

use super::place::Place;
use super::seat::Seat;
use super::wire::{Order, Report, Wire, heard, sent};
use crate::cli::RunArgs;
use crate::messages::RankRequest;
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
pub(crate) fn follow(args: &RunArgs, place: &Place, interrupt: &Interrupt) -> u8 {
    if args.list || args.plan {
        return exit::DONE;
    }
    let outcome = follow_in(args, place, interrupt);
    sim::forget();
    let Err(stop) = outcome else {
        return exit::DONE;
    };
    let (code, reason) = in_words(&stop);
    for line in reason.lines() {
        say!("rank {}: {line}", place.rank);
    }
    code
}

/// The exit code and the words of what stopped this copy; a signal needs none.
fn in_words(stop: &Stop) -> (u8, String) {
    match stop {
        Stop::Usage(reason) => (exit::USAGE, reason.clone()),
        Stop::Refused(reason) => (exit::INCONCLUSIVE, reason.detail.clone()),
        Stop::Internal(error) => (exit::INTERNAL, format!("{error:#}")),
        Stop::Interrupted(signal) => (signal.exit_code(), String::new()),
    }
}

fn follow_in(args: &RunArgs, place: &Place, interrupt: &Interrupt) -> Result<(), Stop> {
    let seat = seat(args, place, interrupt);
    if let Err(Stop::Interrupted(signal)) = seat {
        return Err(Stop::Interrupted(signal));
    }
    let host = provenance::host().unwrap_or_default();
    let told = seat.as_ref().map(|seat| Box::new(seat.clone()));
    let hello = Report::Here {
        job: place.job.clone(),
        rank: place.rank,
        seat: told.map_err(|stop| {
            let (code, reason) = in_words(stop);
            (code, format!("on {host}: {reason}"))
        }),
    };
    let wire = reached(args, place, &hello, seat.is_ok(), interrupt)?;
    seat?;
    let mut desk = Desk {
        wire,
        library: args.ccl.clone(),
        worker: None,
    };
    let outcome = desk.work(interrupt);
    desk.end(SHORT_LADDER);
    if let Err(Stop::Interrupted(signal)) = outcome {
        // Where the leader is gone, too, nobody needs to know.
        drop(desk.wire.writer.put(&Report::Signalled(signal)));
    }
    outcome
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
    let (host, port) = address.map_err(Stop::Usage)?;
    let greet = || {
        let found = (host.as_str(), port).to_socket_addrs();
        let mut found = found.into_iter().flatten();
        let stream = found.find_map(|at| TcpStream::connect_timeout(&at, ATTEMPT).ok());
        let wire = stream.and_then(|stream| Wire::over(stream).ok());
        wire.filter(|wire| wire.writer.put(hello).is_ok())
    };
    let began = Instant::now();
    let mut greeted: Option<Wire> = None;
    while began.elapsed() <= wait {
        if let Some(signal) = interrupt.signal() {
            return Err(Stop::Interrupted(signal));
        }
        let Some(wire) = greeted.take().or_else(greet) else {
            std::thread::sleep(RETRY);
            continue;
        };
        if !is_welcome {
            return Ok(wire);
        }
        match wire.take(IDLE) {
            Ok(Some(Order::Welcome)) => return Ok(wire),
            Ok(Some(_)) => return Err(Stop::Refused("rank 0 ended before it measured".into())),
            Ok(None) => greeted = Some(wire),
            // A leader of another job closes the connection.
            Err(_) => std::thread::sleep(RETRY),
        }
    }
    let waited = wait.as_secs_f64();
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
    /// The library's file as this copy was told it: no file to load is taken from a connection.
    library: Option<PathBuf>,
    worker: Option<Worker>,
}

impl Desk {
    /// Carries out orders until it is told to leave.
    fn work(&mut self, interrupt: &Interrupt) -> Result<(), Stop> {
        loop {
            if let Some(signal) = interrupt.signal() {
                return Err(Stop::Interrupted(signal));
            }
            let idle = if self.worker.is_some() { TURN } else { IDLE };
            let done = match self.wire.take::<Order>(idle) {
                Ok(Some(Order::Leave)) => return Ok(()),
                Ok(Some(order)) => self.act(order),
                Ok(None) => self.pass_on(interrupt),
                Err(error) => Err(error),
            };
            if done.is_err() {
                return Err(Stop::Refused(
                    "the connection to rank 0 is lost; the process of this rank was ended".into(),
                ));
            }
        }
    }

    /// Ends the process, where there is one; whether it cannot be ended.
    fn end(&mut self, ladder: Ladder) -> bool {
        let worker = self.worker.take();
        worker.is_some_and(|mut worker| worker.end(ladder) == Ending::HangUnkillable)
    }

    fn act(&mut self, order: Order) -> io::Result<()> {
        let done = match order {
            Order::Welcome | Order::Leave => Ok(()),
            Order::Start { log } => self.start(log),
            Order::Ask(request) => self.ask(request),
            Order::End => {
                let is_hung = self.end(LADDER);
                return self.wire.writer.put(&Report::Ended { is_hung });
            }
        };
        done.or_else(|reason: Failure| self.wire.writer.put(&Report::Lost(reason)))
    }

    fn start(&mut self, log: bool) -> Result<(), Failure> {
        // One process at a time: what is left of the last group is killed.
        self.worker = None;
        let spec = WorkerSpec::this_program("the rank", [rank::CHILD]);
        let mut spec = spec.map_err(|error| error.to_string())?;
        spec.environment = rank::environment(log);
        if log {
            let writer = self.wire.writer.clone();
            let sink: LineSink = Arc::new(move |line: &str| {
                // A connection that is lost ends this copy.
                drop(writer.put(&Report::Line(line.to_owned())));
            });
            spec.noise = Some(sink);
        }
        let worker = Worker::spawn(spec).map_err(|error| error.to_string())?;
        self.worker = Some(worker);
        Ok(())
    }

    fn ask(&mut self, mut request: RankRequest) -> Result<(), Failure> {
        if let RankRequest::Open(open) = &mut request {
            open.library.clone_from(&self.library);
        }
        // That one was lost has been said.
        let worker = self.worker.as_mut();
        worker.map_or(Ok(()), |worker| sent(worker, &request))
    }

    /// Passes on what the rank says.
    fn pass_on(&mut self, interrupt: &Interrupt) -> io::Result<()> {
        let report = self
            .worker
            .as_mut()
            .and_then(|worker| heard(worker, TURN, interrupt));
        match report {
            // It is said when the process was ended.
            None | Some(Report::Signalled(_)) => Ok(()),
            Some(report) => {
                if let Report::Lost(_) = report {
                    self.worker = None;
                }
                self.wire.writer.put(&report)
            }
        }
    }
}
