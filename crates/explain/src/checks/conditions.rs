//! What the runs were made with: engine, machine, version, data and flags, as far as their files say.

use import::ServeRun;
use import::serve::Conditions;

use super::compared::compared;
use crate::finding::{Condition, Finding};
use crate::inputs::Inputs;
use crate::peaks::Peak;

/// Names that hold several formats of weights.
const CONTAINERS: [&str; 4] = ["compressed-tensors", "modelopt", "quark", "auto-round"];

struct Row {
    what: Condition,
    values: fn(&Conditions) -> Vec<String>,
    differ: fn(&Conditions, &Conditions) -> bool,
}

const ROWS: [Row; 8] = [
    Row {
        what: Condition::Engine,
        // What a client only asks like says nothing of the server.
        values: |of| {
            of.engine
                .iter()
                .filter(|_| !of.engine_by_client)
                .cloned()
                .collect()
        },
        differ: |a, b| a.engine != b.engine,
    },
    Row {
        what: Condition::Host,
        values: |of| of.host.iter().map(|host| host.name.clone()).collect(),
        differ: |a, b| {
            let both = a.host.as_ref().zip(b.host.as_ref());
            both.is_some_and(|(a, b)| a.is_another(b) == Some(true))
        },
    },
    Row {
        what: Condition::Gpus,
        values: |of| of.gpus.clone(),
        differ: |a, b| {
            let other = |gpu: &String| b.gpus.iter().any(|of| Peak::differ(gpu, of));
            a.gpus.iter().any(other)
        },
    },
    Row {
        what: Condition::Quantisation,
        values: |of| of.quantisation.iter().cloned().collect(),
        differ: |a, b| {
            let both = a.quantisation.as_deref().zip(b.quantisation.as_deref());
            both.is_some_and(|(a, b)| stored_otherwise(a, b))
        },
    },
    Row {
        what: Condition::Version,
        values: |of| of.version.iter().cloned().collect(),
        differ: |a, b| a.version != b.version,
    },
    Row {
        what: Condition::Data,
        values: |of| data_set(of).into_iter().collect(),
        differ: |a, b| data_set(a) != data_set(b),
    },
    Row {
        what: Condition::Seed,
        values: |of| {
            of.seed
                .iter()
                .filter(|_| of.is_seeded)
                .map(u64::to_string)
                .collect()
        },
        differ: |a, b| a.seed != b.seed,
    },
    Row {
        what: Condition::Flags,
        values: |of| {
            of.flags
                .iter()
                .map(|(name, value)| format!("{name}={value}"))
                .collect()
        },
        differ: |a, b| !unlike(a, b).is_empty(),
    },
];

/// What the runs differ in.
pub(super) fn differing(inputs: &Inputs) -> Vec<Finding> {
    let runs: Vec<&ServeRun> = compared(inputs).collect();
    let mut found: Vec<Finding> = ROWS.iter().filter_map(|row| row.of(&runs)).collect();
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

impl Row {
    fn of(&self, runs: &[&ServeRun]) -> Option<Finding> {
        let said = |run: &&&ServeRun| !(self.values)(&run.conditions).is_empty();
        let told: Vec<&&ServeRun> = runs.iter().filter(said).collect();
        // Repeats have seeds of their own.
        if self.what == Condition::Seed && told.len() > 2 {
            return None;
        }
        let mut pairs = told
            .iter()
            .enumerate()
            .flat_map(|(index, one)| told.iter().skip(index + 1).map(move |other| (one, other)));
        let (a, b) = pairs.find(|(a, b)| (self.differ)(&a.conditions, &b.conditions))?;
        let values = |of: &Conditions, other: &Conditions| match self.what {
            Condition::Flags => {
                let names = unlike(of, other);
                let shown = names
                    .iter()
                    .map(|name| format!("{name}={}", of.flags[*name]));
                shown.collect::<Vec<_>>().join(" ")
            }
            _ => (self.values)(of).join(", "),
        };
        Some(Finding::ConditionsDiffer {
            what: self.what,
            values: vec![
                values(&a.conditions, &b.conditions),
                values(&b.conditions, &a.conditions),
            ],
        })
    }
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

fn unlike<'a>(a: &'a Conditions, b: &Conditions) -> Vec<&'a str> {
    let differs = |(name, value): (&'a String, &'a String)| {
        let other = b.flags.get(name)?;
        (other != value).then_some(name.as_str())
    };
    a.flags.iter().filter_map(differs).collect()
}
