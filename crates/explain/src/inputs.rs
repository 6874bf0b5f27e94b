//! Everything that an explanation starts from: runs, curves, the box, and what else was seen of it.

use import::collectives::Trouble;
use import::serve::Throttle;
use import::{CurvePoint, ServeRun, Trace};
use record::{Endpoint, LinkDevice, Links, Outcome, PeerVerdict, ServerMachine};
use serde::{Deserialize, Serialize};
use topology::PcieLink;
use tp_plan::{EngineFacts, Execution, ModelFacts, Surroundings, Vendor};

use crate::finding::Finding;
use crate::priors::{Prior, Priors};
use crate::range::whole;
use crate::run_shape::RunShape;

/// What stands for the name of a simulated machine where there is none.
pub(crate) const MEASURED: &str = "measured";

/// So many starts of a server show themselves what starts differ by.
const FEWEST_STARTS: usize = 3;

/// Everything that an explanation starts from.
#[derive(Debug, Clone)]
pub struct Inputs {
    /// The model that was served.
    pub model: ModelFacts,
    /// The tensor parallel size that is explained against one GPU.
    pub tp: u32,
    /// The engine, once for each tensor parallel size that it ran with.
    pub engines: Vec<EngineFacts>,
    /// Serving results with their tensor parallel size; several of one size are repeats.
    pub serve: Vec<(u32, ServeRun)>,
    /// Collective times that were measured on this box; empty where there are none.
    pub curve: Vec<CurvePoint>,
    /// What went wrong while they were measured.
    pub troubles: Vec<Trouble>,
    /// The box as far as it decides the engine's paths.
    pub around: Surroundings,
    /// What else is known of the box.
    pub known: KnownBox,
    /// What was measured besides, where it was.
    pub evidence: Evidence,
    /// What else was seen, for advice and what-ifs.
    pub seen: Seen,
    /// What is assumed where nothing was measured.
    pub priors: Priors,
}

/// Measurements that most have not, each of which takes the place of something assumed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Evidence {
    /// Runs of the model at a rank's width on one GPU, at the batch and lengths of the others; several are repeats.
    pub half: Vec<ServeRun>,
    /// Kernel sums of some decode steps on several GPUs.
    pub trace: Option<Trace>,
    /// What the collective library said that it goes over; `None` where no file says.
    pub transport: Option<String>,
    /// What held clocks down during the runs that a monitor was beside.
    pub throttle: Vec<Throttle>,
    /// What reading the serving results found wrong or left out, each with the origin of its result.
    pub found: Vec<(String, String)>,
    /// What servers' logs say, each of another size.
    pub logs: Vec<ServerLog>,
    /// GPUs that the collectives were timed on, as their files name them.
    pub curve_gpus: Vec<String>,
}

/// What a server's log says beside what decides the plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerLog {
    /// The file.
    pub origin: String,
    /// The tensor parallel size that it is of.
    pub tp: u32,
    /// What the collective library goes over, such as `P2P/CUMEM`; `None` where no line says.
    pub transport: Option<String>,
    /// Whether a line proves that the engine reduces with a kernel of its own.
    pub reduces_itself: bool,
    /// Whether the engine found that its GPUs reach each other's memory; `None` where no line says.
    pub peers: Option<bool>,
    /// The engine with its version, as far as the log says it.
    pub engine: String,
}

/// What is known of a box beyond what decides the engine's paths.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KnownBox {
    /// Its name.
    pub name: Option<String>,
    /// The GPUs' name as the driver gives it.
    pub gpu: Option<String>,
    /// Whether the GPUs are MIG instances, or virtual GPUs backed by them.
    pub mig: bool,
    /// Whether it is a virtual machine; `None` where nobody looked.
    pub guest: Option<bool>,
    /// What probes of the pairs' peer access found; empty where nobody probed.
    pub peers: Vec<PeerVerdict>,
    /// The simulated machine behind a record of links, or `measured`; `None` where there is no such record.
    pub links_of: Option<String>,
    /// Files that this came from.
    pub origins: Vec<String>,
}

/// How the GPUs reach each other's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PeerState {
    /// Directly.
    Direct,
    /// Access is reported, and copies go through host memory all the same.
    Staged,
    /// Not at all: everything goes through host memory.
    Denied,
    /// Nobody probed it.
    Unprobed,
}

impl Inputs {
    /// Serving results at a tensor parallel size.
    pub(crate) fn runs(&self, tp: u32) -> impl Iterator<Item = &ServeRun> {
        self.serve
            .iter()
            .filter(move |(run_tp, _)| *run_tp == tp)
            .map(|(_, run)| run)
    }

    /// The same where another size is explained.
    pub(crate) fn at(&self, tp: u32) -> Self {
        Self { tp, ..self.clone() }
    }

    /// The size that the explained one is compared with: the smallest of the runs, and one GPU where there is no other.
    #[must_use]
    pub fn from(&self) -> u32 {
        let sizes = self.serve.iter().map(|(tp, _)| *tp);
        sizes.filter(|tp| *tp < self.tp).min().unwrap_or(1)
    }

    /// Whether the model's weights go into so many GPUs, by their bytes alone; `None` where the GPUs' memory is not known.
    pub(crate) fn weights_fit(&self, tp: u32) -> Option<bool> {
        let memory = self.around.memory_bytes?;
        Some(self.model.weight_bytes < memory.saturating_mul(u64::from(tp)))
    }

    /// The engine at a tensor parallel size.
    pub(crate) fn engine(&self, tp: u32) -> Option<&EngineFacts> {
        self.engines.iter().find(|engine| engine.tp == tp)
    }

    /// Facts of the engine of a size and of the model that nobody read.
    pub(crate) fn assumed(&self, tp: u32) -> impl Iterator<Item = Finding> {
        let engine = self.engine(tp).into_iter();
        let all = engine.flat_map(|of| &of.assumed).chain(&self.model.assumed);
        all.map(|detail| Finding::Assumed {
            detail: detail.clone(),
        })
    }

    /// What the log of the server of a size says.
    pub(crate) fn log(&self, tp: u32) -> Option<&ServerLog> {
        self.evidence.logs.iter().find(|log| log.tp == tp)
    }

    /// Collective times that can stand for the engine's: those of GPUs, or where it runs on CPUs, what it did there itself. Those
    /// of our own ranks in host memory stand for neither.
    pub(crate) fn curve_of_gpus(&self) -> impl Iterator<Item = &CurvePoint> {
        let on_cpus = self.is_on_cpus();
        self.curve.iter().filter(move |point| match on_cpus {
            true => point.engine.is_some(),
            false => point.library.as_deref() != Some("host"),
        })
    }

    /// Those of them that are told from none at all.
    pub(crate) fn usable_curve(&self) -> Vec<CurvePoint> {
        let on_cpus = self.is_on_cpus();
        let points = self
            .curve_of_gpus()
            .filter(|point| point.is_above_zero())
            .cloned();
        // On CPUs a plan leaves all collectives to the library that the engine calls, and what the engine did is what that took.
        let of_plan = points.map(|mut point| {
            point.engine = point.engine.filter(|_| !on_cpus);
            point
        });
        of_plan.collect()
    }

    /// Whether the engine runs on CPUs.
    pub(crate) fn is_on_cpus(&self) -> bool {
        self.around.vendor == Vendor::Host
    }

    /// The prior of that name for this GPU and model.
    pub(crate) fn prior(&self, name: &str) -> Option<Prior> {
        let weights = self.model.weights.name();
        let engine = self.engines.first().map_or("", |of| of.engine.name());
        self.priors
            .get(name, self.known.gpu.as_deref(), weights, engine)
    }

    /// What one start of a server may differ by from another, of a side that was started so often: on CPUs starts differ by more, and
    /// [`FEWEST_STARTS`] of them show it themselves.
    pub(crate) fn start_to_start(&self, starts: usize) -> Option<Prior> {
        self.prior(match self.is_on_cpus() && starts < FEWEST_STARTS {
            true => "start_to_start_on_cpus",
            false => "start_to_start",
        })
    }

    /// Requests in flight at the size under explanation: as asked for, else as Little's law has them.
    pub(crate) fn batch(&self) -> Option<u32> {
        let run = self.runs(self.tp).next()?;
        let flight = run
            .in_flight_wanted()
            .or_else(|| RunShape::new(run).in_flight())?;
        Some(whole(flight).max(1))
    }

    /// Whether the engine launches this many sequences' decode steps one kernel at a time.
    pub(crate) fn is_eager(&self, batch: u32) -> bool {
        self.engine(self.tp)
            .is_some_and(|engine| match &engine.execution {
                Execution::Eager => true,
                Execution::Graph { capture_sizes } => {
                    capture_sizes.iter().all(|size| *size < batch)
                }
            })
    }

    /// How the GPUs reach each other's memory: by the probes, else by what is known of the box.
    #[must_use]
    pub fn peer_state(&self) -> PeerState {
        let peers = &self.known.peers;
        let seen = |verdict| peers.contains(&verdict);
        if seen(PeerVerdict::Denied) {
            PeerState::Denied
        } else if seen(PeerVerdict::Staged) {
            PeerState::Staged
        } else if !peers.is_empty() && peers.iter().all(|peer| *peer == PeerVerdict::Direct) {
            PeerState::Direct
        } else {
            match self.around.peer_access {
                _ if self.is_mig() => PeerState::Denied,
                Some(true) => PeerState::Direct,
                Some(false) => PeerState::Denied,
                None => PeerState::Unprobed,
            }
        }
    }

    /// Whether the GPUs are MIG instances, by what is known of the box or by the reason that it has no peer access.
    pub(crate) fn is_mig(&self) -> bool {
        let reason = self.around.no_peer_reason.to_ascii_lowercase();
        self.known.mig
            || reason
                .split(|c: char| !c.is_alphanumeric())
                .any(|word| word == "mig")
    }

    /// The simulated machine behind any input, where one is simulated.
    #[must_use]
    pub fn simulated(&self) -> Option<String> {
        let served = self.serve.iter().map(|(_, run)| run);
        let mut served = served.chain(&self.evidence.half);
        let runs = served.find_map(|run| run.simulated.clone());
        let links = self.known.links_of.clone().filter(|of| of != MEASURED);
        runs.or_else(|| self.curve.iter().find_map(|point| point.simulated.clone()))
            .or(links)
    }
}

/// What else was seen of the box and of the servers, on which advice and what-ifs rest; what is missing was not looked at, and then
/// nothing is said of it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Seen {
    /// Links of the box, of tplens p2p; the servers ran on the first of its devices.
    pub links: Option<Links>,
    /// The link of the GPUs as a box file has it, where none was read.
    pub described_link: Option<PcieLink>,
    /// What a monitor saw beside the loads, with the tensor parallel size of each.
    pub machines: Vec<(u32, ServerMachine)>,
    /// Variables of the collective library that were set, as records keep them, with their values.
    pub variables: Vec<(String, String)>,
    /// The model as it was named on the command line, for commands that are printed; `None` where its own name does.
    pub model_given: Option<String>,
    /// The simulated machine as it was named on the command line, for commands that are printed; `None` where its own name does.
    pub soft_given: Option<String>,
    /// Whether the program that made these runs switched the engine's own all-reduce off by itself, because no simulated machine can time it.
    pub off_by_us: bool,
}

impl Seen {
    /// The devices that a server of this size ran on; empty where no links were measured.
    pub(crate) fn used(&self, tp: u32) -> &[LinkDevice] {
        let devices = self.links.as_ref().map_or(&[][..], |links| &links.devices);
        &devices[..(tp as usize).min(devices.len())]
    }

    /// The link that limits the slowest of them under load; as described where none was read.
    pub(crate) fn link(&self, tp: u32) -> Option<PcieLink> {
        let loaded = self.used(tp).iter().map(|device| {
            let reading = device.loaded.as_ref()?;
            reading.limiting()
        });
        let all: Option<Vec<PcieLink>> = loaded.collect();
        let slowest = all.unwrap_or_default().into_iter().reduce(PcieLink::slower);
        slowest.or(self.described_link)
    }
}

/// GB/s of the largest copy of a case from one device to another, as tplens p2p measured it.
#[must_use]
pub fn copy_rate(links: &Links, case: &str, from: usize, to: usize) -> Option<f64> {
    let ends = (Endpoint::Device(from), Endpoint::Device(to));
    let points = links.points.iter();
    let of_pair = points.filter(|point| point.case == case && (point.from, point.to) == ends);
    let measured = of_pair.filter_map(|point| match &point.outcome {
        Outcome::Measured { quantities, .. } => {
            let bandwidth = quantities.iter().find(|named| named.name == "bandwidth")?;
            Some((point.bytes, bandwidth.quantity.value))
        }
        _ => None,
    });
    measured
        .max_by_key(|(bytes, _)| *bytes)
        .map(|(_, rate)| rate)
}

/// Variables that keep the library from peer access, with the values that do; where any value but `0` does, the list is empty.
/// NCCL's user guide, environment variables; RCCL reads the same names. Level `NVL` leaves NVLink.
const TOLD_OFF: [(&str, &[&str]); 3] = [
    ("NCCL_P2P_DISABLE", &[]),
    ("NCCL_P2P_LEVEL", &["LOC", "0", "NVL", "1"]),
    ("MCCL_P2P_DISABLE", &[]),
];

/// A variable that keeps the library from the peer access that there is, and its value.
pub(crate) fn library_told_off(inputs: &Inputs) -> Option<(&str, &str)> {
    if inputs.around.full_nvlink || inputs.peer_state() != PeerState::Direct {
        return None;
    }
    let keeps_off = |(name, value): &(&str, &str)| {
        let of_name = TOLD_OFF.iter().filter(|(of, _)| of == name);
        of_name.into_iter().any(|(_, values)| match values {
            [] => !matches!(value.trim(), "" | "0"),
            values => values
                .iter()
                .any(|off| off.eq_ignore_ascii_case(value.trim())),
        })
    };
    let set = inputs.seen.variables.iter();
    set.map(|(name, value)| (name.as_str(), value.as_str()))
        .find(keeps_off)
}
