//! The links of a machine as a document: a matrix of rates, whether they are normal, and what is wrong.

mod cases;
mod found;
mod peers;
mod usual;

use record::{Endpoint, LinkReading, Links, Outcome, PeerVerdict, Record, Status};

use crate::cell::{fraction, number, or_absent, short, word};
use crate::document::{Block, Document, Next, Section, Table, Tone};
use crate::ends::label;
use crate::lines::{counted, devices, distinct, or_empty};

use found::Lowest;

/// Devices whose matrix fits on a screen.
const MATRIX: usize = 8;

/// Cases whose tables are what was asked for, and so no details.
const FEW_CASES: usize = 3;

/// The document of a record of links.
pub(crate) fn document(record: &Record, links: &Links) -> Document {
    let mut findings = found::findings(links);
    let is_failed = matches!(
        record.status,
        Status::Failed { .. } | Status::Refused { .. }
    );
    let is_bad = is_failed || findings.iter().any(|item| item.tone == Tone::Bad);
    findings.extend(crate::run::ending(record));
    let is_whole = record.status == Status::Complete;
    let mut rates = found::host(links)
        .into_iter()
        .chain(found::between(links).into_iter().map(|(_, it)| it));
    let is_slow = rates.any(|lowest| lowest.below_usual().is_some() || lowest.usually().is_some());
    // What the links are; that the run was broken off says nothing of them.
    let tone = match is_bad {
        true => Tone::Bad,
        false if is_slow => Tone::Warning,
        false => Tone::Good,
    };
    let is_busy = links.caveats.iter().any(|one| one.code() == "device-busy");
    findings.extend(found::reservations(links));
    let mut sections = Vec::new();
    sections.extend(matrix(links));
    let keys = cases::keys(links);
    let are_asked = keys.len() <= FEW_CASES;
    for key in &keys {
        let section = cases::section(key, links);
        sections.push(Section {
            detail: !are_asked || is_in_matrix(key),
            ..section
        });
    }
    sections.extend(peers::section(links));
    sections.push(Section::detail(
        "Devices",
        vec![Block::Table(devices(&links.devices))],
    ));
    sections.extend(crate::run::provenance(record, links.backend.as_ref()));
    Document {
        title: format!("Links of {}", counted(links.devices.len(), "device")),
        simulated: record.soft_box(),
        tone: match tone {
            Tone::Good if !is_whole => Tone::Warning,
            tone => tone,
        },
        answer: answer(links, tone, is_whole),
        next: match tone {
            Tone::Good if !is_whole && !is_busy && !is_host(links) => {
                vec![Next::plain("Measure again, to the end.")]
            }
            _ => next(links, record.soft_box().as_deref(), tone, is_busy),
        },
        findings,
        sections,
        made_by: crate::run::made_by(record),
    }
}

fn is_host(links: &Links) -> bool {
    let backend = links.backend.as_ref();
    backend.is_some_and(|one| one.name == "host")
}

fn next(links: &Links, simulated: Option<&str>, tone: Tone, is_busy: bool) -> Vec<Next> {
    if is_host(links) {
        let text = "Where there is a GPU, see why none was measured:";
        return vec![Next::by(text, "tplens doctor -v")];
    }
    if is_busy {
        return vec![Next::plain("Stop the other work and measure again.")];
    }
    match tone != Tone::Good {
        true => vec![Next::on("Look for the cause:", "tplens doctor", simulated)],
        false if has(links, PeerVerdict::Denied) => {
            let text = "Measure what an all-reduce through host memory takes:";
            let command = format!("tplens allreduce --gpus {}", gpus(links));
            vec![Next::on(text, &command, simulated)]
        }
        false => Vec::new(),
    }
}

/// Whether a pair of devices came to this.
fn has(links: &Links, verdict: PeerVerdict) -> bool {
    links.probes.iter().any(|probe| probe.verdict == verdict)
}

/// `0,1`.
fn gpus(links: &Links) -> String {
    let numbers = links.devices.iter().map(|one| one.ordinal.to_string());
    numbers.collect::<Vec<_>>().join(",")
}

fn answer(links: &Links, tone: Tone, is_whole: bool) -> Vec<String> {
    let is_measured = |point: &record::Point| matches!(point.outcome, Outcome::Measured { .. });
    if !links.points.iter().any(is_measured) {
        return match links.points.is_empty() {
            true => vec!["Nothing was measured.".to_owned()],
            false => vec!["Nothing was measured; the reasons are below.".to_owned()],
        };
    }
    if links
        .points
        .iter()
        .all(|point| point.case.starts_with("load_"))
    {
        let all = counted(links.devices.len(), "device");
        return vec![match tone {
            Tone::Bad => format!("Load failed on {all}."),
            _ if !is_whole => format!("Load broken off: {all}, no wrong data so far."),
            _ => format!("Load passed: {all}, no wrong data."),
        }];
    }
    let percent = |part: f64| format!("{:.0}%", part * 100.0);
    let states = links.devices.iter().filter_map(|device| {
        let state = found::reading(device).and_then(LinkReading::limiting)?;
        Some(state.to_string())
    });
    let states = distinct(states);
    let mut parts = Vec::new();
    if !states.is_empty() {
        parts.push(states.join(" and "));
    }
    let usually = |lowest: &Lowest| {
        let range = lowest.usually();
        or_empty(range.map(|(low, high)| format!(", {low:.0}-{high:.0}% usual")))
    };
    // Host memory has no limit that would tell how far to believe it.
    let is_host = is_host(links);
    let rate = |lowest: &Lowest| {
        let range = lowest.interval.filter(|_| is_host);
        let half = range.map(|range| format!(" ±{:.2}", (range.high - range.low) / 2.0));
        format!("{}{}", short(lowest.gb_per_s), or_empty(half))
    };
    if let Some(host) = found::host(links) {
        let of = match host.fraction {
            Some(part) => format!(" ({} of limit{})", percent(part), usually(&host)),
            None if is_host => String::new(),
            None => ", limit unknown".to_owned(),
        };
        parts.push(format!("host {} GB/s{of}", rate(&host)));
    }
    let between = found::between(links).into_iter().map(|(path, lowest)| {
        let of = lowest.fraction;
        let of = of.map(|part| format!(" ({}{})", percent(part), usually(&lowest)));
        format!("{} GB/s{} {path}", rate(&lowest), or_empty(of))
    });
    let between: Vec<String> = between.collect();
    if !between.is_empty() {
        let what = match is_host {
            true => "between its halves",
            false => "P2P",
        };
        parts.push(format!("{what} {}", between.join(", ")));
    }
    let head = match tone {
        _ if is_host => "Host memory, no GPU",
        _ if parts.is_empty() => return vec!["Measured; the numbers are above.".to_owned()],
        Tone::Good | Tone::Open if has(links, PeerVerdict::Denied) => {
            match has(links, PeerVerdict::Direct) {
                true => "P2P of some pairs only",
                false => "No P2P",
            }
        }
        Tone::Good | Tone::Open if !is_whole => "Links normal so far",
        Tone::Good | Tone::Open => "Links normal",
        Tone::Warning if found::slow(links).is_empty() => "Links below usual",
        Tone::Warning | Tone::Bad => "Links not normal",
    };
    let mut sentences = vec![format!("{head}: {}.", parts.join(", "))];
    if links.devices.iter().any(|device| device.mig.is_some()) && has(links, PeerVerdict::Denied) {
        let why = "MIG instances have no peer access: what they exchange goes through host memory.";
        sentences.push(why.to_owned());
    }
    if !is_host {
        sentences.extend(direct(links));
    }
    sentences
}

/// That all pairs reach each other directly, and how long a small copy takes.
fn direct(links: &Links) -> Option<String> {
    let is_direct = |probe: &record::PeerProbe| probe.verdict == PeerVerdict::Direct;
    let all = links.probes.len();
    if all == 0 || !links.probes.iter().all(is_direct) {
        return None;
    }
    let us = links.probes.iter().filter_map(peers::small_copy_us);
    let slowest = us.reduce(f64::max);
    let time = or_empty(slowest.map(|us| format!(", 16 B in {} us at most", short(us))));
    let ways = match all {
        2 => "both directions".to_owned(),
        all => format!("all {}", counted(all, "direction")),
    };
    Some(format!("P2P is direct in {ways}, data verified{time}."))
}

/// Host and devices against each other: the rate with its share of the link's limit.
fn matrix(links: &Links) -> Option<Section> {
    let devices = (0..links.devices.len()).map(Endpoint::Device);
    let ends: Vec<Endpoint> = std::iter::once(Endpoint::Host).chain(devices).collect();
    let labels: Vec<String> = ends.iter().map(|end| label(links, *end)).collect();
    let mut table = Table {
        heads: [&["from \\ to".to_owned()], labels.as_slice()].concat(),
        rows: Vec::new(),
    };
    let mut size = None;
    for (from, name) in ends.iter().zip(labels) {
        let mut row = vec![name];
        for to in &ends {
            let found = cell(links, *from, *to);
            size = size.or(found.as_ref().map(|(_, bytes)| *bytes));
            row.push(or_absent(found.map(|(cell, _)| cell)));
        }
        table.rows.push(row);
    }
    // Without a size there was nothing to show.
    let size = record::unit::ByteCount(size?);
    let limit = or_empty(limit(links).map(|limit| format!(" ({limit})")));
    let heading = format!("Copies of {size}, GB/s and share of what the link carries{limit}");
    Some(Section {
        detail: links.devices.len() > MATRIX,
        ..Section::new(heading, vec![Block::Table(table)])
    })
}

/// What the links to the host carry, where it is the same for all.
fn limit(links: &Links) -> Option<String> {
    let points = links
        .points
        .iter()
        .filter(|point| is_in_matrix(&point.case));
    let mut limits = points.filter_map(|point| match &point.outcome {
        Outcome::Measured { link, .. } => link.ceiling("bandwidth"),
        _ => None,
    });
    let first = short(limits.next()?);
    limits.all(|limit| short(limit) == first).then_some(first)
}

/// Whether the matrix has the numbers of a case.
fn is_in_matrix(key: &str) -> bool {
    found::BETWEEN.contains(&key) || ["h2d_pinned_ce", "d2h_pinned_ce"].contains(&key)
}

/// What a copy reached, with the path where its limit is not known, and its size; or a word for why it has no rate.
fn cell(links: &Links, from: Endpoint, to: Endpoint) -> Option<(String, u64)> {
    let cases: &[&str] = match (from, to) {
        _ if from == to => return None,
        (Endpoint::Host, _) => &["h2d_pinned_ce"],
        (_, Endpoint::Host) => &["d2h_pinned_ce"],
        _ => &found::BETWEEN,
    };
    let mut refused = None;
    for case in cases {
        let Some(point) = found::largest(links, case, |point| (point.from, point.to) == (from, to))
        else {
            continue;
        };
        if let Some(quantity) = number(point, "bandwidth") {
            let path = || match (from, to) {
                (Endpoint::Device(from), Endpoint::Device(to)) => {
                    Some(links.path(from, to).name().into_owned())
                }
                _ => None,
            };
            let part = fraction(point, "bandwidth").or_else(path);
            let part = or_empty(part.map(|part| format!(" {part}")));
            let staged = if case.contains("staged") {
                " staged"
            } else {
                ""
            };
            let text = format!("{}{part}{staged}", short(quantity.value));
            return Some((text, point.bytes));
        }
        let is_absent = matches!(point.outcome, Outcome::NotApplicable { .. });
        refused = refused
            .or((!is_absent).then(|| (word(point.outcome.unmeasured()).to_owned(), point.bytes)));
    }
    refused
}
