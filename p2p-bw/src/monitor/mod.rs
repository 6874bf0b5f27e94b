//! `tplens monitor`: writes what devices and processes do, a JSON line at a time, while something else runs.

mod processes;
mod run;
pub(crate) mod sampler;
mod stream;
pub(crate) mod watch;

pub(crate) use run::{MonitorArgs, run};
