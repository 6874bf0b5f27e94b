//! All tests of this package that use it from outside, in one program: linking each alone takes longer than running them.

mod collectives;
mod links;
mod serve;
mod transfers;
