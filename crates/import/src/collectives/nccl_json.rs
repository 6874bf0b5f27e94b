//! The JSON of nccl-tests (`-J`), versions 1 to 3; its `env`, which holds the whole environment, is not looked at.
//!
//! `devices` lists the first GPU of each process only (src/util.cu parses one line of several), so ranks are threads times
//! GPUs times processes.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::nccl::{Measured, Row, Test, version};
use super::value::CallFile;
use crate::error::ImportError;
use record::CallMode;
use record::CollectiveKind;
use record::control::replaced;

/// Keys of the file that are read, or known to say nothing of a time.
#[rustfmt::skip]
const READ: [&str; 8] = [
    "args", "config", "env", "end_time", "nccl_version", "results", "start_time", "version",
];

/// The values of a file.
pub(super) fn file(
    map: &Map<String, Value>,
    origin: &str,
    asked: Option<CollectiveKind>,
) -> Result<CallFile, ImportError> {
    let none = Map::new();
    let config = map
        .get("config")
        .and_then(Value::as_object)
        .unwrap_or(&none);
    let devices: Vec<&Value> = config
        .get("devices")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .collect();
    let names = |key: &str| {
        devices
            .iter()
            .filter_map(|device| device.get(key)?.as_str())
            .map(|name| replaced(name.trim()))
            .collect()
    };
    let number = |key: &str| config.get(key).and_then(Value::as_u64);
    let is_blocking = config.get("blocking_collectives").and_then(Value::as_str) == Some("true");
    let hosts: Vec<String> = names("hostname");
    let process = |device: &&Value| {
        let pid = device.get("pid").and_then(Value::as_u64);
        let host = device.get("hostname").and_then(Value::as_str);
        (host.map(str::to_owned), pid)
    };
    let processes: BTreeSet<_> = devices.iter().map(process).collect();
    let ranks = number("nthreads")
        .unwrap_or(1)
        .saturating_mul(number("ngpus").unwrap_or(1))
        .saturating_mul(processes.len().max(1) as u64);
    let mut file = CallFile {
        origin: origin.to_owned(),
        made_by: "nccl-tests".to_owned(),
        started: map.get("start_time").and_then(Value::as_str).map(replaced),
        library: map
            .get("nccl_version")
            .and_then(Value::as_u64)
            .map(|number| format!("nccl {}", version(number))),
        devices: names("device_info"),
        host: hosts.last().cloned(),
        unused: map
            .keys()
            .filter(|key| !READ.contains(&key.as_str()))
            .map(|key| replaced(key))
            .collect(),
        ..CallFile::default()
    };
    let results = map.get("results").and_then(Value::as_array);
    let rows: Option<Vec<Row>> = results
        .into_iter()
        .flatten()
        .enumerate()
        .map(|(index, result)| row(result, index + 1))
        .collect();
    let why =
        "has a result without size or time: the file is not whole; run nccl-tests again with -J";
    let rows = rows.ok_or_else(|| ImportError::unusable(origin, why))?;
    let test = Test {
        program: map
            .get("args")
            .and_then(|args| args.get(0)?.as_str())
            .map(str::to_owned),
        ranks: u32::try_from(ranks).ok(),
        mode: match (is_blocking, number("graph").unwrap_or(0)) {
            (true, _) => Some(CallMode::HostSynced),
            (false, 0) => None,
            (false, _) => Some(CallMode::Graph),
        },
        rows,
        ..Test::default()
    };
    test.add_to(&mut file, asked)?;
    Ok(file)
}

fn row(result: &Value, number: usize) -> Option<Row> {
    let text = |key: &str| result.get(key).and_then(Value::as_str).map(str::to_owned);
    Some(Row {
        place: format!("result {number}"),
        size: result.get("size")?.as_u64()?,
        element: text("type"),
        reduction: text("redop"),
        root: result
            .get("root")
            .and_then(|root| root.as_i64().or_else(|| root.as_str()?.trim().parse().ok())),
        out_of_place: Some(measured(result.get("out_of_place")?)?),
        in_place: result.get("in_place").and_then(measured),
    })
}

/// One of a result's measurements; `None` where it has no time.
fn measured(of: &Value) -> Option<Measured> {
    let number = |key: &str| {
        let value = of.get(key)?;
        value.as_f64().or_else(|| value.as_str()?.parse().ok())
    };
    Some(Measured {
        // With the flag -C the host's clock is read, under a key of its own.
        us: number("time").or_else(|| number("cpu_time"))?,
        bandwidths: number("alg_bw").zip(number("bus_bw")),
        wrong: number("nwrong"),
    })
}
