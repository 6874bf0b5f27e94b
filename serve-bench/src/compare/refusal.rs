//! Why two serving results are not comparable: a ratio of them would be of what was asked and not of who answered.

use measure::import::serve::ServeResult;

/// How far two figures may lie apart and count as the same: tokens of a request, requests in flight.
const SAME: f64 = 0.05;

/// A larger part of failed requests leaves averages of survivors.
const FEW_FAILURES: f64 = 0.01;

/// What compares two results; the reason where they differ.
type Rule = fn(&ServeResult, &ServeResult) -> Option<String>;

const RULES: [Rule; 7] = [
    clients, model, streamed, failures, lengths, arrivals, in_flight,
];

/// Whether a result tells something.
type Tells = fn(&ServeResult) -> bool;

/// Every reason against comparing; empty where they are comparable as far as they tell.
pub(crate) fn reasons(a: &ServeResult, b: &ServeResult) -> Vec<String> {
    RULES.iter().filter_map(|rule| rule(a, b)).collect()
}

/// What could not be looked at, because a file does not tell it.
pub(super) fn unknown(a: &ServeResult, b: &ServeResult) -> Vec<String> {
    let known: [(&str, Tells); 5] = [
        ("its model", |one| one.run.model.is_some()),
        ("its failures", |one| one.run.failed.is_some()),
        ("its prompt tokens", |one| one.input_each().is_some()),
        ("its output tokens", |one| one.output_each().is_some()),
        ("its latency, and so its requests in flight", |one| {
            one.in_flight().is_some()
        }),
    ];
    known
        .into_iter()
        .filter_map(|(what, tells)| {
            let who = match (tells(a), tells(b)) {
                (true, true) => return None,
                (false, true) => "A does not tell",
                (true, false) => "B does not tell",
                (false, false) => "neither tells",
            };
            Some(format!("{who} {what}; taken for the same"))
        })
        .collect()
}

fn differ(a: f64, b: f64) -> bool {
    (a - b).abs() > SAME * a.max(b)
}

/// Names without the folder or organisation before them, in lower case.
fn model(a: &ServeResult, b: &ServeResult) -> Option<String> {
    let (a, b) = (a.run.model.as_ref()?, b.run.model.as_ref()?);
    let name = |model: &str| {
        let path = model.trim_end_matches('/');
        path.rsplit('/').next().unwrap_or(path).to_lowercase()
    };
    (name(a) != name(b)).then(|| format!("other models: A {a}, B {b}"))
}

fn streamed(a: &ServeResult, b: &ServeResult) -> Option<String> {
    let word = |streamed| if streamed { "streamed" } else { "not streamed" };
    let (a, b) = (a.run.streamed, b.run.streamed);
    (a != b).then(|| {
        format!(
            "replies of A were {} and those of B {}: their latencies end at different instants",
            word(a),
            word(b)
        )
    })
}

/// Where the load generator was the limit, its own delay would be compared.
fn clients(a: &ServeResult, b: &ServeResult) -> Option<String> {
    let of = |name: &str, one: &ServeResult| {
        let reasons: Vec<&str> = one.invalid().collect();
        (!reasons.is_empty()).then(|| format!("{name} is {}", reasons.join("; ")))
    };
    let found: Vec<String> = [of("A", a), of("B", b)].into_iter().flatten().collect();
    (!found.is_empty()).then(|| found.join("; and "))
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
fn failures(a: &ServeResult, b: &ServeResult) -> Option<String> {
    let of = |name: &str, one: &ServeResult| {
        let failed = one.run.failed?;
        let all = one.run.completed + failed;
        (failed as f64 > FEW_FAILURES * all as f64)
            .then(|| format!("{failed} of {all} requests of {name} failed"))
    };
    let found: Vec<String> = [of("A", a), of("B", b)].into_iter().flatten().collect();
    (!found.is_empty()).then(|| format!("{}: averages are of survivors", found.join(" and ")))
}

fn lengths(a: &ServeResult, b: &ServeResult) -> Option<String> {
    let of = |what: &str, a: Option<f64>, b: Option<f64>| {
        let (a, b) = (a?, b?);
        differ(a, b).then(|| format!("{what} of {a:.1} tokens in A and {b:.1} in B"))
    };
    let found: Vec<String> = [
        of("prompts", a.input_each(), b.input_each()),
        of("outputs", a.output_each(), b.output_each()),
    ]
    .into_iter()
    .flatten()
    .collect();
    (!found.is_empty()).then(|| format!("other lengths: {}", found.join(", ")))
}

/// An open loop at another rate, or beside a closed loop.
fn arrivals(a: &ServeResult, b: &ServeResult) -> Option<String> {
    let words = |rate: Option<f64>| match rate {
        None => "in a closed loop".to_owned(),
        Some(rate) if rate.is_infinite() => "all at once".to_owned(),
        Some(rate) => format!("at {rate} requests/s"),
    };
    // A file that says neither rate nor limit may be of either kind.
    let is_told = |one: &ServeResult| {
        one.run
            .request_rate_asked
            .or(one.run.concurrency_asked)
            .is_some()
    };
    let (rate_a, rate_b) = (a.run.request_rate_asked, b.run.request_rate_asked);
    let is_same = match (rate_a, rate_b) {
        (None, None) => true,
        (Some(a), Some(b)) if a.is_finite() && b.is_finite() => !differ(a, b),
        (Some(a), Some(b)) => a == b,
        _ => false,
    };
    (is_told(a) && is_told(b) && !is_same).then(|| {
        format!(
            "other arrivals: requests of A came {}, those of B {}",
            words(rate_a),
            words(rate_b)
        )
    })
}

/// In a closed loop the batch in flight must be the same; at the same rate it may differ, and all at once the requests must be as
/// many.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
fn in_flight(a: &ServeResult, b: &ServeResult) -> Option<String> {
    match (a.run.request_rate_asked, b.run.request_rate_asked) {
        (Some(rate), Some(_)) if rate.is_finite() => None,
        (Some(_), Some(_)) => {
            let (a, b) = (a.run.completed, b.run.completed);
            differ(a as f64, b as f64).then(|| format!("{a} requests at once in A and {b} in B"))
        }
        _ => {
            let (a, b) = (a.in_flight()?, b.in_flight()?);
            differ(a, b).then(|| {
                format!(
                    "another batch in flight: {a:.1} requests in A and {b:.1} in B (requests/s times latency, Little's law); run both with the same --concurrency and until all slots stay full"
                )
            })
        }
    }
}
