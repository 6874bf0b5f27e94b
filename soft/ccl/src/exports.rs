//! The exports: the table of functions that all libraries have, under a vendor's prefix.
//!
//! Signatures are those of nccl.h; MetaX's are the same by the uses that are published.

/// Exports a library's functions: its row, the prefix of its names, and the name of the call that answers a communicator's device.
#[macro_export]
macro_rules! library {
    ($row:expr, $prefix:literal, $device:literal) => {
        $crate::exports! { $row, $prefix;
            "GetVersion" => get_version(version: Out<c_int>);
            "GetUniqueId" => get_unique_id(id: Out<UniqueId>);
            "CommInitRank" => join(communicator: Out<Handle>, ranks: c_int, id: UniqueId, rank: c_int);
            "CommDestroy" => destroy(communicator: Handle);
            "CommAbort" => abort(communicator: Handle);
            "CommGetAsyncError" => get_async_error(communicator: Handle, status: Out<Status>);
            $device => device(communicator: Handle, device: Out<c_int>);
            "AllReduce" => all_reduce(
                from: Address, to: Address, count: usize, data_type: c_int, operation: c_int,
                communicator: Handle, stream: Handle);
            "ReduceScatter" => reduce_scatter(
                from: Address, to: Address, count: usize, data_type: c_int, operation: c_int,
                communicator: Handle, stream: Handle);
            "AllGather" => all_gather(
                from: Address, to: Address, count: usize, data_type: c_int, communicator: Handle, stream: Handle);
        }

        const _: () = {
            use ::std::ffi::c_char;

            #[unsafe(export_name = concat!($prefix, "GetErrorString"))]
            extern "C" fn error_text(status: $crate::Status) -> *const c_char {
                $crate::calls::error_text(status)
            }

            #[unsafe(export_name = concat!($prefix, "GetLastError"))]
            extern "C" fn last_error(communicator: $crate::Handle) -> *const c_char {
                $crate::calls::last_error(communicator)
            }

            #[unsafe(no_mangle)]
            extern "C" fn tplens_soft_box() -> *const c_char {
                $crate::calls::box_name()
            }
        };
    };
}

/// Exports of calls that answer a status: the name behind the vendor's prefix, the function in `calls`, and the C parameters.
#[doc(hidden)]
#[macro_export]
macro_rules! exports {
    ($row:expr, $prefix:literal; $($name:literal => $function:ident($($argument:ident: $kind:ty),*);)+) => {
        const _: () = {
            use ::std::ffi::c_int;
            use $crate::{Address, Handle, Out, Status, UniqueId};

            $(const _: () = {
                #[unsafe(export_name = concat!($prefix, $name))]
                extern "C" fn export($($argument: $kind),*) -> Status {
                    $crate::calls::$function(&$row, $($argument),*)
                }
            };)+
        };
    };
}
