//! The document of a search: the largest load, why not more, every run.

use view::serve::significant;
use view::{Block, Document, Item, Next, Section, Table, Tone};

use super::judge::Reason;
use super::limit::Limit;
use super::report::{Answer, Decision};
use super::search::{Outcome, Verdict};

/// The document of a search that ended.
pub(super) fn document(answer: &Answer) -> Document {
    let outcome = answer.found.map(|found| found.outcome);
    let is_cached = answer.runs.iter().any(|run| run.prefix_cache.is_some());
    let next = match outcome {
        _ if is_cached => vec![Next::plain(
            "search without --seed and with prompts that share nothing: none is in a cache then.",
        )],
        Some(Outcome::ClientLimit) => vec![Next::by(
            "give the load generator a CPU of its own, and search into another folder.",
            "taskset -c N tplens serve slo ...",
        )],
        Some(Outcome::Wide) => vec![Next::plain("raise --runs, or begin nearer with --start.")],
        Some(Outcome::Always) => vec![Next::plain("raise --start or --runs.")],
        Some(Outcome::Never) => vec![Next::plain("lower --start, or raise --runs.")],
        Some(Outcome::Found) | None => Vec::new(),
    };
    Document {
        title: format!(
            "largest {} within {}",
            answer.search,
            answer.slo.join(" and ")
        ),
        simulated: answer.simulated.clone(),
        tone: match outcome {
            Some(Outcome::Found | Outcome::Always) => Tone::Good,
            Some(Outcome::Never) => Tone::Bad,
            _ => Tone::Warning,
        },
        answer: sentences(answer),
        findings: findings(answer),
        next,
        sections: vec![Section::new("Runs", vec![Block::Table(runs(answer))])],
        made_by: format!("tplens serve slo {}", env!("CARGO_PKG_VERSION")),
    }
}

fn sentences(answer: &Answer) -> Vec<String> {
    let Some(found) = &answer.found else {
        return vec![format!("Under way: {} runs so far.", answer.runs.len())];
    };
    let (unit, slo) = (&answer.unit, answer.slo.join(" and "));
    let at = |load: Option<f64>| {
        let runs = answer.runs.iter().rev();
        load.and_then(|load| runs.clone().find(|run| run.at == load))
    };
    let not = at(found.not_met.or(found.client_limit));
    let limited = not.and_then(|run| run.limit.as_ref()).map(limited_by);
    let by = limited.map_or_else(String::new, |by| format!("; limited by {by}"));
    let mut sentences = vec![match (found.met, found.outcome) {
        (Some(met), Outcome::Always) => {
            format!("{met} {unit} meets {slo}, as does every load that was tried.")
        }
        (Some(met), _) => format!("{met} {unit} meets {slo}{by}."),
        (None, _) => format!("No load that was tried meets {slo}{by}."),
    }];
    let attained = |run: &Decision| {
        let part = run.attained?;
        Some(format!("{:.1}% at {}", part * 100.0, run.at))
    };
    let parts = [at(found.met), not].into_iter().flatten();
    let parts: Vec<String> = parts.filter_map(attained).collect();
    if !parts.is_empty() {
        let parts = parts.join(", ");
        sentences.push(format!("Requests that keep every limit: {parts} {unit}."));
    }
    if let Some(not) = found.not_met {
        let verdict = found.not_met_verdict.map_or("not met", word);
        sentences.push(format!("At {not} {unit} it is {verdict}."));
    }
    if let Some(limit) = found.client_limit {
        sentences.push(format!(
            "From {limit} {unit} on the load generator was the limit."
        ));
    }
    sentences
}

/// What kept the server from more.
fn limited_by(limit: &Limit) -> String {
    let waiting = |waiting: &Option<f64>| {
        let waiting = waiting.filter(|waiting| *waiting > 0.0);
        waiting.map_or_else(String::new, |waiting| format!(" ({waiting:.0} waiting)"))
    };
    match limit {
        Limit::Slots { running, waiting } => {
            format!("max_num_seqs ({running:.0} running, {waiting:.0} waiting)")
        }
        Limit::KvCache { running, used } => {
            format!("KV cache ({:.0}% full, {running:.0} running)", used * 100.0)
        }
        Limit::PrefillQueue { waiting: n } => format!("prefill queue{}", waiting(n)),
        Limit::DecodeStep { running } => {
            let running = running.map_or_else(String::new, |n| format!(" ({n:.0} running)"));
            format!("time of a decode step{running}")
        }
        Limit::Throughput { completed } => {
            format!("throughput ({} req/s completed)", significant(*completed))
        }
        Limit::Client => "the load generator".to_owned(),
    }
}

fn findings(answer: &Answer) -> Vec<Item> {
    let mut findings = Vec::new();
    let met = answer.found.and_then(|found| found.met);
    let above = |run: &&Decision| met.is_none_or(|met| run.at > met);
    let bursts = answer.runs.iter().filter(above);
    let bursts = bursts.filter(|run| run.judged.verdict == Verdict::NotSustained);
    if let Some(run) = bursts.max_by(|one, other| one.at.total_cmp(&other.at)) {
        let all = run.completed + run.failed;
        let text = format!(
            "{all} requests at {} {} are a burst, not a rate",
            run.at, answer.unit
        );
        findings.push(Item::of(Tone::Warning, text).coded("rate-not-sustained"));
    }
    let cached: Vec<f64> = answer
        .runs
        .iter()
        .filter_map(|run| run.prefix_cache)
        .collect();
    if let Some(most) = cached.iter().copied().reduce(f64::max) {
        let text = format!(
            "up to {:.0}% of the prompt tokens came from a prefix cache, in {} of {} runs",
            most * 100.0,
            cached.len(),
            answer.runs.len()
        );
        findings.push(Item::of(Tone::Warning, text).coded("prefix-cache-hit"));
    }
    let limited = answer
        .runs
        .iter()
        .filter(|run| run.judged.verdict == Verdict::NotKnown);
    let limited = limited.count();
    if limited > 0 {
        let text =
            format!("{limited} runs say nothing of the server: the load generator was the limit");
        findings.push(Item::of(Tone::Warning, text).coded("client-limited"));
    }
    findings
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

/// What decided a run.
pub(super) fn why(reason: &Reason) -> String {
    match reason {
        Reason::AllKept => "every objective kept".to_owned(),
        Reason::NotKept { objective } => format!("{objective} not kept"),
        Reason::RequestsFailed { failed, of } => format!("{failed} of {of} requests failed"),
        Reason::Burst => "requests last too long for --window".to_owned(),
        Reason::Growing {
            completed,
            growth_per_s,
        } => {
            format!(
                "{:.0}% completed, {growth_per_s:+.2}/s in flight",
                completed * 100.0
            )
        }
        Reason::LimitInInterval { objective } => {
            format!("limit inside the interval of {objective}")
        }
        Reason::TooFewRequests {
            objective,
            requests,
        } => {
            format!("{requests} requests are too few for {objective}")
        }
        Reason::RunsDisagree => "one run sustained, one not".to_owned(),
        Reason::ClientLimit { limit } => format!("load generator: {limit}"),
    }
}

fn runs(answer: &Answer) -> Table {
    let mut heads = vec!["run".to_owned(), answer.unit.clone()];
    // A limit stands in the title.
    heads.extend(
        answer
            .slo
            .iter()
            .map(|name| name.split(" <=").next().unwrap_or(name).to_owned()),
    );
    heads.extend(["req/s", "failed", "verdict", "why"].map(str::to_owned));
    let row =
        |run: &Decision| {
            let mut row = vec![run.run.to_string(), run.at.to_string()];
            row.extend(run.judged.seen.iter().map(|seen| {
                match (seen.value_ms, seen.interval_ms) {
                    (None, _) => "—".to_owned(),
                    (Some(value), None) => significant(value),
                    (Some(value), Some((low, high))) => {
                        format!(
                            "{} [{}-{}]",
                            significant(value),
                            significant(low),
                            significant(high)
                        )
                    }
                }
            }));
            row.extend([
                significant(run.requests_per_s),
                run.failed.to_string(),
                word(run.judged.verdict).to_owned(),
                why(&run.judged.reason),
            ]);
            row
        };
    Table {
        rows: answer.runs.iter().map(row).collect(),
        heads,
    }
}
