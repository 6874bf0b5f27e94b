//! Rank 0 of a launch: it listens until all ranks are there, tells them what to do, and lets them go. And the process of a rank,
//! wherever it is: this process's own child, or a follower's.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, TcpListener};
use std::time::{Duration, Instant};

use inventory::{Chosen, Found};
use program::Stop;
use record::{Failure, LauncherFacts, LinkDevice, PairPath, exit};
use runner::{Ending, Interrupt, Ladder, LineSink, Worker, WorkerSpec};
use topology::{Machine, Sysfs};

use super::place::{LaunchArgs, Place};
use super::seat::{self, Seat};
use super::wire::{Order, Report, Wire, heard, sent};
use crate::cli::RunArgs;
use crate::messages::RankRequest;

/// How long followers have to leave in good order.
const GOODBYE: Duration = Duration::from_secs(5);

/// A follower's ladder takes at most 14 s.
const ENDS_WITHIN: Duration = Duration::from_secs(15);

/// Between two looks at who came.
const LOOK: Duration = Duration::from_millis(20);

/// Connections at most that did not yet say who they are.
const STRANGERS: usize = 256;

/// Another rank's copy of this program: the connection to it, and what it brought along.
type Follower = (Wire, Seat);

/// Rank 0 of a launcher's ranks.
pub(crate) struct Leader {
    place: Place,
    wait: Duration,
    address: (String, u16),
    listener: TcpListener,
    /// Who knocked and did not yet say who it is.
    strangers: Vec<Wire>,
    /// From rank 1 on.
    followers: Vec<Option<Follower>>,
    own: Option<Seat>,
}

impl Leader {
    /// Listens for the other ranks.
    ///
    /// # Errors
    /// Nothing names the host, or its port is taken.
    pub(crate) fn open(place: Place, args: &LaunchArgs) -> Result<Self, Stop> {
        let address = place
            .address(args.rendezvous.as_deref())
            .map_err(Stop::Usage)?;
        let ip = match address.0.as_str() {
            "127.0.0.1" | "localhost" => Ipv4Addr::LOCALHOST,
            _ => Ipv4Addr::UNSPECIFIED,
        };
        let port = address.1;
        let listener = TcpListener::bind((ip, port))
            .and_then(|listener| listener.set_nonblocking(true).map(|()| listener));
        let listener = listener.map_err(|error| {
            Stop::Usage(format!(
                "rank 0 cannot listen at port {port}: {error}; name another one with --rendezvous HOST:PORT"
            ))
        })?;
        Ok(Self {
            wait: args.rendezvous_wait,
            address,
            listener,
            strangers: Vec::new(),
            followers: (1..place.size).map(|_| None).collect(),
            own: None,
            place,
        })
    }

    /// Waits for all ranks; their devices in rank order.
    ///
    /// # Errors
    /// A rank does not come, cannot work, or has what does not fit to the others.
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
        self.own = Some(own.map_err(Stop::Usage)?);
        let began = Instant::now();
        while let Some(missing) = self.followers.iter().position(Option::is_none) {
            if let Some(signal) = interrupt.signal() {
                return Err(Stop::Interrupted(signal));
            }
            if began.elapsed() > self.wait {
                let (rank, (host, port)) = (missing + 1, &self.address);
                let waited = self.wait.as_secs_f64();
                let why = format!(
                    "rank {rank} did not come to {host}:{port} within {waited:.0} s; was it started, and does it reach this host?"
                );
                return Err(Stop::Refused(why.into()));
            }
            self.accept();
            self.hear_strangers()?;
            std::thread::sleep(LOOK);
        }
        let seats: Vec<&Seat> = self.seats().collect();
        seat::check_agreement(&seats)?;
        Ok(seats.iter().map(|seat| seat.found.clone()).collect())
    }

    /// Takes who knocked; one that cannot be talked to may come again.
    fn accept(&mut self) {
        while let Ok((stream, _)) = self.listener.accept() {
            if self.strangers.len() < STRANGERS {
                self.strangers.extend(Wire::over(stream));
            }
        }
    }

    fn hear_strangers(&mut self) -> Result<(), Stop> {
        for wire in std::mem::take(&mut self.strangers) {
            match wire.take(Duration::ZERO) {
                Ok(None) => self.strangers.push(wire),
                Ok(Some(Report::Here { job, rank, seat })) if job == self.place.job => {
                    let seat = seat.map_err(|(code, reason)| {
                        let words = format!("rank {rank} {reason}");
                        match code {
                            exit::USAGE => Stop::Usage(words),
                            _ => Stop::Refused(words.into()),
                        }
                    })?;
                    let slot = usize::try_from(rank).unwrap_or(0).checked_sub(1);
                    let slot = slot.and_then(|at| self.followers.get_mut(at));
                    if let Some(slot) = slot.filter(|slot| slot.is_none())
                        && wire.writer.put(&Order::Welcome).is_ok()
                    {
                        *slot = Some((wire, *seat));
                    }
                }
                // A rank of another job, or no copy of this program.
                Ok(Some(_)) | Err(_) => {}
            }
        }
        Ok(())
    }

    /// In rank order.
    fn seats(&self) -> impl Iterator<Item = &Seat> {
        let others = self.followers.iter().flatten().map(|(_, seat)| seat);
        self.own.iter().chain(others)
    }

    /// The ranks' devices.
    pub(crate) fn devices(&self) -> Vec<LinkDevice> {
        self.seats().map(|seat| seat.device.clone()).collect()
    }

    /// The paths between devices of one host.
    pub(crate) fn paths(&self) -> Vec<PairPath> {
        seat::paths(&self.seats().collect::<Vec<_>>())
    }

    /// Why no process sees the devices of all ranks; `None` where one does.
    pub(crate) fn not_one_driver(&self) -> Option<&'static str> {
        let hosts: BTreeSet<&str> = self.seats().map(|seat| seat.host.as_str()).collect();
        if hosts.len() > 1 {
            return Some("the ranks are on several hosts");
        }
        let ordinals: BTreeSet<usize> = self.seats().map(|seat| seat.found.ordinal).collect();
        let hidden = ordinals.len() < self.seats().count();
        hidden.then_some("the launcher shows each rank its own device only")
    }

    /// What the record says of the launch.
    pub(crate) fn facts(&self) -> LauncherFacts {
        LauncherFacts {
            name: self.place.launcher.to_owned(),
            hosts: self.seats().map(|seat| seat.host.clone()).collect(),
        }
    }
}

/// What is said of a follower that nothing comes from.
fn lost(seat: &Seat) -> Failure {
    let host = &seat.host;
    format!("the connection to its copy of this program on {host} is lost").into()
}

impl Drop for Leader {
    /// Lets all ranks go, and waits a little for those that do.
    fn drop(&mut self) {
        self.accept();
        let wires = self.followers.iter().flatten().map(|(wire, _)| wire);
        let mut told: Vec<&Wire> = wires
            .chain(&self.strangers)
            .filter(|wire| wire.writer.put(&Order::Leave).is_ok())
            .collect();
        let began = Instant::now();
        while !told.is_empty() && began.elapsed() < GOODBYE {
            // A follower that leaves closes its side.
            told.retain(|wire| wire.take::<Report>(LOOK).is_ok());
        }
    }
}

/// The process of one rank.
pub(crate) enum Link<'a> {
    /// A child of this process.
    Near(Worker),
    /// A child of another copy of this program, and what takes the lines of its log.
    Far(&'a Follower, Option<LineSink>),
}

impl<'a> Link<'a> {
    /// Starts the process of a rank: here for a run without launcher and for rank 0, at the follower's else.
    ///
    /// # Errors
    /// It cannot be started.
    pub(crate) fn start(
        spec: WorkerSpec,
        leader: Option<&'a Leader>,
        rank: usize,
    ) -> Result<Self, Failure> {
        let at = rank.checked_sub(1);
        let far = at.and_then(|at| leader?.followers.get(at)?.as_ref());
        if leader.is_some() && rank > 0 && far.is_none() {
            return Err(format!("rank {rank} is not there").into());
        }
        let Some(follower @ (wire, seat)) = far else {
            let worker = Worker::spawn(spec).map_err(|error| error.to_string())?;
            return Ok(Self::Near(worker));
        };
        let log = spec.noise.is_some();
        let put = wire.writer.put(&Order::Start { log });
        put.map_err(|_| lost(seat))?;
        Ok(Self::Far(follower, spec.noise))
    }

    /// Asks the rank something.
    ///
    /// # Errors
    /// It cannot be asked.
    pub(crate) fn send(&mut self, request: RankRequest) -> Result<(), Failure> {
        match self {
            Self::Near(worker) => sent(worker, &request),
            Self::Far((wire, seat), _) => {
                let put = wire.writer.put(&Order::Ask(request));
                put.map_err(|_| lost(seat))
            }
        }
    }

    /// Waits for what comes next, at most so long.
    pub(crate) fn next(&mut self, limit: Duration, interrupt: &Interrupt) -> Option<Report> {
        let ((wire, seat), log) = match self {
            Self::Near(worker) => return heard(worker, limit, interrupt),
            Self::Far(follower, log) => (follower, log),
        };
        let began = Instant::now();
        loop {
            if let Some(signal) = interrupt.signal() {
                return Some(Report::Signalled(signal));
            }
            match wire.take(limit.saturating_sub(began.elapsed())) {
                Ok(Some(Report::Line(line))) => log.iter().for_each(|log| log(&line)),
                Ok(Some(Report::Here { .. } | Report::Ended { .. })) => {}
                Ok(report) => return report,
                Err(_) => return Some(Report::Lost(lost(seat))),
            }
        }
    }

    /// This process's own child; `None` where it is a follower's, of which this process sees nothing.
    pub(crate) fn near(&mut self) -> Option<&mut Worker> {
        match self {
            Self::Near(worker) => Some(worker),
            Self::Far(..) => None,
        }
    }

    /// Asks it to leave, and waits for nothing; a follower ends what does not.
    pub(crate) fn abort(&mut self) {
        match self {
            Self::Near(worker) => worker.abort(),
            // Where nobody is there to be asked, there is nothing to leave.
            Self::Far((wire, _), _) => drop(wire.writer.put(&Order::End)),
        }
    }

    /// Ends one that was asked to leave; whether it cannot be ended. Of a follower that does not answer nothing is known.
    pub(crate) fn end(&mut self, ladder: Ladder) -> bool {
        let wire = match self {
            Self::Near(worker) => return worker.end(ladder) == Ending::HangUnkillable,
            Self::Far((wire, _), _) => wire,
        };
        let began = Instant::now();
        loop {
            match wire.take(ENDS_WITHIN.saturating_sub(began.elapsed())) {
                Ok(Some(Report::Ended { is_hung })) => return is_hung,
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => return false,
            }
        }
    }
}
