//! What a box's description or its measured links give where there is no curve: collective times, or the rate of a link.

use std::path::Path;

use ::explain::Link;
use boxfile::{BoxFile, CollectiveKind as Kind, CollectiveLibrary};
use measure::import::CurvePoint;
use measure::record::{CallMode, CollectiveKind, Endpoint, Links, Outcome, Payload, load};
use topology::PathType;

/// Copies between two devices by the copy engine, the direct ones first.
const COPIES: [&str; 4] = [
    "d2d_write_ce",
    "d2d_read_ce",
    "d2d_staged_ce",
    "d2d_driver_staged_ce",
];

/// The collective times that a box file states, as points of a simulated box.
pub(super) fn curve_of(described: &BoxFile) -> Vec<CurvePoint> {
    let library = described.collective_library();
    let mut points = Vec::new();
    for table in &described.collective {
        let kind = match table.kind {
            Kind::AllReduce => CollectiveKind::AllReduce,
            Kind::AllGather => CollectiveKind::AllGather,
            Kind::ReduceScatter | Kind::Broadcast | Kind::SendRecv => continue,
        };
        let own = table.library == CollectiveLibrary::Custom;
        for (bytes, _) in &table.points {
            // The library takes the fastest of its tables; another table of the same size gives the same point.
            let taken = if own { Some(table.library) } else { library };
            let us = taken
                .and_then(|taken| described.collective_us(taken, table.kind, table.ranks, *bytes));
            let Some(us) = us else { continue };
            let point = CurvePoint {
                kind,
                ranks: table.ranks,
                bytes_per_rank: *bytes,
                us,
                low: None,
                high: None,
                n: None,
                mode: Some(CallMode::Graph),
                library: (!own).then(|| "described".to_owned()),
                engine: own.then(|| "described".to_owned()),
                origin: format!("box file {}", described.name),
                simulated: Some(described.name.clone()),
            };
            if !points.contains(&point) {
                points.push(point);
            }
        }
    }
    points
}

/// The slowest link between the first devices of a described box.
pub(super) fn described_link(described: &BoxFile, ranks: usize) -> Option<Link> {
    let pairs = (0..ranks).flat_map(|a| (0..a).map(move |b| (a, b)));
    let paths: Vec<_> = pairs.map(|(a, b)| described.peer_path(a, b)).collect();
    let rates: Option<Vec<f64>> = paths.iter().map(|path| path.gbps).collect();
    Some(Link {
        gbps: rates?.into_iter().reduce(f64::min)?,
        fabric: paths.iter().all(|path| path.fabric),
        source: format!("box file {}", described.name),
    })
}

/// The slowest link between the first devices of a record: of each pair the fastest copy, direct where there is one.
///
/// # Errors
/// The file is no record of links.
pub(super) fn measured_link(file: &Path, ranks: usize) -> Result<Option<Link>, String> {
    let record = load(file).map_err(|error| error.to_string())?;
    let Payload::Links(links) = &record.payload else {
        return Err(format!(
            "--links {}: this holds {}, not links of p2p-bw",
            file.display(),
            record.payload.kind()
        ));
    };
    let used = ranks.min(links.devices.len());
    let pairs: Vec<(usize, usize)> = (0..used)
        .flat_map(|from| (0..used).map(move |to| (from, to)))
        .filter(|(from, to)| from != to)
        .collect();
    let rates: Option<Vec<f64>> = pairs
        .iter()
        .map(|(from, to)| COPIES.iter().find_map(|case| rate(links, case, *from, *to)))
        .collect();
    let slowest = rates.and_then(|rates| rates.into_iter().reduce(f64::min));
    let fabric = pairs.iter().all(|(from, to)| {
        matches!(
            links.path(*from, *to),
            PathType::Nv(_) | PathType::Mx | PathType::Xgmi
        )
    });
    Ok(slowest.map(|gbps| Link {
        gbps,
        fabric,
        source: file.display().to_string(),
    }))
}

/// GB/s of the largest copy of that case between two devices.
fn rate(links: &Links, case: &str, from: usize, to: usize) -> Option<f64> {
    let ends = (Endpoint::Device(from), Endpoint::Device(to));
    let of_pair = links
        .points
        .iter()
        .filter(|point| point.case == case && (point.from, point.to) == ends);
    let measured = of_pair.filter_map(|point| match &point.outcome {
        Outcome::Measured { quantities, .. } => {
            let bandwidth = quantities.iter().find(|named| named.name == "bandwidth")?;
            Some((point.bytes, bandwidth.quantity.value))
        }
        _ => None,
    });
    measured
        .max_by_key(|(bytes, _)| *bytes)
        .map(|(_, rate)| rate)
}
