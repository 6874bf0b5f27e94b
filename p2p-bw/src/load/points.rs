//! What became of a device's load as points of a record.

use measure::caveat::Caveat;
use measure::plan::StopReason;
use measure::quantity::{Gate, Timing};
use measure::record::{
    Endpoint, LOAD_ARITHMETIC, LOAD_MEMORY, LinkUse, Outcome, Point, Verification,
};

use super::messages::{Counted, Loaded};
use super::workers::Came;
use crate::parent::quantities;

/// The two points of the device at a position: its memory and its arithmetic.
pub(super) fn points(position: usize, came: Came, asked_bytes: u64) -> [Point; 2] {
    let point = |case: &str, bytes, outcome, caveats| Point {
        case: case.to_owned(),
        from: Endpoint::Device(position),
        to: Endpoint::Device(position),
        bytes,
        outcome,
        caveats,
    };
    let both = |outcome: Outcome| {
        [LOAD_MEMORY, LOAD_ARITHMETIC]
            .map(|case| point(case, asked_bytes, outcome.clone(), Vec::new()))
    };
    match came {
        Came::Failed(reason) => both(Outcome::Failed { reason }),
        Came::Hung(doing) => both(Outcome::Hang { doing }),
        Came::Loaded(loaded) => {
            let bytes = loaded.bytes;
            let by_copies = loaded.without_kernels.iter().map(|why| Caveat::Note {
                text: format!(
                    "memory was written and compared by copies and not by kernels: {why}"
                ),
            });
            let arithmetic = match &loaded.arithmetic {
                Ok(counted) => outcome(counted, &loaded),
                Err(why) => Outcome::Skipped {
                    reason: format!("multiplying by kernels is not supported: {why}"),
                },
            };
            [
                point(
                    LOAD_MEMORY,
                    bytes,
                    outcome(&loaded.memory, &loaded),
                    by_copies.collect(),
                ),
                point(LOAD_ARITHMETIC, bytes, arithmetic, Vec::new()),
            ]
        }
    }
}

fn outcome(counted: &Counted, loaded: &Loaded) -> Outcome {
    let timing = Timing {
        source: loaded.source,
        gate: Gate::None,
        copies_per_sample: loaded.pieces,
        warmup_copies: loaded.pieces,
    };
    match quantities(counted.series.clone(), timing, StopReason::Budget) {
        Err(reason) => Outcome::Failed { reason },
        Ok(quantities) => Outcome::Measured {
            quantities,
            verification: match &counted.wrong {
                None => Verification::Passed,
                Some(seen) => Verification::WrongData {
                    seen: format!(
                        "wrong in {} of {} passes; {seen}",
                        counted.wrong_passes, loaded.passes
                    ),
                },
            },
            link: LinkUse {
                basis: "within the device, over no link".to_owned(),
                ..LinkUse::default()
            },
            placement: None,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::Series;
    use measure::quantity::{TimeSource, Unit};

    fn counted(unit: Unit, wrong: Option<&str>) -> Counted {
        Counted {
            series: vec![Series {
                name: "write".to_owned(),
                unit,
                source: TimeSource::DeviceEvent,
                samples: vec![3.0, 1.0, 2.0],
            }],
            wrong_passes: u64::from(wrong.is_some()) * 4,
            wrong: wrong.map(str::to_owned),
        }
    }

    fn loaded() -> Loaded {
        Loaded {
            bytes: 64,
            pieces: 4,
            passes: 9,
            source: TimeSource::DeviceEvent,
            memory: counted(
                Unit::GbPerS,
                Some("pass 5: piece 1: 1 of 8 words are wrong"),
            ),
            without_kernels: None,
            arithmetic: Ok(counted(Unit::TflopPerS, None)),
        }
    }

    #[test]
    fn wrong_memory_is_wrong_data_and_says_in_how_many_passes() {
        let [memory, arithmetic] = points(1, Came::Loaded(Box::new(loaded())), 64);
        let Outcome::Measured {
            verification,
            quantities,
            ..
        } = &memory.outcome
        else {
            panic!("{memory:?}")
        };
        let seen = "wrong in 4 of 9 passes; pass 5: piece 1: 1 of 8 words are wrong".to_owned();
        assert_eq!(*verification, Verification::WrongData { seen });
        // The median of 3, 1 and 2.
        assert_eq!(
            (quantities[0].quantity.value, quantities[0].quantity.n),
            (2.0, 3)
        );
        let is_right = |outcome: &Outcome| {
            matches!(
                outcome,
                Outcome::Measured {
                    verification: Verification::Passed,
                    ..
                }
            )
        };
        assert!(is_right(&arithmetic.outcome));
        assert_eq!(arithmetic.from, Endpoint::Device(1));
    }

    #[test]
    fn what_was_not_loaded_is_skipped_with_the_reason_and_never_measured() {
        let without = Loaded {
            without_kernels: Some("no compiler".to_owned()),
            arithmetic: Err("no compiler".to_owned()),
            ..loaded()
        };
        let [memory, arithmetic] = points(0, Came::Loaded(Box::new(without)), 64);
        assert!(
            memory.caveats[0]
                .to_string()
                .contains("by copies and not by kernels: no compiler")
        );
        let reason = "multiplying by kernels is not supported: no compiler".to_owned();
        assert_eq!(arithmetic.outcome, Outcome::Skipped { reason });
        let lost = points(0, Came::Failed("device lost".to_owned()), 64);
        assert!(
            lost.iter()
                .all(|point| matches!(point.outcome, Outcome::Failed { .. }))
        );
        let hung = points(0, Came::Hung("pass 3: no progress for 20 s".to_owned()), 64);
        assert!(
            hung.iter()
                .all(|point| matches!(point.outcome, Outcome::Hang { .. }))
        );
    }
}
