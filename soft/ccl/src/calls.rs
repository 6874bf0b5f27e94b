//! What the exports do: versions and texts, communicators and operations. One function for each, of every library.
#![expect(
    clippy::too_many_arguments,
    reason = "nccl.h has them, and the library is one more"
)]

use crate::abi::{
    Address, Handle, Out, Outcome, Refusal, Status, UniqueId, call, last_words, refuse, text_of,
};
use crate::communicator::Communicator;
use crate::driver::Driver;
use crate::element::{Element, bytes_of};
use crate::membership::new_id;
use crate::operation::Operation;
use crate::table::Library;
use boxfile::CollectiveKind::{self, AllGather, AllReduce, ReduceScatter};
use std::ffi::{CString, c_char, c_int};
use std::sync::LazyLock;
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
fn idle() -> Result<(), Refusal> {
    match UNFINISHED.load(Ordering::Relaxed) {
        0 => Ok(()),
        _ => Err(Refusal {
            status: Status::INVALID_ARGUMENT,
            words: "the communicator is in progress".to_owned(),
        }),
    }
}

static BOX_NAME: LazyLock<CString> = LazyLock::new(|| {
    softbox::box_name()
        .and_then(|name| CString::new(name).ok())
        .unwrap_or_default()
});

/// The name of the box behind this library, empty without one; its presence says that no GPU is here.
pub fn box_name() -> *const c_char {
    BOX_NAME.as_ptr()
}

pub fn get_version(library: &Library, version: Out<c_int>) -> Status {
    call(|| version.put(library.version, "GetVersion", "version"))
}

pub fn error_text(status: Status) -> *const c_char {
    text_of(status)
}

/// The words of the calling thread's last error; the communicator is not used, as in NCCL.
pub fn last_error(_communicator: Handle) -> *const c_char {
    last_words()
}

pub fn get_unique_id(_library: &Library, id: Out<UniqueId>) -> Status {
    call(|| id.put(UniqueId(new_id()?), "GetUniqueId", "out"))
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
        communicator.put(Handle::NULL, "CommInitRank", "comm")?;
        let device = Driver::get(library)?.current_device()?;
        let described = softbox::described().map_err(|_| Refusal {
            status: Status::UNHANDLED_CUDA,
            words: format!(
                "{} failure 100 'no device is detected'",
                library.driver.word
            ),
        })?;
        let handle = Communicator::open(library, described, &id.0, (ranks, rank), device)?;
        communicator.put(handle, "CommInitRank", "comm")
    });
    done(joined)
}

/// Waits for nothing: what is queued goes on.
pub fn destroy(_library: &Library, communicator: Handle) -> Status {
    call(|| Communicator::close(communicator).map(drop))
}

pub fn abort(_library: &Library, communicator: Handle) -> Status {
    call(|| {
        Communicator::close(communicator)?.abort();
        Ok(())
    })
}

/// Nothing fails after it was queued; a rank that is gone is waited for, as by NCCL.
pub fn get_async_error(_library: &Library, communicator: Handle, status: Out<Status>) -> Status {
    call(|| {
        Communicator::of(communicator)?;
        let more = UNFINISHED.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
            left.checked_sub(1)
        });
        let state = more.map_or(Status::SUCCESS, |_| Status::IN_PROGRESS);
        status.put(state, "ncclGetAsyncError", "asyncError")
    })
}

pub fn device(_library: &Library, communicator: Handle, device: Out<c_int>) -> Status {
    call(|| {
        let found = Communicator::of(communicator)?.device;
        device.put(found, "CommCuDevice", "device")
    })
}

pub fn all_reduce(
    library: &Library,
    from: Address,
    to: Address,
    count: usize,
    data_type: c_int,
    operation: c_int,
    communicator: Handle,
    stream: Handle,
) -> Status {
    let queued = call(|| {
        idle()?;
        let element = Some(summed(library, "AllReduce", data_type, operation)?);
        let what = (AllReduce, element);
        let elements = (count, data_type);
        queue(library, what, (to, from), elements, communicator, stream)
    });
    done(queued)
}

/// `count` is of what each rank gets.
pub fn reduce_scatter(
    library: &Library,
    from: Address,
    to: Address,
    count: usize,
    data_type: c_int,
    operation: c_int,
    communicator: Handle,
    stream: Handle,
) -> Status {
    call(|| {
        let element = Some(summed(library, "ReduceScatter", data_type, operation)?);
        let what = (ReduceScatter, element);
        let elements = (count, data_type);
        queue(library, what, (to, from), elements, communicator, stream)
    })
}

/// `count` is of what each rank brings.
pub fn all_gather(
    library: &Library,
    from: Address,
    to: Address,
    count: usize,
    data_type: c_int,
    communicator: Handle,
    stream: Handle,
) -> Status {
    call(|| {
        let (what, elements) = ((AllGather, None), (count, data_type));
        queue(library, what, (to, from), elements, communicator, stream)
    })
}

/// The type of a sum, refused where it is none.
fn summed(library: &Library, call: &str, data_type: c_int, operation: c_int) -> Outcome<Element> {
    let name = library.name;
    if operation != 0 {
        let words = format!("{call} : operation {operation}; the soft lib{name} only sums");
        return refuse(Status::INVALID_ARGUMENT, words);
    }
    let element = Element::of(data_type).filter(|_| data_type < library.types);
    element.map_or_else(
        || {
            let words = format!(
                "{call} : data type {data_type}; the soft lib{name} sums floating types of up to 32 bits that it has"
            );
            refuse(Status::INVALID_ARGUMENT, words)
        },
        Ok,
    )
}

fn bytes(library: &Library, call: &str, count: usize, data_type: c_int) -> Outcome<usize> {
    let width = bytes_of(data_type).filter(|_| data_type < library.types);
    let bytes = width.and_then(|width| width.checked_mul(count));
    bytes.map_or_else(
        || {
            let words = format!("{call} : invalid type {data_type} or count {count}");
            refuse(Status::INVALID_ARGUMENT, words)
        },
        Ok,
    )
}

fn queue(
    library: &Library,
    what: (CollectiveKind, Option<Element>),
    (to, from): (Address, Address),
    (count, data_type): (usize, c_int),
    communicator: Handle,
    stream: Handle,
) -> Outcome<()> {
    let communicator = Communicator::of(communicator)?;
    let call = crate::log::name_of(what.0);
    let bytes = bytes(library, call, count, data_type)?;
    if bytes == 0 {
        return Ok(());
    }
    let places = (to.number(), from.number());
    let operation = Operation::new(communicator, what, places, bytes)?;
    operation.enqueue(call, stream)
}
