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
use program::{Stop, passing_folder, provenance, sim};
use record::exit;
use runner::child::{SHORT_LADDER, last_line};
use runner::{Ending, Interrupt, Ladder, LineSink, Worker, WorkerSpec};
use topology::Machine;

use super::link::{Heard, heard};
use super::place::Place;
use super::seat::Seat;
use super::wire::{Order, Report, Wire};
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
        Err(Stop::Interrupted(signal)) => return signal.exit_code(),
        Err(stop) => in_words(&stop),
    };
    for line in reason.lines() {
        say(&format!("rank {}: {line}", place.rank));
    }
    code
}

/// The exit code and the words of what stopped this copy.
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
    if let Err(Stop::Interrupted(signal)) = &seat {
        return Err(Stop::Interrupted(*signal));
    }
    let host = provenance::host().unwrap_or_default();
    let hello = Report::Here {
        job: place.job.clone(),
        rank: place.rank,
        seat: match &seat {
            Ok(seat) => Ok(Box::new(seat.clone())),
            Err(stop) => {
                let (code, reason) = in_words(stop);
                Err((code, format!("on {host}: {reason}")))
            }
        },
    };
    let wire = reached(args, place, &hello, seat.is_ok(), interrupt)?;
    seat?;
    let mut desk = Desk {
        wire,
        library: args.ccl.clone(),
        worker: None,
    };
    desk.work(interrupt)
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
    let began = Instant::now();
    let mut greeted: Option<Wire> = None;
    while began.elapsed() <= wait {
        if let Some(signal) = interrupt.signal() {
            return Err(Stop::Interrupted(signal));
        }
        let Some(wire) = &greeted else {
            let found = (host.as_str(), port).to_socket_addrs();
            let mut found = found.into_iter().flatten();
            let stream = found.find_map(|at| TcpStream::connect_timeout(&at, ATTEMPT).ok());
            let wire = stream.and_then(|stream| Wire::over(stream).ok());
            greeted = wire.filter(|wire| wire.put(hello).is_ok());
            match greeted {
                Some(wire) if !is_welcome => return Ok(wire),
                Some(_) => {}
                None => std::thread::sleep(RETRY),
            }
            continue;
        };
        match wire.take(IDLE) {
            Ok(Some(Order::Welcome)) => break,
            Ok(Some(_)) => return Err(Stop::Refused("rank 0 ended before it measured".into())),
            Ok(None) => {}
            // A leader of another job closes the connection.
            Err(_) => {
                greeted = None;
                std::thread::sleep(RETRY);
            }
        }
    }
    let waited = wait.as_secs_f64();
    greeted.filter(|_| began.elapsed() <= wait).ok_or_else(|| {
        Stop::Refused(
            format!(
                "rank 0 did not answer at {host}:{port} within {waited:.0} s; was it started? its host is named with --rendezvous"
            )
            .into(),
        )
    })
}

/// This copy's end of the connection, and the process of its rank.
struct Desk {
    wire: Wire,
    /// The library's file as this copy was told it: no file to load is taken from a connection.
    library: Option<PathBuf>,
    worker: Option<Worker>,
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
            let idle = if self.worker.is_some() { TURN } else { IDLE };
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
        let worker = self.worker.take();
        worker.is_some_and(|mut worker| worker.end(ladder) == Ending::HangUnkillable)
    }

    fn act(&mut self, order: Order) -> io::Result<()> {
        match order {
            Order::Welcome | Order::Leave => Ok(()),
            Order::Start { log } => {
                // One process at a time: what is left of the last group is killed.
                self.worker = None;
                match self.start(log) {
                    Ok(worker) => self.worker = Some(worker),
                    Err(reason) => self.wire.put(&Report::Lost(reason))?,
                }
                Ok(())
            }
            Order::Ask(mut request) => {
                if let RankRequest::Open { library, .. } = &mut request {
                    library.clone_from(&self.library);
                }
                // That one was lost has been said.
                let Some(worker) = &mut self.worker else {
                    return Ok(());
                };
                let Err(error) = worker.send(&request) else {
                    return Ok(());
                };
                let reason = format!("{error}: {}", last_line(&worker.tail()));
                self.wire.put(&Report::Lost(reason))
            }
            Order::End => {
                let is_hung = self.end(LADDER);
                self.wire.put(&Report::Ended { is_hung })
            }
        }
    }

    fn start(&self, log: bool) -> Result<Worker, String> {
        let spec = WorkerSpec::this_program("the rank", [rank::CHILD]);
        let mut spec = spec.map_err(|error| error.to_string())?;
        spec.environment = rank::environment(log);
        if log {
            let writer = self.wire.writer();
            let sink: LineSink = Arc::new(move |line: &str| {
                // A connection that is lost ends this copy.
                drop(writer.put(&Report::Line(line.to_owned())));
            });
            spec.noise = Some(sink);
        }
        Worker::spawn(spec).map_err(|error| error.to_string())
    }

    /// Passes on what the rank says.
    fn pass_on(&mut self, interrupt: &Interrupt) -> io::Result<()> {
        let Some(worker) = &mut self.worker else {
            return Ok(());
        };
        match heard(worker, TURN, interrupt) {
            Heard::Reply(reply) => self.wire.put(&Report::Reply(reply)),
            Heard::Lost(reason) => {
                self.worker = None;
                self.wire.put(&Report::Lost(reason.detail))
            }
            Heard::Silent | Heard::Interrupted(_) => Ok(()),
        }
    }
}
