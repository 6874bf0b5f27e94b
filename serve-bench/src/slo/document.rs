//! The answer of a search as data and as a document: the largest load, why not more, every run.

use serde::Serialize;
use view::serve::significant;
use view::{Block, Document, Item, Next, Section, Table, Tone};

use super::objective::{Objective, Seen};
use super::search::{Found, Outcome, Verdict};
use super::verdict::Judged;

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

/// The document of a search, as far as it is.
pub(super) fn document(answer: &Answer, objectives: &[Objective]) -> Document {
    let (tone, next) = match answer.found.outcome {
        Outcome::Found => (Tone::Good, None),
        Outcome::Always => (Tone::Good, Some("raise --start.")),
        Outcome::Never => (Tone::Bad, Some("lower --start.")),
        Outcome::Open => (
            Tone::Open,
            Some("the same command with this folder as --out resumes it."),
        ),
        Outcome::Wide => (
            Tone::Warning,
            Some("raise --runs, or begin nearer with --start."),
        ),
        Outcome::ClientLimit => (
            Tone::Warning,
            Some("search into another folder, with a CPU for the load generator: `taskset -c N`."),
        ),
    };
    let is_cached = answer.runs.iter().any(|run| run.prefix_cache.is_some());
    let fresh =
        "search without --seed and with prompts that share nothing: none is in a cache then.";
    let next = is_cached.then_some(fresh).or(next);
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
        next: next.into_iter().map(Next::plain).collect(),
        sections: vec![Section::new("Runs", runs)],
        made_by: format!("tplens serve slo {}", env!("CARGO_PKG_VERSION")),
    }
}

fn sentences(answer: &Answer) -> Vec<String> {
    let Answer { found, unit, .. } = answer;
    let slo = answer.slo.join(" and ");
    // The last run of a load speaks for all of them.
    let at = |load: Option<f64>| answer.runs.iter().rev().find(|run| Some(run.at) == load);
    let (met, not) = (at(found.met), at(found.not_met));
    let counted = not.and_then(|run| run.running.zip(run.waiting));
    let counted = counted.map_or_else(String::new, |(running, waiting)| {
        format!(" ({running:.0} running, {waiting:.0} waiting)")
    });
    let by = not.and_then(|run| run.limit);
    let by = by.map_or_else(String::new, |by| format!("; limited by {by}{counted}"));
    let is_unknown = found.not_met_verdict == Some(Verdict::NotKnown);
    let mut sentences = vec![match (found.met, found.not_met) {
        (Some(met), None) => {
            format!("{met} {unit} meets {slo}, as does every load that was tried.")
        }
        (Some(met), _) => format!("{met} {unit} meets {slo}{by}."),
        (None, _) if is_unknown => {
            format!("Whether a load meets {slo} is not known: the load generator was the limit.")
        }
        (None, _) => format!("No load that was tried meets {slo}{by}."),
    }];
    let attained = |run: &Judged| Some(format!("{:.1}% at {}", run.attained? * 100.0, run.at));
    let parts = [met, not].into_iter().flatten().filter_map(attained);
    let parts: Vec<String> = parts.collect();
    if !parts.is_empty() {
        sentences.push(format!(
            "Requests that keep every objective on a percentile: {} {unit}.",
            parts.join(", ")
        ));
    }
    let not = not.filter(|_| found.met.is_some() || !is_unknown);
    sentences.extend(not.map(|run| format!("At {} {unit} it is {}.", run.at, run.verdict)));
    sentences
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
    let cached = runs.iter().filter_map(|run| run.prefix_cache);
    let cached = cached.reduce(f64::max).map(|most| {
        let most = most * 100.0;
        let text = format!("up to {most:.0}% of a run's prompt tokens came from a prefix cache");
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
            run.verdict.to_string(),
            run.detail.clone(),
        ]);
        row
    };
    let mut heads = vec!["run".to_owned(), answer.unit.to_owned()];
    heads.extend(objectives.iter().map(|one| format!("{} ms", one.name())));
    heads.extend(["req/s", "failed", "verdict", "why"].map(str::to_owned));
    Table {
        heads,
        rows: answer.runs.iter().map(row).collect(),
    }
}
