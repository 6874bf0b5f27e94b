//! Gates on what the runs were made with: engine, machine, version, data and launch flags, as far as files and logs say.
//!
//! What one of them does not say is told once, for all rows together.

use measure::import::serve::Conditions;

use super::compared::compared;
use super::engine_asked::engine_asked;
use super::gate::{Gate, Verdict};
use super::open::Open;
use super::witness::{Witness, witnesses};
use crate::gpu_name::differ;
use crate::inputs::Inputs;

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
    stand: fn(&Conditions, &Conditions) -> Stand,
}

/// How what two files say stands to each other.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stand {
    Alike,
    Apart,
    /// Spelled differently, and what is spelled may be the same: why.
    Untold(&'static str),
    /// Apart by a witness that may be wrong: why.
    Doubted(&'static str),
}

const ROWS: [Row; 8] = [
    Row {
        name: "same engine",
        what: "the engine",
        needed: "one engine served all: two differ in kernels, scheduling and graphs, which no link explains",
        next: "serve all with the same engine, and run again",
        otherwise: Verdict::Failed,
        values: |of| of.engine.iter().cloned().collect(),
        stand: |a, b| match apart(a.engine != b.engine) {
            Stand::Apart if a.engine_by_client || b.engine_by_client => {
                Stand::Doubted("a client's way of asking says so, which several engines understand")
            }
            stand => stand,
        },
    },
    Row {
        name: "same host",
        what: "the host",
        needed: "one machine served all: two differ in more than their links and the number of GPUs",
        next: "serve all on the same machine, and run again",
        otherwise: Verdict::Failed,
        values: |of| of.host.iter().map(|host| host.name.clone()).collect(),
        stand: |a, b| {
            let both = a.host.as_ref().zip(b.host.as_ref());
            match both.map(|(a, b)| a.is_another(b)) {
                Some(Some(true)) => Stand::Apart,
                Some(None) => Stand::Untold(
                    "one machine may have several addresses, containers and names of services",
                ),
                Some(Some(false)) | None => Stand::Alike,
            }
        },
    },
    Row {
        name: SAME_GPUS,
        what: "the GPUs",
        needed: "GPUs of one kind served all",
        next: "give runs of the same GPUs",
        otherwise: Verdict::Failed,
        values: |of| of.gpus.clone(),
        stand: |a, b| {
            let of_b = |gpu: &String| {
                let mut others = b.gpus.iter();
                others.find_map(|other| match differ(gpu, other) {
                    Some(true) => Some(Stand::Apart),
                    None if !gpu.eq_ignore_ascii_case(other) => Some(Stand::Untold(
                        "the names do not tell whether it is the same",
                    )),
                    Some(false) | None => None,
                })
            };
            let mut stands: Vec<Stand> = a.gpus.iter().filter_map(of_b).collect();
            stands.sort_by_key(|stand| *stand != Stand::Apart);
            stands.first().copied().unwrap_or(Stand::Alike)
        },
    },
    Row {
        name: "same quantisation",
        what: "how weights are stored",
        needed: "weights are stored alike in all runs",
        next: "serve all with the same quantisation, and run again",
        otherwise: Verdict::Failed,
        values: |of| of.quantisation.iter().cloned().collect(),
        stand: |a, b| {
            let both = a.quantisation.as_deref().zip(b.quantisation.as_deref());
            both.map_or(Stand::Alike, |(a, b)| stored(a, b))
        },
    },
    Row {
        name: "same engine version",
        what: "the engine's version",
        needed: "one version of the engine served all: kernels and defaults change with it",
        next: "serve all with the same version, and run again",
        otherwise: Verdict::Warned,
        values: |of| of.version.iter().cloned().collect(),
        stand: |a, b| apart(a.version != b.version),
    },
    Row {
        name: "same data",
        what: "what prompts are made of",
        needed: "the same data set made all prompts: caches and lengths depend on it",
        next: "run all with the same data set, and again",
        otherwise: Verdict::Warned,
        values: |of| of.dataset.iter().cloned().collect(),
        stand: |a, b| apart(data_set(a) != data_set(b)),
    },
    Row {
        name: "same seed",
        what: "the seed",
        needed: "the same seed drew lengths, choice or arrivals of the requests",
        next: "run all with the same --seed, and again",
        otherwise: Verdict::Warned,
        values: |of| of.seed.iter().map(u64::to_string).collect(),
        stand: |a, b| apart(a.seed != b.seed),
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
        stand: |a, b| apart(!unlike(a, b).is_empty()),
    },
];

/// The name of the gate on the kinds of GPU.
const SAME_GPUS: &str = "same GPUs";

/// The row whose runs repeat each other with seeds of their own.
const SEEDS: &str = "same seed";

/// The row of which only what differs is shown.
const LAUNCH: &str = "same launch flags";

/// Names of formats that hold weights of several types.
const CONTAINERS: [&str; 4] = ["compressed-tensors", "modelopt", "quark", "auto-round"];

/// A gate for each row that files tell, and one for all that they do not tell.
pub(super) fn conditions(inputs: &Inputs) -> Vec<Gate> {
    let runs: Vec<Vec<Witness>> = witnesses(inputs);
    let mut gates: Vec<Gate> = engine_asked(inputs).into_iter().collect();
    if runs.len() < 2 {
        return gates;
    }
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

/// The gate on the runs' GPUs is unknown where they are alike and their names do not tell whether the box's are the same.
pub(super) fn held_to_box(inputs: &Inputs, mut gate: Gate) -> Gate {
    let (gpu, name) = (&inputs.known.gpu, &inputs.known.name);
    let (true, Some(box_gpu), Some(name)) = (gate.name == SAME_GPUS, gpu, name) else {
        return gate;
    };
    let mut told = compared(inputs).flat_map(|run| {
        let gpus = run.conditions.gpus.iter();
        gpus.map(move |gpu| (run, gpu))
    });
    let untold =
        told.find(|(_, gpu)| differ(gpu, box_gpu).is_none() && !gpu.eq_ignore_ascii_case(box_gpu));
    if let (Verdict::Passed, Some((run, gpu))) = (gate.verdict, untold) {
        gate.verdict = Verdict::Unknown;
        gate.seen = format!(
            "{gpu} in {} and {box_gpu} of the box {name}: the names do not tell whether it is the same",
            run.origin
        );
        gate.what_to_run = Some("name the box that the runs are of with --box".to_owned());
    }
    gate
}

fn apart(is: bool) -> Stand {
    if is { Stand::Apart } else { Stand::Alike }
}

/// Whether two flags store weights alike. A container holds several formats, and a longer name may only say whose kernels read them.
fn stored(a: &str, b: &str) -> Stand {
    let (a, b) = (a.to_lowercase(), b.to_lowercase());
    let is_container = CONTAINERS.contains(&a.as_str()) || CONTAINERS.contains(&b.as_str());
    match a == b {
        true => Stand::Alike,
        false if is_container => Stand::Untold("that is a container of several formats"),
        false if a.contains(&b) || b.contains(&a) => {
            Stand::Untold("the longer name may be of the same format")
        }
        false => Stand::Apart,
    }
}

/// A data set by its file's name, however it is written.
fn data_set(of: &Conditions) -> Option<String> {
    let name = of.dataset.as_deref()?.to_lowercase();
    name.rsplit(['/', '\\']).next().map(str::to_owned)
}

impl Row {
    /// What came of it; `None` where a run does not say it and those that do are alike.
    fn judged(&self, runs: &[Vec<Witness>]) -> Option<Gate> {
        let all = runs.iter().flatten();
        let told: Vec<&Witness> = all.filter(|one| self.tells(one)).collect();
        let open = Open::new(self.name, self.needed, self.next);
        if let Some((pair, stand)) = self.unlike(&told) {
            let words = pair.map(|one| format!("{} in {}", self.shown(one, pair), one.origin));
            let words = words.join(" and ");
            return Some(match stand {
                Stand::Untold(why) => open.is(None, format!("{words}: {why}")),
                Stand::Doubted(why) => open.with(Verdict::Warned, format!("{words}: {why}")),
                Stand::Apart | Stand::Alike => open.with(self.otherwise, words),
            });
        }
        let alike = self.alike(told.first()?, runs);
        (!alike.is_empty()).then(|| open.is(Some(true), alike.join(", ")))
    }

    /// Two that are not alike, and how they stand: the worst of all pairs; `None` where all are.
    fn unlike<'a>(&self, told: &[&'a Witness]) -> Option<([&'a Witness; 2], Stand)> {
        // Repeats of one side have seeds of their own, and those of the other side the same.
        if self.name == SEEDS && is_repeated(told) {
            return None;
        }
        let pairs = told.iter().enumerate().flat_map(|(index, one)| {
            let after = told.iter().skip(index + 1);
            after.map(move |other| [*one, *other])
        });
        let stands = pairs.map(|[a, b]| ([a, b], (self.stand)(&a.conditions, &b.conditions)));
        let unlike = stands.filter(|(_, stand)| *stand != Stand::Alike);
        unlike.min_by_key(|(_, stand)| match stand {
            Stand::Apart => 0,
            Stand::Doubted(_) => 1,
            Stand::Untold(_) | Stand::Alike => 2,
        })
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
