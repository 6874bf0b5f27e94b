//! What a step of the engine spends on its collectives: a row for each batch.

use record::calls::{Row, chosen};
use record::unit::ByteCount;
use record::{
    CallMode, CollectiveKind, CollectivePath, Collectives, PlannedCollective, PlannedStep,
};

use super::found::{Transport, capital, headline_mode, ms, transport, words};
use crate::cell::short;
use crate::document::{Block, Section, Table};

/// Rows that fit above the answer.
const MOST: usize = 10;

/// The steps with their times, and one footnote; none where sizes were given by hand.
pub(super) fn section(collectives: &Collectives, rows: &[Row<'_>]) -> Option<Section> {
    if collectives.steps.is_empty() {
        return None;
    }
    let mode = headline_mode(rows);
    let mut table = Table::under([
        "",
        "ms per step",
        "calls",
        "size",
        "us each",
        "by",
        "besides",
    ]);
    let mut first_kind = None;
    let mut is_upper = false;
    for step in &collectives.steps {
        let own = rows.iter().filter(|row| row.series.mode == mode);
        let own: Vec<&Row<'_>> = own.collect();
        let Some(cost) = cost(step, &own) else {
            continue;
        };
        is_upper |= cost.stand_in > 0;
        first_kind = first_kind.or(cost.kinds.first().map(|one| one.0));
        table.row(row(step, &cost, first_kind, collectives));
    }
    let how = match mode {
        Some(CallMode::Interleaved) => "with other work between the calls, as in serving",
        Some(CallMode::Graph) => "from one replayed graph, without work between the calls",
        _ => "of calls in a row, without work between them",
    };
    let upper = match is_upper {
        true => {
            ". Where the engine reduces with its own kernel, the library's time stands in, which is longer as a rule"
        }
        false => "",
    };
    let more = match table.rows.len().saturating_sub(MOST) {
        0 => String::new(),
        more => format!("; {more} more steps in record.json"),
    };
    table.rows.truncate(MOST);
    if table
        .rows
        .iter()
        .all(|row| row.last().is_some_and(String::is_empty))
    {
        table.heads.pop();
        table.rows.iter_mut().for_each(|row| drop(row.pop()));
    }
    let first = collectives.steps.first()?;
    let heading = format!(
        "{} of {} on {}, TP{}",
        capital(words(first_kind?)),
        first.model,
        first.engine,
        first.tp
    );
    let note = Block::Paragraph(format!("Medians {how}{upper}{more}."));
    Some(Section::new(heading, vec![Block::Table(table), note]))
}

/// What the first and the last step spend: `All-reduces of a step take 1.02 ms at batch 1, 4.63 ms at batch 32.`
pub(super) fn answer(collectives: &Collectives, rows: &[Row<'_>]) -> Option<String> {
    let mode = headline_mode(rows);
    let own = rows.iter().filter(|row| row.series.mode == mode);
    let own: Vec<&Row<'_>> = own.collect();
    let costs = collectives.steps.iter().filter_map(|step| {
        let cost = cost(step, &own)?;
        let (kind, us, ..) = cost.kinds[0];
        Some((words(kind), format!("{} ms at {}", ms(us), name(step))))
    });
    let costs: Vec<_> = costs.collect();
    let ((kind, first), (_, last)) = (costs.first()?, costs.last()?);
    let last = match costs.len() {
        1 => String::new(),
        _ => format!(", {last}"),
    };
    Some(format!("{}s of a step take {first}{last}.", capital(kind)))
}

/// `batch 16`, `batch 15 padded to 16`, `prefill of 512 tokens with batch 3`.
pub(super) fn name(step: &PlannedStep) -> String {
    let batch = match step.padded_batch == step.batch {
        true => format!("batch {}", step.batch),
        false => format!("batch {} padded to {}", step.batch, step.padded_batch),
    };
    match step.prefill_tokens {
        Some(tokens) if step.batch == 0 => format!("prefill of {tokens} tokens"),
        Some(tokens) => format!("prefill of {tokens} tokens with {batch}"),
        None => batch,
    }
}

/// What the collectives of a step take.
struct Cost<'r, 'a> {
    /// Each kind: microseconds, calls, and the row of the size that takes most.
    kinds: Vec<(CollectiveKind, f64, u32, &'r Row<'a>)>,
    /// Calls that the engine does itself and that stand in with the library's time.
    stand_in: u32,
}

fn cost<'r, 'a>(step: &PlannedStep, rows: &[&'r Row<'a>]) -> Option<Cost<'r, 'a>> {
    let mut cost = Cost {
        kinds: Vec::new(),
        stand_in: 0,
    };
    let mut most = Vec::new();
    for collective in &step.collectives {
        let is_own = collective.path == CollectivePath::Custom;
        let engines = if is_own {
            find(step, rows, collective, true)
        } else {
            None
        };
        let is_stand_in = is_own && engines.is_none();
        let (row, us) = engines.or_else(|| find(step, rows, collective, false))?;
        let us = us * f64::from(collective.count);
        cost.stand_in += if is_stand_in { collective.count } else { 0 };
        let at = cost.kinds.iter().position(|one| one.0 == collective.kind);
        let at = at.unwrap_or_else(|| {
            cost.kinds.push((collective.kind, 0.0, 0, row));
            most.push(0.0);
            cost.kinds.len() - 1
        });
        cost.kinds[at].1 += us;
        cost.kinds[at].2 += collective.count;
        if us > most[at] {
            most[at] = us;
            cost.kinds[at].3 = row;
        }
    }
    (!cost.kinds.is_empty()).then_some(cost)
}

/// The row of a collective with its time of a call, us.
fn find<'r, 'a>(
    step: &PlannedStep,
    rows: &[&'r Row<'a>],
    collective: &PlannedCollective,
    by_engine: bool,
) -> Option<(&'r Row<'a>, f64)> {
    let is_it = |row: &&&Row<'_>| {
        (row.series.kind, row.bytes_per_rank, row.series.ranks)
            == (collective.kind, collective.bytes_per_rank, step.tp)
            && row.series.engine.is_some() == by_engine
    };
    let row = rows.iter().find(is_it)?;
    let time = row.time()?;
    time.is_above_zero().then_some((row, time.value))
}

/// What a step sends most, with the way that it goes; other kinds besides. Sizes and times are those of the size that takes most.
fn row(
    step: &PlannedStep,
    cost: &Cost<'_, '_>,
    headed: Option<CollectiveKind>,
    collectives: &Collectives,
) -> [String; 7] {
    let (kind, us, calls, row) = cost.kinds[0];
    let library = collectives.library.as_ref();
    let library = library.map_or_else(String::new, |library| library.name.to_uppercase());
    let via = match transport(collectives) {
        Transport::Direct(via) | Transport::Host(via) | Transport::Unlikely(via) => {
            format!(", {via}")
        }
        Transport::Unknown => String::new(),
    };
    let by = match (&row.series.engine, chosen(collectives, row)) {
        (Some(engine), _) => engine.clone(),
        (None, Some(chosen)) => format!("{library} {}{via}", spelled(&chosen)),
        (None, None) => format!("{library}{via}"),
    };
    let of_kind = match headed == Some(kind) {
        true => String::new(),
        false => format!("{} ", words(kind)),
    };
    let rest = cost.kinds[1..].iter();
    let besides = rest.map(|(kind, us, ..)| format!("{} {} ms", words(*kind), ms(*us)));
    [
        name(step),
        format!("{of_kind}{}", ms(us)),
        calls.to_string(),
        ByteCount(row.bytes_per_rank).to_string(),
        row.time()
            .map_or_else(String::new, |time| short(time.value)),
        by,
        besides.collect::<Vec<_>>().join(", "),
    ]
}

/// `ring LL` of `RING LL`.
fn spelled(chosen: &str) -> String {
    let word = |word: &str| match word {
        "LL" | "LL128" => word.to_owned(),
        word => word.to_lowercase(),
    };
    chosen.split(' ').map(word).collect::<Vec<_>>().join(" ")
}
