//! `tplens p2p` as its user runs it: the built program, its exit codes, what it prints and what it leaves on the disk.
//!
//! The numbers it gives on simulated machines are compared elsewhere, in `known_answers`.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod agree;
mod cli;
mod common;
mod compare;
mod doctor;
mod emulated;
mod faults;
mod files;
mod interrupted;
mod kept;
mod links;
mod load;
mod mig;
mod monitor;
mod monitored;
mod numa_exec;
mod numa_prove;
mod nvlinks;
mod patterns;
mod peer_kernels;
mod peers;
mod surroundings;
mod topo;
mod watch;
