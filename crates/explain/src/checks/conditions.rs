//! What the runs were made with: engine, machine, version, data and flags, as far as their files say.

use import::ServeRun;
use import::serve::Conditions;

use super::compared::compared;
use crate::finding::{Condition, Finding};
use crate::inputs::Inputs;
use crate::peaks::Peak;

/// Names that hold several formats of weights.
const CONTAINERS: [&str; 4] = ["compressed-tensors", "modelopt", "quark", "auto-round"];

const CONDITIONS: [Condition; 8] = [
    Condition::Engine,
    Condition::Host,
    Condition::Gpus,
    Condition::Quantisation,
    Condition::Version,
    Condition::Data,
    Condition::Seed,
    Condition::Flags,
];

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
        Condition::Seed => one(of
            .seed
            .filter(|_| of.is_seeded)
            .map(|seed| seed.to_string())),
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
fn differ(what: Condition, a: &Conditions, b: &Conditions) -> bool {
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
pub(super) fn differing(inputs: &Inputs) -> Vec<Finding> {
    let runs: Vec<&ServeRun> = compared(inputs).collect();
    let of = |what: &Condition| differing_in(*what, &runs);
    let mut found: Vec<Finding> = CONDITIONS.iter().filter_map(of).collect();
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
    // Repeats have seeds of their own.
    if what == Condition::Seed && told.len() > 2 {
        return None;
    }
    let index = told.iter().enumerate();
    let mut pairs = index.flat_map(|(at, a)| told.iter().skip(at + 1).map(move |b| (*a, *b)));
    let (a, b) = pairs.find(|(a, b)| differ(what, a, b))?;
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
