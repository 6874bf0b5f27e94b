//! Collectives of the host backend: rank 0 is sent what every rank contributes, and sends back what every rank gets.
//!
//! It is what a machine without a GPU measures, and no model of what a GPU library does.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::ffi::Part;
use super::{Device, DeviceBuffer, Host, Stream};
use crate::collectives::{
    Collectives, CollectivesFacts, Communicator, Element, Lengths, Operation, UniqueId,
    check_aliasing, check_membership, decode, encode, width,
};
use crate::error::{DeviceError, Result};

/// For how long ranks that have not come are waited for.
const JOIN_LIMIT: Duration = Duration::from_secs(60);
/// Between two looks at who came.
const LOOK: Duration = Duration::from_millis(1);

/// Bytes of the name of rank 0's socket and, behind it, of what a rank shows to be let in.
const NAME: usize = 16;
const ID: usize = 32;

/// Collectives of the host backend: ranks are processes or threads of one machine.
///
/// Sums are made in f32, in rank order, and rounded once to the element's type; every rank gets the same bits. Whoever makes
/// the id is rank 0. A rank that ended or left is named to those that wait for it.
pub struct HostCollectives {
    facts: CollectivesFacts,
    /// Sockets of the ids that were made here and not joined yet.
    made: Mutex<Vec<(UniqueId, UnixListener)>>,
}

impl Collectives for HostCollectives {
    type Backend = Host;
    type Communicator = HostCommunicator;

    fn open(file: Option<&Path>) -> Result<Self> {
        if let Some(file) = file {
            return Err(DeviceError::Argument {
                what: "the collective library",
                why: format!("the host backend loads none, and not {}", file.display()),
            });
        }
        Ok(Self {
            facts: CollectivesFacts {
                name: "host".to_owned(),
                ..CollectivesFacts::default()
            },
            made: Mutex::default(),
        })
    }

    fn facts(&self) -> &CollectivesFacts {
        &self.facts
    }

    fn unique_id(&self) -> Result<UniqueId> {
        let made = || {
            let mut bytes = [0; ID];
            File::open("/dev/urandom")?.read_exact(&mut bytes)?;
            let listener = UnixListener::bind_addr(&address(&bytes)?)?;
            listener.set_nonblocking(true)?;
            Ok((UniqueId::from_bytes(&bytes), listener))
        };
        let made = made().map_err(|error| failed("making a socket", error))?;
        let id = made.0.clone();
        let mut all = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(made);
        Ok(id)
    }

    /// Gives up where a rank did not come for 60 s.
    fn join(&self, _: &Device, id: &UniqueId, ranks: u32, rank: u32) -> Result<HostCommunicator> {
        check_membership(ranks, rank)?;
        let bytes: [u8; ID] = id.bytes("host")?;
        let links = if rank == 0 {
            let mut all = self.made.lock().unwrap_or_else(PoisonError::into_inner);
            let at = all.iter().position(|(made, _)| made == id);
            let (_, listener) = at.map(|at| all.swap_remove(at)).ok_or_else(|| {
                let why = "rank 0 of the host backend makes the id itself, and joins by it once";
                DeviceError::Argument {
                    what: "the unique id",
                    why: why.to_owned(),
                }
            })?;
            drop(all);
            gathered(&listener, &bytes[NAME..], ranks)?
        } else {
            vec![reached(&bytes, rank)?]
        };
        Ok(HostCommunicator(Arc::new(Member {
            links,
            ranks,
            rank,
            turn: Mutex::default(),
            broken: OnceLock::new(),
        })))
    }
}

/// The name that a rank finds rank 0 by, which lies in no folder and goes with its process.
fn address(id: &[u8; ID]) -> io::Result<SocketAddr> {
    let name: String = id[..NAME]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    SocketAddr::from_abstract_name(format!("tplens-{name}"))
}

/// The connections of rank 0 to all others, in rank order.
fn gathered(listener: &UnixListener, token: &[u8], ranks: u32) -> Result<Vec<UnixStream>> {
    let mut links: Vec<Option<UnixStream>> = (1..ranks).map(|_| None).collect();
    let began = Instant::now();
    while let Some(missing) = links.iter().position(Option::is_none) {
        if let Ok((link, _)) = listener.accept() {
            // Whoever is no rank, or one that is there already, is sent away.
            let rank = introduced(&link, token).ok().flatten();
            let slot = rank.and_then(|rank| links.get_mut(rank as usize - 1));
            if let Some(slot) = slot.filter(|slot| slot.is_none()) {
                *slot = Some(link);
            }
            continue;
        }
        if began.elapsed() > JOIN_LIMIT {
            return Err(gone(missing as u32 + 1, "it did not join within 60 s"));
        }
        thread::sleep(LOOK);
    }
    let links: Vec<UnixStream> = links.into_iter().flatten().collect();
    for (rank, mut link) in (1u32..).zip(&links) {
        let told = link.write_all(&[0; 4]);
        told.map_err(|_| gone(rank, "it left while others joined"))?;
    }
    Ok(links)
}

/// The rank that a connection says it is, where it knows the id.
fn introduced(mut link: &UnixStream, token: &[u8]) -> io::Result<Option<u32>> {
    link.set_nonblocking(false)?;
    link.set_read_timeout(Some(Duration::from_secs(1)))?;
    let mut said = [0; ID - NAME + 4];
    link.read_exact(&mut said)?;
    link.set_read_timeout(None)?;
    let (shown, rank) = said.split_at(ID - NAME);
    let rank = rank.try_into().map_or(0, u32::from_ne_bytes);
    Ok(Some(rank).filter(|rank| shown == token && *rank > 0))
}

/// The connection of another rank to rank 0, which has let it in.
fn reached(id: &[u8; ID], rank: u32) -> Result<UnixStream> {
    let joined = || {
        let mut link = UnixStream::connect_addr(&address(id)?)?;
        link.write_all(&[&id[NAME..], &rank.to_ne_bytes()].concat())?;
        link.set_read_timeout(Some(JOIN_LIMIT))?;
        link.read_exact(&mut [0; 4])?;
        link.set_read_timeout(None)?;
        Ok(link)
    };
    let doing = format!("joining rank 0 as rank {rank}, which must be there and no other's");
    joined().map_err(|error| failed(&doing, error))
}

fn failed(doing: &str, error: io::Error) -> DeviceError {
    DeviceError::Sockets {
        doing: doing.to_owned(),
        error,
    }
}

fn gone(rank: u32, reason: &str) -> DeviceError {
    DeviceError::RankGone {
        rank,
        reason: reason.to_owned(),
    }
}

/// One rank of a communicator of the host backend.
///
/// Its calls are done by the stream's worker, in the order of the stream. What goes wrong there is reported by
/// [`Communicator::async_error`] and by the stream when it is waited for. A stream that waits for a rank which lives and
/// does not call waits with it.
pub struct HostCommunicator(Arc<Member>);

impl Communicator for HostCommunicator {
    type Stream = Stream;
    type DeviceBuffer = DeviceBuffer;

    fn queue(
        &self,
        kind: Operation,
        to: (&DeviceBuffer, usize),
        from: (&DeviceBuffer, usize),
        elements: usize,
        element: Element,
        stream: &Stream,
    ) -> Result<()> {
        self.0.check()?;
        let lengths = Lengths::of(kind, elements, element, self.0.ranks, [to.1, from.1])?;
        let (target, source) = (&to.0.0.memory, &from.0.0.memory);
        if Arc::ptr_eq(target, source) {
            check_aliasing(kind, lengths, self.0.rank, to.1, from.1)?;
        }
        let (target, one) = Part::new(target, to.1, lengths.to)?;
        let (source, other) = Part::new(source, from.1, lengths.from)?;
        if elements == 0 {
            return Ok(());
        }
        let member = Arc::clone(&self.0);
        stream.push(vec![one, other], move || {
            member.work(kind, element, &target, &source)
        })
    }

    fn async_error(&self) -> Result<()> {
        self.0.check()
    }
}

/// One rank's membership, shared by its communicator and by the work that is queued.
struct Member {
    /// Of rank 0 to all others in rank order; of another to rank 0.
    links: Vec<UnixStream>,
    ranks: u32,
    rank: u32,
    /// Locked for a whole operation: those of two streams do not mix.
    turn: Mutex<()>,
    /// The rank that is gone.
    broken: OnceLock<u32>,
}

impl Member {
    /// What broke the communicator, if anything did.
    fn check(&self) -> Result<()> {
        match self.broken.get() {
            None => Ok(()),
            Some(rank) => Err(gone(*rank, "it ended or left the communicator")),
        }
    }

    /// Does one operation together with the other ranks.
    fn work(&self, kind: Operation, element: Element, to: &Part, from: &Part) -> Result<()> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        self.check()?;
        let done = match self.rank {
            0 => self.lead(kind, element, to, from),
            _ => self.follow(to, from),
        };
        done.map_err(|rank| self.broken.get_or_init(|| rank))
            .or_else(|_| self.check())
    }

    /// Rank 0: what each gets of what all contribute; the error is the rank that is gone.
    fn lead(
        &self,
        kind: Operation,
        element: Element,
        to: &Part,
        from: &Part,
    ) -> std::result::Result<(), u32> {
        let mut all = vec![from.read()];
        for (rank, mut link) in (1u32..).zip(&self.links) {
            let mut bytes = vec![0; from.bytes()];
            if link.read_exact(&mut bytes).is_err() {
                // The others are told by number who it is, in place of a result.
                let told = u32::to_ne_bytes(rank);
                for mut link in &self.links {
                    drop(link.write_all(&told));
                    // One that is still sending is not read any more.
                    drop(link.shutdown(Shutdown::Both));
                }
                return Err(rank);
            }
            all.push(bytes);
        }
        let whole = match kind {
            Operation::AllGather => all.concat(),
            _ => sum(element, &all),
        };
        let share = |rank: usize| match kind {
            Operation::ReduceScatter => &whole[rank * to.bytes()..][..to.bytes()],
            _ => &whole[..],
        };
        for (rank, mut link) in (1u32..).zip(&self.links) {
            let sent = link.write_all(&[0; 4]);
            let sent = sent.and_then(|()| link.write_all(share(rank as usize)));
            sent.map_err(|_| rank)?;
        }
        to.write(share(0)).map_err(|_| 0)
    }

    /// Another rank: sends its contribution and takes its share.
    fn follow(&self, to: &Part, from: &Part) -> std::result::Result<(), u32> {
        let mut link = &self.links[0];
        let mut gone = [0; 4];
        let mut bytes = vec![0; to.bytes()];
        // Where rank 0 has given up it says who is gone before it closes.
        drop(link.write_all(&from.read()));
        link.read_exact(&mut gone).map_err(|_| 0u32)?;
        match u32::from_ne_bytes(gone) {
            0 => link.read_exact(&mut bytes).map_err(|_| 0u32)?,
            rank => return Err(rank),
        }
        to.write(&bytes).map_err(|_| 0)
    }
}

/// The sum of what all contributed: in f32, in rank order, rounded once.
fn sum(element: Element, all: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = vec![0; all[0].len()];
    let mut sums = vec![0.0; bytes.len() / width(element)];
    let mut next = sums.clone();
    decode(element, &all[0], &mut sums);
    for own in &all[1..] {
        decode(element, own, &mut next);
        sums.iter_mut()
            .zip(&next)
            .for_each(|(sum, next)| *sum += next);
    }
    encode(element, &sums, &mut bytes);
    bytes
}
