//! What can be changed, a row each; one arm: a row with what the command line fills in; and the names of the variables that make it, a
//! row a vendor.

use boxfile::{Limits, Protocol, Transport};
use clap::builder::{PossibleValue, PossibleValuesParser};
use explain::Change;
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

/// How one vendor's software is reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Names {
    /// Whose GPUs.
    vendor: Vendor,
    /// What the collective library's variables begin with.
    pub(super) collectives: &'static str,
    /// The devices that a process sees.
    pub(super) visible: &'static str,
}

impl Names {
    /// Those of a vendor; `None` for host memory and for GPUs whose software is not known.
    ///
    /// Sources: NCCL's user guide, environment variables; RCCL takes the same names (its environment variables page); MetaX's guide to
    /// MCCL's environment variables, 2.1.12, 2.1.13, 2.2.11, 2.2.21 and 2.5.2.
    pub(super) fn of(vendor: Vendor) -> Option<Self> {
        let (collectives, visible) = match vendor {
            Vendor::Nvidia => ("NCCL", "CUDA_VISIBLE_DEVICES"),
            Vendor::Amd => ("NCCL", "HIP_VISIBLE_DEVICES"),
            Vendor::Metax => ("MCCL", "MACA_VISIBLE_DEVICES"),
            _ => return None,
        };
        Some(Self {
            vendor,
            collectives,
            visible,
        })
    }

    /// The variable by which an engine is given another file of the library, in the place of NCCL or RCCL: vLLM 0.13.0 `vllm/envs.py`,
    /// SGLang 0.5.6 `pynccl_wrapper.py`.
    pub(super) fn library(&self, is_sglang: bool) -> Option<&'static str> {
        (self.vendor != Vendor::Metax).then_some(match is_sglang {
            true => "SGLANG_NCCL_SO_PATH",
            false => "VLLM_NCCL_SO_PATH",
        })
    }

    /// The variable by which vLLM is told to leave torch's symmetric memory.
    pub(super) fn no_symmetric(&self) -> Option<&'static str> {
        (self.vendor == Vendor::Nvidia).then_some("VLLM_ALLREDUCE_USE_SYMM_MEM")
    }
}
