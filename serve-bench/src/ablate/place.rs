//! What an ablation runs on: the box as p2p-bw finds it or as a box file describes it, and what of the machine arms need.

use std::path::Path;

use anyhow::anyhow;
use boxfile::BoxFile;
use measure::exit;
use measure::record::{Links, Payload};
use program::{Stop, outputs};
use supervisor::Interrupt;
use topology::{Machine, Sysfs};
use tp_plan::{CustomAllReduce, EngineFacts, Surroundings};

use super::args::AblateArgs;
use super::vendor::Names;
use crate::explain::EngineFlags;
use crate::explain::boxes;
use crate::study::child::{self, Ended};
use crate::study::shell::is_installed;
use crate::study::{step, words};

/// The box, and the machine around it.
#[derive(Debug, Clone)]
pub(super) struct Place {
    /// What decides an engine's paths.
    pub(super) around: Surroundings,
    /// How its vendor's software is told.
    pub(super) names: Option<Names>,
    /// The soft box; `None` for this machine's devices.
    pub(super) soft: Option<BoxFile>,
    /// NUMA nodes with CPUs, that of the first device first.
    pub(super) nodes: Vec<u32>,
    /// Whether numactl is there.
    pub(super) numactl: bool,
    /// How the engine is started, as far as its flags say.
    pub(super) engine: EngineFlags,
}

/// A look, not a measurement: one small case, as few samples as make a number. Every pair is probed whatever the cases are.
const LOOK: [&str; 8] = [
    "--cases",
    "local_ce",
    "--sizes",
    "1M",
    "--samples",
    "6",
    "--budget",
    "1",
];

impl Place {
    /// Looks at the box; on this machine's devices with p2p-bw, whose record goes into `folder`.
    ///
    /// # Errors
    /// There is no such box, or p2p-bw finds no devices.
    pub(super) fn look(
        args: &AblateArgs,
        engine: EngineFlags,
        folder: &Path,
        interrupt: &Interrupt,
        say: &dyn Fn(&str),
    ) -> Result<Self, Stop> {
        if let Some(sim) = &args.sim {
            let described =
                BoxFile::resolve(sim).map_err(|error| Stop::Usage(format!("--sim: {error}")))?;
            return Self::described(described, args.tp, engine);
        }
        let links = links(args, folder, interrupt, say)?;
        let origin = folder.display().to_string();
        let of = "measured".to_owned();
        let (around, _) =
            boxes::measured(&links, args.tp, None, of, origin).map_err(Stop::Refused)?;
        let first = links.devices.first().and_then(|device| device.node);
        let machine = Machine::read(&Sysfs::real()).ok();
        let mut nodes: Vec<u32> = machine
            .iter()
            .flat_map(|machine| &machine.nodes)
            .filter(|node| !node.cpus.is_empty())
            .map(|node| node.id)
            .collect();
        nodes.sort_by_key(|node| (Some(*node) != first, *node));
        Ok(Self {
            names: Names::of(around.vendor),
            around,
            soft: None,
            nodes,
            numactl: is_installed("numactl"),
            engine,
        })
    }

    /// A soft box.
    ///
    /// # Errors
    /// It has too few devices.
    pub(super) fn described(
        described: BoxFile,
        tp: u32,
        engine: EngineFlags,
    ) -> Result<Self, Stop> {
        let around = engine::surroundings(&described, tp)
            .map_err(|error| Stop::Usage(format!("--sim: {error}")))?;
        Ok(Self {
            names: Names::of(around.vendor),
            around,
            soft: Some(described),
            nodes: Vec::new(),
            numactl: false,
            engine,
        })
    }

    /// The engine's rules at a size, as it is started.
    pub(super) fn facts(&self, tp: u32) -> EngineFacts {
        self.engine.facts(tp, &self.around)
    }

    /// Why the engine has no all-reduce of its own here; `None` where it has one.
    pub(super) fn own_is_off(&self, tp: u32) -> Option<String> {
        match self.facts(tp).custom_all_reduce {
            CustomAllReduce::Active => None,
            CustomAllReduce::Off { reason } => Some(reason),
        }
    }
}

/// The devices of the arms, and who reaches whom.
fn links(
    args: &AblateArgs,
    folder: &Path,
    interrupt: &Interrupt,
    say: &dyn Fn(&str),
) -> Result<Links, Stop> {
    if step::complete(folder).is_none() {
        step::set_aside(folder)?;
        say("looking at the devices and who reaches whom");
        let above = folder.parent().unwrap_or(Path::new("."));
        outputs::make_folder("--out", above)?;
        let devices = args.gpus.clone().unwrap_or_else(|| first(args.tp));
        let mut arguments = words(&["--gpus", &devices, "--backend", &args.backend]);
        arguments.extend(words(&LOOK));
        arguments.extend(["--out".to_owned(), folder.display().to_string()]);
        let file = child::beside("p2p-bw").map_err(Stop::Usage)?;
        let log = folder.with_extension("log");
        let (name, none) = ("links", Vec::new());
        match child::run(name, &file, &arguments, none, &log, |_| true, interrupt)? {
            Ended::Interrupted(signal) => return Err(Stop::Interrupted(signal)),
            Ended::Exit { code, last } if step::complete(folder).is_none() => {
                let reason = format!("p2p-bw ended with exit code {code}: {last}");
                return Err(match code {
                    exit::USAGE => Stop::Usage(reason),
                    exit::INTERNAL => Stop::Internal(anyhow!(reason)),
                    _ => Stop::Refused(reason),
                });
            }
            Ended::Exit { .. } => {}
        }
    }
    match step::complete(folder).map(|record| record.payload) {
        Some(Payload::Links(links)) => Ok(*links),
        _ => Err(Stop::Refused(format!(
            "{} holds no links of p2p-bw; choose another folder with --out",
            folder.display()
        ))),
    }
}

/// The first devices, by number.
pub(super) fn first(count: u32) -> String {
    let numbers: Vec<String> = (0..count).map(|index| index.to_string()).collect();
    numbers.join(",")
}
