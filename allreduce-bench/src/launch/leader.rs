//! Rank 0 of a launch: it listens until all ranks are there, tells them what to do, and lets them go.

use std::cell::{Cell, RefCell};
use std::net::{Ipv4Addr, TcpListener, ToSocketAddrs};
use std::time::{Duration, Instant};

use inventory::{Chosen, Found};
use program::Stop;
use record::{LauncherFacts, LinkDevice, PairPath};
use runner::Interrupt;
use topology::{Machine, Sysfs};

use super::args::LaunchArgs;
use super::owner;
use super::place::Place;
use super::seat::{self, Seat};
use super::wire::Wire;
use super::words::{Order, Report};
use crate::cli::RunArgs;

/// How long followers have to leave in good order.
const GOODBYE: Duration = Duration::from_secs(5);

/// Between two looks at who came.
const LOOK: Duration = Duration::from_millis(20);

/// Connections that have not said who they are, at most.
const STRANGERS: usize = 256;

/// Rank 0 of a launcher's ranks.
pub(crate) struct Leader {
    place: Place,
    wait: Duration,
    address: (String, u16),
    listener: TcpListener,
    /// Those that came and did not say yet who they are.
    strangers: Vec<Wire>,
    followers: Vec<Option<Follower>>,
    own: Option<Seat>,
    groups: Cell<u64>,
}

struct Follower {
    wire: Wire,
    seat: Seat,
    /// Why nothing more comes from it.
    gone: RefCell<Option<String>>,
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
        let is_here = ["127.0.0.1", "localhost"].contains(&address.0.as_str());
        let ip = match is_here {
            true => Ipv4Addr::LOCALHOST,
            false => Ipv4Addr::UNSPECIFIED,
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
            groups: Cell::new(0),
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
                let (host, port) = &self.address;
                let waited = self.wait.as_secs_f64();
                return Err(Stop::Refused(
                    format!(
                        "rank {} did not come to {host}:{port} within {waited:.0} s; was it started, and does it reach this host?",
                        missing + 1
                    )
                    .into(),
                ));
            }
            self.accept();
            self.hear_strangers()?;
            std::thread::sleep(LOOK);
        }
        let seats = self.seats();
        seat::check_agreement(&seats)?;
        Ok(seats.iter().map(|seat| seat.found.clone()).collect())
    }

    /// Takes who knocked; one that cannot be talked to may come again.
    fn accept(&mut self) {
        while let Ok((stream, from)) = self.listener.accept() {
            if owner::is_this_users(from) && self.strangers.len() < STRANGERS {
                self.strangers.extend(Wire::over(stream));
            }
        }
    }

    fn hear_strangers(&mut self) -> Result<(), Stop> {
        for wire in std::mem::take(&mut self.strangers) {
            match wire.take(Duration::ZERO) {
                Ok(None) => self.strangers.push(wire),
                Ok(Some(Report::Here { job, rank, seat })) if job == self.place.job => {
                    let slot = usize::try_from(rank).unwrap_or(0).checked_sub(1);
                    let slot = slot.and_then(|at| self.followers.get_mut(at));
                    if let Some(slot) = slot.filter(|slot| slot.is_none())
                        && wire.put(&Order::Welcome).is_ok()
                    {
                        *slot = Some(Follower {
                            wire,
                            seat: *seat,
                            gone: RefCell::new(None),
                        });
                    }
                }
                Ok(Some(Report::Refused {
                    job,
                    rank,
                    host,
                    code,
                    reason,
                })) if job == self.place.job => {
                    let words = format!("rank {rank} on {host}: {reason}");
                    return Err(match code {
                        record::exit::USAGE => Stop::Usage(words),
                        _ => Stop::Refused(words.into()),
                    });
                }
                // A rank of another job, or no copy of this program.
                Ok(Some(_)) | Err(_) => {}
            }
        }
        Ok(())
    }

    fn seats(&self) -> Vec<Seat> {
        let followers = self.followers.iter().flatten();
        let others = followers.map(|follower| &follower.seat);
        self.own.iter().chain(others).cloned().collect()
    }

    /// The ranks' devices.
    pub(crate) fn devices(&self) -> Vec<LinkDevice> {
        self.seats().into_iter().map(|seat| seat.device).collect()
    }

    /// The paths between devices of one host.
    pub(crate) fn paths(&self) -> Vec<PairPath> {
        seat::paths(&self.seats())
    }

    /// Why no process sees the devices of all ranks; `None` where one does.
    pub(crate) fn not_one_driver(&self) -> Option<&'static str> {
        let seats = self.seats();
        let first = seats.first()?;
        if seats.iter().any(|seat| seat.host != first.host) {
            return Some("the ranks are on several hosts");
        }
        let ordinals: std::collections::BTreeSet<usize> =
            seats.iter().map(|seat| seat.found.ordinal).collect();
        let hidden = ordinals.len() < seats.len();
        hidden.then_some("the launcher shows each rank its own device only")
    }

    /// What the record says of the launch.
    pub(crate) fn facts(&self) -> LauncherFacts {
        LauncherFacts {
            name: self.place.launcher.to_owned(),
            hosts: self.seats().into_iter().map(|seat| seat.host).collect(),
        }
    }

    pub(super) fn next_group(&self) -> u64 {
        self.groups.set(self.groups.get() + 1);
        self.groups.get()
    }

    fn follower(&self, rank: u32) -> Result<&Follower, String> {
        let at = usize::try_from(rank).unwrap_or(0).checked_sub(1);
        let follower = at.and_then(|at| self.followers.get(at)?.as_ref());
        let follower = follower.ok_or_else(|| format!("rank {rank} is not there"))?;
        match &*follower.gone.borrow() {
            Some(gone) => Err(gone.clone()),
            None => Ok(follower),
        }
    }

    pub(super) fn put(&self, rank: u32, order: &Order) -> Result<(), String> {
        let follower = self.follower(rank)?;
        follower.wire.put(order).map_err(|_| follower.lose())
    }

    /// What a rank says next, within `limit`.
    pub(super) fn take(&self, rank: u32, limit: Duration) -> Result<Option<Report>, String> {
        let follower = self.follower(rank)?;
        let report = follower.wire.take(limit).map_err(|_| follower.lose())?;
        if let Some(Report::Signalled { .. }) = report {
            *follower.gone.borrow_mut() = Some("a signal ended it".to_owned());
        }
        Ok(report)
    }
}

impl Follower {
    fn lose(&self) -> String {
        let host = &self.seat.host;
        let reason = format!("the connection to its copy of this program on {host} is lost");
        *self.gone.borrow_mut() = Some(reason.clone());
        reason
    }
}

impl Drop for Leader {
    /// Lets all ranks go, and waits a little for those that do.
    fn drop(&mut self) {
        self.accept();
        let followers = self.followers.iter().flatten();
        let wires = followers.map(|follower| &follower.wire);
        let wires: Vec<&Wire> = wires.chain(&self.strangers).collect();
        let mut told: Vec<&Wire> = wires
            .into_iter()
            .filter(|wire| wire.put(&Order::Leave).is_ok())
            .collect();
        let began = Instant::now();
        while !told.is_empty() && began.elapsed() < GOODBYE {
            // A follower that leaves closes its side.
            told.retain(|wire| wire.take::<Report>(LOOK).is_ok());
        }
    }
}

/// Where a follower finds rank 0.
pub(super) fn addresses((host, port): &(String, u16)) -> Vec<std::net::SocketAddr> {
    let found = (host.as_str(), *port).to_socket_addrs();
    found.map(Iterator::collect).unwrap_or_default()
}
