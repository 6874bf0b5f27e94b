//! The document of a comparison: that of every program, with what makes two serving results another load.

use stats::Verdict;
use view::comparison::{Compared, ComparedRow, verdict};
use view::serve::significant;
use view::{Block, Document, Item, Next, Section, Table, Tone};

use super::bands::METRICS;
use super::cells::{Band, Cells};
use super::comparison::{Comparison, Grade, Headline, Row, Side, gain};
use super::differences::Difference;

/// The document.
pub(super) fn document(comparison: &Comparison, cells: &Cells) -> Document {
    let mut rows: Vec<&Row> = comparison.rows.iter().collect();
    rows.sort_by(|one, other| {
        let of = |row: &Row| (row.verdict, gain(row));
        let (one, other) = (of(one), of(other));
        one.0.cmp(&other.0).then(one.1.total_cmp(&other.1))
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
    let mut document = Compared {
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
    document.findings.extend(left(cells));
    let mut next = match comparison.headline.interval {
        Some(_) => "compare A with a second run of A: what differs there is run-to-run noise.",
        None => "repeat each run, with single requests kept: then the ratio has an interval.",
    };
    match comparison.grade {
        Some(grade) => {
            let worst = document.answer.drain(..).nth(1);
            document.answer = vec![headline(&comparison.headline), counted(comparison)];
            document.answer.extend(worst);
            if grade == Grade::C {
                let what = "Grade C: another load, or a client was the limit: the ratio is not of the servers alone.";
                document.answer.push(what.to_owned());
                next = "measure both with the same lengths and load, and a client that keeps up.";
            }
        }
        None => {
            document.tone = Tone::Bad;
            let refusal = comparison.differences.iter().find(|one| one.refuses());
            let refusal = refusal.map_or_else(String::new, |one| item(one).text);
            document.answer = vec![
                format!("Not comparable. {refusal}."),
                headline(&comparison.headline),
            ];
            next = "measure both with the same model and load, without failed requests.";
        }
    }
    if cells.best_of_each && cells.only_a + cells.only_b > 2 {
        document
            .answer
            .push("The sides share no load: these are the fastest of each.".to_owned());
    }
    document.next = vec![Next::plain(next)];
    document.made_by = made_by();
    document
}

fn made_by() -> String {
    format!("tplens serve compare {}", env!("CARGO_PKG_VERSION"))
}

/// How much faster B is, in a sentence.
fn headline(of: &Headline) -> String {
    let [a, b] = [of.a, of.b].map(significant);
    let certain = match of.interval {
        Some(interval) => format!("95% interval {:.2}-{:.2}", interval.low, interval.high),
        None => "one run each, no interval".to_owned(),
    };
    let verdict = match of.verdict {
        Verdict::Faster => "B is faster",
        Verdict::Regression => "B is slower",
        Verdict::Same => "No difference",
        Verdict::Unclear => "Within noise",
        Verdict::NotJudged => "No verdict",
    };
    format!(
        "{verdict}: {:.2}x in {}, {a} to {b} {} ({certain}).",
        of.times, of.metric, of.unit
    )
}

/// How many numbers are better or worse.
fn counted(comparison: &Comparison) -> String {
    let rows = &comparison.rows;
    let count = |verdict| rows.iter().filter(|row| row.verdict == verdict).count();
    format!(
        "Of {} numbers {} are better, {} worse, {} the same, {} within noise.",
        rows.len(),
        count(Verdict::Faster),
        count(Verdict::Regression),
        count(Verdict::Same),
        count(Verdict::Unclear)
    )
}

/// The document of several loads.
pub(super) fn of_cells(cells: &Cells) -> Document {
    let all = || cells.cells.iter();
    let mut times: Vec<f64> = all().map(|one| one.headline.times).collect();
    times.sort_by(f64::total_cmp);
    let count = |verdict| all().filter(|one| one.headline.verdict == verdict).count();
    let (faster, slower) = (count(Verdict::Faster), count(Verdict::Regression));
    let head = match (faster, slower) {
        (0, 0) => "No difference",
        (_, 0) => "B is faster",
        (0, _) => "B is slower",
        _ => "B is faster at some loads and slower at others",
    };
    let metric = all().next().map_or("", |one| one.headline.metric.as_str());
    let (low, high) = (times.first().copied(), times.last().copied());
    let mut answer = vec![
        format!(
            "{head}: {:.2}-{:.2}x in {metric}, median {:.2}x of {} loads.",
            low.unwrap_or(f64::NAN),
            high.unwrap_or(f64::NAN),
            stats::median(&times).unwrap_or(f64::NAN),
            times.len()
        ),
        format!(
            "{faster} faster, {slower} slower, {} the same or within noise, {} not comparable.",
            count(Verdict::Same) + count(Verdict::Unclear),
            count(Verdict::NotJudged)
        ),
    ];
    let mut findings: Vec<(Item, usize)> = Vec::new();
    for difference in all().flat_map(|one| &one.differences) {
        let item = item(difference);
        match findings.iter_mut().find(|(one, _)| one.code == item.code) {
            Some((_, count)) => *count += 1,
            None => findings.push((item, 1)),
        }
    }
    let counted = |(item, count): (Item, usize)| match count {
        1 => item,
        _ => Item {
            text: format!("{} (and {} more loads)", item.text, count - 1),
            ..item
        },
    };
    findings.extend(left(cells).map(|item| (item, 1)));
    let heading = "Each load, how many times as fast B is";
    let table = match cells.bands.is_empty() {
        true => vec![Section::new(heading, vec![Block::Table(loads(cells))])],
        false => {
            answer.splice(0..1, in_bands(cells));
            let bands = Block::Table(of_bands(cells));
            vec![
                Section::new("B's time over A's, medians in bands of loads", vec![bands]),
                Section::detail(heading, vec![Block::Table(loads(cells))]),
            ]
        }
    };
    Document {
        title: "Serving results, load by load".to_owned(),
        simulated: all().find_map(|one| {
            let (a, b) = one.simulated.as_ref()?;
            Some(format!("{a} (A), {b} (B)"))
        }),
        tone: match (faster, slower) {
            (_, 0) => Tone::Good,
            (0, _) => Tone::Bad,
            _ => Tone::Warning,
        },
        answer,
        findings: findings.into_iter().map(counted).collect(),
        next: Vec::new(),
        sections: table,
        made_by: made_by(),
    }
}

/// A sentence for each metric: what B costs beyond the control.
fn in_bands(cells: &Cells) -> Vec<String> {
    let of = |metric: &str| {
        let own = cells.bands.iter().filter(|band| band.metric == metric);
        let own: Vec<&Band> = own.collect();
        let ratio = |band: &&Band| band.beyond_machine.unwrap_or(band.ratio);
        let low = own.iter().map(ratio).reduce(f64::min)?;
        let high = own.iter().map(ratio).reduce(f64::max)?;
        let floor = own.iter().filter_map(|band| band.floor).reduce(f64::max);
        let floor = floor.map_or_else(
            || "no control".to_owned(),
            |floor| format!("the control differs by {:.1}% at most", floor * 100.0),
        );
        let beyond = own
            .iter()
            .filter(|band| band.verdict != Verdict::Same)
            .count();
        Some(format!(
            "{metric}: B takes {low:.2}-{high:.2}x the time of A; {floor}; {beyond} of {} bands beyond.",
            own.len()
        ))
    };
    METRICS.iter().filter_map(|metric| of(metric)).collect()
}

fn of_bands(cells: &Cells) -> Table {
    let mut table = Table::under([
        "",
        "loads",
        "n",
        "B/A",
        "floor",
        "without machine",
        "verdict",
    ]);
    let dash = || "—".to_owned();
    for band in &cells.bands {
        table.row([
            band.metric.to_owned(),
            format!("{}-{}", band.from, band.to),
            band.loads.to_string(),
            format!("{:.3}", band.ratio),
            band.floor
                .map_or_else(dash, |floor| format!("{:.1}%", floor * 100.0)),
            band.beyond_machine
                .map_or_else(dash, |ratio| format!("{ratio:.3}")),
            verdict(band.verdict).to_owned(),
        ]);
    }
    table
}

/// What only one side has.
fn left(cells: &Cells) -> Option<Item> {
    let (a, b) = (cells.only_a, cells.only_b);
    let text = format!("Loads of one side only: {a} of A, {b} of B");
    let is_one_each = cells.best_of_each && a + b <= 2;
    (a + b > 0 && !is_one_each).then(|| Item::of(Tone::Warning, text).coded("not-compared"))
}

fn loads(cells: &Cells) -> Table {
    let mut table = Table::under([
        "load", "in", "A tok/s", "B tok/s", "tok/s", "TTFT", "TPOT", "verdict", "grade",
    ]);
    let dash = || "—".to_owned();
    let number = |value: Option<f64>| value.map_or_else(dash, significant);
    for one in &cells.cells {
        let of = |metric: &str| one.rows.iter().find(|row| row.metric == metric);
        let times = |metric| of(metric).map_or_else(dash, |row| format!("{:.2}x", gain(row)));
        let tokens = of("output tokens");
        table.row([
            one.a.load.clone(),
            number(one.a.input_tokens_each),
            number(tokens.map(|row| row.a)),
            number(tokens.map(|row| row.b)),
            times("output tokens"),
            times("TTFT mean"),
            times("TPOT mean"),
            verdict(one.headline.verdict).to_owned(),
            one.grade.map_or_else(dash, |grade| format!("{grade:?}")),
        ]);
    }
    table
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
fn item(difference: &Difference) -> Item {
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
