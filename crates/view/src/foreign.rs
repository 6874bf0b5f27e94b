//! What nccl-tests, rccl-tests and nvbandwidth measured, as a document: the files of other tools that hold no load on a server.

use import::collectives::{CallFile, CallValue};
use import::links::{LinkFile, LinkValue};
use record::calls::Series;
use record::unit::ByteCount;
use record::{BufferPlacement, CollectiveKind, CollectivePoint, Endpoint};

use crate::cell::{range, short, shown, significant};
use crate::document::{Block, Document, Item, Next, Section, Table, Tone};
use crate::lines::{counted, distinct, first_of};

/// Sizes of a series that a screen shows.
const SIZES: usize = 8;

/// Below this part of the best bus bandwidth the one of the largest size is said, too.
const FALLS: f64 = 0.9;

/// Below this part of the other direction a copy between host and device is slow for its link.
const UNEVEN: f64 = 0.75;

/// Series that have a sentence of the answer.
const SENTENCES: usize = 3;

/// The document of a file of collective times.
#[must_use]
pub fn collectives(file: &CallFile) -> Document {
    let series = distinct(file.values.iter().map(|value| &value.series));
    let is_apart = |one: &&Series| one.placement == BufferPlacement::OutOfPlace;
    // In place differs little.
    let series: Vec<&Series> = match series.iter().any(is_apart) {
        true => series.into_iter().filter(is_apart).collect(),
        false => series,
    };
    let of = |one: &Series| -> Vec<&CallValue> {
        let values = file.values.iter();
        values.filter(|value| value.series == *one).collect()
    };
    let sentences = series.iter().map(|one| sentence(one, &of(one)));
    let mut answer: Vec<String> = sentences.take(SENTENCES).flatten().collect();
    if series.len() > SENTENCES {
        answer.push(format!("{} more with -v.", series.len() - SENTENCES));
    }
    if file.values.is_empty() {
        answer.push("The file holds no time of a collective.".to_owned());
    }
    let sections = series.iter().enumerate().map(|(at, one)| Section {
        detail: at > 0,
        ..Section::new(one.to_string(), vec![table(&thinned(&of(one)))])
    });
    let mut findings = troubles(file.troubles.iter().map(ToString::to_string));
    findings.extend(unused(&file.unused));
    if file.values.iter().any(|value| value.n == Some(1)) {
        findings.push(Item::plain("Each time is a mean of one loop: no interval."));
    }
    let curve = file.curve();
    let reduces = curve
        .iter()
        .find(|point| point.kind == CollectiveKind::AllReduce);
    let next = reduces.map(|_| {
        let command = "tplens explain --model M --tp1 A --tp2 B --allreduce ".to_owned();
        Next::by("Explain a speed-up by these times.", command + &file.origin)
    });
    Document {
        title: format!("{}: {}", file.made_by, file.origin),
        simulated: file.simulated.clone(),
        answer,
        findings,
        next: next.into_iter().collect(),
        sections: sections.collect(),
        made_by: file.made_by.clone(),
        ..Document::default()
    }
}

/// `all_reduce of f32 on 16 ranks: 38.2 us at 8 B, bus bandwidth 245 GB/s at 512 MiB.`, and how far it falls beyond.
fn sentence(series: &Series, values: &[&CallValue]) -> Option<String> {
    let first = values.iter().min_by_key(|value| value.bytes_per_rank)?;
    let last = values.iter().max_by_key(|value| value.bytes_per_rank)?;
    let best = values.iter().max_by(|a, b| bus(a).total_cmp(&bus(b)))?;
    let fall = match bus(last) < FALLS * bus(best) {
        true => format!(", but {} at {}", short(bus(last)), size(last)),
        false => String::new(),
    };
    let words: Vec<String> = [series.operation()]
        .into_iter()
        .chain(series.qualities())
        .collect();
    Some(format!(
        "{}: {} us at {}, bus bandwidth {} GB/s at {}{fall}.",
        words.join(", "),
        short(first.us),
        size(first),
        short(bus(best)),
        size(best),
    ))
}

fn table(values: &[&CallValue]) -> Block {
    let mut table = Table::under(["size", "us", "95% interval", "n", "busbw GB/s"]);
    for value in values {
        table.row([
            size(value),
            significant(value.us),
            range(value.interval),
            shown(value.n),
            significant(bus(value)),
        ]);
    }
    Block::Table(table)
}

/// The size of the message as nccl-tests counts it.
fn size(value: &CallValue) -> String {
    let parts = u64::from(value.series.kind.parts(value.series.ranks));
    ByteCount(value.bytes_per_rank * parts).to_string()
}

#[expect(
    clippy::cast_precision_loss,
    reason = "messages are far below 2^53 bytes"
)]
fn bus(value: &CallValue) -> f64 {
    let Series { kind, ranks, .. } = value.series;
    let bytes = value.bytes_per_rank as f64 * f64::from(kind.parts(ranks));
    bytes / (value.us * 1e3) * CollectivePoint::bus_factor(kind, ranks)
}

/// At most [`SIZES`] of them, evenly, with the first and the last.
fn thinned<'a>(values: &[&'a CallValue]) -> Vec<&'a CallValue> {
    let last = values.len().saturating_sub(1);
    if values.len() <= SIZES {
        return values.to_vec();
    }
    (0..SIZES)
        .map(|at| values[at * last / (SIZES - 1)])
        .collect()
}

/// The document of a file of link measurements.
#[must_use]
pub fn links(file: &LinkFile) -> Document {
    let test = |value: &LinkValue| match value.ends.role() {
        "bandwidth" | "latency" => value.ends.test.clone(),
        role => format!("{}, {role}", value.ends.test),
    };
    let mut table = Table::under(["test", "pairs", "lowest", "median", "highest", "unit"]);
    let mut answer = Vec::new();
    let kind = |value: &LinkValue| (test(value), value.unit);
    for (name, unit) in distinct(file.values.iter().map(kind)) {
        let values = file.values.iter();
        let values = values.filter(|value| value.unit == unit && test(value) == name);
        let mut values: Vec<&LinkValue> = values.collect();
        values.sort_by(|a, b| a.value.total_cmp(&b.value));
        let (least, most) = (values[0], values[values.len() - 1]);
        if answer.len() < SENTENCES {
            answer.push(spread(&name, least, most, values.len()));
        }
        table.row([
            name,
            values.len().to_string(),
            format!("{} {}", significant(least.value), ends(least)),
            significant(values[values.len() / 2].value),
            significant(most.value),
            unit.to_string(),
        ]);
    }
    let mut findings: Vec<Item> = uneven(&file.values).into_iter().collect();
    findings.extend(troubles(file.troubles.iter().map(|trouble| {
        let test = trouble.test.iter().map(|test| format!("{test} "));
        format!("{}{trouble}", test.collect::<String>())
    })));
    findings.extend(unused(&file.unused));
    let mut document = Document {
        title: format!("{}: {}", file.made_by, file.origin),
        simulated: file.simulated.clone(),
        answer,
        findings,
        made_by: file.made_by.clone(),
        ..Document::default()
    };
    if document.answer.is_empty() {
        document.answer = vec!["The file holds no value of a link.".to_owned()];
        return document;
    }
    let command = format!("tplens compare {} RESULT", file.origin);
    document.next = vec![Next::by("Compare it with links of this machine.", command)];
    document.sections = vec![Section::new("Tests", vec![Block::Table(table)])];
    document
}

/// The pinned copies of a device that are much slower one way than the other: links carry both ways alike.
fn uneven(values: &[LinkValue]) -> Option<Item> {
    let of = |test: &str, device: Endpoint| {
        let is_it = |value: &&LinkValue| {
            value.ends.test == test && [value.ends.from, value.ends.to].contains(&device)
        };
        values.iter().find(is_it).map(|value| value.value)
    };
    let words = |value: &LinkValue| {
        let device = value.ends.to;
        let (to, from) = (value.value, of("d2h_pinned_ce", device)?);
        let (slow, fast) = (to.min(from), to.max(from));
        (slow < UNEVEN * fast).then(|| {
            let (down, up) = (short(to), short(from));
            format!(
                "{}: {down} {} from the host and {up} to it",
                label(device),
                value.unit
            )
        })
    };
    let to_devices = values
        .iter()
        .filter(|value| value.ends.test == "h2d_pinned_ce");
    let all: Vec<String> = to_devices.filter_map(words).collect();
    first_of(Tone::Warning, "link-slow", &all)
}

/// `h2d_pinned_ce: 26.0-26.1 GB/s over 8 pairs.`
fn spread(name: &str, least: &LinkValue, most: &LinkValue, count: usize) -> String {
    let unit = least.unit;
    let (low, high) = (short(least.value), short(most.value));
    let figure = match low == high {
        true => low,
        false => format!("{low}-{high}"),
    };
    format!("{name}: {figure} {unit} over {}.", counted(count, "pair"))
}

/// `GPU0 to GPU1`.
fn ends(value: &LinkValue) -> String {
    let (from, to) = (label(value.ends.from), label(value.ends.to));
    match from == to {
        true => from,
        false => format!("{from} to {to}"),
    }
}

/// `GPU0`.
fn label(end: Endpoint) -> String {
    match end {
        Endpoint::Host => "host".to_owned(),
        Endpoint::All => "all".to_owned(),
        Endpoint::Device(ordinal) => format!("GPU{ordinal}"),
    }
}

/// Up to three of them, and how many more there are.
fn troubles(all: impl Iterator<Item = String>) -> Vec<Item> {
    let lines = distinct(all);
    let more = lines.len().saturating_sub(SENTENCES);
    let more = (more > 0).then(|| Item::plain(format!("{more} more of the file are no values")));
    let lines = lines.into_iter().take(SENTENCES);
    let items = lines.map(|line| Item::of(Tone::Warning, line));
    items.chain(more).collect()
}

fn unused(keys: &[String]) -> Option<Item> {
    let line = || format!("Not used of the file: {}.", keys.join(", "));
    (!keys.is_empty()).then(|| Item::plain(line()))
}
