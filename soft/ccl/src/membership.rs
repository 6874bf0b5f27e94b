//! How ranks find each other: the unique id, and joining.

use crate::abi::{Outcome, Status, refuse};
use crate::segment::{Segment, make};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::os::fd::IntoRawFd;
use std::path::PathBuf;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Release};
use std::sync::{Mutex, PoisonError};

/// What an id of this library begins with; an id of NCCL begins otherwise.
const MAGIC: [u8; 8] = *b"tplsoft1";
/// Ranks that one communicator can have.
const MOST: i32 = 64;

/// Words of a rank: it was claimed, its device's bus id, and it has joined.
const CLAIMED: usize = 0;
const BUS: usize = 1;
const JOINED: usize = 2;

/// Tokens of which this process has a rank.
static OWN: Mutex<BTreeSet<[u8; 16]>> = Mutex::new(BTreeSet::new());

/// A new id: the magic, a random token, the process that made it with its descriptor of the shared memory, and zeros.
///
/// As with NCCL, that process must live until all ranks have joined. The descriptor stays open as long as it does.
pub(crate) fn new_id() -> Outcome<[u8; 128]> {
    let mut token = [0; 16];
    let read = File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut token));
    let file = read.and_then(|()| make(token)).or_else(|error| {
        let words = format!("no memory for a communicator: {error}");
        refuse(Status::SYSTEM, words)
    })?;
    let mut id = [0; 128];
    id[..8].copy_from_slice(&MAGIC);
    id[8..24].copy_from_slice(&token);
    id[24..28].copy_from_slice(&std::process::id().to_le_bytes());
    id[28..32].copy_from_slice(&file.into_raw_fd().to_le_bytes());
    Ok(id)
}

/// The shared memory of an id, as the process that made it has it open.
fn path_of(id: &[u8; 128]) -> PathBuf {
    let number = |at: usize| u32::from_le_bytes([id[at], id[at + 1], id[at + 2], id[at + 3]]);
    PathBuf::from(format!("/proc/{}/fd/{}", number(24), number(28)))
}

/// Joins as a rank with the device of this bus id, and waits without end until all ranks have; with the bus ids of all.
///
/// Messages are those of NCCL where it has them (src/init.cc, src/bootstrap.cc).
pub(crate) fn join(
    library: &str,
    id: &[u8; 128],
    (ranks, rank): (i32, i32),
    bus: u64,
) -> Outcome<(Segment, Vec<u64>)> {
    if ranks < 1 || rank < 0 || rank >= ranks {
        let words = format!("Invalid rank requested : {rank}/{ranks}");
        return refuse(Status::INVALID_ARGUMENT, words);
    }
    if ranks > MOST {
        let words = format!("{ranks} ranks, and the soft lib{library} takes at most {MOST}");
        return refuse(Status::INVALID_ARGUMENT, words);
    }
    let mut token = [0; 16];
    token.copy_from_slice(&id[8..24]);
    if id[..8] != MAGIC {
        let words = format!("the unique id was not made by the soft lib{library}");
        return refuse(Status::INVALID_ARGUMENT, words);
    }
    let new = OWN
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .insert(token);
    if !new {
        let words = format!(
            "this process has a rank of this communicator, and the soft lib{library} gives it one only"
        );
        return refuse(Status::INVALID_USAGE, words);
    }
    let path = path_of(id);
    let (count, own) = (ranks as usize, rank as usize);
    let segment = Segment::open(&path, token, count).or_else(|error| {
        let words = format!(
            "{}: {error}; the process that made the unique id must live until all ranks have joined",
            path.display()
        );
        refuse(Status::REMOTE, words)
    })?;
    let counted = segment
        .rank_count()
        .compare_exchange(0, count as u64, AcqRel, Acquire);
    if let Err(others) = counted
        && others != count as u64
    {
        let words =
            format!("Bootstrap Root : mismatch in rank count from procs {others} : {ranks}");
        return refuse(Status::INVALID_ARGUMENT, words);
    }
    if segment.of_rank(own, CLAIMED).swap(1, AcqRel) != 0 {
        let words = format!("Bootstrap Root : rank {rank} of {ranks} ranks has already checked in");
        return refuse(Status::INVALID_ARGUMENT, words);
    }
    segment.of_rank(own, BUS).store(bus, Release);
    segment.of_rank(own, JOINED).store(1, Release);
    segment.ring();
    let here = |rank| segment.of_rank(rank, JOINED).load(Acquire) == 1;
    segment.wait(|| (0..count).all(here), || false);
    let bus = |rank| segment.of_rank(rank, BUS).load(Acquire);
    let buses: Vec<u64> = (0..count).map(bus).collect();
    for later in 0..count {
        let same = |earlier: &usize| buses[*earlier] == buses[later];
        if let Some(earlier) = (0..later).find(same) {
            let device = buses[later];
            let words = format!(
                "Duplicate GPU detected : rank {later} and rank {earlier} both on CUDA device {device:x}"
            );
            return refuse(Status::INVALID_USAGE, words);
        }
    }
    Ok((segment, buses))
}
