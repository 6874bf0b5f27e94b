//! The box around an engine from what drivers and box files say: names, memory, MIG, peer access.

use super::facts::{Surroundings, Vendor};

/// Architectures by a part of the GPU's name, in lower case; the first that fits holds, so longer names stand before shorter.
/// Sources: NVIDIA's list of CUDA GPUs by compute capability, AMD's list of supported GPUs in the ROCm documentation.
const ARCHITECTURES: &[(&str, &str)] = &[
    ("rtx pro", "sm_120"),
    ("rtx 50", "sm_120"),
    ("gb300", "sm_103"),
    ("b300", "sm_103"),
    ("gb200", "sm_100"),
    ("b200", "sm_100"),
    ("gh200", "sm_90"),
    ("h200", "sm_90"),
    ("h100", "sm_90"),
    ("h800", "sm_90"),
    ("h20", "sm_90"),
    ("l40", "sm_89"),
    ("l20", "sm_89"),
    ("nvidia l4", "sm_89"),
    ("6000 ada", "sm_89"),
    ("rtx 40", "sm_89"),
    ("a100", "sm_80"),
    ("a800", "sm_80"),
    ("a30", "sm_80"),
    ("a10", "sm_86"),
    ("a40", "sm_86"),
    ("a6000", "sm_86"),
    ("rtx 30", "sm_86"),
    ("t4", "sm_75"),
    ("v100", "sm_70"),
    ("r9700", "gfx1201"),
    ("rx 9070", "gfx1201"),
    ("rx 7900", "gfx1100"),
    ("mi300", "gfx942"),
    ("mi325", "gfx942"),
    ("mi350", "gfx950"),
    ("mi355", "gfx950"),
];

/// The architecture that GPUs of this name have; `None` for a name that is not in the list.
fn architecture(name: &str) -> Option<&'static str> {
    let name = name.to_lowercase();
    ARCHITECTURES
        .iter()
        .find(|(part, _)| name.contains(part))
        .map(|(_, architecture)| *architecture)
}

impl Surroundings {
    /// GPUs of these names, as far as anybody said; `memory_bytes` is the smallest GPU's.
    ///
    /// MIG instances have no peer access over PCIe or NVLink (NVIDIA/nccl issue 1716). NVLink is not known here, and there is
    /// taken to be none; set [`Surroundings::full_nvlink`] where there is.
    #[must_use]
    pub fn of_gpus(
        vendor: Vendor,
        names: &[&str],
        memory_bytes: Option<u64>,
        mig: bool,
        peer_access: Option<bool>,
    ) -> Self {
        let known = names.first().and_then(|name| architecture(name));
        let peer_access = if mig { Some(false) } else { peer_access };
        let no_peer_reason = match (mig, peer_access) {
            (true, _) => "MIG",
            (false, Some(false)) => "the driver allows none",
            (false, _) => "",
        };
        Self {
            vendor,
            architecture: known.map(str::to_owned),
            peer_access,
            no_peer_reason: no_peer_reason.to_owned(),
            full_nvlink: false,
            memory_bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_as_drivers_give_them_have_their_architecture() {
        for (name, is) in [
            ("NVIDIA L40", Some("sm_89")),
            ("NVIDIA L4", Some("sm_89")),
            ("NVIDIA H200", Some("sm_90")),
            ("NVIDIA RTX Pro 6000 Blackwell DC-4-96Q", Some("sm_120")),
            ("NVIDIA RTX 6000 Ada Generation", Some("sm_89")),
            ("NVIDIA GB200", Some("sm_100")),
            ("AMD Radeon AI PRO R9700", Some("gfx1201")),
            ("a GPU of a test", None),
        ] {
            assert_eq!(architecture(name), is, "{name}");
        }
    }

    #[test]
    fn mig_has_no_peers_whatever_was_said() {
        let around = Surroundings::of_gpus(Vendor::Nvidia, &["L40"], None, true, Some(true));
        assert_eq!(around.peer_access, Some(false));
        assert_eq!(around.no_peer_reason, "MIG");
    }
}
