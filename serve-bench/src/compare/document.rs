//! The document of a comparison: that of every program, with what makes two serving results another load.

use program::compare::{self, ComparedRow, Threshold, Verdict};
use view::serve::significant;
use view::{Document, Item, Next, Tone};

use super::comparison::{Comparison, Row, Side};
use super::differences::Difference;

/// The document.
pub(super) fn document(comparison: &Comparison) -> Document {
    let mut rows: Vec<&Row> = comparison.rows.iter().collect();
    rows.sort_by(|one, other| {
        let of = |row: &Row| (row.verdict, gain(row));
        let (one, other) = (of(one), of(other));
        one.0.cmp(&other.0).then(one.1.total_cmp(&other.1))
    });
    let best = rows.last().filter(|row| row.verdict == Verdict::Faster);
    let best = best.map(|row| {
        let [a, b, ratio] = [row.a, row.b, row.ratio].map(significant);
        format!(
            "Best: {}: {a} to {b} {} ({ratio} of A).",
            row.metric, row.unit
        )
    });
    let compared = |row: &Row| ComparedRow {
        of: row.metric.clone(),
        bytes: None,
        unit: row.unit.to_owned(),
        values: [row.a, row.b, row.ratio],
        interval: row.interval,
        verdict: row.verdict,
    };
    let troubles = [&comparison.a, &comparison.b].map(|side| {
        let words = side.findings.iter().map(view::imported::words);
        words.collect::<Vec<String>>()
    });
    let mut document = compare::Screen {
        simulated: comparison.simulated.as_ref(),
        sides: [side("A", &comparison.a), side("B", &comparison.b)],
        differences: Vec::new(),
        rows: rows.iter().map(|row| compared(row)).collect(),
        lost: Vec::new(),
        untried: Vec::new(),
        only: [comparison.only_a.len(), comparison.only_b.len()],
        troubles: [&troubles[0], &troubles[1]],
        worse_peers: 0,
        threshold: comparison.threshold,
    }
    .document();
    document.title = "Two serving results".to_owned();
    document.findings = comparison.differences.iter().map(item).collect();
    document.answer.extend(best);
    let Threshold(threshold) = comparison.threshold;
    let has_interval = comparison.rows.iter().any(|row| row.interval.is_some());
    if !has_interval && !comparison.rows.is_empty() {
        document.answer.push(format!(
            "No interval: the files lack single requests, so only {:.0}% and more counts.",
            threshold * 300.0
        ));
    }
    let mut next = "repeat each run, and compare A with A: what differs there is run-to-run noise.";
    if comparison.is_refused() {
        document.tone = Tone::Bad;
        document.answer =
            vec!["Not comparable: a ratio would be of the load, not of the server.".to_owned()];
        next = "measure both with the same model, lengths and load.";
    }
    document.next = vec![Next::plain(next)];
    document.made_by = format!("tplens serve compare {}", env!("CARGO_PKG_VERSION"));
    document
}

/// How much better B is.
fn gain(row: &Row) -> f64 {
    match row.more_is_better {
        true => row.ratio,
        false => row.ratio.recip(),
    }
}

/// A file in a line.
fn side(name: &str, side: &Side) -> String {
    let number = |value: Option<f64>| value.map_or_else(|| "—".to_owned(), significant);
    let word = |value: Option<String>| value.unwrap_or_else(|| "—".to_owned());
    format!(
        "{name}: {}: model {}, TP {}, {} completed, {} failed, {} in flight, {} prompt and {} output tokens each",
        side.file,
        word(side.model.clone()),
        word(side.tp.map(|tp| tp.to_string())),
        side.completed,
        word(side.failed.map(|failed| failed.to_string())),
        number(side.in_flight),
        number(side.input_tokens_each),
        number(side.output_tokens_each),
    )
}

/// The line of a difference.
pub(crate) fn item(difference: &Difference) -> Item {
    use Difference as D;
    let tone = if difference.refuses() {
        Tone::Bad
    } else {
        Tone::Warning
    };
    let text = match difference {
        D::ClientLimited { of_a } => {
            let whose = if *of_a { "A" } else { "B" };
            format!("The load generator was the limit of {whose}")
        }
        D::ModelDiffers { a, b } => format!("Other models: A {a}, B {b}"),
        D::FailuresDiffer { a, b } => {
            format!(
                "Failed requests: {:.1}% of A, {:.1}% of B",
                a * 100.0,
                b * 100.0
            )
        }
        D::BatchDiffers { a, b } => format!("Requests in flight: {a:.1} in A, {b:.1} in B"),
        D::StreamingDiffers => "Only one of them was streamed".to_owned(),
        D::PromptsDiffer { a, b } => format!("Prompt tokens: {a:.0} in A, {b:.0} in B"),
        D::OutputsDiffer { a, b } => format!("Output tokens: {a:.0} in A, {b:.0} in B"),
        D::ArrivalsDiffer => "Requests came at other rates".to_owned(),
        D::NotTold { what } => format!("A file does not tell its {what}: taken for the same"),
    };
    Item::of(tone, text).coded(difference.code())
}
