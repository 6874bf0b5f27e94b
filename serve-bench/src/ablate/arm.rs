//! What can be changed, a row each, and one arm: a row with what the command line fills in.

use boxfile::{Limits, Protocol, Transport};
use clap::builder::{PossibleValue, PossibleValuesParser};
use explain::Change;

/// Something that can be changed.
#[derive(Debug)]
pub(super) struct Row {
    /// Its name on the command line.
    pub(super) name: &'static str,
    /// What it changes.
    pub(super) change: Change,
    /// What it is, for the help.
    about: &'static str,
    /// A variable of the collective library, without the prefix that is the vendor's.
    pub(super) variable: Option<(&'static str, &'static str)>,
    /// What it leaves of the times of a simulated machine.
    pub(super) limits: fn() -> Limits,
}

/// All of them, the baseline first.
pub(super) static ROWS: [Row; 4] = [
    Row {
        name: "baseline",
        change: Change::Baseline,
        about: "the box as it is",
        variable: None,
        limits: Limits::default,
    },
    Row {
        name: "p2p-off",
        change: Change::Link,
        about: "everything between GPUs goes through host memory",
        variable: Some(("P2P_DISABLE", "1")),
        limits: || Limits {
            transport: Some(Transport::Shm),
            ..Limits::default()
        },
    },
    Row {
        name: "proto-simple",
        change: Change::Link,
        about: "the library's protocol Simple alone",
        variable: Some(("PROTO", "Simple")),
        limits: || Limits {
            protocols: vec![Protocol::Simple],
            ..Limits::default()
        },
    },
    Row {
        name: "delay",
        change: Change::Delay,
        about: "each all-reduce takes --delays us longer: the positive control",
        variable: None,
        limits: Limits::default,
    },
];

/// The names with what they mean, as `--arms` takes them.
pub(super) fn names() -> PossibleValuesParser {
    let rows = ROWS.iter();
    PossibleValuesParser::new(rows.map(|row| PossibleValue::new(row.name).help(row.about)))
}

/// Launches that are started alike.
#[derive(Debug, Clone)]
pub(super) struct Arm {
    /// Its name, such as `delay-20`.
    pub(super) name: String,
    /// What it is an instance of.
    pub(super) row: &'static Row,
    /// What the shim adds to each all-reduce, us.
    pub(super) delay_us: Option<u32>,
}
