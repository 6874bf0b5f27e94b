//! What is wrong with a machine for copies between GPUs: rules as a table, each judged from facts that were read before.
//!
//! It reads nothing but what [`topology::Sysfs`] shows, starts no process, loads no vendor library and changes no setting.
//! Whether a path works is measured elsewhere; a rule says what is known to speak against it.
#![forbid(unsafe_code)]

mod events;
mod facts;
mod finding;
pub mod known;
pub mod p2p;
mod rules;
pub mod variables;

pub use events::event;
pub use facts::{
    Card, Device, Facts, Frequency, Given, Gpu, Host, Pair, Port, Process, Reading, SharedMemory,
    Variable, Version,
};
pub use finding::{Evidence, EvidenceList, Finding, Value, Verdict};
pub use rules::{RULES, Rule, judge};
