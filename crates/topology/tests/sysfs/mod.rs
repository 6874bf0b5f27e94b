//! What the crate reads from sysfs trees that the tests build: machines, paths and links.
//!
//! No test here needs a GPU; the one that reads the running machine expects only what every Linux has.

mod drivers;
mod fixture;
mod functions;
mod links;
mod machine;
mod matrices;
mod nics;
mod paths;
mod surroundings;
