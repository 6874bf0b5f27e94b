//! The functions that are forwarded, by name: a closed list, because a dynamic library's symbols are fixed when it is linked.
//!
//! `nccl` has what `nm -D --defined-only` shows of the libnccl.so.2 in the wheels nvidia-nccl-cu12 2.21.5, 2.28.9, 2.29.3 and
//! 2.32.3 and nvidia-nccl-cu13 2.29.7; the last of the first has all of the others. `rccl` adds those of RCCL's rccl.h and
//! api_trace.h that NCCL lacks. Names stand without their prefix, by what is answered where the library lacks them.

/// Hands the list to a macro, with what else is given.
#[macro_export]
#[doc(hidden)]
macro_rules! names {
    (nccl $with:ident! { $($given:tt)* }) => {
        $crate::$with! { $($given)*;
            Delayed: "AllReduce" "AllReduceConfig";
            Result: "AllGather" "AllGatherConfig" "AlltoAll" "AlltoAllConfig" "Bcast" "Broadcast"
                "BroadcastConfig" "CommAbort" "CommCount" "CommCuDevice" "CommDeregister"
                "CommDestroy" "CommFinalize" "CommGetAsyncError" "CommGetUniqueId" "CommGrow"
                "CommInitAll" "CommInitRank" "CommInitRankConfig" "CommInitRankScalable"
                "CommMemStats" "CommQueryProperties" "CommRegister" "CommResume" "CommRevoke"
                "CommShrink" "CommSplit" "CommSuspend" "CommUserRank" "CommWindowDeregister"
                "CommWindowRegister" "DevCommCreate" "DevCommDestroy" "Gather" "GatherConfig"
                "GetCftDeviceLeInfo" "GetLsaDevicePointer" "GetLsaMultimemDevicePointer"
                "GetMultimemDeviceLeInfo" "GetMultimemDevicePointer" "GetPeerDeviceLeInfo"
                "GetPeerDevicePointer" "GetUniqueId" "GetVersion" "GinBarrierCreateRequirement"
                "GinInboxA2ACreateRequirement" "GinOutboxCreateRequirement" "GroupEnd"
                "GroupSimulateEnd" "GroupStart" "LLA2ACreateRequirement"
                "LsaBarrierCreateRequirement" "MemAlloc" "MemFree" "ParamBind" "ParamGet"
                "ParamGetAllParameterKeys" "ParamGetI16" "ParamGetI32" "ParamGetI64" "ParamGetI8"
                "ParamGetParameter" "ParamGetStr" "ParamGetU16" "ParamGetU32" "ParamGetU64"
                "ParamGetU8" "PutSignal" "Recv" "RedOpCreatePreMulSum" "RedOpDestroy" "Reduce"
                "ReduceConfig" "ReduceScatter" "ReduceScatterConfig" "Scatter" "ScatterConfig"
                "Send" "SetEncryption" "Signal" "WaitSignal" "WinGetUserPtr";
            Text: "GetErrorString";
            LastError: "GetLastError";
            Nothing: "LLA2ACalcSlots" "ParamDumpAll" "ResetDebugInit" "ResetDebugInitInternal"
                "TeamCft" "TeamCftMultimem" "TeamLsa" "TeamRail" "TeamRankToLsa" "TeamRankToWorld"
                "TeamWorld";
        }
    };
    (rccl $with:ident! { $($given:tt)* }) => {
        $crate::$with! { $($given)*;
            Delayed: "AllReduceWithBias";
            Result: "AllToAll" "AllToAllv";
        }
    };
    (msccl $with:ident! { $($given:tt)* }) => {
        $crate::$with! { $($given)*;
            Result: "LoadAlgo" "RunAlgo" "UnloadAlgo";
        }
    };
}

/// The names of a list.
#[doc(hidden)]
#[macro_export]
macro_rules! list {
    (; $($answer:ident: $($name:literal)+;)+) => {
        &[$($($name),+),+]
    };
}
