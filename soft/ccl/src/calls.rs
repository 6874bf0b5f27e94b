//! What the exports do: versions and texts, communicators and operations. One function for each, of every library.

use crate::abi::{Outcome, Status, UniqueId, call, refuse};
pub use crate::abi::{last_words, text_of};
use crate::communicator::Communicator;
use crate::driver::Driver;
use crate::membership::new_id;
use crate::operation::Operation;
use crate::sum::Element;
use crate::table::Library;
pub use boxfile::CollectiveKind as Kind;
use softbox::abi::{Handle, Out};
pub use softbox::box_name;
use std::ffi::c_int;
use std::sync::atomic::{AtomicU32, Ordering};

/// Questions after which a communicator that does not block is done with what it was asked: `NCCL_COMM_BLOCKING=0`.
const QUESTIONS: u32 = 3;

/// Questions that are still answered by "in progress".
static UNFINISHED: AtomicU32 = AtomicU32::new(0);

/// The answer to a call that went well: at once, or later where communicators do not block.
fn done(status: Status) -> Status {
    if status != Status::SUCCESS || std::env::var("NCCL_COMM_BLOCKING").as_deref() != Ok("0") {
        return status;
    }
    UNFINISHED.store(QUESTIONS, Ordering::Relaxed);
    Status::IN_PROGRESS
}

/// A call on a communicator that is not done with the last one is a wrong use of the library.
fn idle() -> Outcome<()> {
    match UNFINISHED.load(Ordering::Relaxed) {
        0 => Ok(()),
        _ => refuse(Status::INVALID_ARGUMENT, "the communicator is in progress"),
    }
}

pub fn get_version(library: &Library, version: Out<c_int>) -> Status {
    call(|| Ok(version.put(library.version)?))
}

pub fn get_unique_id(id: Out<UniqueId>) -> Status {
    call(|| Ok(id.put(UniqueId(new_id()?))?))
}

/// The device is that of the calling thread.
pub fn join(
    library: &'static Library,
    communicator: Out<Handle>,
    ranks: c_int,
    id: UniqueId,
    rank: c_int,
) -> Status {
    let joined = call(|| {
        communicator.put(Handle::NULL)?;
        let device = Driver::get(library)?.current_device()?;
        let Ok(described) = softbox::described() else {
            let words = format!("{} failure 100", library.driver.word);
            return refuse(Status::UNHANDLED_CUDA, words);
        };
        let handle = Communicator::open(library, described, &id.0, (ranks, rank), device)?;
        Ok(communicator.put(handle)?)
    });
    done(joined)
}

/// Waits for nothing: what is queued goes on.
pub fn destroy(communicator: Handle) -> Status {
    call(|| Communicator::close(communicator).map(drop))
}

pub fn abort(communicator: Handle) -> Status {
    call(|| Communicator::close(communicator).map(|communicator| communicator.abort()))
}

/// Nothing fails after it was queued; a rank that is gone is waited for, as by NCCL.
pub fn get_async_error(communicator: Handle, status: Out<Status>) -> Status {
    call(|| {
        Communicator::of(communicator)?;
        let more = UNFINISHED.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
            left.checked_sub(1)
        });
        Ok(status.put(more.map_or(Status::SUCCESS, |_| Status::IN_PROGRESS))?)
    })
}

pub fn device(communicator: Handle, device: Out<c_int>) -> Status {
    call(|| Ok(device.put(Communicator::of(communicator)?.device)?))
}

/// What an operation reads, what it writes, and how many elements of which type: of a gather what each rank brings, of a scattered sum what
/// each gets.
pub type Buffers = (Handle, Handle, usize, c_int);

/// Queues an operation; `reduction` is how it reduces, where it does.
pub fn collective(
    library: &Library,
    kind: Kind,
    (from, to, count, data_type): Buffers,
    reduction: Option<c_int>,
    communicator: Handle,
    stream: Handle,
) -> Status {
    let queued = call(|| {
        idle()?;
        let Some(element) = Element::of(data_type).filter(|_| reduction.is_none_or(|sum| sum == 0))
        else {
            let words = format!(
                "{kind:?} : operation {reduction:?} of data type {data_type}; the soft lib{} only knows sums and floating types of up to 32 bits",
                library.name
            );
            return refuse(Status::INVALID_ARGUMENT, words);
        };
        let communicator = Communicator::of(communicator)?;
        match element.width().checked_mul(count) {
            Some(0) => Ok(()),
            Some(bytes) => {
                let places = (to.number(), from.number());
                let element = reduction.map(|_| element);
                Operation::new(communicator, (kind, element), places, bytes)?.enqueue(stream)
            }
            None => refuse(
                Status::INVALID_ARGUMENT,
                format!("{kind:?} : invalid count {count}"),
            ),
        }
    });
    done(queued)
}
