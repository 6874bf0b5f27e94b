//! What the crate reads from sysfs trees that the tests build: machines, paths and links.
//!
//! No test here needs a GPU; the one that reads the running machine expects only what every Linux has.

mod fixture;
mod links;
mod machine;
mod mx_smi;
mod paths;
mod surroundings;
