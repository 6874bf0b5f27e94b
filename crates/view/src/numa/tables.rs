//! The tables of host memory by node: near against far, every point, host memory by CPUs, nodes.

use record::near::{Penalty, penalties};
use record::unit::ByteCount;
use record::{HostMemoryOutcome, Numa, NumaPoint};

use super::points::{direction_and_kind, label};
use crate::cell::{ABSENT, or_absent, range, short, shown, significant, word};
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

/// Every point.
pub(super) fn points(numa: &Numa) -> Option<Section> {
    let mut table = Table::under([
        "case",
        "",
        "size",
        "memory on",
        "thread on",
        "median",
        "unit",
        "95% interval",
        "n",
        "place",
    ]);
    for point in &numa.points {
        let name = ["bandwidth", "pace"]
            .into_iter()
            .find(|name| point.number(name).is_some());
        let quantity = name.and_then(|name| point.number(name));
        let median = match quantity {
            Some(quantity) => significant(quantity.value),
            None => word(point.outcome.unmeasured()).to_owned(),
        };
        table.row([
            point.case.clone(),
            label(numa, point.device),
            ByteCount(point.bytes).to_string(),
            shown(point.memory_node),
            shown(point.thread_node),
            median,
            or_absent(quantity.map(|quantity| quantity.unit.to_string())),
            range(quantity.and_then(|quantity| quantity.interval)),
            or_absent(quantity.map(|quantity| quantity.n.to_string())),
            if point.is_proven() { "proven" } else { ABSENT }.to_owned(),
        ]);
    }
    (!table.rows.is_empty()).then(|| Section::detail("All copies", vec![Block::Table(table)]))
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

/// The nodes with their CPUs, memory and distances.
pub(super) fn nodes(numa: &Numa) -> Option<Section> {
    let nodes = &numa.machine.as_ref()?.nodes;
    let mut table = Table::under(["node", "CPUs", "memory"]);
    let to = nodes.iter().map(|node| format!("to {}", node.id));
    table.heads.extend(to);
    for node in nodes {
        let mut row = vec![
            node.id.to_string(),
            node.cpus.to_string(),
            shown(node.memory_bytes.map(ByteCount)),
        ];
        row.extend(
            nodes
                .iter()
                .map(|other| shown(node.distances.get(&other.id))),
        );
        table.rows.push(row);
    }
    (!table.rows.is_empty()).then(|| Section::detail("NUMA nodes", vec![Block::Table(table)]))
}
