//! What an ablation runs on: the box as tplens p2p finds it or as a box file describes it, and what of the machine arms need.

use boxfile::BoxFile;
use program::Stop;
use record::Payload;
use runner::run::{Run, complete};
use tp_plan::{CustomAllReduce, EngineFacts, Surroundings};

use super::args::AblateArgs;
use super::vendor::Names;
use crate::explain::EngineFlags;
use crate::explain::boxes;
use crate::study::steps::{LINKS, first, measured};

/// The box, and the machine around it.
#[derive(Debug, Clone)]
pub(super) struct Place {
    /// What decides an engine's paths.
    pub(super) around: Surroundings,
    /// How its vendor's software is reported.
    pub(super) names: Option<Names>,
    /// The simulated machine; `None` for this machine's devices.
    pub(super) soft: Option<BoxFile>,
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
    /// Looks at this machine's devices and who reaches whom, as a step of the run.
    ///
    /// # Errors
    /// tplens p2p finds no devices, or a signal came.
    pub(super) fn look(
        args: &AblateArgs,
        engine: EngineFlags,
        run: &mut Run<'_>,
    ) -> Result<Self, Stop> {
        let devices = args.gpus.clone().unwrap_or_else(|| first(args.tp));
        let own = ["--gpus", &*devices, "--backend", &*args.backend];
        let arguments = own.into_iter().chain(LOOK).map(str::to_owned).collect();
        let about = "the devices and who reaches whom";
        let step = measured(LINKS.to_owned(), about, "p2p", arguments, 5.0);
        run.expect(std::slice::from_ref(&step));
        let folder = run.step(&step)?.folder;
        let Some(Payload::Links(links)) = complete(&folder).map(|record| record.payload) else {
            let folder = folder.display();
            return Err(Stop::Refused(
                format!("{folder} holds no links of tplens p2p; choose another folder with --out")
                    .into(),
            ));
        };
        let (of, origin) = ("measured".to_owned(), folder.display().to_string());
        let (around, _) = boxes::measured(&links, args.tp, None, of, origin)
            .map_err(|why| Stop::Refused(why.into()))?;
        Ok(Self {
            names: Names::of(around.vendor),
            around,
            soft: None,
            engine,
        })
    }

    /// A simulated machine.
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
            engine,
        })
    }

    /// The engine's rules at a size, as it is started.
    pub(super) fn facts(&self, tp: u32) -> EngineFacts {
        self.engine.facts(tp, &self.around)
    }

    /// Whether the engine has an all-reduce of its own here.
    pub(super) fn reduces_itself(&self, tp: u32) -> bool {
        self.facts(tp).custom_all_reduce == CustomAllReduce::Active
    }
}
