//! Settings of the kernel and the processors, as their files say them.

use topology::{KfdNode, Sysfs};

use super::Reading;

/// Settings of the machine; texts are as the kernel writes them.
#[derive(Debug, Clone)]
pub struct Host {
    /// What sets the processors' clocks, one entry for each different answer.
    pub frequency: Reading<Vec<Frequency>>,
    /// Whether clocks above the nominal one are allowed.
    pub boost: Reading<bool>,
    /// `kernel.numa_balancing`: 0 is off.
    pub numa_balancing: Reading<u32>,
    /// The kernel's release, such as `6.1.0-37-amd64`.
    pub release: Reading<String>,
    /// The first line of NVIDIA's kernel driver about itself.
    pub nvidia_module: Reading<String>,
    /// The loaded modules among those that let network cards reach GPU memory.
    pub peer_modules: Reading<Vec<String>>,
    /// What the KFD of AMD's driver shows: how many GPUs, and how many pairs of them have a link between them.
    pub kfd_peers: Reading<[usize; 2]>,
}

/// How some of the processors choose their clock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frequency {
    /// Such as `intel_pstate`.
    pub driver: Option<String>,
    /// Such as `performance`.
    pub governor: String,
    /// `energy_performance_preference`, where the driver has one.
    pub preference: Option<String>,
    /// How many policies say so.
    pub policies: usize,
}

/// Modules that give a network card GPU memory: NVIDIA's, and its predecessor of Mellanox.
const PEER_MODULES: [&str; 2] = ["nvidia_peermem", "nv_peer_mem"];

impl Host {
    pub(super) fn read(sysfs: &Sysfs) -> Self {
        Self {
            frequency: frequency(sysfs),
            boost: boost(sysfs),
            numa_balancing: Reading::text(sysfs, "proc/sys/kernel/numa_balancing")
                .and_then(|text| text.parse().ok()),
            release: Reading::text(sysfs, "proc/sys/kernel/osrelease"),
            nvidia_module: Reading::text(sysfs, "proc/driver/nvidia/version")
                .and_then(|text| text.lines().next().map(str::to_owned)),
            peer_modules: peer_modules(sysfs),
            kfd_peers: kfd_peers(sysfs),
        }
    }
}

fn frequency(sysfs: &Sysfs) -> Reading<Vec<Frequency>> {
    const FOLDER: &str = "sys/devices/system/cpu/cpufreq";
    let source = format!("/{FOLDER}/policy*/scaling_governor");
    let mut seen: Vec<Frequency> = Vec::new();
    for name in sysfs.names(FOLDER) {
        let text = |file: &str| sysfs.read_text(format!("{FOLDER}/{name}/{file}"));
        let Some(governor) = text("scaling_governor").filter(|_| name.starts_with("policy")) else {
            continue;
        };
        let one = Frequency {
            driver: text("scaling_driver"),
            governor,
            preference: text("energy_performance_preference"),
            policies: 0,
        };
        let same = |known: &Frequency| {
            (&known.driver, &known.governor, &known.preference)
                == (&one.driver, &one.governor, &one.preference)
        };
        let place = seen.iter().position(same).unwrap_or_else(|| {
            seen.push(one);
            seen.len() - 1
        });
        seen[place].policies += 1;
    }
    if seen.is_empty() {
        return Reading::unknown(source, "the kernel shows no frequency scaling");
    }
    Reading::known(source, seen)
}

/// Two drivers have two files, of opposite meaning.
fn boost(sysfs: &Sysfs) -> Reading<bool> {
    const NO_TURBO: &str = "sys/devices/system/cpu/intel_pstate/no_turbo";
    let (path, on) = match sysfs.read_text(NO_TURBO) {
        Some(_) => (NO_TURBO, "0"),
        None => ("sys/devices/system/cpu/cpufreq/boost", "1"),
    };
    let switch = |text: &String| matches!(text.as_str(), "0" | "1").then(|| text == on);
    Reading::text(sysfs, path).and_then(switch)
}

fn peer_modules(sysfs: &Sysfs) -> Reading<Vec<String>> {
    let mut modules = sysfs.names("sys/module");
    if modules.is_empty() {
        return Reading::unknown("/sys/module", "it is not shown");
    }
    modules.retain(|name| PEER_MODULES.contains(&name.as_str()));
    Reading::known("/sys/module", modules)
}

fn kfd_peers(sysfs: &Sysfs) -> Reading<[usize; 2]> {
    let source = "/sys/class/kfd/kfd/topology/nodes";
    let nodes = KfdNode::read_all(sysfs);
    if nodes.is_empty() {
        return Reading::unknown(source, "the KFD is not shown; load amdgpu");
    }
    let gpus: Vec<&KfdNode> = nodes.iter().filter(|node| node.address.is_some()).collect();
    // A link to the host's memory is no peer's; xGMI stands among the plain links.
    let leads = |from: &KfdNode, to: &KfdNode| from.links.iter().any(|link| link.to == to.id);
    let pairs = (0..gpus.len()).flat_map(|a| (a + 1..gpus.len()).map(move |b| [a, b]));
    let joined = pairs
        .map(|places| places.map(|place| gpus[place]))
        .filter(|[a, b]| leads(a, b) || leads(b, a));
    Reading::known(source, [gpus.len(), joined.count()])
}
