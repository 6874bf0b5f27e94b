//! Gates on whether the files belong together: one model, one box, all measured or all simulated.

use measure::import::ServeRun;

use super::compared::{compared, used};
use super::gate::Gate;
use super::names::{Kin, kin, kin_of_facts};
use super::open::Open;
use super::shape::RunShape;
use crate::inputs::{Inputs, MEASURED};

/// Name of the gate on measured beside simulated.
pub(super) const BOTH_ORIGINS: &str = "measured or simulated, not both";

/// Name of the same gate where nothing is measured, and the files are of several soft boxes.
pub(super) const TWO_BOXES: &str = "one soft box, not two";

/// More than any GPU reads of its memory in a second, GB/s.
const FASTEST_MEMORY: f64 = 12_000.0;

pub(super) fn one_origin(inputs: &Inputs) -> Gate {
    let runs = compared(inputs).map(|run| run.simulated.as_deref());
    let points = inputs.curve.iter().map(|point| point.simulated.as_deref());
    // Nothing simulates a trace or GEMM times.
    let measured = [
        inputs.evidence.trace.is_some(),
        inputs.evidence.gemm.is_some(),
    ];
    let measured = measured.into_iter().filter(|given| *given);
    let mut origins: Vec<&str> = runs
        .chain(points)
        .map(|soft| soft.unwrap_or(MEASURED))
        .chain(inputs.known.links_of.as_deref())
        .chain(measured.map(|_| MEASURED))
        .collect();
    origins.sort_unstable();
    origins.dedup();
    let is_of_two = origins.len() > 1 && !origins.contains(&MEASURED);
    let gate = match is_of_two {
        true => Open::new(
            TWO_BOXES,
            "serving results, curves and links of one box: what two boxes differ by is not what links or sizes differ by",
            "give files of one soft box, made with the same --sim or --box",
        ),
        false => Open::new(
            BOTH_ORIGINS,
            "serving results, curves, links, traces and GEMM times of one box: a simulated figure says nothing about a real one",
            "leave the simulated files out, or use only them",
        ),
    };
    gate.is(Some(origins.len() <= 1), origins.join(" and "))
}

/// Whether collectives on this box gave what they should.
pub(super) fn collectives_right(inputs: &Inputs) -> Gate {
    let gate = Open::new(
        "collectives are right",
        "every result of a collective is exact, and none hangs or fails",
        "mend the path first: allreduce-bench says which size and rank; then measure again",
    );
    let wrong = inputs.troubles.iter().any(|trouble| trouble.wrong_data);
    match inputs.troubles.first() {
        None if inputs.curve.is_empty() => gate.not_judged("no collective was timed"),
        None => gate.is(Some(true), "no trouble told"),
        Some(first) => {
            let told = inputs.troubles.iter().find(|trouble| trouble.wrong_data);
            let more = inputs.troubles.len() - 1;
            let words = &told.unwrap_or(first).words;
            gate.is(wrong.then_some(false), format!("{words}; {more} more"))
        }
    }
}

pub(super) fn both_runs(inputs: &Inputs) -> Gate {
    let tp = inputs.tp;
    let gate = Open::new(
        BOTH_RUNS,
        format!(
            "serving results of TP1 and of TP{0}, and the engine's facts for TP{0}",
            tp.max(2)
        ),
        super::sizes::to_serve(inputs),
    );
    let (one, several) = (inputs.runs(1).count(), inputs.runs(tp).count());
    let has_engine = inputs.engine(tp).is_some();
    // One file that was named for both sizes.
    let numbers = |run: &ServeRun| (run.duration_s, run.completed, run.e2el_ms, run.tpot_ms);
    let twice = tp >= 2
        && inputs.runs(1).any(|one| {
            inputs
                .runs(tp)
                .any(|several| numbers(one) == numbers(several))
        });
    let gate = match twice {
        true => gate.with_next("name two different results"),
        false => gate,
    };
    let seen = if twice {
        format!("the results of TP1 and TP{tp} are the same")
    } else if tp < 2 {
        "TP1 only: one size says neither what communication takes nor what narrow GEMMs and work that never shards lose".to_owned()
    } else {
        let unknown = match has_engine {
            true => "",
            false => "; engine facts missing",
        };
        format!("results of TP1: {one}, of TP{tp}: {several}{unknown}")
    };
    gate.is(
        Some(tp >= 2 && one > 0 && several > 0 && has_engine && !twice),
        seen,
    )
}

pub(super) fn same_model(inputs: &Inputs) -> Gate {
    let gate = Open::new(
        "same model",
        "all runs serve the same model",
        "name the model in the result, or run again with the same one",
    );
    let mut names: Vec<&str> = used(inputs)
        .filter_map(|run| run.model.as_deref())
        .collect();
    let (all, named) = (used(inputs).count(), names.len());
    names.sort_unstable();
    names.dedup();
    let Some((first, others)) = names.split_first() else {
        return gate.is(None, format!("0 of {all} files name their model"));
    };
    let kin: Vec<Kin> = others.iter().map(|other| kin(first, other)).collect();
    let seen = names.join(" and ");
    if kin.contains(&Kin::Other) {
        gate.is(Some(false), seen)
    } else if kin.contains(&Kin::Unknown) {
        gate.is(
            None,
            format!("{seen}: whether these are one model cannot be told from the names"),
        )
    } else if named < all {
        gate.is(None, format!("{named} of {all} files name their model"))
    } else {
        gate.is(Some(true), seen)
    }
}

/// The name of the gate on what is compared.
pub(crate) const BOTH_RUNS: &str = "a run of one GPU and one of several";

/// Name of the gate on the model that is asked about.
pub(crate) const MODEL_ASKED: &str = "the model asked about";

/// The model that is asked about against those that the files name.
pub(super) fn model_asked(inputs: &Inputs) -> Gate {
    let asked = &inputs.model;
    let gate = Open::new(
        MODEL_ASKED,
        "the files' model is the one whose messages are counted",
        "name with --model what was served",
    );
    let mut names: Vec<&str> = used(inputs)
        .filter_map(|run| run.model.as_deref())
        .collect();
    names.dedup();
    let kin: Vec<(Kin, &str)> = names
        .iter()
        .map(|name| (kin_of_facts(asked, name), *name))
        .collect();
    let first = |wanted: Kin| kin.iter().find(|(kin, _)| *kin == wanted);
    if names.is_empty() {
        gate.not_judged("no file names its model")
    } else if let Some((_, name)) = first(Kin::Other) {
        gate.is(
            Some(false),
            format!("{} is asked about, and a file is of {name}", asked.name),
        )
    } else if let Some((_, name)) = first(Kin::Unknown) {
        gate.is(
            None,
            format!(
                "{} is asked about, and a file is of {name}: whether these are one model cannot be told from the names",
                asked.name
            ),
        )
    } else {
        gate.is(Some(true), asked.name.clone())
    }
}

/// Whether the weights go into the GPUs that the files say they ran on.
pub(super) fn weights_fit(inputs: &Inputs) -> Gate {
    let gate = Open::new(
        "weights fit",
        "the model's weights go into the memory of one GPU, or TP1 ran on another box",
        "name the model and the box that were used",
    );
    let Some(memory) = inputs.around.memory_bytes else {
        return gate.not_judged("memory of the GPUs not known");
    };
    #[expect(clippy::cast_precision_loss, reason = "shown with one digit")]
    let seen = format!(
        "{:.1} GB of weights, {:.1} GB of memory",
        inputs.model.weight_bytes as f64 / 1e9,
        memory as f64 / 1e9
    );
    let holds = inputs.runs(1).count() == 0 || inputs.weights_fit(1) != Some(false);
    gate.is(Some(holds), seen)
}

/// Whether a step could have read the weights that it needs.
pub(super) fn weights_read(inputs: &Inputs) -> Gate {
    let gate = Open::new(
        "a step can read its weights",
        format!(
            "less than {FASTEST_MEMORY:.0} GB/s of weights from each GPU's memory, which no GPU reaches"
        ),
        "name with --model what was served, and look at the units of the times",
    );
    let Some(batch) = inputs.batch() else {
        return gate.not_judged("batch not known");
    };
    let bytes = inputs.model.weight_bytes_read(batch);
    let rates = [1, inputs.tp].into_iter().flat_map(|tp| {
        let steps = inputs
            .runs(tp)
            .filter_map(|run| RunShape::new(run).rough_step_ms());
        steps.map(move |step| bytes / f64::from(tp) / step / 1e6)
    });
    match rates.reduce(f64::max) {
        Some(rate) => gate.is(
            Some(rate < FASTEST_MEMORY),
            format!("{rate:.0} GB/s at most"),
        ),
        None => gate.not_judged("no time of a step"),
    }
}
