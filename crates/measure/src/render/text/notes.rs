//! What stands below a case's table: reasons, differences and reservations, each once with the ends it concerns.

use super::case::{direction, pair};
use super::cell::significant;
use crate::caveat::Caveat;
use crate::quantity::Quantity;
use crate::record::{LinkUse, Links, Outcome, Point, Verification};

/// More ends than this are counted, not listed.
const LISTED_ENDS: usize = 4;

/// Far samples are worth a line where they are more than one in this many; each is labelled in the record.
const FAR_WORTH_SAYING: usize = 10;

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
        .chain(counted(points))
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
            ..
        } => {
            format!("data not compared; {}", ceiling(link))
        }
        Outcome::Measured { link, .. } if in_full || link.ceiling_gb_per_s.is_none() => {
            ceiling(link)
        }
        Outcome::Measured { .. } => return None,
    })
}

/// The ceiling and what it rests on, or why there is none.
fn ceiling(link: &LinkUse) -> String {
    match link.ceiling_gb_per_s {
        Some(ceiling) => format!(
            "ceiling {} GB/s each way, {}",
            significant(ceiling),
            link.basis
        ),
        None => format!("no ceiling, {}", link.basis),
    }
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

/// Wide intervals, overlaps and far samples of a case, added up.
fn counted(points: &[&Point]) -> Vec<String> {
    let caveats: Vec<&Caveat> = points.iter().flat_map(|point| &point.caveats).collect();
    let quantities = points.iter().flat_map(|point| match &point.outcome {
        Outcome::Measured { quantities, .. } => quantities.as_slice(),
        _ => &[],
    });
    sums(&caveats, quantities.map(|named| &named.quantity))
}

/// Wide intervals, overlaps and far samples, a line for each kind.
pub(super) fn sums<'a>(
    caveats: &[&Caveat],
    quantities: impl Iterator<Item = &'a Quantity>,
) -> Vec<String> {
    let mut sums = Vec::new();
    let wide: Vec<Option<f64>> = caveats
        .iter()
        .filter_map(|caveat| match caveat {
            Caveat::WideInterval {
                relative_half_width,
            } => Some(*relative_half_width),
            _ => None,
        })
        .collect();
    let widest = wide.iter().flatten().copied().fold(0.0, f64::max);
    if wide.iter().any(Option::is_none) {
        sums.push(
            Caveat::WideInterval {
                relative_half_width: None,
            }
            .to_string(),
        );
    }
    if widest > 0.0 {
        let text = Caveat::WideInterval {
            relative_half_width: Some(widest),
        }
        .to_string();
        let numbers = wide.iter().flatten().count();
        sums.push(if numbers > 1 {
            format!("of {numbers} numbers, the widest: {text}")
        } else {
            text
        });
    }
    let overlaps = caveats.iter().filter_map(|caveat| match caveat {
        Caveat::PartlyAlone { overlapped } => Some(*overlapped),
        _ => None,
    });
    if let Some(overlapped) = overlaps.reduce(f64::min) {
        sums.push(Caveat::PartlyAlone { overlapped }.to_string());
    }
    let (count, n) = quantities.fold((0, 0), |(count, n), quantity| {
        (count + quantity.outliers.len(), n + quantity.n)
    });
    if count * FAR_WORTH_SAYING > n {
        sums.push(Caveat::Outliers { count, n }.to_string());
    }
    sums
}
