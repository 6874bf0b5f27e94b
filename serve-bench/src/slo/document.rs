//! The document of a search: the largest load, why not more, every run.

use view::serve::significant;
use view::{Block, Document, Item, Next, Section, Table, Tone};

use super::limit::Limit;
use super::objective::Seen;
use super::report::{Answer, Decision};
use super::search::{Outcome, Verdict};

/// The document of a search that ended.
pub(super) fn document(answer: &Answer) -> Document {
    let outcome = answer.found.outcome;
    let is_cached = answer.runs.iter().any(|run| run.prefix_cache.is_some());
    let next = match outcome {
        _ if is_cached => vec![Next::plain(
            "search without --seed and with prompts that share nothing: none is in a cache then.",
        )],
        Outcome::ClientLimit => vec![Next::by(
            "give the load generator a CPU of its own, and search into another folder.",
            "taskset -c N tplens serve slo ...",
        )],
        Outcome::Wide => vec![Next::plain("raise --runs, or begin nearer with --start.")],
        Outcome::Always => vec![Next::plain("raise --start.")],
        Outcome::Never => vec![Next::plain("lower --start.")],
        Outcome::Found => Vec::new(),
    };
    Document {
        title: format!(
            "largest {} within {}",
            answer.search,
            answer.slo.join(" and ")
        ),
        simulated: answer.simulated.clone(),
        tone: match outcome {
            Outcome::Found | Outcome::Always => Tone::Good,
            Outcome::Never => Tone::Bad,
            Outcome::Wide | Outcome::ClientLimit => Tone::Warning,
        },
        answer: sentences(answer),
        findings: findings(answer),
        next,
        sections: vec![Section::new("Runs", vec![Block::Table(runs(answer))])],
        made_by: format!("tplens serve slo {}", env!("CARGO_PKG_VERSION")),
    }
}

fn sentences(answer: &Answer) -> Vec<String> {
    let Answer {
        found, unit, runs, ..
    } = answer;
    let slo = answer.slo.join(" and ");
    let at = |load: Option<f64>| runs.iter().rev().find(|run| Some(run.at) == load);
    let (met, not) = (at(found.met), at(found.not_met));
    let by = not.and_then(|run| run.limit.as_ref()).map(limited_by);
    let by = by.map_or_else(String::new, |by| format!("; limited by {by}"));
    let mut sentences = vec![match (found.met, found.not_met) {
        (Some(met), None) => {
            format!("{met} {unit} meets {slo}, as does every load that was tried.")
        }
        (Some(met), _) => format!("{met} {unit} meets {slo}{by}."),
        (None, _) => format!("No load that was tried meets {slo}{by}."),
    }];
    let attained = |run: &Decision| Some(format!("{:.1}% at {}", run.attained? * 100.0, run.at));
    let parts: Vec<String> = [met, not]
        .into_iter()
        .flatten()
        .filter_map(attained)
        .collect();
    if !parts.is_empty() {
        let parts = parts.join(", ");
        sentences.push(format!("Requests that keep every limit: {parts} {unit}."));
    }
    if let Some((load, verdict)) = found.not_met.zip(found.not_met_verdict) {
        let verdict = word(verdict);
        sentences.push(format!("At {load} {unit} it is {verdict}."));
    }
    sentences
}

/// What kept the server from more.
fn limited_by(limit: &Limit) -> String {
    let counted = |count: &Option<f64>, what: &str| {
        let count = count.filter(|count| *count > 0.0);
        count.map_or_else(String::new, |count| format!(" ({count:.0} {what})"))
    };
    match limit {
        Limit::Slots { running, waiting } => {
            format!("max_num_seqs ({running:.0} running, {waiting:.0} waiting)")
        }
        Limit::KvCache { running, used } => {
            format!("KV cache ({:.0}% full, {running:.0} running)", used * 100.0)
        }
        Limit::PrefillQueue { waiting } => format!("prefill queue{}", counted(waiting, "waiting")),
        Limit::DecodeStep { running } => {
            format!("time of a decode step{}", counted(running, "running"))
        }
        Limit::Throughput { completed } => {
            format!("throughput ({} req/s completed)", significant(*completed))
        }
        Limit::Client => "the load generator".to_owned(),
    }
}

fn findings(answer: &Answer) -> Vec<Item> {
    let Answer {
        found, runs, unit, ..
    } = answer;
    let of = |verdict| runs.iter().filter(move |run| run.judged.verdict == verdict);
    let bursts = of(Verdict::NotSustained).filter(|run| found.met.is_none_or(|met| run.at > met));
    let burst = bursts.max_by(|one, other| one.at.total_cmp(&other.at));
    let burst = burst.map(|run| {
        let (all, at) = (run.completed + run.failed, run.at);
        let text = format!("{all} requests at {at} {unit} are a burst, not a rate");
        (text, "rate-not-sustained")
    });
    let cached: Vec<f64> = runs.iter().filter_map(|run| run.prefix_cache).collect();
    let most = cached.iter().copied().reduce(f64::max);
    let cached = most.map(|most| {
        let text = format!(
            "up to {:.0}% of the prompt tokens came from a prefix cache, in {} of {} runs",
            most * 100.0,
            cached.len(),
            runs.len()
        );
        (text, "prefix-cache-hit")
    });
    let limited = Some(of(Verdict::NotKnown).count()).filter(|runs| *runs > 0);
    let limited = limited.map(|runs| {
        let text =
            format!("{runs} runs say nothing of the server: the load generator was the limit");
        (text, "client-limited")
    });
    let all = [burst, cached, limited].into_iter().flatten();
    all.map(|(text, code)| Item::of(Tone::Warning, text).coded(code))
        .collect()
}

/// A verdict as it is shown.
pub(super) fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Met => "met",
        Verdict::Missed => "missed",
        Verdict::Undecided => "undecided",
        Verdict::NotSustained => "not sustained",
        Verdict::NotKnown => "not known",
    }
}

fn runs(answer: &Answer) -> Table {
    // A limit stands in the title.
    let names = answer.slo.iter();
    let names = names.map(|name| name.split(" <=").next().unwrap_or(name));
    let heads = ["run", answer.unit].into_iter().chain(names);
    let heads = heads.chain(["req/s", "failed", "verdict", "why"]);
    let seen = |seen: &Seen| match (seen.value_ms, seen.interval_ms) {
        (None, _) => "—".to_owned(),
        (Some(value), None) => significant(value),
        (Some(value), Some((low, high))) => {
            let [value, low, high] = [value, low, high].map(significant);
            format!("{value} [{low}-{high}]")
        }
    };
    let row = |run: &Decision| {
        let mut row = vec![run.run.to_string(), run.at.to_string()];
        row.extend(run.judged.seen.iter().map(seen));
        row.extend([
            significant(run.requests_per_s),
            run.failed.to_string(),
            word(run.judged.verdict).to_owned(),
            run.judged.reason.detail.clone(),
        ]);
        row
    };
    Table {
        heads: heads.map(str::to_owned).collect(),
        rows: answer.runs.iter().map(row).collect(),
    }
}
