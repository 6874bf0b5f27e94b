//! Exports: versions and texts, communicators, operations and groups.
#![expect(
    unsafe_code,
    reason = "exports C functions that write through their callers' pointers"
)]

use crate::abi::{
    Outcome, Refusal, Status, call, enter_group, last_words, leave_group, put, refuse, text_of,
};
use crate::communicator::Communicator;
use crate::driver::Driver;
use crate::element::{Element, bytes_of};
use crate::membership::new_id;
use crate::operation::Operation;
use boxfile::CollectiveKind;
use std::ffi::{CString, c_char, c_int, c_void};
use std::sync::LazyLock;

/// The version of NCCL whose signatures these are: 2.29.2, as `NCCL_VERSION` codes it.
const VERSION: c_int = 22902;

/// `ncclUniqueId`, which is passed by value.
#[derive(Clone, Copy)]
#[repr(C)]
struct UniqueId([u8; 128]);

static BOX_NAME: LazyLock<CString> = LazyLock::new(|| {
    softbox::box_name()
        .and_then(|name| CString::new(name).ok())
        .unwrap_or_default()
});

/// The name of the box behind this library, empty without one; its presence says that no GPU is here.
#[unsafe(no_mangle)]
extern "C" fn tplens_soft_box() -> *const c_char {
    BOX_NAME.as_ptr()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ncclGetVersion(version: *mut c_int) -> Status {
    // SAFETY: nccl.h: the caller passes a place for one int.
    call(|| unsafe { put(version, VERSION, "GetVersion", "version") })
}

#[unsafe(no_mangle)]
extern "C" fn ncclGetErrorString(status: Status) -> *const c_char {
    text_of(status)
}

/// The words of the calling thread's last error; the communicator is not used, as in NCCL.
#[unsafe(no_mangle)]
extern "C" fn ncclGetLastError(_communicator: *mut c_void) -> *const c_char {
    last_words()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ncclGetUniqueId(id: *mut UniqueId) -> Status {
    call(|| {
        let new = UniqueId(new_id()?);
        // SAFETY: nccl.h: the caller passes a place for one ncclUniqueId, 128 bytes.
        unsafe { put(id, new, "GetUniqueId", "out") }
    })
}

/// The device is that of the calling thread's current context.
#[unsafe(no_mangle)]
unsafe extern "C" fn ncclCommInitRank(
    communicator: *mut *mut c_void,
    ranks: c_int,
    id: UniqueId,
    rank: c_int,
) -> Status {
    call(|| {
        // SAFETY: nccl.h: the caller passes a place for one ncclComm_t.
        unsafe { put(communicator, std::ptr::null_mut(), "CommInitRank", "comm") }?;
        let device = Driver::get()?.current_device()?;
        let described = softbox::described().map_err(|_| Refusal {
            status: Status::UNHANDLED_CUDA,
            words: "Cuda failure 100 'no CUDA-capable device is detected'".to_owned(),
        })?;
        let handle = Communicator::open(described, &id.0, (ranks, rank), device)?;
        // SAFETY: as above.
        unsafe { put(communicator, handle, "CommInitRank", "comm") }
    })
}

/// Waits for nothing: what is queued goes on.
#[unsafe(no_mangle)]
extern "C" fn ncclCommDestroy(communicator: *mut c_void) -> Status {
    call(|| Communicator::close(communicator).map(drop))
}

#[unsafe(no_mangle)]
extern "C" fn ncclCommAbort(communicator: *mut c_void) -> Status {
    call(|| {
        Communicator::close(communicator)?.abort();
        Ok(())
    })
}

/// Nothing fails after it was queued; a rank that is gone is waited for, as by NCCL.
#[unsafe(no_mangle)]
unsafe extern "C" fn ncclCommGetAsyncError(
    communicator: *mut c_void,
    status: *mut Status,
) -> Status {
    call(|| {
        Communicator::of(communicator)?;
        // SAFETY: nccl.h: the caller passes a place for one ncclResult_t.
        unsafe { put(status, Status::SUCCESS, "ncclGetAsyncError", "asyncError") }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ncclCommCount(communicator: *mut c_void, count: *mut c_int) -> Status {
    call(|| {
        let ranks = Communicator::of(communicator)?.ranks as c_int;
        // SAFETY: nccl.h: the caller passes a place for one int.
        unsafe { put(count, ranks, "CommCount", "count") }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ncclCommCuDevice(communicator: *mut c_void, device: *mut c_int) -> Status {
    call(|| {
        let found = Communicator::of(communicator)?.device;
        // SAFETY: nccl.h: the caller passes a place for one int.
        unsafe { put(device, found, "CommCuDevice", "device") }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ncclCommUserRank(communicator: *mut c_void, rank: *mut c_int) -> Status {
    call(|| {
        let found = Communicator::of(communicator)?.rank as c_int;
        // SAFETY: nccl.h: the caller passes a place for one int.
        unsafe { put(rank, found, "CommUserRank", "rank") }
    })
}

/// Sums of float16, float32 and bfloat16 only.
#[unsafe(no_mangle)]
unsafe extern "C" fn ncclAllReduce(
    from: *const c_void,
    to: *mut c_void,
    count: usize,
    data_type: c_int,
    operation: c_int,
    communicator: *mut c_void,
    stream: *mut c_void,
) -> Status {
    call(|| {
        if operation != 0 {
            let words = format!("AllReduce : operation {operation}; the soft libnccl only sums");
            return refuse(Status::INVALID_ARGUMENT, words);
        }
        let Some(element) = Element::of(data_type) else {
            let words = format!(
                "AllReduce : data type {data_type}; the soft libnccl sums float16 (6), float32 (7) and bfloat16 (9)"
            );
            return refuse(Status::INVALID_ARGUMENT, words);
        };
        let what = (CollectiveKind::AllReduce, Some(element), data_type);
        // SAFETY: nccl.h: the stream is one of the CUDA driver's.
        unsafe { queue("AllReduce", what, (to, from), count, communicator, stream) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ncclAllGather(
    from: *const c_void,
    to: *mut c_void,
    count: usize,
    data_type: c_int,
    communicator: *mut c_void,
    stream: *mut c_void,
) -> Status {
    call(|| {
        let what = (CollectiveKind::AllGather, None, data_type);
        // SAFETY: nccl.h: the stream is one of the CUDA driver's.
        unsafe { queue("AllGather", what, (to, from), count, communicator, stream) }
    })
}

#[unsafe(no_mangle)]
extern "C" fn ncclGroupStart() -> Status {
    call(|| {
        enter_group();
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn ncclGroupEnd() -> Status {
    call(|| {
        if leave_group() {
            Ok(())
        } else {
            refuse(Status::INVALID_USAGE, "ncclGroupEnd: not in a group call.")
        }
    })
}

/// # Safety
/// As [`Operation::enqueue`].
unsafe fn queue(
    call: &str,
    (kind, element, data_type): (CollectiveKind, Option<Element>, c_int),
    (to, from): (*mut c_void, *const c_void),
    count: usize,
    communicator: *mut c_void,
    stream: *mut c_void,
) -> Outcome<()> {
    let communicator = Communicator::of(communicator)?;
    let bytes = bytes_of(data_type).and_then(|width| width.checked_mul(count));
    let Some(bytes) = bytes else {
        let words = format!("{call} : invalid type {data_type} or count {count}");
        return refuse(Status::INVALID_ARGUMENT, words);
    };
    if bytes == 0 {
        return Ok(());
    }
    let places = (to as usize, from as usize);
    let operation = Operation::new(communicator, kind, element, places, bytes)?;
    // SAFETY: the caller promises it.
    unsafe { operation.enqueue(call, stream) }
}
