//! The JSON of nccl-tests (`-J`), versions 1 to 3; its `env`, which holds the whole environment, is not looked at.
//!
//! `devices` lists the first GPU of each process only (src/util.cu parses one line of several), so ranks are threads times
//! GPUs times processes.

use serde_json::Value;

use super::nccl::{Measured, Row, Test, kind, version};
use super::value::CallFile;
use crate::control::replaced;
use crate::import::error::ImportError;
use crate::import::fields::Fields;
use crate::record::CallMode;

/// The values of a file.
pub(super) fn file(fields: &Fields) -> Result<CallFile, ImportError> {
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
        kind: kind(program),
        ranks: ranks(&config)?,
        mode: match (is_blocking, is_graph) {
            (true, _) => CallMode::HostSynced,
            (false, true) => CallMode::Graph,
            (false, false) => CallMode::BackToBack,
        },
        ..Test::unknown(origin)
    };
    let results = fields
        .value("results")
        .and_then(Value::as_array)
        .ok_or_else(|| fields.missing("`results`", next))?;
    let mut file = CallFile {
        origin: origin.to_owned(),
        made_by: "nccl-tests".to_owned(),
        started: fields.text("start_time").as_deref().map(replaced),
        library: fields
            .count("nccl_version")?
            .map(|number| format!("nccl {}", version(number))),
        devices: devices(&config)
            .filter_map(|device| device.get("device_info")?.as_str())
            .map(|name| replaced(name.trim()))
            .collect(),
        host: devices(&config)
            .filter_map(|device| device.get("hostname")?.as_str())
            .last()
            .map(replaced),
        ..CallFile::default()
    };
    for (index, result) in results.iter().enumerate() {
        let Some(result) = result.as_object() else {
            continue;
        };
        let result = Fields {
            origin,
            map: result,
        };
        test.add(&mut file, &row(&result, index + 1)?)?;
    }
    Ok(file)
}

fn row(result: &Fields, number: usize) -> Result<Row, ImportError> {
    let next = "the file is not whole; run nccl-tests again";
    let size = result
        .count("size")?
        .ok_or_else(|| result.missing("`size` of a result", next))?;
    let place = |key: &str| {
        let map = result.value(key).and_then(Value::as_object);
        map.map(|map| Fields {
            origin: result.origin,
            map,
        })
    };
    let out_of_place =
        place("out_of_place").ok_or_else(|| result.missing("`out_of_place` of a result", next))?;
    let missing = || result.missing("`out_of_place.time` of a result", next);
    Ok(Row {
        place: format!("result {number}"),
        size,
        element: result.text("type"),
        out_of_place: Some(measured(&out_of_place)?.ok_or_else(missing)?),
        in_place: match place("in_place") {
            Some(in_place) => measured(&in_place)?,
            None => None,
        },
    })
}

/// One of a result's measurements; `None` where it has no time.
fn measured(of: &Fields) -> Result<Option<Measured>, ImportError> {
    // With the flag -C the host's clock is read, under a key of its own.
    let Some(us) = of.number("time")?.or(of.number("cpu_time")?) else {
        return Ok(None);
    };
    Ok(Some(Measured {
        us,
        bandwidths: of.number("alg_bw")?.zip(of.number("bus_bw")?),
        wrong: of.number("nwrong")?.unwrap_or(0.0),
    }))
}

/// What the file lists of the processes' first GPUs.
fn devices<'a>(config: &Fields<'a>) -> impl Iterator<Item = &'a Value> {
    let listed = config.map.get("devices").and_then(Value::as_array);
    listed.into_iter().flatten()
}

/// Threads times GPUs of each times processes.
fn ranks(config: &Fields) -> Result<u32, ImportError> {
    let mut processes: Vec<(&str, u64)> = devices(config)
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
