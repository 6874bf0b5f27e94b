//! The document of a comparison: that of every program, with what makes two serving results another load.

use record::exit;
use stats::Verdict;
use view::comparison::{Compared, ComparedRow, verdict};
use view::serve::{maybe, significant};
use view::{Block, Document, Item, Next, Section, Tone};

use super::cells::{Band, Cells, METRICS};
use super::comparison::{Comparison, Row, Side};
use super::differences::{Difference, Grade};
use crate::planner::table;

/// The document: of one load its metrics, of several each load, in bands where there are many.
pub(super) fn document(cells: &Cells) -> Document {
    let all = || cells.cells.iter();
    let (answer, next, sections) = match cells.alone() {
        Some(one) => of_one(one, cells),
        None => (of_several(cells), None, in_loads(cells)),
    };
    // Each once, with how many loads have it.
    let mut findings: Vec<(Item, usize)> = Vec::new();
    for item in all().flat_map(|one| &one.differences).map(item) {
        match findings.iter_mut().find(|(one, _)| one.code == item.code) {
            Some((_, more)) if cells.cells.len() > 1 => *more += 1,
            _ => findings.push((item, 0)),
        }
    }
    for (item, more) in findings.iter_mut().filter(|(_, more)| *more > 0) {
        item.text += &format!(" (and {more} more loads)");
    }
    let findings = findings.into_iter().map(|(item, _)| item);
    let mut simulated = all().filter_map(|one| one.simulated.as_ref());
    Document {
        title: "Serving results compared".to_owned(),
        simulated: simulated.next().map(|(a, b)| format!("{a} (A), {b} (B)")),
        tone: match cells.code() {
            exit::DONE => Tone::Good,
            exit::REJECTED => Tone::Bad,
            _ => Tone::Warning,
        },
        answer,
        findings: findings.chain(left(cells)).collect(),
        next: next.map(Next::plain).into_iter().collect(),
        sections,
        made_by: format!("tplens serve compare {}", env!("CARGO_PKG_VERSION")),
    }
}

/// The answer of one load, what to do, and its metrics.
fn of_one(one: &Comparison, cells: &Cells) -> (Vec<String>, Option<&'static str>, Vec<Section>) {
    let compared = |row: &Row| ComparedRow {
        of: row.metric.clone(),
        bytes: None,
        unit: row.unit.to_owned(),
        values: [row.a, row.b, row.ratio],
        interval: row.interval,
        verdict: row.verdict,
    };
    let troubles = [&one.a, &one.b].map(|side| {
        let words = side.findings.iter().map(view::imported::words);
        words.collect::<Vec<String>>()
    });
    let Document {
        mut answer,
        sections,
        ..
    } = Compared {
        simulated: None,
        sides: [side("A", &one.a), side("B", &one.b)],
        differences: Vec::new(),
        rows: one.rows.iter().map(compared).collect(),
        lost: Vec::new(),
        untried: Vec::new(),
        only: [one.only_a.len(), one.only_b.len()],
        troubles: [&troubles[0], &troubles[1]],
        worse_peers: 0,
        threshold: one.threshold,
    }
    .document();
    let times = headline(&one.headline);
    answer[0] = format!("{}: {times}", told(&one.rows));
    let next = match (one.grade, one.headline.interval) {
        (None, _) => {
            let mut refusals = one.differences.iter().map(item);
            let refusal = refusals.find(|one| one.tone == Tone::Bad);
            let refusal = refusal.map_or_else(String::new, |one| one.text);
            answer = vec![format!("Not comparable. {refusal}."), times];
            "measure both with the same model and load, without failed requests."
        }
        (Some(Grade::C), _) => {
            answer[0].insert_str(0, "Grade C (another load, or a client was the limit): ");
            "measure both with the same lengths and load, and a client that keeps up."
        }
        (_, Some(_)) => "compare A with a second run of A: what differs there is run-to-run noise.",
        (_, None) => "repeat each run, with single requests kept: then the ratio has an interval.",
    };
    if cells.best_of_each && cells.only_a + cells.only_b > 2 {
        let what = "The sides share no load: these are the fastest of each.";
        answer.push(what.to_owned());
    }
    (answer, Some(next), sections)
}

/// In how many figures B is what: the one verdict of a comparison.
fn told<'a>(rows: impl IntoIterator<Item = &'a Row>) -> String {
    use Verdict as V;
    let all: Vec<Verdict> = rows.into_iter().map(|row| row.verdict).collect();
    let parts = [V::Regression, V::Faster, V::Unclear, V::Same, V::NotJudged].map(|of| {
        let count = all.iter().filter(|one| **one == of).count();
        (count > 0).then(|| format!("{} in {count}", verdict(of)))
    });
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    format!("B is {} of {} figures", parts.join(", "), all.len())
}

/// How many times as fast B is.
fn headline(of: &Row) -> String {
    let [a, b] = [of.a, of.b].map(significant);
    let certain = match of.interval {
        Some(interval) => {
            // Of a rate B is as many times as fast as the ratio, of a time as its inverse.
            let [low, high] = match of.is_rate() {
                true => [interval.low, interval.high],
                false => [interval.high.recip(), interval.low.recip()],
            };
            format!("95% interval {low:.2}-{high:.2}")
        }
        None => "one run each, no interval".to_owned(),
    };
    format!(
        "{:.2}x in {}, {a} to {b} {} ({certain}).",
        of.times, of.metric, of.unit
    )
}

/// The answer of several loads.
fn of_several(cells: &Cells) -> Vec<String> {
    if !cells.bands.is_empty() {
        return METRICS.iter().filter_map(|of| band(cells, of)).collect();
    }
    let all = || cells.cells.iter();
    let times: Vec<f64> = all().map(|one| one.headline.times).collect();
    vec![format!(
        "{}: {:.2}-{:.2}x in {}, median {:.2}x of {} loads.",
        told(all().flat_map(|one| &one.rows)),
        times.iter().copied().fold(f64::INFINITY, f64::min),
        times.iter().copied().fold(0.0, f64::max),
        all().next().map_or("", |one| one.headline.metric.as_str()),
        stats::median(&times).unwrap_or(f64::NAN),
        times.len()
    )]
}

fn in_loads(cells: &Cells) -> Vec<Section> {
    let detail = !cells.bands.is_empty();
    let bands = Section::new(
        "B's time over A's, medians in bands of loads",
        of_bands(cells),
    );
    let loads = Section {
        detail,
        ..Section::new("Each load, how many times as fast B is", loads(cells))
    };
    detail.then_some(bands).into_iter().chain([loads]).collect()
}

/// What B costs of a metric beyond the control, in a sentence.
fn band(cells: &Cells, metric: &str) -> Option<String> {
    let own = cells.bands.iter().filter(|band| band.metric == metric);
    let own: Vec<&Band> = own.collect();
    let ratio = |band: &&Band| band.beyond_machine.unwrap_or(band.ratio);
    let low = own.iter().map(ratio).reduce(f64::min)?;
    let high = own.iter().map(ratio).reduce(f64::max)?;
    let floor = own.iter().filter_map(|band| band.floor).reduce(f64::max);
    let floor = match floor {
        Some(floor) => format!("the control differs by {:.1}% at most", floor * 100.0),
        None => "no control".to_owned(),
    };
    let is_beyond = |band: &&&Band| band.verdict != Verdict::Same;
    let beyond = own.iter().filter(is_beyond).count();
    Some(format!(
        "{metric}: B takes {low:.2}-{high:.2}x the time of A; {floor}; {beyond} of {} bands beyond.",
        own.len()
    ))
}

fn of_bands(cells: &Cells) -> Vec<Block> {
    let heads = ", loads, n, B/A, floor, without machine, verdict";
    let dash = || "—".to_owned();
    let row = |band: &Band| {
        let floor = band.floor.map(|floor| format!("{:.1}%", floor * 100.0));
        let beyond = band.beyond_machine.map(|ratio| format!("{ratio:.3}"));
        [
            band.metric.to_owned(),
            format!("{}-{}", band.from, band.to),
            band.loads.to_string(),
            format!("{:.3}", band.ratio),
            floor.unwrap_or_else(dash),
            beyond.unwrap_or_else(dash),
            verdict(band.verdict).to_owned(),
        ]
    };
    table(heads, cells.bands.iter().map(row))
}

/// What only one side has.
fn left(cells: &Cells) -> Option<Item> {
    let (a, b) = (cells.only_a, cells.only_b);
    let text = format!("Loads of one side only: {a} of A, {b} of B");
    let is_one_each = cells.best_of_each && a + b <= 2;
    (a + b > 0 && !is_one_each).then(|| Item::of(Tone::Warning, text).coded("not-compared"))
}

fn loads(cells: &Cells) -> Vec<Block> {
    let heads = "load, in, A tok/s, B tok/s, tok/s, TTFT, TPOT, verdict, grade";
    let dash = || "—".to_owned();
    let row = |one: &Comparison| {
        let times = |metric| {
            let row = one.row(metric);
            row.map_or_else(dash, |row| format!("{:.2}x", row.times))
        };
        let tokens = one.row("output tokens");
        [
            one.a.load.clone(),
            maybe(one.a.input_tokens_each),
            maybe(tokens.map(|row| row.a)),
            maybe(tokens.map(|row| row.b)),
            times("output tokens"),
            times("TTFT mean"),
            times("TPOT mean"),
            verdict(one.headline.verdict).to_owned(),
            one.grade.map_or_else(dash, |grade| format!("{grade:?}")),
        ]
    };
    table(heads, cells.cells.iter().map(row))
}

/// A file in a line.
fn side(name: &str, side: &Side) -> String {
    format!(
        "{name}: {}: {}, {}, {} completed, {} in flight, {} prompt and {} output tokens each",
        side.file,
        side.model.as_deref().unwrap_or("a model"),
        side.load,
        side.completed,
        maybe(side.in_flight),
        maybe(side.input_tokens_each),
        maybe(side.output_tokens_each),
    )
}

/// The line of a difference.
fn item(difference: &Difference) -> Item {
    use Difference as D;
    let tone = match difference.grade() {
        None => Tone::Bad,
        Some(_) => Tone::Warning,
    };
    let text = match difference {
        D::ClientLimited { of_a } => {
            let whose = if *of_a { "A" } else { "B" };
            format!("The load generator was the limit of {whose}")
        }
        D::ModelDiffers { a, b } => format!("Other models: A {a}, B {b}"),
        D::FailuresDiffer { a, b } => {
            let [a, b] = [a, b].map(|part| part * 100.0);
            format!("Failed requests: {a:.1}% of A, {b:.1}% of B")
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
