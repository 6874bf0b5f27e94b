//! The JSON of nccl-tests (`-J`), versions 1 to 3; its `env`, which holds the whole environment, is not looked at.
//!
//! `devices` lists the first GPU of each process only (src/util.cu parses one line of several), so ranks are threads times
//! GPUs times processes.

use serde_json::Value;

use super::curve::CurvePoint;
use super::nccl::{Row, Test, kind};
use crate::import::error::ImportError;
use crate::import::fields::Fields;
use crate::record::CallMode;

/// The points of a file.
pub(super) fn points(fields: &Fields) -> Result<Vec<CurvePoint>, ImportError> {
    let origin = fields.origin;
    let next = "run nccl-tests again with -J";
    let object = |key: &str| {
        let value = fields.value(key).and_then(Value::as_object);
        value.ok_or_else(|| fields.missing(&format!("`{key}`"), next))
    };
    let config = Fields {
        origin,
        map: object("config")?,
    };
    let program = fields
        .value("args")
        .and_then(|args| args.get(0)?.as_str())
        .unwrap_or_default();
    let is_graph = config.count("graph")?.is_some_and(|launches| launches > 0);
    let is_blocking = config
        .text("blocking_collectives")
        .is_some_and(|word| word == "true");
    let test = Test {
        origin,
        kind: kind(program),
        ranks: ranks(&config)?,
        mode: match (is_blocking, is_graph) {
            (true, _) => CallMode::HostSynced,
            (false, true) => CallMode::Graph,
            (false, false) => CallMode::BackToBack,
        },
    };
    let results = fields
        .value("results")
        .and_then(Value::as_array)
        .ok_or_else(|| fields.missing("`results`", next))?;
    let mut points = Vec::new();
    for (index, result) in results.iter().enumerate() {
        let Some(result) = result.as_object() else {
            continue;
        };
        let result = Fields {
            origin,
            map: result,
        };
        points.extend(test.point(&row(&result, index + 1)?)?);
    }
    Ok(points)
}

fn row(result: &Fields, number: usize) -> Result<Row, ImportError> {
    let next = "the file is not whole; run nccl-tests again";
    let size = result
        .count("size")?
        .ok_or_else(|| result.missing("`size` of a result", next))?;
    let out_of_place = Fields {
        origin: result.origin,
        map: result
            .value("out_of_place")
            .and_then(Value::as_object)
            .ok_or_else(|| result.missing("`out_of_place` of a result", next))?,
    };
    let us = out_of_place
        .number("time")?
        .ok_or_else(|| result.missing("`out_of_place.time` of a result", next))?;
    let algorithm = out_of_place.number("alg_bw")?;
    Ok(Row {
        place: format!("result {number}"),
        size,
        us,
        bandwidths: algorithm.zip(out_of_place.number("bus_bw")?),
        wrong: out_of_place.number("nwrong")?.unwrap_or(0.0),
    })
}

/// Threads times GPUs of each times processes.
fn ranks(config: &Fields) -> Result<u32, ImportError> {
    let mut processes: Vec<(&str, u64)> = config
        .value("devices")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(|device| {
            let pid = device.get("pid")?.as_u64()?;
            Some((device.get("hostname")?.as_str()?, pid))
        })
        .collect();
    processes.sort_unstable();
    processes.dedup();
    let threads = config.count("nthreads")?.unwrap_or(1);
    let gpus = config.count("ngpus")?.unwrap_or(1);
    let ranks = threads
        .checked_mul(gpus)
        .and_then(|ranks| ranks.checked_mul(processes.len().max(1) as u64));
    ranks
        .and_then(|ranks| u32::try_from(ranks).ok())
        .ok_or_else(|| config.nonsense("ngpus", &Value::from(gpus), "a number of GPUs"))
}
