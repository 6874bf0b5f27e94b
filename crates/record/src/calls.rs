//! What belongs together among the points of collectives: the series of a time, the rows of a series, and what the library chose for one.

use serde::Serialize;

use crate::quantity::Quantity;
use crate::{
    BufferPlacement, CallMode, CollectiveKind, CollectiveOutcome, CollectivePoint, Collectives,
    ElementType, Verification,
};
use stats::percentile;

/// What times have to share to stand in one curve; times of different series are different numbers and are never merged.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Series {
    /// The operation.
    pub kind: CollectiveKind,
    /// The type of the elements; `None` where a file does not say.
    pub element: Option<ElementType>,
    /// Number of ranks.
    pub ranks: u32,
    /// How calls followed each other; `None` where a file does not say.
    pub mode: Option<CallMode>,
    /// Where the result lay; of ours always out of place.
    pub placement: BufferPlacement,
    /// The engine's own code that did it; `None` for the library.
    pub engine: Option<String>,
}

impl Series {
    /// The series of a point.
    #[must_use]
    pub fn of(point: &CollectivePoint) -> Self {
        Self {
            kind: point.kind,
            element: Some(point.element),
            ranks: point.ranks,
            mode: Some(point.mode),
            placement: BufferPlacement::OutOfPlace,
            engine: point.engine.clone(),
        }
    }

    /// `all_reduce of bf16 on 2 ranks`.
    #[must_use]
    pub fn operation(&self) -> String {
        let element = self
            .element
            .map_or_else(String::new, |element| format!(" of {element}"));
        format!("{}{element} on {} ranks", self.kind, self.ranks)
    }

    /// What is unlike the ordinary call, a few words each: `in place`, `by vllm`.
    pub fn qualities(&self) -> impl Iterator<Item = String> {
        [
            (self.placement == BufferPlacement::InPlace).then(|| "in place".to_owned()),
            self.engine.as_ref().map(|engine| format!("by {engine}")),
        ]
        .into_iter()
        .flatten()
    }
}

/// `all_reduce of bf16 on 2 ranks, graph, in place`.
impl std::fmt::Display for Series {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mode = self.mode.map(|mode| mode.to_string());
        let words: Vec<String> = [self.operation()]
            .into_iter()
            .chain(mode)
            .chain(self.qualities())
            .collect();
        f.pad(&words.join(", "))
    }
}

/// One size of a series.
#[derive(Debug, Clone)]
pub struct Row<'a> {
    /// What the size is of.
    pub series: Series,
    /// As [`CollectivePoint::bytes_per_rank`].
    pub bytes_per_rank: u64,
    /// Its point.
    pub point: &'a CollectivePoint,
}

/// The rows of a record: series in the order of their first points, sizes ascending.
#[must_use]
pub fn rows(collectives: &Collectives) -> Vec<Row<'_>> {
    let mut order: Vec<Series> = Vec::new();
    let mut rows: Vec<Row<'_>> = Vec::new();
    for point in &collectives.points {
        let series = Series::of(point);
        if !order.contains(&series) {
            order.push(series.clone());
        }
        rows.push(Row {
            series,
            bytes_per_rank: point.bytes_per_rank,
            point,
        });
    }
    rows.sort_by_cached_key(|row| {
        let at = order.iter().position(|known| *known == row.series);
        (at, row.bytes_per_rank)
    });
    rows
}

impl<'a> Row<'a> {
    /// Its time, us; `None` where none was taken, or the data was wrong.
    #[must_use]
    pub fn time(&self) -> Option<&'a Quantity> {
        match &self.point.outcome {
            CollectiveOutcome::Measured {
                time, verification, ..
            } if !matches!(verification, Verification::WrongData { .. }) => Some(time),
            _ => None,
        }
    }

    /// A percentile such as 0.99, us; `None` with too few samples for it.
    #[must_use]
    pub fn percentile(&self, fraction: f64) -> Option<f64> {
        percentile(&self.time()?.samples, fraction)
    }

    /// The time of the work between two calls, us.
    #[must_use]
    pub fn gap(&self) -> Option<f64> {
        match &self.point.outcome {
            CollectiveOutcome::Measured { gap, .. } => Some(gap.as_ref()?.value),
            _ => None,
        }
    }
}

/// Sizes of one series that take less time than a smaller size, their intervals apart: the smaller row and the larger.
#[must_use]
pub fn faster_though_larger<'r, 'a>(rows: &'r [Row<'a>]) -> Vec<(&'r Row<'a>, &'r Row<'a>)> {
    let interval = |row: &Row<'_>| row.time().and_then(|time| time.interval);
    let mut found = Vec::new();
    for (at, larger) in rows.iter().enumerate() {
        let Some(of_larger) = interval(larger) else {
            continue;
        };
        let slower = rows[..at].iter().rev().find(|smaller| {
            smaller.bytes_per_rank < larger.bytes_per_rank
                && interval(smaller).is_some_and(|of_smaller| of_smaller.low > of_larger.high)
        });
        found.extend(slower.map(|smaller| (smaller, larger)));
    }
    found
}

/// What the library said that it chose for the calls of a row, such as `RING LL`; `None` where no run told, or an engine did it.
#[must_use]
pub fn chosen(collectives: &Collectives, row: &Row<'_>) -> Option<String> {
    if row.series.engine.is_some() {
        return None;
    }
    let told = collectives.transports.iter().flat_map(|of| &of.choices);
    let mut words: Vec<String> = Vec::new();
    for choice in told {
        if (choice.kind, choice.bytes_per_rank) == (row.series.kind, row.bytes_per_rank) {
            let word = format!("{} {}", choice.algorithm, choice.protocol);
            if !words.contains(&word) {
                words.push(word);
            }
        }
    }
    (!words.is_empty()).then(|| words.join(" or "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::StopReason;
    use crate::quantity::{Gate, TimeSource, Timing, Unit};

    fn point(bytes: u64, samples: &[f64]) -> CollectivePoint {
        let timing = Timing {
            source: TimeSource::DeviceEvent,
            gate: Gate::None,
            copies_per_sample: 1,
            warmup_copies: 1,
        };
        let samples = samples.to_vec();
        let time =
            Quantity::from_samples(samples, Unit::Microseconds, timing, StopReason::MaxSamples);
        CollectivePoint {
            kind: CollectiveKind::AllReduce,
            element: ElementType::Bf16,
            bytes_per_rank: bytes,
            ranks: 2,
            mode: CallMode::Graph,
            engine: None,
            outcome: CollectiveOutcome::Measured {
                time: Box::new(time.unwrap()),
                verification: Verification::Passed,
                gap: None,
            },
            caveats: Vec::new(),
        }
    }

    fn of(points: Vec<CollectivePoint>) -> Collectives {
        Collectives {
            points,
            ..Collectives::default()
        }
    }

    #[test]
    fn wrong_data_takes_the_number() {
        let mut wrong = point(8, &[1.0; 6]);
        assert_eq!(
            rows(&of(vec![wrong.clone()]))[0]
                .time()
                .map(|time| time.value),
            Some(1.0)
        );
        if let CollectiveOutcome::Measured { verification, .. } = &mut wrong.outcome {
            *verification = Verification::WrongData {
                seen: "0".to_owned(),
            };
        }
        assert_eq!(rows(&of(vec![wrong]))[0].time(), None);
    }

    #[test]
    fn a_larger_message_that_is_faster_is_found_by_intervals_that_are_apart() {
        // Six samples: the interval is their range. 9..11, 19..21, 18..20 touches that, 12..14 does not.
        let range = |bytes, us: f64| point(bytes, &[us - 1.0, us, us, us, us, us + 1.0]);
        let points = [(1, 10.0), (2, 20.0), (3, 19.0), (4, 13.0)];
        let record = of(points.map(|(bytes, us)| range(bytes, us)).to_vec());
        let all = rows(&record);
        let found: Vec<_> = faster_though_larger(&all)
            .iter()
            .map(|(smaller, larger)| (smaller.bytes_per_rank, larger.bytes_per_rank))
            .collect();
        assert_eq!(found, [(3, 4)]);
    }
}
