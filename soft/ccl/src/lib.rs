//! What the simulated libraries of collectives have in common: NCCL, RCCL and MCCL over shared host memory, for the ranks of a
//! described box. `soft/nccl`, `soft/rccl` and `soft/mccl` export it under their vendors' names by [`library!`]; what differs
//! between them is a row of type [`Library`].
//!
//! Sums are really formed and bytes really moved, across processes. A call takes the time of the box's `[[collective]]` table of
//! its library times the box's noise, the same factor on every rank, on the virtual clock of the simulated driver that the process
//! has loaded; called one by one it takes no less than the table's `launch_us`. What the box has no table for is refused. Faults
//! of the box whose names begin with `collective_` are played here.
//!
//! Signatures are those of `nccl.h` 2.29, which RCCL and MCCL share; only what tplens calls is here. Each process has one rank of
//! a communicator. Sums are of floating types of 16 and 32 bits, added in binary32 in rank order and rounded once; all else
//! moves elements of every type. A rank that never comes is waited for without end, as by NCCL;
//! aborting ends the wait. A rank takes part in a call when its process waits for the stream, polls it or frees memory, see
//! `softbox`.
//!
//! # What the environment chooses
//!
//! The variables of NCCL, for MCCL those that begin with `MCCL`: `P2P_DISABLE` and `PROTO` limit the tables among which a call
//! takes the fastest, `DEBUG`, `DEBUG_SUBSYS` and `DEBUG_FILE` write a log in the words of the real library. Between devices
//! that may not access each other bytes go through host memory, too. A call of a table that names no protocol is said to run in
//! LL up to 64 KiB and in Simple above: the rule is of this library and not of any vendor.
//!
//! A program can tell these libraries from real ones by the symbol `tplens_soft_box`, which answers the box's name.

mod abi;
mod choice;
mod communicator;
mod driver;
mod exports;
mod log;
mod membership;
mod operation;
mod segment;
mod sum;
mod table;

#[doc(hidden)]
pub mod calls;

#[doc(hidden)]
pub use abi::{Status, UniqueId};
#[doc(hidden)]
pub use softbox::abi::{Handle, Out};
pub use table::{Library, Log, MCCL, NCCL, RCCL};
