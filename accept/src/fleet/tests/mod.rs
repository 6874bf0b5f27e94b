//! What is said of fleets whose truth is known: planted in numbers by the seed, and in reports by hand.

mod planted;
mod reports;
