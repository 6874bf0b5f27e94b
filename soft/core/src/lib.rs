//! The machine behind the simulated vendor libraries: a described box played over host memory with a virtual clock.
//!
//! A simulated library (`soft/runtime`, `soft/nvml`) exports a vendor's symbols and hands every call to this crate. Bytes are really
//! moved; time is not really spent. This crate exports no symbols, knows no vendor's structures, and prints nothing.
//!
//! # The box
//!
//! `TPLENS_SOFT_BOX` names the box file; without it there is no device. `TPLENS_SOFT_SYSFS` names the generated sysfs tree,
//! where link states are rewritten (a device that is opened leaves its idle link; a link that retrains shows it).
//! `TPLENS_SIM_STREAM`, any words, mixes into the seed of the box's noise, so that processes which name another stream draw
//! other noise, and those which name the same draw the same; without it the box's own seed holds.
//!
//! # The virtual clock
//!
//! Tests elsewhere solve this model with code of their own, so it is stated in full. 1 GB/s is 1 byte per nanosecond.
//!
//! - Time is a `f64` of nanoseconds, one clock per process, beginning at 0. Issuing work costs no time. A host wait lets the
//!   simulation run until the awaited work has ended, and that instant is the new now. Work issued later starts no earlier.
//! - A stream runs its operations in order. A copy starts when it is at the head of its stream and one of the `copy_engines`
//!   of the stream's device is free; engines are given in order of readiness, ties in order of issue. MIG instances have
//!   `copy_engines` each. A copy first spends its latency, holding the engine and no bandwidth, then moves its bytes as a flow.
//! - Rates are max-min fair (progressive filling) over all flows that are moving. Each flow has a cap and crosses segments:
//!   - host to device: cap `h2d_pinned` or `h2d_pageable`, and for pageable copies that are not larger than `pageable_up_to.bytes` its rate; times the parts of "NUMA nodes" below; segments `devI.down` (capacity `h2d_pinned`) and the device's `host_segments`
//!     downwards.
//!   - device to host: cap `d2h_` and the same; segments `devI.up` (capacity `d2h_pinned`) and `host_segments` upwards.
//!   - peer a to b, access enabled: cap and latency of the pair; segments `devA.up`, `devB.down` and the pair's segments
//!     (downwards if a < b, else upwards). A pair with `fabric` crosses its own segments only. A pair that is `staged` crosses
//!     the `host_segments` of a upwards and of b downwards besides.
//!   - peer without access: cap `driver_staging_fraction * min(d2h_pinned(a), h2d_pinned(b))`; segments `devA.up`, `devB.down`,
//!     `host_segments` of a upwards and of b downwards; latency `driver_staging_latency_us`, else the
//!     sum of both copy latencies.
//!   - local: cap `local`, no segments.
//! - A duplex segment has its capacity once in each direction; another shares it between both, and a copy that crosses it in
//!   both directions takes its rate from it twice. A route that names a segment twice in the same direction crosses it once.
//! - Peer access counts as enabled for a copy when the device of its stream may access the other one: on a stream of a, a to
//!   b needs access of a to b; on a stream of b, of b to a. On a stream of a third device it never counts.
//! - Events and waits take no time. The null stream is an ordinary stream of its device.
//! - Noise multiplies latency and bytes of a copy by one factor: 1 + cv z, z normal within 3 (drawn again outside), and with
//!   probability `slow_fraction` also 1 + `slow_extra`. The generator starts from the box's seed in every process.
//! - A link that retrains scales `devI.up` and `devI.down` by new raw rate over the box's slot link's raw rate, from the
//!   copy that triggers it on, also for copies under way. Caps stay.
//! - NUMA nodes: with the device on node G, all of the host memory on M and the issuing thread on T, a copy between device and
//!   host has the `[[far]]` table of (G, M), which is that of `nodes = [G, M]`, else of the distance from G to M. Its `latency_us`
//!   is added to the latency, its part for direction and kind multiplies the cap, and its `segments` are crossed,
//!   downwards where the bytes go to a node of a higher number, else upwards. The cap of a pageable copy is also multiplied by `pageable_thread` of the table of (T, M). A table
//!   of a node and itself, and one that is not there, changes nothing. `devI.down` and `devI.up` have room for the largest part
//!   above 1 of memory that devices reach. A copy kernel from or to host memory has the latency and the part, too; a chase has
//!   not. `tplens_soft_place` and `tplens_soft_run_on` say where memory and threads are. A thread that was put nowhere is on
//!   G. Memory that was placed nowhere is on the node of its thread: pinned of the one that allocated it, other of the one
//!   that copies; was that put nowhere, then it is near to all.
//! - Copies from and to pageable memory return when they have ended; others at once. Bytes move at the end of a copy, in the
//!   order in which copies end. Freeing memory and destroying a stream first run everything that is pending.
//!
//! - A graph holds copies, kernels and work of other libraries of one stream, in its order; a launch issues them again.
//! - Work of another library (a collective of `soft/nccl`) takes the time that the library states, and no engine and no
//!   bandwidth. At its end the library moves the bytes, for which it may really wait for other processes: a process takes
//!   part in a collective when it waits for its streams, polls them or frees memory, not when it only issues.
//!   Works of one chain (a communicator) run one after another, whatever their streams. In a process that has issued such
//!   work, a copy from or to pageable memory first runs everything that is pending.
//!
//! Two processes on one box have two clocks: they do not contend. Memory pools do not exist here.
//!
//! # Kernels
//!
//! There are seven ([`Kernel`]), with the figures of the table `kernels` of their stream's device; a device without that table
//! refuses them (801).
//!
//! - A kernel takes no copy engine: kernels of different streams run at once, in one stream in order. Each but a gate draws
//!   one noise factor, which multiplies its latency and its bytes.
//! - Memory: a device reaches its own, a peer's where its own access to that peer is enabled, and pinned host memory, at the
//!   host's address. All else is an illegal address (700), and what is not aligned to the
//!   kernel's loads a misaligned one (716): the call that issues the kernel says so, and the device is lost.
//! - copy: latency `launch_us`, then a flow as a copy's. One end at least is the device's own memory (else 801).
//!   - own to own: cap `kernels.local`, no segments.
//!   - from host to own: cap `kernels.h2d`, segments of a host to device copy; from own to host: cap `kernels.d2h`, segments
//!     of a device to host copy.
//!   - from own to a peer's (a write) or from a peer's to own (a read): latency `launch_us` and the pair's `latency_us`, cap
//!     `kernel_write` or `kernel_read` of the pair, segments of a direct peer copy of these bytes.
//! - fill, check: latency `launch_us`, then their bytes at `kernels.local`, no segments; own memory only (else 801).
//! - burn: `launch_us`, then 512 operations a round of each item at `kernels.fp32_tflops`, all of it latency; its answer in own
//!   memory (else 801), and a device without that figure refuses it (801). No sum is calculated.
//! - chase: `launch_us` and for each step `local_chase_ns` in own memory, `host_chase_ns` in the host's, the pair's `chase_ns`
//!   in a peer's (where the pair gives none, that is an illegal address); all of it latency. A chain that leads out of its
//!   memory loses the device when it is followed.
//! - gate: it takes no launch time. It ends when the clock is about to run and its flag is not 0, and then no time passes for
//!   it; else `timeout_ns` after it began, and then it writes its answer.
//! - Bytes move, words are filled, checked and followed, when the kernel has ended.

pub mod abi;
mod allocations;
mod driver;
mod environment;
mod failure;
mod fair;
mod faults;
mod foreign;
mod graphs;
mod kernels;
mod launches;
mod memory;
mod nodes;
mod noise;
mod ordinals;
mod peers;
mod routes;
mod sim;
mod streams;
mod transfers;
mod words;
mod work;

pub use driver::SoftDriver;
pub use environment::{box_name, described, sysfs_root, with_driver};
pub use failure::{Code, Failure, Outcome};
pub use fair::{Demand, fair_rates};
pub use foreign::{Foreign, ForeignCall};
pub use graphs::CaptureState;
pub use kernels::Kernel;
pub use memory::HostAddress;
pub use noise::call_factor;
pub use ordinals::{Ordinal, ordinals};
pub use sim::{EventTime, Flow, Simulation, Step};
