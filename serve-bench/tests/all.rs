//! All tests of this package that use it from outside, in one program: linking each alone takes longer than running them.

mod ablate;
mod beside;
mod compare;
mod engine;
mod kv;
mod load;
mod predict;
mod real;
mod route;
mod selftest;
mod slo;
mod split;
mod study;
mod sweep;
