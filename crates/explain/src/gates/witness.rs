//! Who says what a run was made with: its own file, and the log of its server. Nothing is judged here.

use measure::import::ServeRun;
use measure::import::serve::Conditions;
use tp_plan::Execution;

use super::compared::compared;
use crate::inputs::{Inputs, ServerLog};

/// What one file says of a run: its own, or the log of its server.
pub(super) struct Witness {
    pub(super) tp: u32,
    pub(super) origin: String,
    pub(super) conditions: Conditions,
}

/// For each run what its own file says, and the log of its server.
pub(super) fn witnesses(inputs: &Inputs) -> Vec<Vec<Witness>> {
    let size = |run: &ServeRun| {
        let mut all = inputs.serve.iter();
        let found = all.find(|(_, other)| std::ptr::eq(other, run));
        found.map_or(0, |(tp, _)| *tp)
    };
    let of_run = |run: &ServeRun| {
        let tp = size(run);
        let own = Witness {
            tp,
            origin: run.origin.clone(),
            conditions: run.conditions.clone(),
        };
        let log = inputs.log(tp).map(|log| Witness {
            tp,
            origin: log.origin.clone(),
            conditions: of_log(inputs, log),
        });
        [Some(own), log].into_iter().flatten().collect()
    };
    compared(inputs).map(of_run).collect()
}

/// What a server's log says; the engine's limits in it hold whatever the file of the run says.
fn of_log(inputs: &Inputs, log: &ServerLog) -> Conditions {
    let Some(engine) = inputs.engine(log.tp) else {
        return Conditions::default();
    };
    let graphs = match &engine.execution {
        Execution::Eager => "eager",
        Execution::Graph { .. } => "captured",
    };
    let tokens = engine.max_batched_tokens.to_string();
    Conditions {
        engine: Some(engine.engine.name().to_lowercase()),
        version: engine.version.clone(),
        flags: [("graphs", graphs), ("tokens a step", &tokens)]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into(),
        ..Conditions::default()
    }
}
