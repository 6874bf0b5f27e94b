//! A record of `allreduce-bench` as points of a curve.

use super::curve::CurvePoint;
use crate::control;
use crate::import::error::ImportError;
use crate::record::{
    CollectiveOutcome, CollectivePoint, Collectives, Payload, Record, Verification,
};

/// The collectives of a record of `allreduce-bench`.
pub(super) fn payload<'a>(
    record: &'a Record,
    origin: &str,
) -> Result<&'a Collectives, ImportError> {
    match &record.payload {
        Payload::Collectives(collectives) => Ok(collectives),
        other => Err(ImportError::Unusable {
            origin: origin.to_owned(),
            why: format!("holds {}; give a record of allreduce-bench", other.kind()),
        }),
    }
}

/// The points that have a time; one whose data was wrong has none.
pub(super) fn points(record: &Record, origin: &str) -> Result<Vec<CurvePoint>, ImportError> {
    let collectives = payload(record, origin)?;
    let simulated = record.soft_box().map(|name| control::replaced(&name));
    let library = collectives.library.as_ref();
    let library = library.map(|library| control::replaced(&library.name));
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
                library: library.clone(),
                origin: origin.to_owned(),
                simulated: simulated.clone(),
            })
        }
        _ => None,
    };
    Ok(collectives.points.iter().filter_map(of).collect())
}
