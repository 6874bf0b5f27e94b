//! The tables of an `allreduce-bench` record: one for each operation and way of calling, with a row per size.

use super::cell::{ABSENT, significant};
use super::header::{cautions, devices, indented, is_caution, numbers_right, opening, table};
use super::notes::{is_counted, sums};
use super::record::{line, reservations};
use crate::caveat::Caveat;
use crate::quantity::Quantity;
use crate::record::{
    CallMode, CollectiveKind, CollectiveOutcome, CollectivePath, CollectivePoint, Collectives,
    ElementType, PlannedCollective, PlannedStep, Record, Verification,
};
use crate::unit::ByteCount;

/// Uses of a size that are listed; more are counted.
const LISTED_USES: usize = 2;

/// Points that share a table.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Group {
    kind: CollectiveKind,
    element: ElementType,
    ranks: u32,
    mode: CallMode,
}

impl Group {
    fn of(point: &CollectivePoint) -> Self {
        Self {
            kind: point.kind,
            element: point.element,
            ranks: point.ranks,
            mode: point.mode,
        }
    }

    /// What the times of the group are.
    fn title(self, soft: bool) -> String {
        let how = match self.mode {
            CallMode::HostSynced => "host_synced, wall clock of one call with its launch and wait",
            CallMode::BackToBack => "back_to_back, mean of calls queued one after another",
            CallMode::Graph => "graph, mean of calls in one replayed graph",
        };
        format!(
            "{} of {} on {} ranks{}: us a call ({how}), median ± wider side of its 95% interval",
            self.kind,
            self.element,
            self.ranks,
            if soft { " [simulated]" } else { "" }
        )
    }
}

/// Header, library, devices, steps, a table for each group, and reservations.
pub(super) fn tables(record: &Record, collectives: &Collectives, soft: Option<&str>) -> String {
    let mut text = opening(record, soft, collectives.backend.as_ref());
    text.push_str(&cautions(&collectives.caveats));
    if let Some(library) = library(collectives) {
        line(&mut text, &library);
    }
    if !collectives.devices.is_empty() {
        text.push_str(&devices(&collectives.devices));
    }
    if !collectives.steps.is_empty() {
        text.push_str("\nSteps whose sizes are measured\n");
        let of = |step: &PlannedStep| format!("  {}\n", step_line(step));
        text.extend(collectives.steps.iter().map(of));
    }
    let mut groups: Vec<Group> = Vec::new();
    for group in collectives.points.iter().map(Group::of) {
        if !groups.contains(&group) {
            groups.push(group);
        }
    }
    for group in groups {
        let points: Vec<&CollectivePoint> = collectives
            .points
            .iter()
            .filter(|point| Group::of(point) == group)
            .collect();
        line(&mut text, &format!("\n{}", group.title(soft.is_some())));
        text.push_str(&rows(&points, &collectives.steps));
        notes(&points)
            .iter()
            .for_each(|note| line(&mut text, &format!("  {note}")));
    }
    let general: Vec<String> = collectives
        .caveats
        .iter()
        .filter(|caveat| !is_caution(caveat))
        .map(Caveat::to_string)
        .collect();
    reservations(&mut text, &general);
    text
}

/// The library and the ranks with the path between them.
fn library(collectives: &Collectives) -> Option<String> {
    let library = collectives.library.as_ref()?;
    let mut words = format!("library {}", library.name);
    if let Some(version) = &library.version {
        words = format!("{words} {version}");
    }
    let transport = library.transport.as_deref();
    words = format!(
        "{words}, transport {}",
        transport.unwrap_or("not said by the library")
    );
    let labels: Vec<&str> = collectives
        .devices
        .iter()
        .map(|device| device.label.as_str())
        .collect();
    words = format!("{words}; {} ranks", labels.len());
    if !labels.is_empty() {
        words = format!("{words} on {}", labels.join(", "));
    }
    let mut paths: Vec<&str> = Vec::new();
    for path in collectives.paths.iter().map(|pair| pair.path.name()) {
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    Some(if paths.is_empty() {
        words
    } else {
        format!("{words}, path {}", paths.join(" and "))
    })
}

/// What a step is, how many collectives it has and how many bytes they carry.
fn step_line(step: &PlannedStep) -> String {
    let of = |collective: &PlannedCollective| {
        (
            u64::from(collective.count),
            u64::from(collective.count).saturating_mul(collective.bytes_per_rank),
        )
    };
    let (count, bytes) = step
        .collectives
        .iter()
        .map(of)
        .fold((0, 0), |(count, bytes), (more, add)| {
            (count + more, bytes + add)
        });
    format!(
        "{} on {}, TP{}, {}: {count} collectives, {} a rank",
        step.model,
        step.engine,
        step.tp,
        step_name(step),
        ByteCount(bytes)
    )
}

/// `batch 16`, `batch 15 padded to 16`, `prefill of 512 tokens with batch 3`.
fn step_name(step: &PlannedStep) -> String {
    let batch = if step.padded_batch == step.batch {
        format!("batch {}", step.batch)
    } else {
        format!("batch {} padded to {}", step.batch, step.padded_batch)
    };
    match step.prefill_tokens {
        Some(tokens) if step.batch == 0 => format!("prefill of {tokens} tokens"),
        Some(tokens) => format!("prefill of {tokens} tokens with {batch}"),
        None => batch,
    }
}

fn rows(points: &[&CollectivePoint], steps: &[PlannedStep]) -> String {
    // With two ranks an all-reduce has the same bus and algorithm bandwidth, which is shown once.
    let has_two = points
        .iter()
        .any(|point| (CollectivePoint::bus_factor(point.kind, point.ranks) - 1.0).abs() > 1e-9);
    let uses: Vec<String> = points.iter().map(|point| uses(point, steps)).collect();
    let has_uses = uses.iter().any(|uses| !uses.is_empty());
    let mut titles = vec!["size a rank", "us", "interval", "n", "busbw GB/s"];
    titles.extend(has_two.then_some("algbw GB/s"));
    titles.push("data");
    titles.extend(has_uses.then_some("used by"));
    let mut table = table();
    let left = titles.len() - usize::from(has_uses) - 1;
    table.set_header(titles);
    for (point, uses) in points.iter().zip(uses) {
        let mut row = vec![ByteCount(point.bytes_per_rank).to_string(), time(point)];
        row.extend(numbers(point, has_two));
        row.push(data(point).to_owned());
        row.extend(has_uses.then_some(or_absent(uses)));
        table.add_row(row);
    }
    numbers_right(&mut table);
    for column in left..=left + usize::from(has_uses) {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(comfy_table::CellAlignment::Left);
        }
    }
    indented(&table)
}

/// The time of a point that stands for something.
fn believed(point: &CollectivePoint) -> Option<&Quantity> {
    match &point.outcome {
        CollectiveOutcome::Measured { time, verification }
            if !matches!(verification, Verification::WrongData { .. }) =>
        {
            Some(time)
        }
        _ => None,
    }
}

fn time(point: &CollectivePoint) -> String {
    match &point.outcome {
        CollectiveOutcome::Measured { .. } => match believed(point) {
            Some(time) => super::cell::quantity(time),
            None => "WRONG DATA".to_owned(),
        },
        CollectiveOutcome::NotApplicable { .. } => ABSENT.to_owned(),
        CollectiveOutcome::Skipped { .. } => "skipped".to_owned(),
        CollectiveOutcome::Failed { .. } => "FAILED".to_owned(),
        CollectiveOutcome::Hang { .. } => "HANG".to_owned(),
    }
}

/// Interval, n, bus bandwidth and, where asked, algorithm bandwidth.
fn numbers(point: &CollectivePoint, with_algorithm: bool) -> Vec<String> {
    let time = believed(point);
    let cell = |text: Option<String>| text.unwrap_or_else(|| ABSENT.to_owned());
    let interval = time.and_then(|time| time.interval);
    let mut cells = vec![
        cell(interval.map(|i| format!("{} .. {}", significant(i.low), significant(i.high)))),
        cell(time.map(|time| time.n.to_string())),
        cell(time.map(|time| significant(point.bus_gb_per_s(time.value)))),
    ];
    if with_algorithm {
        cells.push(cell(
            time.map(|time| significant(point.algorithm_gb_per_s(time.value))),
        ));
    }
    cells
}

fn data(point: &CollectivePoint) -> &'static str {
    match &point.outcome {
        CollectiveOutcome::Measured { verification, .. } => match verification {
            Verification::Passed => "exact",
            Verification::WrongData { .. } => "WRONG",
            Verification::NotAsked => "not compared",
        },
        _ => ABSENT,
    }
}

/// The steps that send this size and what for: `batch 16: 80 attention output + 80 mlp output`.
fn uses(point: &CollectivePoint, steps: &[PlannedStep]) -> String {
    let is_same = |collective: &&PlannedCollective| {
        (collective.kind, collective.bytes_per_rank) == (point.kind, point.bytes_per_rank)
    };
    let name = |collective: &PlannedCollective| {
        let path = match collective.path {
            CollectivePath::Library => "",
            CollectivePath::Custom => " (the engine's own kernel)",
        };
        format!("{} {}{path}", collective.count, collective.role)
    };
    let uses: Vec<String> = steps
        .iter()
        .filter(|step| step.tp == point.ranks)
        .filter_map(|step| {
            let names: Vec<String> = step.collectives.iter().filter(is_same).map(name).collect();
            (!names.is_empty()).then(|| format!("{}: {}", step_name(step), names.join(" + ")))
        })
        .collect();
    match uses.len() {
        n if n > LISTED_USES => {
            let listed = uses[..LISTED_USES].join("; ");
            format!("{listed}; and {} more steps", n - LISTED_USES)
        }
        _ => uses.join("; "),
    }
}

fn or_absent(text: String) -> String {
    if text.is_empty() {
        ABSENT.to_owned()
    } else {
        text
    }
}

/// Reasons and reservations of a table's points, each once with the sizes that it concerns.
fn notes(points: &[&CollectivePoint]) -> Vec<String> {
    let mut notes: Vec<(String, Vec<String>)> = Vec::new();
    let mut add = |note: String, point: &CollectivePoint| {
        let size = ByteCount(point.bytes_per_rank).to_string();
        match notes.iter_mut().find(|(known, _)| *known == note) {
            Some((_, sizes)) => sizes.push(size),
            None => notes.push((note, vec![size])),
        }
    };
    for point in points {
        let reason = match &point.outcome {
            CollectiveOutcome::Measured {
                verification: Verification::WrongData { seen },
                ..
            } => Some(format!("WRONG DATA: {seen}; the number stands for nothing")),
            CollectiveOutcome::Measured { .. } => None,
            CollectiveOutcome::NotApplicable { reason } => {
                Some(format!("not applicable, {reason}"))
            }
            CollectiveOutcome::Skipped { reason } => Some(format!("skipped, {reason}")),
            CollectiveOutcome::Failed { reason } => Some(format!("FAILED: {reason}")),
            CollectiveOutcome::Hang { doing } => Some(format!("HANG while {doing}")),
        };
        if let Some(reason) = reason {
            add(reason, point);
        }
        for caveat in point.caveats.iter().filter(|caveat| !is_counted(caveat)) {
            add(caveat.to_string(), point);
        }
    }
    let everywhere = points.len();
    let caveats: Vec<&Caveat> = points.iter().flat_map(|point| &point.caveats).collect();
    notes
        .into_iter()
        .map(|(note, sizes)| match sizes.len() {
            n if n == everywhere && n > 1 => note,
            _ => format!("{}: {note}", sizes.join(", ")),
        })
        .chain(sums(
            &caveats,
            points.iter().filter_map(|point| believed(point)),
        ))
        .collect()
}
