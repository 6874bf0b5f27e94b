//! What can be changed, a row each; one arm: a row with what the command line fills in; and the names of the variables that make it, a
//! row a vendor.

use boxfile::{BoxFile, Collective, CollectiveKind, CollectiveLibrary, Protocol, Transport};
use clap::builder::{PossibleValue, PossibleValuesParser};
use engine::Curve;
use explain::Change;
use record::PlannedStep;
use tp_plan::Vendor;

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
    /// Whether the library may still take a time of a simulated machine's.
    keeps: fn(&Collective) -> bool,
}

/// All of them, the baseline first.
pub(super) static ROWS: [Row; 4] = [
    Row {
        name: "baseline",
        change: Change::Baseline,
        about: "the box as it is",
        variable: None,
        keeps: |_| true,
    },
    Row {
        name: "p2p-off",
        change: Change::Link,
        about: "everything between GPUs goes through host memory",
        variable: Some(("P2P_DISABLE", "1")),
        keeps: |of| of.transport.is_none_or(|is| is == Transport::Shm),
    },
    Row {
        name: "proto-simple",
        change: Change::Link,
        about: "the library's protocol Simple alone",
        variable: Some(("PROTO", "Simple")),
        keeps: |of| of.protocol.is_none_or(|is| is == Protocol::Simple),
    },
    Row {
        name: "delay",
        change: Change::Delay,
        about: "each all-reduce takes --delays us longer: the positive control",
        variable: None,
        keeps: |_| true,
    },
];

impl Row {
    /// A simulated machine with the times alone that it leaves the library.
    pub(super) fn limited(&self, described: &BoxFile) -> BoxFile {
        let mut described = described.clone();
        let is_own = |table: &Collective| table.library == CollectiveLibrary::Custom;
        (described.collective).retain(|table| is_own(table) || (self.keeps)(table));
        described
    }
}

/// A simulated machine with so much more time in each of the library's all-reduces, and other draws of its noise.
pub(super) fn delayed(described: &BoxFile, delay_us: u32, launch: u32) -> BoxFile {
    let mut described = described.clone();
    for table in &mut described.collective {
        if table.library != CollectiveLibrary::Custom && table.kind == CollectiveKind::AllReduce {
            let points = table.points.iter_mut();
            points.for_each(|(_, us)| *us += f64::from(delay_us));
        }
    }
    if let Some(noise) = &mut described.noise {
        noise.seed = noise.seed.wrapping_add(u64::from(launch));
    }
    described
}

/// Time of all collectives of a step on a simulated machine, us; `None` where its file does not say that of one of them.
pub(super) fn collectives_us(described: &BoxFile, step: &PlannedStep) -> Option<f64> {
    let curve = Curve::of_box(described, step.tp);
    let times = step.collectives.iter().map(|of| {
        let us = curve.us(of.kind, of.path, of.bytes_per_rank)?;
        Some(f64::from(of.count) * us)
    });
    times.sum()
}

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
    /// Its variables, which benchmark and server both get.
    pub(super) variables: Vec<(String, String)>,
}

/// What a vendor's variables of its collective library begin with, and the variable of the devices that a process sees; `None` for host
/// memory and for GPUs whose software is not known.
///
/// Sources: NCCL's user guide, environment variables; RCCL takes the same names (its environment variables page); MetaX's guide to
/// MCCL's environment variables, 2.1.12, 2.1.13, 2.2.11, 2.2.21 and 2.5.2.
pub(super) fn variables(vendor: Vendor) -> Option<[&'static str; 2]> {
    match vendor {
        Vendor::Nvidia => Some([NCCL, "CUDA_VISIBLE_DEVICES"]),
        Vendor::Amd => Some([NCCL, "HIP_VISIBLE_DEVICES"]),
        Vendor::Metax => Some(["MCCL", "MACA_VISIBLE_DEVICES"]),
        _ => None,
    }
}

/// What variables of NCCL and RCCL begin with.
pub(super) const NCCL: &str = "NCCL";

/// By which vLLM and SGLang are given another file in the place of NCCL or RCCL: vLLM 0.13.0 `vllm/envs.py`, SGLang 0.5.6
/// `pynccl_wrapper.py`.
pub(super) const LIBRARY: [&str; 2] = ["VLLM_NCCL_SO_PATH", "SGLANG_NCCL_SO_PATH"];

/// By which vLLM is told to leave torch's symmetric memory, on NVIDIA's GPUs.
pub(super) const SYMMETRIC: &str = "VLLM_ALLREDUCE_USE_SYMM_MEM";

#[cfg(test)]
mod tests {
    use super::*;

    fn all_reduce(described: &BoxFile) -> Option<f64> {
        let kind = CollectiveKind::AllReduce;
        described.collective_us(CollectiveLibrary::Nccl, kind, 2, 65_536)
    }

    #[test]
    fn an_arm_of_a_box_takes_what_its_tables_say() {
        let l40 = BoxFile::builtin("l40x4").unwrap();
        // The box file's tables of two ranks: 12.6 us directly at 64 KiB, 13.8 us through host memory.
        assert_eq!(all_reduce(&l40), Some(12.6));
        let staged = ROWS[1].limited(&l40);
        assert_eq!(all_reduce(&staged), Some(13.8));
        assert!(staged.validate("test").is_ok());
        // 12.6 + 20 at a size that is a point of the table.
        let slow = all_reduce(&delayed(&l40, 20, 0)).unwrap();
        assert!((slow - 32.6).abs() < 1e-9, "{slow}");
    }
}
