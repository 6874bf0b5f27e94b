//! Gates on what the runs were made with: engine, machine, version, data and launch flags, as far as files and logs say.
//!
//! What one of them does not say is told once, for all rows together.

use measure::import::ServeRun;
use measure::import::serve::Conditions;
use tp_plan::{Engine, Execution};

use super::compared::compared;
use super::gate::{Gate, Verdict};
use super::open::Open;
use crate::inputs::{Inputs, ServerLog};

/// Something that all runs have alike.
struct Row {
    /// The gate's name, and what is said where a file is silent.
    name: &'static str,
    what: &'static str,
    needed: &'static str,
    next: &'static str,
    /// What follows where runs differ in it.
    otherwise: Verdict,
    values: fn(&Conditions) -> Vec<String>,
    differ: fn(&Conditions, &Conditions) -> bool,
}

/// What one file says of a run: its own, or the log of its server.
struct Witness {
    tp: u32,
    origin: String,
    conditions: Conditions,
}

const ROWS: [Row; 8] = [
    Row {
        name: "same engine",
        what: "the engine",
        needed: "one engine served all: two differ in kernels, scheduling and graphs, which no link explains",
        next: "serve all with the same engine, and run again",
        otherwise: Verdict::Failed,
        values: |of| of.engine.iter().cloned().collect(),
        differ: |a, b| a.engine != b.engine,
    },
    Row {
        name: "same host",
        what: "the host",
        needed: "one machine served all: two differ in more than their links and the number of GPUs",
        next: "serve all on the same machine, and run again",
        otherwise: Verdict::Failed,
        values: |of| of.host.iter().map(|host| host.name.clone()).collect(),
        differ: |a, b| {
            let both = a.host.as_ref().zip(b.host.as_ref());
            both.is_some_and(|(a, b)| a.is_another(b) == Some(true))
        },
    },
    Row {
        name: "same GPUs",
        what: "the GPUs",
        needed: "GPUs of one kind served all",
        next: "give runs of the same GPUs",
        otherwise: Verdict::Failed,
        values: |of| of.gpus.clone(),
        differ: |a, b| {
            let of_b = |gpu: &String| {
                let mut others = b.gpus.iter();
                others.any(|other| crate::is_another_gpu(gpu, other))
            };
            a.gpus.iter().any(of_b)
        },
    },
    Row {
        name: "same quantisation",
        what: "how weights are stored",
        needed: "weights are stored alike in all runs",
        next: "serve all with the same quantisation, and run again",
        otherwise: Verdict::Failed,
        values: |of| of.quantisation.iter().cloned().collect(),
        differ: |a, b| a.quantisation != b.quantisation,
    },
    Row {
        name: "same engine version",
        what: "the engine's version",
        needed: "one version of the engine served all: kernels and defaults change with it",
        next: "serve all with the same version, and run again",
        otherwise: Verdict::Warned,
        values: |of| of.version.iter().cloned().collect(),
        differ: |a, b| a.version != b.version,
    },
    Row {
        name: "same data",
        what: "what prompts are made of",
        needed: "the same data set made all prompts: caches and lengths depend on it",
        next: "run all with the same data set, and again",
        otherwise: Verdict::Warned,
        values: |of| of.dataset.iter().cloned().collect(),
        differ: |a, b| a.dataset != b.dataset,
    },
    Row {
        name: "same seed",
        what: "the seed",
        needed: "the same seed drew lengths, choice or arrivals of the requests",
        next: "run all with the same --seed, and again",
        otherwise: Verdict::Warned,
        values: |of| of.seed.iter().map(u64::to_string).collect(),
        differ: |a, b| a.seed != b.seed,
    },
    Row {
        name: "same launch flags",
        what: "launch flags",
        needed: "servers were started alike but for what is compared",
        next: "start all servers with the same flags, and run again",
        otherwise: Verdict::Warned,
        values: |of| {
            let flags = of.flags.iter();
            flags
                .map(|(name, value)| format!("{name}={value}"))
                .collect()
        },
        differ: |a, b| !unlike(a, b).is_empty(),
    },
];

/// The row whose runs repeat each other with seeds of their own.
const SEEDS: &str = "same seed";

/// The row of which only what differs is shown.
const LAUNCH: &str = "same launch flags";

/// A gate for each row that files tell, and one for all that they do not tell.
pub(super) fn conditions(inputs: &Inputs) -> Vec<Gate> {
    let runs: Vec<Vec<Witness>> = witnesses(inputs);
    if runs.len() < 2 {
        return Vec::new();
    }
    let mut gates: Vec<Gate> = engine_asked(inputs).into_iter().collect();
    let mut silent = Vec::new();
    for row in &ROWS {
        match row.judged(&runs) {
            Some(gate) => gates.push(gate),
            None if row.is_asked(&runs) => silent.push(row.what),
            None => {}
        }
    }
    if !silent.is_empty() {
        let open = Open::new(
            "same conditions",
            "every file says what it was made with",
            "",
        );
        let words = format!("not every file says {}", listed(&silent));
        gates.push(open.not_judged(words));
    }
    gates
}

/// The engine whose rules are taken against the one that all files name; `None` where they name none that has rules of its own
/// here, or several.
fn engine_asked(inputs: &Inputs) -> Option<Gate> {
    let lower = |engine: Engine| engine.name().to_lowercase();
    let has_rules = |name: &String| [Engine::Vllm, Engine::Sglang].map(lower).contains(name);
    let taken = inputs.engines.first()?.engine;
    let mut runs = compared(inputs).filter_map(|run| Some((run, run.conditions.engine.as_ref()?)));
    let (first, served) = runs.next().filter(|(_, served)| has_rules(served))?;
    if runs.any(|(_, other)| other != served) {
        return None;
    }
    let open = Open::new(
        "the engine asked about",
        "the files' engine is the one whose rules say what is sent",
        format!("give --engine {served}, or the server's log with --engine-log"),
    );
    let seen = format!(
        "the rules of {} are taken, and {} is of {served}",
        taken.name(),
        first.origin
    );
    Some(match lower(taken) == *served {
        true => open.is(Some(true), taken.name()),
        false => open.is(Some(false), seen),
    })
}

/// For each run what its own file says, and the log of its server.
fn witnesses(inputs: &Inputs) -> Vec<Vec<Witness>> {
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

impl Row {
    /// What came of it; `None` where a run does not say it and those that do are alike.
    fn judged(&self, runs: &[Vec<Witness>]) -> Option<Gate> {
        let all = runs.iter().flatten();
        let told: Vec<&Witness> = all.filter(|one| self.tells(one)).collect();
        let open = Open::new(self.name, self.needed, self.next);
        if let Some(pair) = self.apart(&told) {
            let words = pair.map(|one| format!("{} in {}", self.shown(one, pair), one.origin));
            return Some(open.with(self.otherwise, words.join(" and ")));
        }
        let alike = self.alike(told.first()?, runs);
        (!alike.is_empty()).then(|| open.is(Some(true), alike.join(", ")))
    }

    /// Two that differ; `None` where none do.
    fn apart<'a>(&self, told: &[&'a Witness]) -> Option<[&'a Witness; 2]> {
        // Repeats of one side have seeds of their own, and those of the other side the same.
        if self.name == SEEDS && is_repeated(told) {
            return None;
        }
        let mut pairs = told.iter().enumerate().flat_map(|(index, one)| {
            let after = told.iter().skip(index + 1);
            after.map(move |other| [*one, *other])
        });
        pairs.find(|[a, b]| (self.differ)(&a.conditions, &b.conditions))
    }

    /// What every run tells, as the first has it; empty where one is silent.
    fn alike(&self, first: &Witness, runs: &[Vec<Witness>]) -> Vec<String> {
        let mut values = (self.values)(&first.conditions);
        if self.name == LAUNCH {
            let has = |value: &String, run: &Vec<Witness>| {
                run.iter()
                    .any(|one| (self.values)(&one.conditions).contains(value))
            };
            values.retain(|value| runs.iter().all(|run| has(value, run)));
        }
        let is_told = |run: &Vec<Witness>| run.iter().any(|one| self.tells(one));
        match runs.iter().all(is_told) {
            true => values,
            false => Vec::new(),
        }
    }

    /// Whether a file tells it, and it matters there.
    fn tells(&self, one: &Witness) -> bool {
        self.matters(one) && !(self.values)(&one.conditions).is_empty()
    }

    fn matters(&self, one: &Witness) -> bool {
        self.name != SEEDS || one.conditions.is_seeded
    }

    /// Whether a run that is silent would have something to say.
    fn is_asked(&self, runs: &[Vec<Witness>]) -> bool {
        runs.iter().flatten().any(|one| self.matters(one))
    }

    /// What one of a pair that differs says; of launch flags those that differ.
    fn shown(&self, one: &Witness, [a, b]: [&Witness; 2]) -> String {
        let mut values = (self.values)(&one.conditions);
        if self.name == LAUNCH {
            let names = unlike(&a.conditions, &b.conditions);
            let is_unlike = |value: &String| {
                let (name, _) = value.split_once('=').unwrap_or((value, ""));
                names.contains(&name)
            };
            values.retain(is_unlike);
        }
        values.join(", ")
    }
}

/// Whether the seeds of one size are all among those of the other.
fn is_repeated(told: &[&Witness]) -> bool {
    let of = |tp: u32| -> Vec<Option<u64>> {
        let all = told.iter().filter(|one| one.tp == tp);
        all.map(|one| one.conditions.seed).collect()
    };
    let mut sizes: Vec<u32> = told.iter().map(|one| one.tp).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let is_within = |a: u32, b: u32| of(a).iter().all(|seed| of(b).contains(seed));
    let mut pairs = sizes.windows(2);
    sizes.len() > 1 && pairs.all(|pair| is_within(pair[0], pair[1]) || is_within(pair[1], pair[0]))
}

/// Flags that both say, and say differently.
fn unlike<'a>(a: &'a Conditions, b: &Conditions) -> Vec<&'a str> {
    let differs = |(name, value): (&'a String, &'a String)| {
        let other = b.flags.get(name)?;
        (other != value).then_some(name.as_str())
    };
    a.flags.iter().filter_map(differs).collect()
}

fn listed(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [before @ .., last] => format!("{} and {last}", before.join(", ")),
    }
}
