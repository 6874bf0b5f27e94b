//! The answer of a search as data and as a document: the largest load, why not more, every run.

use serde::Serialize;
use view::serve::significant;
use view::{Block, Document, Item, Next, Section, Table, Tone};

use super::objective::{Objective, Seen};
use super::search::{Found, Outcome, Verdict};
use super::verdict::{Judged, LimitCode};

/// The answer as data.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Answer {
    /// Version of this file.
    pub(super) schema: u32,
    /// The simulated machine behind it.
    pub(super) simulated: Option<String>,
    /// `rate` or `concurrency`.
    pub(super) search: &'static str,
    /// The load's unit.
    pub(super) unit: &'static str,
    /// The objectives, such as `p99 TTFT 5 s`.
    pub(super) slo: Vec<String>,
    /// What was found so far.
    pub(super) found: Found,
    /// Every run with its verdict.
    pub(super) runs: Vec<Judged>,
}

impl Answer {
    /// The last run of a load, which speaks for all of them.
    fn at(&self, load: Option<f64>) -> Option<&Judged> {
        self.runs.iter().rev().find(|run| Some(run.at) == load)
    }
}

/// The document of a search, as far as it is.
pub(super) fn document(answer: &Answer, objectives: &[Objective]) -> Document {
    let is_cached = answer.runs.iter().any(|run| run.prefix_cache.is_some());
    let (tone, next) = match answer.found.outcome {
        Outcome::Found => (Tone::Good, None),
        Outcome::Always => (Tone::Good, Some(Next::plain("raise --start."))),
        Outcome::Never => (Tone::Bad, Some(Next::plain("lower --start."))),
        Outcome::Open => {
            let next = Next::plain("the same command with this folder as --out resumes it.");
            (Tone::Open, Some(next))
        }
        Outcome::Wide => {
            let next = Next::plain("raise --runs, or begin nearer with --start.");
            (Tone::Warning, Some(next))
        }
        Outcome::ClientLimit => {
            let next = Next::by(
                "give the load generator a CPU of its own, and search into another folder.",
                "taskset -c N tplens serve slo ...",
            );
            (Tone::Warning, Some(next))
        }
    };
    let fresh =
        "search without --seed and with prompts that share nothing: none is in a cache then.";
    let fresh = is_cached.then(|| Next::plain(fresh));
    let runs = vec![Block::Table(runs(answer, objectives))];
    Document {
        title: format!(
            "largest {} within {}",
            answer.search,
            answer.slo.join(" and ")
        ),
        simulated: answer.simulated.clone(),
        tone,
        answer: sentences(answer),
        findings: findings(answer),
        next: fresh.or(next).into_iter().collect(),
        sections: vec![Section::new("Runs", runs)],
        made_by: format!("tplens serve slo {}", env!("CARGO_PKG_VERSION")),
    }
}

fn sentences(answer: &Answer) -> Vec<String> {
    let Answer { found, unit, .. } = answer;
    let slo = answer.slo.join(" and ");
    let (met, not) = (answer.at(found.met), answer.at(found.not_met));
    let by = not.and_then(limited_by);
    let by = by.map_or_else(String::new, |by| format!("; limited by {by}"));
    let mut sentences = vec![match (found.met, found.not_met) {
        (Some(met), None) => {
            format!("{met} {unit} meets {slo}, as does every load that was tried.")
        }
        (Some(met), _) => format!("{met} {unit} meets {slo}{by}."),
        (None, _) => format!("No load that was tried meets {slo}{by}."),
    }];
    let attained = |run: &Judged| Some(format!("{:.1}% at {}", run.attained? * 100.0, run.at));
    let parts = [met, not].into_iter().flatten().filter_map(attained);
    let parts: Vec<String> = parts.collect();
    if !parts.is_empty() {
        let parts = parts.join(", ");
        sentences.push(format!(
            "Requests that keep every objective on a percentile: {parts} {unit}."
        ));
    }
    sentences.extend(not.map(|run| format!("At {} {unit} it is {}.", run.at, run.verdict.words())));
    sentences
}

/// What kept the server from more than a run, with what its counters showed.
fn limited_by(run: &Judged) -> Option<String> {
    let limit = run.limit.as_ref()?;
    let counted = |count: Option<f64>, what: &str| {
        let count = count.filter(|count| *count > 0.0);
        count.map(|count| format!("{count:.0}{what}"))
    };
    let running = || counted(limit.running, " running");
    let waiting = || counted(limit.waiting, " waiting");
    let full = || counted(limit.kv_used.map(|used| used * 100.0), "% full");
    let completed = || format!("{} req/s completed", significant(run.requests_per_s));
    let (name, said) = match limit.code {
        LimitCode::Slots => ("max_num_seqs", [running(), waiting()]),
        LimitCode::KvCache => ("KV cache", [full(), running()]),
        LimitCode::PrefillQueue => ("prefill queue", [waiting(), None]),
        LimitCode::DecodeStep => ("time of a decode step", [running(), None]),
        LimitCode::Throughput => ("throughput", [Some(completed()), None]),
        LimitCode::Client => ("the load generator", [None, None]),
    };
    let said: Vec<String> = said.into_iter().flatten().collect();
    Some(match said.is_empty() {
        true => name.to_owned(),
        false => format!("{name} ({})", said.join(", ")),
    })
}

fn findings(answer: &Answer) -> Vec<Item> {
    let Answer { found, runs, .. } = answer;
    let of = |verdict| runs.iter().filter(move |run| run.verdict == verdict);
    let bursts = of(Verdict::NotSustained).filter(|run| found.met.is_none_or(|met| run.at > met));
    let burst = bursts.max_by(|one, other| one.at.total_cmp(&other.at));
    let burst = burst.map(|run| {
        let (all, at, unit) = (run.completed + run.failed, run.at, answer.unit);
        let text = format!("{all} requests at {at} {unit} are a burst, not a rate");
        (text, "rate-not-sustained")
    });
    let cached: Vec<f64> = runs.iter().filter_map(|run| run.prefix_cache).collect();
    let cached = cached.iter().copied().reduce(f64::max).map(|most| {
        let (most, hit, all) = (most * 100.0, cached.len(), runs.len());
        let text = format!(
            "up to {most:.0}% of the prompt tokens came from a prefix cache, in {hit} of {all} runs"
        );
        (text, "prefix-cache-hit")
    });
    let limited = of(Verdict::NotKnown).count();
    let limited = (limited > 0).then(|| {
        let text =
            format!("{limited} runs say nothing of the server: the load generator was the limit");
        (text, "client-limited")
    });
    let all = [burst, cached, limited].into_iter().flatten();
    all.map(|(text, code)| Item::of(Tone::Warning, text).coded(code))
        .collect()
}

fn runs(answer: &Answer, objectives: &[Objective]) -> Table {
    let heads = ["run", answer.unit].map(str::to_owned).into_iter();
    let heads = heads.chain(objectives.iter().map(|one| format!("{} ms", one.name())));
    let rest = ["req/s", "failed", "verdict", "why"].map(str::to_owned);
    let seen = |seen: &Seen| match (seen.value_ms, seen.interval_ms) {
        (None, _) => "—".to_owned(),
        (Some(value), None) => significant(value),
        (Some(value), Some((low, high))) => {
            let [value, low, high] = [value, low, high].map(significant);
            format!("{value} [{low}-{high}]")
        }
    };
    let row = |run: &Judged| {
        let mut row = vec![run.run.to_string(), run.at.to_string()];
        row.extend(run.seen.iter().map(seen));
        row.extend([
            significant(run.requests_per_s),
            run.failed.to_string(),
            run.verdict.words().to_owned(),
            run.detail.clone(),
        ]);
        row
    };
    Table {
        heads: heads.chain(rest).collect(),
        rows: answer.runs.iter().map(row).collect(),
    }
}
