//! The functions that are forwarded, by name: a closed list, because a dynamic library's symbols are fixed when it is linked.
//!
//! `nccl` has what `nm -D --defined-only` shows of the libnccl.so.2 in the wheels nvidia-nccl-cu12 2.21.5, 2.28.9, 2.29.3 and
//! 2.32.3 and nvidia-nccl-cu13 2.29.7; the last of the first has all of the others. `rccl` adds those of RCCL's rccl.h and
//! api_trace.h that NCCL lacks. A row is a name without its prefix, what is answered where the library lacks it, and,
//! of an all-reduce, the number of the argument, from 0, that is its stream (nccl.h).

/// Hands the list to a macro, with what else is given.
#[macro_export]
#[doc(hidden)]
macro_rules! names {
    (nccl $with:ident! { $($given:tt)* }) => {
        $crate::$with! { $($given)*;
            "AllGather" => Result;
            "AllGatherConfig" => Result;
            "AllReduce" => Result, stream at 6;
            "AllReduceConfig" => Result, stream at 6;
            "AlltoAll" => Result;
            "AlltoAllConfig" => Result;
            "Bcast" => Result;
            "Broadcast" => Result;
            "BroadcastConfig" => Result;
            "CommAbort" => Result;
            "CommCount" => Result;
            "CommCuDevice" => Result;
            "CommDeregister" => Result;
            "CommDestroy" => Result;
            "CommFinalize" => Result;
            "CommGetAsyncError" => Result;
            "CommGetUniqueId" => Result;
            "CommGrow" => Result;
            "CommInitAll" => Result;
            "CommInitRank" => Result;
            "CommInitRankConfig" => Result;
            "CommInitRankScalable" => Result;
            "CommMemStats" => Result;
            "CommQueryProperties" => Result;
            "CommRegister" => Result;
            "CommResume" => Result;
            "CommRevoke" => Result;
            "CommShrink" => Result;
            "CommSplit" => Result;
            "CommSuspend" => Result;
            "CommUserRank" => Result;
            "CommWindowDeregister" => Result;
            "CommWindowRegister" => Result;
            "DevCommCreate" => Result;
            "DevCommDestroy" => Result;
            "Gather" => Result;
            "GatherConfig" => Result;
            "GetCftDeviceLeInfo" => Result;
            "GetErrorString" => Text;
            "GetLastError" => LastError;
            "GetLsaDevicePointer" => Result;
            "GetLsaMultimemDevicePointer" => Result;
            "GetMultimemDeviceLeInfo" => Result;
            "GetMultimemDevicePointer" => Result;
            "GetPeerDeviceLeInfo" => Result;
            "GetPeerDevicePointer" => Result;
            "GetUniqueId" => Result;
            "GetVersion" => Result;
            "GinBarrierCreateRequirement" => Result;
            "GinInboxA2ACreateRequirement" => Result;
            "GinOutboxCreateRequirement" => Result;
            "GroupEnd" => Result;
            "GroupSimulateEnd" => Result;
            "GroupStart" => Result;
            "LLA2ACalcSlots" => Nothing;
            "LLA2ACreateRequirement" => Result;
            "LsaBarrierCreateRequirement" => Result;
            "MemAlloc" => Result;
            "MemFree" => Result;
            "ParamBind" => Result;
            "ParamDumpAll" => Nothing;
            "ParamGet" => Result;
            "ParamGetAllParameterKeys" => Result;
            "ParamGetI16" => Result;
            "ParamGetI32" => Result;
            "ParamGetI64" => Result;
            "ParamGetI8" => Result;
            "ParamGetParameter" => Result;
            "ParamGetStr" => Result;
            "ParamGetU16" => Result;
            "ParamGetU32" => Result;
            "ParamGetU64" => Result;
            "ParamGetU8" => Result;
            "PutSignal" => Result;
            "Recv" => Result;
            "RedOpCreatePreMulSum" => Result;
            "RedOpDestroy" => Result;
            "Reduce" => Result;
            "ReduceConfig" => Result;
            "ReduceScatter" => Result;
            "ReduceScatterConfig" => Result;
            "ResetDebugInit" => Nothing;
            "ResetDebugInitInternal" => Nothing;
            "Scatter" => Result;
            "ScatterConfig" => Result;
            "Send" => Result;
            "SetEncryption" => Result;
            "Signal" => Result;
            "TeamCft" => Nothing;
            "TeamCftMultimem" => Nothing;
            "TeamLsa" => Nothing;
            "TeamRail" => Nothing;
            "TeamRankToLsa" => Nothing;
            "TeamRankToWorld" => Nothing;
            "TeamWorld" => Nothing;
            "WaitSignal" => Result;
            "WinGetUserPtr" => Result;
        }
    };
    (rccl $with:ident! { $($given:tt)* }) => {
        $crate::$with! { $($given)*;
            "AllReduceWithBias" => Result, stream at 6;
            "AllToAll" => Result;
            "AllToAllv" => Result;
        }
    };
    (msccl $with:ident! { $($given:tt)* }) => {
        $crate::$with! { $($given)*;
            "LoadAlgo" => Result;
            "RunAlgo" => Result;
            "UnloadAlgo" => Result;
        }
    };
}

/// The names of rows.
#[doc(hidden)]
#[macro_export]
macro_rules! list {
    (; $($name:literal => $answer:ident $(, stream at $stream_at:literal)?;)+) => {
        &[$($name),+]
    };
}
