//! The machine behind the soft vendor libraries: a described box played over host memory with a virtual clock.
//!
//! A soft library (`soft/cuda`, `soft/nvml`) exports a vendor's symbols and hands every call to this crate. Bytes are really
//! moved; time is not really spent. This crate exports no symbols, knows no vendor's structures, and prints nothing.
//!
//! # The box
//!
//! `TPLENS_SOFT_BOX` names the box file; without it there is no device. `TPLENS_SOFT_SYSFS` names the generated sysfs tree,
//! where link states are rewritten (a device that is opened leaves its idle link; a link that retrains shows it).
//!
//! # The virtual clock
//!
//! Tests elsewhere solve this model with code of their own, so it is stated in full. 1 GB/s is 1 byte per nanosecond.
//!
//! - Time is a `f64` of nanoseconds, one clock per process, beginning at 0. Issuing work costs no time. A host wait lets the
//!   simulation run until the awaited work has ended, and that instant is the new now. Work issued later starts no earlier.
//!   A query that finds work pending lets the clock run to the next change and reports "not ready", so that polling ends.
//! - A stream runs its operations in order. A copy starts when it is at the head of its stream and one of the `copy_engines`
//!   of the stream's device is free; engines are given in order of readiness, ties in order of issue. MIG instances have
//!   `copy_engines` each. A copy first spends its latency, holding the engine and no bandwidth, then moves its bytes as a flow.
//! - Rates are max-min fair (progressive filling) over all flows that are moving. Each flow has a cap and crosses segments:
//!   - host to device: cap `h2d_pinned` or `h2d_pageable`; segments `devI.down` (capacity `h2d_pinned`) and the device's
//!     `host_segments` downwards.
//!   - device to host: cap `d2h_pinned` or `d2h_pageable`; segments `devI.up` (capacity `d2h_pinned`) and `host_segments` upwards.
//!   - peer a to b, access enabled: cap and latency of the pair; segments `devA.up`, `devB.down` and the pair's segments
//!     (downwards if a < b, else upwards). A pair with `fabric` crosses its own segments only. A pair that is `staged` crosses
//!     the `host_segments` of a upwards and of b downwards besides.
//!   - peer without access: cap `driver_staging_fraction * min(d2h_pinned(a), h2d_pinned(b))`; segments `devA.up`, `devB.down`,
//!     `host_segments` of a upwards and of b downwards; latency the sum of both copy latencies.
//!   - local: cap `local`, no segments.
//! - A duplex segment has its capacity once in each direction; another shares it between both, and a copy that crosses it in
//!   both directions takes its rate from it twice. A route that names a segment twice in the same direction crosses it once.
//! - Peer access counts as enabled for a copy when the device of its stream may access the other one: on a stream of a, a to
//!   b needs access of a to b; on a stream of b, of b to a. On a stream of a third device it never counts.
//! - Events, waits and fills take no time. The null stream is an ordinary stream of its device.
//! - Noise multiplies latency and bytes of a copy by one factor: 1 + cv z, z normal within 3 (drawn again outside), and with
//!   probability `slow_fraction` also 1 + `slow_extra`. The generator starts from the box's seed in every process.
//! - A link that retrains scales `devI.up` and `devI.down` by new raw rate over the box's slot link's raw rate, from the
//!   copy that triggers it on, also for copies under way. Caps stay.
//! - Copies from and to pageable memory return when they have ended; others at once. Bytes move at the end of a copy, in the
//!   order in which copies end. Freeing memory and destroying a stream first run everything that is pending.
//!
//! - A graph holds copies, fills and work of other libraries of one stream, in its order; a launch issues them again.
//! - Work of another library (a collective of `soft/nccl`) takes the time that the library states, and no engine and no
//!   bandwidth. At its end the library moves the bytes, for which it may really wait for other processes: a process takes
//!   part in a collective when it waits for its streams, polls them or frees memory, not when it only issues.
//!   Works of one chain (a communicator) run one after another, whatever their streams. In a process that has issued such
//!   work, a copy from or to pageable memory first runs everything that is pending.
//!
//! Two processes on one box have two clocks: they do not contend. Kernels and memory pools do not exist here.

mod driver;
mod environment;
mod failure;
mod fair;
mod faults;
mod foreign;
mod graphs;
mod memory;
mod noise;
mod ordinals;
mod routes;
mod sim;
mod streams;
mod transfers;

pub use driver::SoftDriver;
pub use environment::{box_name, described, sysfs_root, with_driver};
pub use failure::{Code, Failure, Outcome};
pub use fair::{Demand, fair_rates};
pub use foreign::{Foreign, ForeignCall, ForeignWork, Issued};
pub use graphs::CaptureState;
pub use memory::HostAddress;
pub use noise::call_factor;
pub use ordinals::{Ordinal, ordinals};
pub use sim::{EventTime, Flow, Simulation, Step};
