//! The library as programs load it, by its file and its symbols: each test starts itself again with a box of its own. Expected
//! times are worked out from figures that the tests themselves put into the box.
#![expect(unsafe_code, reason = "calls a C library")]

mod compiler;
mod maca;
mod stage;
mod transfers;
