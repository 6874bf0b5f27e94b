//! A record of `allreduce-bench` as points of a curve.

use super::curve::CurvePoint;
use crate::import::error::ImportError;
use crate::record::{CollectiveOutcome, CollectivePoint, Payload, Record, Verification};

/// The points that have a time; one whose data was wrong has none.
pub(super) fn points(record: &Record, origin: &str) -> Result<Vec<CurvePoint>, ImportError> {
    let Payload::Collectives(collectives) = &record.payload else {
        let kind = record.payload.kind();
        return Err(ImportError::Unusable {
            origin: origin.to_owned(),
            why: format!("holds {kind}; give a record of allreduce-bench"),
        });
    };
    let simulated = record.soft_box();
    let of = |point: &CollectivePoint| match &point.outcome {
        CollectiveOutcome::Measured { time, verification }
            if !matches!(verification, Verification::WrongData { .. }) =>
        {
            Some(CurvePoint {
                kind: point.kind,
                ranks: point.ranks,
                bytes_per_rank: point.bytes_per_rank,
                us: time.value,
                low: time.interval.map(|interval| interval.low),
                high: time.interval.map(|interval| interval.high),
                n: Some(time.n as u64),
                mode: Some(point.mode),
                origin: origin.to_owned(),
                simulated: simulated.clone(),
            })
        }
        _ => None,
    };
    Ok(collectives.points.iter().filter_map(of).collect())
}
