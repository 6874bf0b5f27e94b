//! `tplens monitor`: writes what devices and processes do, a JSON line at a time, while something else runs.

mod processes;
mod run;
pub(crate) mod sampler;
mod text;
pub(crate) mod watch;

use std::time::Duration;

pub(crate) use run::{MonitorArgs, run};

/// Nanoseconds of a time, which fit for 584 years.
fn ns(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
