//! What a box's description or its measured links give where there is no curve: collective times, or the rate of a link.

use std::path::Path;

use ::explain::{DESCRIBED, Link};
use boxfile::{BoxFile, CollectiveKind as Kind, CollectiveLibrary};
use import::CurvePoint;
use record::{CallMode, CollectiveKind, Endpoint, Links, Outcome, Payload, load};
use topology::{PathType, PcieLink};

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
            Kind::ReduceScatter => continue,
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
                library: (!own).then(|| DESCRIBED.to_owned()),
                engine: own.then(|| DESCRIBED.to_owned()),
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
            "--links {}: this holds {}, not links of tplens p2p",
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
        .map(|(from, to)| copied(links, *from, *to))
        .collect();
    let slowest = rates.and_then(|rates| rates.into_iter().reduce(f64::min));
    let fabric = all_by_fabric(links, used);
    Ok(slowest.map(|gbps| Link {
        gbps,
        fabric,
        source: file.display().to_string(),
    }))
}

/// Whether each of the first `used` devices reaches each other one over NVLink or another fabric of the GPUs' own: by its path, or
/// because copies are faster than the PCIe links of the two could be.
pub(crate) fn all_by_fabric(links: &Links, used: usize) -> bool {
    let raw = |index: usize| {
        let reading = links.devices.get(index)?.loaded.as_ref()?;
        let seen = [
            reading.device,
            reading.slot,
            reading.card,
            reading.slot_maximum,
        ];
        let raw = seen.into_iter().flatten().map(PcieLink::raw_gb_per_s);
        raw.reduce(f64::max)
    };
    let is_faster = |a: usize, b: usize| {
        let pcie = raw(a).zip(raw(b)).map(|(a, b)| f64::max(a, b));
        let copied = copied(links, a, b).zip(copied(links, b, a));
        pcie.zip(copied)
            .is_some_and(|(pcie, (there, back))| there.min(back) > pcie)
    };
    let mut pairs = (0..used).flat_map(|a| (0..a).map(move |b| (a, b)));
    used > 1
        && pairs.all(|(a, b)| match links.path(a, b) {
            PathType::Nv(_) | PathType::Mx | PathType::Xgmi => true,
            _ => is_faster(a, b),
        })
}

/// GB/s of the fastest way of copies between two devices that was measured, the direct ones first.
fn copied(links: &Links, from: usize, to: usize) -> Option<f64> {
    COPIES.iter().find_map(|case| rate(links, case, from, to))
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Two devices at Gen5 x16 with a copy of so many GB/s each way.
    fn two(gbps: f64) -> Links {
        let link = serde_json::json!({"generation": 5, "width": 16});
        let loaded = serde_json::json!({
            "device": link, "slot": link, "card": link, "slot_maximum": link, "readings": 2, "narrowed_to": null,
            "unreadable": null,
        });
        let device = |n: u32| {
            serde_json::json!({
                "label": format!("GPU{n}"), "ordinal": n, "name": "NVIDIA H200", "uuid": null, "address": null, "node": 0,
                "memory_bytes": null, "mig": null, "idle": null, "loaded": loaded, "max_payload_bytes": null, "busy": null,
            })
        };
        let point = |from: u32, to: u32| {
            let quantity = serde_json::json!({
                "value": gbps, "unit": "GB/s", "n": 1, "interval": null,
                "timing": {"source": "virtual_clock", "gate": "spin_kernel", "copies_per_sample": 4, "warmup_copies": 3},
                "stopped": "max_samples", "samples": [gbps], "outliers": [],
            });
            serde_json::json!({
                "case": "d2d_write_ce", "from": {"device": from}, "to": {"device": to}, "bytes": 1 << 24,
                "outcome": {
                    "is": "measured", "quantities": [{"name": "bandwidth", "quantity": quantity}],
                    "verification": {"is": "passed"}, "placement": null,
                    "link": {"path": "PIX", "ceiling_gb_per_s": null, "fraction": {}, "basis": "a test"},
                },
                "caveats": [],
            })
        };
        let links = serde_json::json!({
            "machine": null, "backend": null, "devices": [device(0), device(1)],
            "paths": [{"a": 0, "b": 1, "path": "PIX"}], "pending": [], "probes": [], "points": [point(0, 1), point(1, 0)],
            "caveats": [],
        });
        serde_json::from_value(links).unwrap()
    }

    #[test]
    fn copies_that_no_pcie_link_could_carry_are_a_fabrics() {
        // Gen5 x16: 16 lanes of 32 GT/s, 128 of 130 bits: 63.0 GB/s.
        assert!(all_by_fabric(&two(354.0), 2));
        assert!(!all_by_fabric(&two(55.0), 2));
        // One device has no pair.
        assert!(!all_by_fabric(&two(354.0), 1));
    }
}
