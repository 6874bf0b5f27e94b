//! The exports: the table of functions that all libraries have, under a vendor's prefix.
//!
//! Signatures are those of nccl.h; MetaX's are the same by the uses that are published.

/// Exports a library's functions: its row, the prefix of its names, and the name of the call that answers a communicator's device.
#[macro_export]
macro_rules! library {
    ($row:expr, $prefix:literal, $device:literal) => {
        const _: () = {
            use ::std::ffi::{c_char, c_int};
            use $crate::calls::{self, Kind};
            use $crate::{Handle, Out, Status, UniqueId};

            $crate::exports! { $prefix;
                "GetErrorString"(status: Status) -> *const c_char { calls::text_of(status) }
                "GetLastError"(_comm: Handle) -> *const c_char { calls::last_words() }
                "GetVersion"(version: Out<c_int>) -> Status { calls::get_version(&$row, version) }
                "GetUniqueId"(id: Out<UniqueId>) -> Status { calls::get_unique_id(id) }
                "CommInitRank"(comm: Out<Handle>, ranks: c_int, id: UniqueId, rank: c_int) -> Status {
                    calls::join(&$row, comm, ranks, id, rank)
                }
                "CommDestroy"(comm: Handle) -> Status { calls::destroy(comm) }
                "CommAbort"(comm: Handle) -> Status { calls::abort(comm) }
                "CommGetAsyncError"(comm: Handle, status: Out<Status>) -> Status {
                    calls::get_async_error(comm, status)
                }
                $device(comm: Handle, device: Out<c_int>) -> Status { calls::device(comm, device) }
                "AllReduce"(
                    from: Handle, to: Handle, count: usize, kind: c_int, reduction: c_int, comm: Handle, stream: Handle
                ) -> Status {
                    let buffers = (from, to, count, kind);
                    calls::collective(&$row, Kind::AllReduce, buffers, Some(reduction), comm, stream)
                }
                "ReduceScatter"(
                    from: Handle, to: Handle, count: usize, kind: c_int, reduction: c_int, comm: Handle, stream: Handle
                ) -> Status {
                    let buffers = (from, to, count, kind);
                    calls::collective(&$row, Kind::ReduceScatter, buffers, Some(reduction), comm, stream)
                }
                "AllGather"(from: Handle, to: Handle, count: usize, kind: c_int, comm: Handle, stream: Handle) -> Status {
                    calls::collective(&$row, Kind::AllGather, (from, to, count, kind), None, comm, stream)
                }
            }

            /// The name of the box behind this library, empty without one; its presence says that no GPU is here.
            #[unsafe(no_mangle)]
            extern "C" fn tplens_soft_box() -> *const c_char {
                calls::box_name().as_ptr()
            }
        };
    };
}

/// Exports: the name behind the vendor's prefix, the C parameters, what is answered, and the body.
#[doc(hidden)]
#[macro_export]
macro_rules! exports {
    ($prefix:literal; $($name:literal($($argument:ident: $kind:ty),*) -> $answer:ty $body:block)+) => {
        $(const _: () = {
            #[unsafe(export_name = concat!($prefix, $name))]
            extern "C" fn export($($argument: $kind),*) -> $answer $body
        };)+
    };
}
