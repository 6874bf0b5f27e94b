//! What is asked with `--what-if`: files and boxes are read here, the rest is the explanation's own language.

use std::path::Path;

use ::explain::{By, Substitution};
use boxfile::{BoxFile, CollectiveLibrary};
use import::{CurvePoint, collectives};
use record::{CallMode, CollectiveKind};

/// Sizes that a box file's tables are read at: every doubling from 4 KiB to 32 MiB, as published curves have them.
const SIZES: std::ops::RangeInclusive<u32> = 12..=25;

/// What `--what-if` names, in the order given.
///
/// # Errors
/// A file or box that cannot be read, or words that mean nothing; in words.
pub(super) fn asked(texts: &[String], tp: u32) -> Result<Vec<Substitution>, String> {
    texts
        .iter()
        .map(|text| {
            let by = one(text, tp).map_err(|why| format!("--what-if {text}: {why}"))?;
            Ok(Substitution {
                asked: text.clone(),
                by,
            })
        })
        .collect()
}

fn one(text: &str, tp: u32) -> Result<By, String> {
    let (key, value) = text.split_once('=').unwrap_or((text, ""));
    match key {
        "curve" => {
            let points = collectives::read(Path::new(value)).map_err(|error| error.to_string())?;
            Ok(By::Curve { points })
        }
        "box" => described(value, tp),
        _ => text.parse::<By>().map_err(|error| error.to_string()),
    }
}

/// The collectives of a box file, as points of a curve in a graph: its times have no launch cost.
fn described(name: &str, tp: u32) -> Result<By, String> {
    let described = BoxFile::resolve(name).map_err(|error| error.to_string())?;
    let around = ::engine::surroundings(&described, tp).map_err(|error| error.to_string())?;
    let library = described
        .collective_library()
        .ok_or_else(|| format!("the box {name} says nothing of collectives"))?;
    let tables = [
        (
            boxfile::CollectiveKind::AllReduce,
            CollectiveKind::AllReduce,
        ),
        (
            boxfile::CollectiveKind::AllGather,
            CollectiveKind::AllGather,
        ),
    ];
    let point = |of: CollectiveLibrary, (kind, as_kind), bytes: u64| {
        let us = described.collective_us(of, kind, tp, bytes)?;
        Some(CurvePoint {
            kind: as_kind,
            ranks: tp,
            bytes_per_rank: bytes,
            us,
            low: None,
            high: None,
            n: None,
            mode: Some(CallMode::Graph),
            library: None,
            engine: (of == CollectiveLibrary::Custom)
                .then(|| format!("an engine, by the box file {name}")),
            origin: format!("box file {name}"),
            simulated: None,
        })
    };
    let sizes = || SIZES.map(|power| 1u64 << power);
    let points: Vec<CurvePoint> = [library, CollectiveLibrary::Custom]
        .into_iter()
        .flat_map(|of| tables.map(|table| (of, table)))
        .flat_map(|(of, table)| sizes().map(move |bytes| (of, table, bytes)))
        .filter_map(|(of, table, bytes)| point(of, table, bytes))
        .collect();
    if points.is_empty() {
        return Err(format!(
            "the box {name} has no collective times for {tp} GPUs"
        ));
    }
    Ok(By::Box {
        points,
        around: Box::new(around),
    })
}
