//! `tplens monitor`: writes what devices and processes do, a JSON line at a time, while something else runs.

mod args;
mod processes;
mod run;
pub(crate) mod sampler;
mod stream;
mod ticks;
pub(crate) mod watch;

pub(crate) use args::MonitorArgs;
pub(crate) use run::run;
