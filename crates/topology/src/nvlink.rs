//! The NVLinks of a GPU as its management library reports them. Nothing is judged here.

use serde::{Deserialize, Serialize};

use crate::PciAddress;

/// The NVLinks of one GPU; empty where it has none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NvLinks {
    /// Each link, by its number.
    pub links: Vec<NvLink>,
    /// The fabric of NVSwitches, where the library reports one.
    pub fabric: Option<FabricState>,
}

/// One NVLink.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NvLink {
    /// Whether it is up.
    pub is_active: bool,
    /// NVLink's version; `None` where the library does not say.
    pub version: Option<u32>,
    /// Rate of one direction in MB/s; `None` where the library does not say.
    pub mb_per_s: Option<u32>,
    /// What is at its other end; `None` where the library does not say.
    pub remote: Option<NvLinkEnd>,
    /// Packets that were sent again, failed checks (CRC) and recoveries since the driver was loaded; `None` where it counts none
    /// of these.
    pub errors: Option<u64>,
}

/// What an NVLink leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NvLinkEnd {
    /// An NVSwitch, which joins all GPUs that are linked to one.
    Switch,
    /// Another GPU.
    Gpu(PciAddress),
}

/// How a GPU's registration with the fabric of NVSwitches stands (`nvmlGpuFabricState_t`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FabricState {
    /// Fabric Manager did not start it.
    NotStarted,
    /// It is under way.
    InProgress,
    /// It went well.
    Completed,
    /// It ended with an error.
    Failed,
}

impl NvLinks {
    /// How many links are up.
    #[must_use]
    pub fn active(&self) -> usize {
        self.links.iter().filter(|link| link.is_active).count()
    }

    /// Errors of all links; `None` where no link's are counted.
    #[must_use]
    pub fn errors(&self) -> Option<u64> {
        let counted = self.links.iter().filter_map(|link| link.errors);
        counted.reduce(|sum, errors| sum + errors)
    }

    /// The rate of one direction of all links that are up, in GB/s; `None` where one's is not known, or none is up.
    #[must_use]
    pub fn gb_per_s(&self) -> Option<f64> {
        let active = self.links.iter().filter(|link| link.is_active);
        let rates: Option<Vec<u32>> = active.map(|link| link.mb_per_s).collect();
        let sum: u32 = rates?.iter().sum();
        (sum > 0).then(|| f64::from(sum) / 1000.0)
    }

    /// Links that are up and lead to an NVSwitch.
    fn to_switches(&self) -> usize {
        self.count(NvLinkEnd::Switch)
    }

    fn count(&self, end: NvLinkEnd) -> usize {
        let leads = |link: &&NvLink| link.is_active && link.remote == Some(end);
        self.links.iter().filter(leads).count()
    }
}

/// How many NVLinks join two GPUs, as `nvidia-smi topo -m` counts them: those from one to the other, else by NVSwitches as many as
/// the one with fewer has; `None` where none does.
#[must_use]
pub fn nvlinks_between(a: (PciAddress, &NvLinks), b: (PciAddress, &NvLinks)) -> Option<u8> {
    let direct = a.1.count(NvLinkEnd::Gpu(b.0));
    let links = match direct {
        0 => a.1.to_switches().min(b.1.to_switches()),
        direct => direct,
    };
    u8::try_from(links).ok().filter(|links| *links > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn links(ends: &[(bool, NvLinkEnd)]) -> NvLinks {
        let one = |(is_active, remote): &(bool, NvLinkEnd)| NvLink {
            is_active: *is_active,
            version: Some(4),
            mb_per_s: Some(26_562),
            remote: Some(*remote),
            errors: Some(2),
        };
        NvLinks {
            links: ends.iter().map(one).collect(),
            fabric: None,
        }
    }

    #[test]
    fn switched_links_count_as_the_fewer_and_direct_ones_as_they_are() {
        let [a, b]: [PciAddress; 2] =
            ["0000:18:00.0", "0000:2a:00.0"].map(|text| text.parse().unwrap());
        let whole = links(&[(true, NvLinkEnd::Switch); 18]);
        let mut less = whole.clone();
        less.links[4].is_active = false;
        assert_eq!(nvlinks_between((a, &whole), (b, &whole)), Some(18));
        assert_eq!(nvlinks_between((a, &whole), (b, &less)), Some(17));
        let bridged = links(&[(true, NvLinkEnd::Gpu(b)); 4]);
        assert_eq!(nvlinks_between((a, &bridged), (b, &bridged)), Some(4));
        assert_eq!(nvlinks_between((a, &links(&[])), (b, &whole)), None);
        // 18 links of 26.562 GB/s, as `nvidia-smi nvlink -s` prints of an H200: 478.116; 17 are 451.554.
        assert!((whole.gb_per_s().unwrap() - 478.116).abs() < 1e-9);
        assert!((less.gb_per_s().unwrap() - 451.554).abs() < 1e-9);
        assert_eq!((less.active(), less.errors()), (17, Some(36)));
        assert_eq!(links(&[]).gb_per_s(), None);
    }
}
