//! What stands below a case's table: reasons, differences and reservations, each once with the ends it concerns.

use super::cell::significant;
use super::ends::{direction, pair};
use crate::caveat::Caveat;
use crate::quantity::{Quantity, Unit};
use crate::record::{LinkUse, Links, NamedQuantity, Outcome, Point, Verification, judged};

/// More ends than this are counted, not listed.
const LISTED_ENDS: usize = 4;

/// Far samples are worth a line where they are more than one in this many; each is labelled in the record.
const FAR_WORTH_SAYING: usize = 10;

/// Streams within 1% of the slowest ended with it.
const AS_SLOW: f64 = 1.01;

/// A reason with the ends that share it.
type Note = (String, Vec<String>);

/// A case's notes; `in_full` where the table does not say what the ceiling rests on.
pub(super) fn notes(points: &[&Point], links: &Links, in_full: bool) -> Vec<String> {
    let mut notes: Vec<Note> = Vec::new();
    let mut add = |note: String, point: &Point| {
        let ends = direction(point, "bandwidth", links);
        match notes.iter_mut().find(|(known, _)| *known == note) {
            Some((_, known)) if !known.contains(&ends) => known.push(ends),
            Some(_) => {}
            None => notes.push((note, vec![ends])),
        }
    };
    for point in points {
        if let Some(note) = of_outcome(&point.outcome, in_full || pair(point).is_some()) {
            add(note, point);
        }
        for caveat in &point.caveats {
            if !is_counted(caveat) && !is_general(caveat) {
                add(caveat.to_string(), point);
            }
        }
    }
    let everywhere = points.len();
    let with_ends = |(note, ends): Note| match ends.len() {
        n if n == everywhere && n > 1 => note,
        n if n > LISTED_ENDS => format!("{} and {} more: {note}", ends[0], n - 1),
        _ => format!("{}: {note}", ends.join(", ")),
    };
    notes
        .into_iter()
        .map(with_ends)
        .chain(counted(points, links))
        .collect()
}

fn of_outcome(outcome: &Outcome, in_full: bool) -> Option<String> {
    Some(match outcome {
        Outcome::NotApplicable { reason } => format!("not applicable, {reason}"),
        Outcome::Skipped { reason } => format!("skipped, {reason}"),
        Outcome::Failed { reason } => format!("FAILED: {reason}"),
        Outcome::Hang { doing } => format!("HANG while {doing}"),
        Outcome::Measured {
            verification: Verification::WrongData { seen },
            ..
        } => {
            format!("WRONG DATA: {seen}; the number stands for nothing")
        }
        Outcome::Measured {
            verification: Verification::NotAsked,
            link,
            quantities,
            ..
        } => std::iter::once("data not compared".to_owned())
            .chain(ceiling(quantities, link))
            .collect::<Vec<_>>()
            .join("; "),
        Outcome::Measured {
            link, quantities, ..
        } if in_full || link.ceiling_gb_per_s.is_none() => ceiling(quantities, link)?,
        Outcome::Measured { .. } => return None,
    })
}

/// The ceiling and what it rests on, or why there is none; times have none to speak of.
fn ceiling(quantities: &[NamedQuantity], link: &LinkUse) -> Option<String> {
    let is_rate = |named: &NamedQuantity| named.quantity.unit == Unit::GbPerS;
    if !quantities.iter().any(is_rate) {
        return None;
    }
    Some(match link.ceiling_gb_per_s {
        Some(ceiling) => format!(
            "ceiling {} GB/s each way, {}",
            significant(ceiling),
            link.basis
        ),
        None if link.ceilings_gb_per_s.is_empty() => format!("no ceiling, {}", link.basis),
        None => format!("ceilings: {}", link.basis),
    })
}

/// Said once for the whole record.
pub(super) fn is_general(caveat: &Caveat) -> bool {
    matches!(
        caveat,
        Caveat::NoGate | Caveat::PlacementUnproven { .. } | Caveat::NotBound { .. }
    )
}

/// Said once for a case, as a sum.
pub(super) fn is_counted(caveat: &Caveat) -> bool {
    matches!(
        caveat,
        Caveat::Outliers { .. } | Caveat::WideInterval { .. } | Caveat::PartlyAlone { .. }
    )
}

/// Overlaps, wide intervals and far samples of a case, added up.
fn counted(points: &[&Point], links: &Links) -> Vec<String> {
    let caveats: Vec<&Caveat> = points.iter().flat_map(|point| &point.caveats).collect();
    let quantities = points.iter().flat_map(|point| match &point.outcome {
        Outcome::Measured { quantities, .. } => judged(quantities).collect(),
        _ => Vec::new(),
    });
    partly_alone(points, links)
        .into_iter()
        .chain(sums(&caveats, quantities.map(|named| &named.quantity)))
        .collect()
}

/// The least overlap of a case's streams, and which of them was at it longest: all carry the same bytes, so the slowest.
fn partly_alone(points: &[&Point], links: &Links) -> Option<String> {
    let overlap = |point: &&Point| {
        let overlapped = point.caveats.iter().filter_map(|caveat| match caveat {
            Caveat::PartlyAlone { overlapped } => Some(*overlapped),
            _ => None,
        });
        overlapped.reduce(f64::min)
    };
    let overlaps = points
        .iter()
        .filter_map(|point| Some((overlap(point)?, point)));
    let (overlapped, point) = overlaps.min_by(|(a, _), (b, _)| a.total_cmp(b))?;
    let text = Caveat::PartlyAlone { overlapped }.to_string();
    let Outcome::Measured { quantities, .. } = &point.outcome else {
        return Some(text);
    };
    let streams = || quantities.iter().filter(|named| named.name != "total");
    let values = streams().map(|named| named.quantity.value);
    let slowest = values.reduce(f64::min)? * AS_SLOW;
    let last: Vec<String> = streams()
        .filter(|named| named.quantity.value <= slowest)
        .map(|named| direction(point, &named.name, links))
        .collect();
    Some(if last.len() > LISTED_ENDS {
        text
    } else {
        format!("{text}; last to end: {}", last.join(", "))
    })
}

/// Wide intervals and far samples, a line for each kind.
pub(super) fn sums<'a>(
    caveats: &[&Caveat],
    quantities: impl Iterator<Item = &'a Quantity>,
) -> Vec<String> {
    let mut sums = Vec::new();
    let mut without = None;
    let mut wide: Vec<(f64, &Caveat)> = Vec::new();
    for caveat in caveats {
        if let Caveat::WideInterval {
            relative_half_width,
            ..
        } = caveat
        {
            match relative_half_width {
                Some(width) => wide.push((*width, *caveat)),
                None => without = Some(*caveat),
            }
        }
    }
    sums.extend(without.map(Caveat::to_string));
    let widest = wide.iter().max_by(|(a, _), (b, _)| a.total_cmp(b));
    sums.extend(widest.map(|(_, caveat)| match wide.len() {
        1 => caveat.to_string(),
        numbers => format!("of {numbers} numbers, the widest: {caveat}"),
    }));
    let (count, n) = quantities.fold((0, 0), |(count, n), quantity| {
        (count + quantity.outliers.len(), n + quantity.n)
    });
    if count * FAR_WORTH_SAYING > n {
        sums.push(Caveat::Outliers { count, n }.to_string());
    }
    sums
}
