//! The tables of host memory by node: near against far, and host memory by CPUs. Every point stands in the CSV.

use record::near::{Penalty, penalties};
use record::unit::ByteCount;
use record::{HostMemoryOutcome, Numa, NumaPoint};

use crate::cell::{ABSENT, or_absent, short, shown, significant};
use crate::document::{Block, Section, Table};

/// Rates of each device near and at its worst far place.
pub(super) fn near_and_far(numa: &Numa) -> Option<Section> {
    let all = penalties(numa);
    let size = ByteCount(numa.copy_bytes?);
    let mut table = Table::under([
        "",
        "node",
        "direction",
        "pinned near",
        "worst far",
        "pageable near",
        "worst far",
    ]);
    for (at, device) in numa.devices.iter().enumerate() {
        for (direction, words) in [("h2d", "host to device"), ("d2h", "device to host")] {
            let of = |kind: &str| {
                let is_it = |point: &NumaPoint| {
                    point.device == at && direction_and_kind(point) == (direction, kind)
                };
                let near = numa.points.iter().find(|point| {
                    let home = device.node;
                    is_it(point)
                        && Some(point.bytes) == numa.copy_bytes
                        && (point.memory_node, point.thread_node) == (home, home)
                });
                let far = all.iter().filter(|one| is_it(one.far));
                let by_ratio =
                    |a: &&Penalty<'_>, b: &&Penalty<'_>| a.ratio.value.total_cmp(&b.ratio.value);
                let far = far.min_by(by_ratio);
                let rate = |point: &NumaPoint| Some(short(point.proven("bandwidth")?.value));
                let far = far.and_then(|one| {
                    let percent = (one.ratio.value - 1.0) * 100.0;
                    Some(format!("{} ({percent:+.0}%)", rate(one.far)?))
                });
                [or_absent(near.and_then(rate)), or_absent(far)]
            };
            let ([a, b], [c, d]) = (of("pinned"), of("pageable"));
            if [&a, &b, &c, &d].iter().any(|cell| *cell != ABSENT) {
                let node = shown(device.node);
                table.row([device.label.clone(), node, words.to_owned(), a, b, c, d]);
            }
        }
    }
    let heading = format!("Copies of {size}, GB/s");
    (!table.rows.is_empty()).then(|| Section::new(heading, vec![Block::Table(table)]))
}

/// Host memory as the CPUs of each node see it.
pub(super) fn host(numa: &Numa) -> Option<Section> {
    let mut table = Table::under(["CPUs of node", "memory of node", "copy GB/s", "load ns"]);
    for point in &numa.host {
        let HostMemoryOutcome::Measured { quantities, .. } = &point.outcome else {
            continue;
        };
        let of = |name: &str| {
            let named = quantities.iter().find(|named| named.name == name);
            or_absent(named.map(|named| significant(named.quantity.value)))
        };
        let (cpus, memory) = (shown(point.cpu_node), shown(point.memory_node));
        table.row([cpus, memory, of("bandwidth"), of("latency")]);
    }
    let heading = "Host memory by one thread";
    (!table.rows.is_empty()).then(|| Section::detail(heading, vec![Block::Table(table)]))
}

/// What a case's key says: direction and kind of memory, such as `pinned`.
pub(super) fn direction_and_kind(point: &NumaPoint) -> (&str, &str) {
    let key = point.case.as_str();
    let key = key.strip_prefix("small_copy_").unwrap_or(key);
    let key = key.strip_suffix("_ce").unwrap_or(key);
    key.split_once('_').unwrap_or((key, "pinned"))
}

/// The label of a device.
pub(super) fn label(numa: &Numa, device: usize) -> String {
    let device = numa.devices.get(device);
    device.map_or_else(|| "?".to_owned(), |device| device.label.clone())
}
