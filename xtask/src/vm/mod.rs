//! `cargo xtask vm-test`: emulated machines with a real kernel, on which our program is compared with other tools.

mod allowance;
mod apt;
mod compare;
mod cpio;
mod initramfs;
mod machines;
mod ours;
mod packages;
mod qemu;
mod run;
mod tools;

pub(crate) use run::{Compared, Options, Outcome, run};
