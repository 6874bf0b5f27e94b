//! What was read, and what of it was taken.

use import::CurvePoint;
use serde::{Deserialize, Serialize};

use crate::attribute::StepFrom;
use crate::inputs::Inputs;

/// A file and what was taken of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputSource {
    /// Its name.
    pub origin: String,
    /// What was taken.
    pub taken: Taken,
}

/// What was taken of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
#[expect(missing_docs, reason = "fields are named by what they hold")]
pub enum Taken {
    /// The step of a run; `tp` is `None` of a shard run.
    Run {
        tp: Option<u32>,
        from: Option<StepFrom>,
        requests: u64,
        found: Vec<String>,
    },
    /// Times of collectives.
    Collectives { points: usize, used: usize },
    /// A server's log.
    Log { tp: u32, detail: String },
    /// Kernel sums.
    Trace,
    /// GPUs, links and peer access.
    Links,
    /// The rate of a link.
    LinkRate,
    /// Arms of an ablation.
    Ablation { arms: usize },
}

/// All that these inputs were read from.
pub(crate) fn sources(inputs: &Inputs) -> Vec<InputSource> {
    let mut sources: Vec<InputSource> = Vec::new();
    let mut add = |origin: &str, taken: Taken| {
        let source = InputSource {
            origin: origin.to_owned(),
            taken,
        };
        if !sources.contains(&source) {
            sources.push(source);
        }
    };
    let served = inputs.serve.iter().map(|(tp, run)| (Some(*tp), run));
    let halves = inputs.evidence.half.iter().map(|run| (None, run));
    for (tp, run) in served.chain(halves) {
        let found = inputs.evidence.found.iter();
        let found = found.filter(|(of, _)| *of == run.origin);
        let taken = Taken::Run {
            tp,
            from: StepFrom::common(&[run]),
            requests: run.completed,
            found: found.map(|(_, words)| words.clone()).collect(),
        };
        add(&run.origin, taken);
    }
    let usable = inputs.usable_curve();
    for origin in inputs.curve.iter().map(|point| &point.origin) {
        let of = |point: &&CurvePoint| point.origin == *origin;
        let used = usable.iter().filter(of);
        let taken = Taken::Collectives {
            points: inputs.curve.iter().filter(of).count(),
            used: used.filter(|point| point.ranks == inputs.tp).count(),
        };
        add(origin, taken);
    }
    for log in &inputs.evidence.logs {
        add(
            &log.origin,
            Taken::Log {
                tp: log.tp,
                detail: log.taken.clone(),
            },
        );
    }
    if let Some(trace) = &inputs.evidence.trace {
        add(&trace.origin, Taken::Trace);
    }
    for origin in &inputs.known.origins {
        add(origin, Taken::Links);
    }
    sources
}
