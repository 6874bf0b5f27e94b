//! Whether the files belong together: one model, one machine, all measured or all simulated, both sizes; and what the runs were made
//! with: engine, machine, version, data and flags, as far as their files say.
//!
//! Models are compared by the facts behind their names where they are known, else by the sizes that the names say.

use std::collections::BTreeSet;

use import::ServeRun;
use import::serve::Conditions;
use strum::VariantArray;
use tp_plan::ModelFacts;

use super::run::{compared, used};
use crate::finding::{Condition, Finding};
use crate::inputs::{Inputs, MEASURED};
use crate::peaks::Peak;
use crate::run_shape::RunShape;

/// No GPU reads its memory faster, GB/s.
const FASTEST_MEMORY: f64 = 12_000.0;

pub(super) fn of_files(inputs: &Inputs) -> Vec<Finding> {
    let checks = [
        one_origin(inputs),
        collectives_right(inputs),
        both_sizes(inputs),
        same_model(inputs),
        model_asked(inputs),
        weights_fit(inputs),
        weights_read(inputs),
    ];
    checks.into_iter().flatten().collect()
}

/// Whether measured and simulated files were mixed, or files of two simulated machines.
fn one_origin(inputs: &Inputs) -> Option<Finding> {
    let runs = compared(inputs).map(|run| run.simulated.as_deref());
    let points = inputs.curve.iter().map(|point| point.simulated.as_deref());
    // Nothing simulates a trace.
    let measured = inputs.evidence.trace.iter().map(|_| MEASURED);
    let mut origins: Vec<&str> = runs
        .chain(points)
        .map(|simulated| simulated.unwrap_or(MEASURED))
        .chain(inputs.known.links_of.as_deref())
        .chain(measured)
        .collect();
    origins.sort_unstable();
    origins.dedup();
    let is_measured = origins.contains(&MEASURED);
    let origins: Vec<String> = origins.iter().map(|of| (*of).to_owned()).collect();
    match (origins.len() > 1, is_measured) {
        (false, _) => None,
        (true, true) => Some(Finding::SimulatedMixed { origins }),
        (true, false) => Some(Finding::ConditionsDiffer {
            what: Condition::Machine,
            values: origins,
        }),
    }
}

fn collectives_right(inputs: &Inputs) -> Option<Finding> {
    let wrong = inputs
        .troubles
        .iter()
        .find(|trouble| trouble.is_wrong_data());
    let told = wrong.or(inputs.troubles.first())?;
    Some(Finding::CollectiveTrouble {
        wrong_data: told.is_wrong_data(),
        detail: told.to_string(),
        more: inputs.troubles.len() - 1,
    })
}

fn both_sizes(inputs: &Inputs) -> Option<Finding> {
    let tp = inputs.tp;
    let (one, several) = (inputs.runs(inputs.from()).count(), inputs.runs(tp).count());
    (tp < 2 || one == 0 || several == 0).then_some(Finding::SizeMissing {
        tp,
        runs_of_one: one,
        runs_of_several: if tp < 2 { 0 } else { several },
    })
}

fn same_model(inputs: &Inputs) -> Option<Finding> {
    let mut names: Vec<&str> = used(inputs)
        .filter_map(|run| run.model.as_deref())
        .collect();
    names.sort_unstable();
    names.dedup();
    let (first, others) = names.split_first()?;
    let other = others.iter().any(|other| differ(first, other));
    let names = names.iter().map(|name| (*name).to_owned()).collect();
    other.then_some(Finding::ModelDiffers { names })
}

/// Where a file is of another model than was asked about.
pub(crate) fn model_asked(inputs: &Inputs) -> Option<Finding> {
    let mut names = used(inputs).filter_map(|run| run.model.as_deref());
    let other = names.find(|name| differs_from(&inputs.model, name))?;
    Some(Finding::ModelDiffers {
        names: vec![inputs.model.name.clone(), other.to_owned()],
    })
}

fn weights_fit(inputs: &Inputs) -> Option<Finding> {
    let memory_bytes = inputs.around.memory_bytes?;
    let is_off = inputs.runs(1).count() > 0 && inputs.weights_fit(1) == Some(false);
    let weight_bytes = inputs.model.weight_bytes;
    is_off.then_some(Finding::WeightsTooLarge {
        weight_bytes,
        memory_bytes,
    })
}

fn weights_read(inputs: &Inputs) -> Option<Finding> {
    let bytes = inputs.model.weight_bytes_read(inputs.batch()?);
    let rates = [inputs.from(), inputs.tp].into_iter().flat_map(|tp| {
        let steps = inputs
            .runs(tp)
            .filter_map(|run| RunShape::new(run).rough_step_ms());
        steps.map(move |step| bytes / f64::from(tp) / step / 1e6)
    });
    let gb_per_s = rates.reduce(f64::max)?;
    (gb_per_s >= FASTEST_MEMORY).then_some(Finding::StepTooShort { gb_per_s })
}

/// Names that hold several formats of weights.
const CONTAINERS: [&str; 4] = ["compressed-tensors", "modelopt", "quark", "auto-round"];

/// What a file says of a condition.
fn values(what: Condition, of: &Conditions) -> Vec<String> {
    let one = |value: Option<String>| value.into_iter().collect();
    match what {
        // What a client only asks like says nothing of the server.
        Condition::Engine => one(of.engine.clone().filter(|_| !of.engine_by_client)),
        Condition::Host => one(of.host.as_ref().map(|host| host.name.clone())),
        Condition::Gpus => of.gpus.clone(),
        Condition::Quantisation => one(of.quantisation.clone()),
        Condition::Version => one(of.version.clone()),
        Condition::Data => one(data_set(of)),
        Condition::Flags => {
            let flags = of.flags.iter();
            flags
                .map(|(name, value)| format!("{name}={value}"))
                .collect()
        }
        Condition::Machine => Vec::new(),
    }
}

/// Whether two files that both say it say different things.
fn is_unlike(what: Condition, a: &Conditions, b: &Conditions) -> bool {
    match what {
        Condition::Host => {
            let both = a.host.as_ref().zip(b.host.as_ref());
            both.is_some_and(|(a, b)| a.is_another(b) == Some(true))
        }
        Condition::Gpus => {
            let other = |gpu: &String| b.gpus.iter().any(|of| Peak::differ(gpu, of));
            a.gpus.iter().any(other)
        }
        Condition::Quantisation => {
            let both = a.quantisation.as_deref().zip(b.quantisation.as_deref());
            both.is_some_and(|(a, b)| stored_otherwise(a, b))
        }
        Condition::Flags => !unlike(a, b).is_empty(),
        _ => values(what, a) != values(what, b),
    }
}

/// What the runs differ in.
pub(super) fn conditions(inputs: &Inputs) -> Vec<Finding> {
    let runs: Vec<&ServeRun> = compared(inputs).collect();
    let of = |what: &Condition| differing_in(*what, &runs);
    let mut found: Vec<Finding> = Condition::VARIANTS.iter().filter_map(of).collect();
    let known = inputs.known.gpu.as_deref();
    let served = runs.iter().flat_map(|run| &run.conditions.gpus);
    let gpus = served.chain(&inputs.evidence.curve_gpus);
    let other = known.and_then(|gpu| {
        let mut gpus = gpus.filter(|of| Peak::differ(of, gpu));
        gpus.next().map(|of| vec![of.clone(), gpu.to_owned()])
    });
    found.extend(other.map(|values| Finding::ConditionsDiffer {
        what: Condition::Gpus,
        values,
    }));
    found
}

fn differing_in(what: Condition, runs: &[&ServeRun]) -> Option<Finding> {
    let all = runs.iter().map(|run| &run.conditions);
    let told: Vec<&Conditions> = all.filter(|of| !values(what, of).is_empty()).collect();
    let index = told.iter().enumerate();
    let mut pairs = index.flat_map(|(at, a)| told.iter().skip(at + 1).map(move |b| (*a, *b)));
    let (a, b) = pairs.find(|(a, b)| is_unlike(what, a, b))?;
    let shown = |of: &Conditions, other: &Conditions| match what {
        Condition::Flags => unlike(of, other).join(" "),
        _ => values(what, of).join(", "),
    };
    Some(Finding::ConditionsDiffer {
        what,
        values: vec![shown(a, b), shown(b, a)],
    })
}

fn stored_otherwise(a: &str, b: &str) -> bool {
    let (a, b) = (a.to_lowercase(), b.to_lowercase());
    let is_open = CONTAINERS.contains(&a.as_str()) || CONTAINERS.contains(&b.as_str());
    !is_open && !a.contains(&b) && !b.contains(&a)
}

fn data_set(of: &Conditions) -> Option<String> {
    let name = of.dataset.as_deref()?.to_lowercase();
    name.rsplit(['/', '\\']).next().map(str::to_owned)
}

/// Flags of one that the other has with another value.
fn unlike(a: &Conditions, b: &Conditions) -> Vec<String> {
    let differs = |(name, value): (&String, &String)| {
        let is_other = b.flags.get(name).is_some_and(|other| other != value);
        is_other.then(|| format!("{name}={value}"))
    };
    a.flags.iter().filter_map(differs).collect()
}

/// Whether two names are of models of different shape or weights; a name that says nothing is no other.
fn differ(a: &str, b: &str) -> bool {
    match (known(a), known(b)) {
        (Some(a), Some(b)) => {
            let of = |facts: &ModelFacts| (facts.hidden, facts.layers, facts.weights);
            of(&a) != of(&b)
        }
        _ => sizes_differ(a, b),
    }
}

/// Whether a name is of a model of another shape than these facts; weights may be stored otherwise by a flag of the server.
fn differs_from(facts: &ModelFacts, name: &str) -> bool {
    match known(name) {
        Some(other) => (other.hidden, other.layers) != (facts.hidden, facts.layers),
        None => sizes_differ(&facts.name, name),
    }
}

fn known(name: &str) -> Option<ModelFacts> {
    ModelFacts::builtin(name).or_else(|| ModelFacts::builtin(last_part(name)))
}

fn last_part(name: &str) -> &str {
    let name = name.trim_end_matches('/');
    name.rsplit('/').next().unwrap_or(name)
}

fn sizes_differ(a: &str, b: &str) -> bool {
    let (a, b) = (sizes(a), sizes(b));
    !a.is_empty() && !b.is_empty() && a != b
}

/// The words of a name that count parameters, such as `72b` or `0.5b`.
fn sizes(name: &str) -> BTreeSet<String> {
    let is_size = |word: &&str| {
        let number = word.strip_suffix('b').or_else(|| word.strip_suffix('m'));
        number.is_some_and(|number| number.parse::<f64>().is_ok())
    };
    let name = last_part(name).to_ascii_lowercase();
    let words = name.split(|c: char| !c.is_alphanumeric() && c != '.');
    words.filter(is_size).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_model_has_many_spellings() {
        for (a, b) in [
            ("Qwen/Qwen2.5-72B-Instruct", "/models/qwen2.5-72b-instruct/"),
            ("Qwen2.5-72B-Instruct-FP8", "qwen2.5-72b-fp8"),
            ("acme/Nova-7B-Chat", "nova-7b"),
            ("my-model", "qwen2.5-72b"),
        ] {
            assert!(!differ(a, b), "{a} {b}");
        }
    }

    #[test]
    fn other_shapes_types_and_sizes_are_other_models() {
        for (a, b) in [
            ("qwen2.5-72b", "qwen2.5-72b-fp8"),
            ("gpt-oss-20b", "openai/gpt-oss-120b"),
            ("acme/nova-7b", "acme/nova-13b"),
        ] {
            assert!(differ(a, b), "{a} {b}");
        }
        let facts = ModelFacts::builtin("qwen2.5-72b-fp8").unwrap();
        let others = [
            "my-model",
            "Qwen/Qwen2.5-72B-Instruct",
            "llama-3.1-8b",
            "my-qwen-7b",
        ];
        assert_eq!(
            others.map(|name| differs_from(&facts, name)),
            [false, false, true, true]
        );
    }
}
