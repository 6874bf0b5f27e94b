//! The parent: chooses backend and devices, works out the sizes, runs the ranks, keeps what they find. It loads no vendor library.

mod group;
mod library;
mod run;
mod sampling;
mod session;
mod transport;
mod wanted;

pub(crate) use library::library;
pub(crate) use run::{run, sysfs};
