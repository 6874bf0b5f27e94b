//! The JSON of nccl-tests (`-J`), versions 1 to 3; its `env`, which holds the whole environment, is not looked at.
//!
//! `devices` lists the first GPU of each process only (src/util.cu parses one line of several), so ranks are threads times
//! GPUs times processes.

use std::collections::BTreeSet;

use serde_json::Value;

use super::nccl::{Measured, Row, Test, version};
use super::value::CallFile;
use crate::error::ImportError;
use crate::source::unused;
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
    of: &Value,
    origin: &str,
    asked: Option<CollectiveKind>,
) -> Result<CallFile, ImportError> {
    let config = &of["config"];
    let devices = || config["devices"].as_array().into_iter().flatten();
    let names = |key: &str| {
        let names = devices().filter_map(|device| device[key].as_str());
        names.map(|name| replaced(name.trim())).collect()
    };
    let number = |key: &str| config[key].as_u64();
    let is_blocking = config["blocking_collectives"] == "true";
    let hosts: Vec<String> = names("hostname");
    let process = |device: &Value| {
        let host = device["hostname"].as_str().map(str::to_owned);
        (host, device["pid"].as_u64())
    };
    let processes: BTreeSet<_> = devices().map(process).collect();
    let ranks = number("nthreads")
        .unwrap_or(1)
        .saturating_mul(number("ngpus").unwrap_or(1))
        .saturating_mul(processes.len().max(1) as u64);
    let mut file = CallFile {
        origin: origin.to_owned(),
        made_by: "nccl-tests".to_owned(),
        started: of["start_time"].as_str().map(replaced),
        library: of["nccl_version"]
            .as_u64()
            .map(|number| format!("nccl {}", version(number))),
        devices: names("device_info"),
        host: hosts.last().cloned(),
        unused: unused(of, &READ),
        ..CallFile::default()
    };
    let results = of["results"].as_array().into_iter().flatten().enumerate();
    let rows: Option<Vec<Row>> = results.map(|(at, result)| row(result, at + 1)).collect();
    let why =
        "has a result without size or time: the file is not whole; run nccl-tests again with -J";
    let rows = rows.ok_or_else(|| ImportError::unusable(origin, why))?;
    let test = Test {
        program: of["args"][0].as_str().map(str::to_owned),
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
    let text = |key: &str| result[key].as_str().map(str::to_owned);
    let root = &result["root"];
    Some(Row {
        place: format!("result {number}"),
        size: result["size"].as_u64()?,
        element: text("type"),
        reduction: text("redop"),
        root: root.as_i64().or_else(|| root.as_str()?.trim().parse().ok()),
        out_of_place: Some(measured(&result["out_of_place"])?),
        in_place: measured(&result["in_place"]),
    })
}

/// One of a result's measurements; `None` where it has no time.
fn measured(of: &Value) -> Option<Measured> {
    let number = |key: &str| {
        let value = &of[key];
        value.as_f64().or_else(|| value.as_str()?.parse().ok())
    };
    Some(Measured {
        // With the flag -C the host's clock is read, under a key of its own.
        us: number("time").or_else(|| number("cpu_time"))?,
        bandwidths: number("alg_bw").zip(number("bus_bw")),
        wrong: number("nwrong"),
    })
}
