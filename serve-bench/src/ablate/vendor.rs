//! The names of the variables that make an arm: a row a vendor.

use tp_plan::Vendor;

/// How one vendor's software is reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Names {
    /// Whose GPUs.
    vendor: Vendor,
    /// What the collective library's variables begin with.
    pub(super) collectives: &'static str,
    /// The devices that a process sees.
    pub(super) visible: &'static str,
    /// The file that vLLM loads as the collective library.
    vllm_library: Option<&'static str>,
    /// The file that SGLang loads as it.
    sglang_library: Option<&'static str>,
    /// By which variable vLLM is told to leave torch's symmetric memory.
    pub(super) no_symmetric: Option<&'static str>,
}

/// Sources: NCCL's user guide, environment variables; RCCL takes the same names (its environment variables page); MetaX's guide
/// to MCCL's environment variables, 2.1.12, 2.1.13, 2.2.11, 2.2.21 and 2.5.2. The library's file: vLLM 0.13.0 `vllm/envs.py`,
/// SGLang 0.5.6 `pynccl_wrapper.py`. Delays stand before NCCL and RCCL, so MCCL's file is never named.
const ROWS: [Names; 3] = [
    Names {
        vendor: Vendor::Nvidia,
        collectives: "NCCL",
        visible: "CUDA_VISIBLE_DEVICES",
        vllm_library: Some("VLLM_NCCL_SO_PATH"),
        sglang_library: Some("SGLANG_NCCL_SO_PATH"),
        no_symmetric: Some("VLLM_ALLREDUCE_USE_SYMM_MEM"),
    },
    Names {
        vendor: Vendor::Amd,
        collectives: "NCCL",
        visible: "HIP_VISIBLE_DEVICES",
        vllm_library: Some("VLLM_NCCL_SO_PATH"),
        sglang_library: Some("SGLANG_NCCL_SO_PATH"),
        no_symmetric: None,
    },
    Names {
        vendor: Vendor::Metax,
        collectives: "MCCL",
        visible: "MACA_VISIBLE_DEVICES",
        vllm_library: None,
        sglang_library: None,
        no_symmetric: None,
    },
];

impl Names {
    /// Those of a vendor; `None` for host memory and for GPUs whose software is not known.
    pub(super) fn of(vendor: Vendor) -> Option<Self> {
        ROWS.into_iter().find(|row| row.vendor == vendor)
    }

    /// The variable by which an engine is given another file of the library.
    pub(super) fn library(&self, is_sglang: bool) -> Option<&'static str> {
        match is_sglang {
            true => self.sglang_library,
            false => self.vllm_library,
        }
    }
}
