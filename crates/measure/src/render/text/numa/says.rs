//! What the numbers say: what far memory costs, where sizes change the rate, and which binding to use.

use super::super::cell::ABSENT;
use super::super::header::{indented, numbers_right, table};
use super::super::record::line;
use super::places::{alike, kind_words, node_words};
use super::{direction_and_kind, direction_words, label};
use crate::near::{Difference, Penalty, penalties, rate_changes};
use crate::record::{Numa, NumaPoint};
use crate::unit::ByteCount;

/// Far places against the near one.
pub(super) fn near_and_far(numa: &Numa, mark: &str) -> String {
    let all: Vec<Penalty<'_>> = penalties(numa);
    let mut text = String::new();
    if all.is_empty() {
        if let Some(why) = why_no_penalty(numa) {
            line(&mut text, &format!("\nFar against near{mark}: {why}"));
        }
        return text;
    }
    line(
        &mut text,
        &format!(
            "\nFar against near{mark}: far rate over near rate ± wider side of its 95% interval (bootstrap); 1 is no difference"
        ),
    );
    for group in alike(numa, "bandwidth", false) {
        let own: Vec<&Penalty<'_>> = all
            .iter()
            .filter(|one| one.far.device == group[0])
            .collect();
        if own.is_empty() {
            continue;
        }
        let names: Vec<String> = group.iter().map(|device| label(numa, *device)).collect();
        line(&mut text, &format!("  {}", names.join(", ")));
        text.push_str(&ratios(&own));
    }
    for inverted in all
        .iter()
        .filter(|one| one.difference() == Difference::Faster)
    {
        let (direction, kind) = direction_and_kind(inverted.far);
        line(
            &mut text,
            &format!(
                "  INVERSION: {} {}, {}: memory on {} with the thread on {} is {:.1}% faster than near memory [{:.1}, {:.1}]",
                label(numa, inverted.far.device),
                direction_words(direction),
                kind_words(kind),
                node_words(inverted.far.memory_node, None),
                node_words(inverted.far.thread_node, None),
                percent(inverted.ratio.value),
                percent(inverted.ratio.interval.low),
                percent(inverted.ratio.interval.high),
            ),
        );
    }
    text
}

fn percent(ratio: f64) -> f64 {
    (ratio - 1.0) * 100.0
}

/// The ratios of one device: rows are directions and places, columns kinds of memory.
fn ratios(all: &[&Penalty<'_>]) -> String {
    let (mut rows, mut kinds) = (Vec::new(), Vec::new());
    for penalty in all {
        let (direction, kind) = direction_and_kind(penalty.far);
        let row = (direction, penalty.far.memory_node, penalty.far.thread_node);
        if !rows.contains(&row) {
            rows.push(row);
        }
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    let mut table = table();
    let columns = kinds.iter().map(|kind| kind_words(kind).to_owned());
    let title = ["", "memory on", "thread on"].map(str::to_owned);
    table.set_header(title.into_iter().chain(columns));
    rows.sort_by_key(|(direction, ..)| *direction != "h2d");
    for (direction, memory, thread) in rows {
        let cell = |kind: &&str| {
            let is_it = |penalty: &&&Penalty<'_>| {
                let far = penalty.far;
                direction_and_kind(far) == (direction, *kind)
                    && (far.memory_node, far.thread_node) == (memory, thread)
            };
            let Some(penalty) = all.iter().find(is_it) else {
                return ABSENT.to_owned();
            };
            let ratio = penalty.ratio;
            let width = ratio.interval.relative_half_width(ratio.value);
            let width = width.map_or_else(String::new, |width| format!(" ±{:.1}%", width * 100.0));
            format!("{:.3}{width}", ratio.value)
        };
        let row = [
            direction_words(direction).to_owned(),
            node_words(memory, None),
            node_words(thread, None),
        ];
        table.add_row(row.into_iter().chain(kinds.iter().map(cell)));
    }
    numbers_right(&mut table);
    for index in 0..3 {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(comfy_table::CellAlignment::Left);
        }
    }
    indented(&table)
}

/// Why nothing far was compared with near.
fn why_no_penalty(numa: &Numa) -> Option<String> {
    if numa.points.is_empty() {
        return None;
    }
    let nodes = numa
        .machine
        .as_ref()
        .map_or(0, |machine| machine.nodes.len());
    Some(if nodes < 2 {
        "one NUMA node has no far memory; what it can tell is how kinds of memory compare"
            .to_owned()
    } else if numa.devices.iter().all(|device| device.node.is_none()) {
        "the kernel does not say on which node the devices are, so none is near".to_owned()
    } else {
        "no pair of places has memory and thread proven where they were wanted and six samples each"
            .to_owned()
    })
}

/// Sizes at which pageable copies change.
pub(super) fn sizes(numa: &Numa, mark: &str) -> String {
    let mut text = String::new();
    let mut swept: Vec<(usize, &str)> = Vec::new();
    for point in &numa.points {
        let key = (point.device, point.case.as_str());
        let is_other = |other: &&NumaPoint| {
            (other.device, other.case.as_str()) == key && other.bytes != point.bytes
        };
        if point.number("bandwidth").is_some()
            && numa.points.iter().any(|other| is_other(&other))
            && !swept.contains(&key)
        {
            swept.push(key);
        }
    }
    if swept.is_empty() {
        return text;
    }
    line(
        &mut text,
        &format!("\nPageable copies by size{mark}, near memory"),
    );
    let changes = rate_changes(numa);
    for (device, case) in swept {
        let points: Vec<&NumaPoint> = by_size(numa, device, case);
        let rates: Vec<String> = points
            .iter()
            .filter_map(|point| {
                let rate = point.number("bandwidth")?;
                Some(format!(
                    "{} {}",
                    ByteCount(point.bytes),
                    super::super::cell::quantity(rate)
                ))
            })
            .collect();
        let direction = direction_words(direction_and_kind(points[0]).0);
        line(
            &mut text,
            &format!(
                "  {} {direction}, GB/s: {}",
                label(numa, device),
                rates.join(", ")
            ),
        );
        let own = changes
            .iter()
            .filter(|change| (change.above.device, change.above.case.as_str()) == (device, case));
        let mut any = false;
        for change in own {
            any = true;
            line(
                &mut text,
                &format!(
                    "    changes between {} and {}: a copy takes {:.2} times what the sizes below let expect{}",
                    ByteCount(change.below.bytes),
                    ByteCount(change.above.bytes),
                    change.times_expected,
                    known(change.below.bytes),
                ),
            );
        }
        if !any {
            line(
                &mut text,
                "    no change: a fixed cost and one rate explain all sizes",
            );
        }
    }
    text
}

/// What is known to change behind a size.
fn known(bytes: u64) -> &'static str {
    // AMD's runtime (clr, rocsettings.cpp): larger copies pin the user's pages, smaller ones go through a bounce buffer.
    if bytes == 1 << 20 {
        " (AMD's runtime stages copies of up to 1 MiB and pins the pages of larger ones)"
    } else {
        ""
    }
}

fn by_size<'a>(numa: &'a Numa, device: usize, case: &str) -> Vec<&'a NumaPoint> {
    let home = numa.devices.get(device).and_then(|device| device.node);
    let mut points: Vec<&NumaPoint> = numa
        .points
        .iter()
        .filter(|point| point.device == device && point.case == case)
        .filter(|point| point.memory_node == home && point.thread_node == home)
        .collect();
    points.sort_by_key(|point| point.bytes);
    points
}

/// The binding to use.
pub(super) fn binding(numa: &Numa) -> String {
    let Some(binding) = &numa.binding else {
        return String::new();
    };
    let ordinals: Vec<String> = numa
        .devices
        .iter()
        .map(|device| device.ordinal.to_string())
        .collect();
    format!(
        "\nBinding for {}\n  {} PROGRAM\n  cargo xtask numa exec --gpus {} -- PROGRAM\n  {}\n",
        numa.devices
            .iter()
            .map(|device| device.label.as_str())
            .collect::<Vec<_>>()
            .join(", "),
        binding.numactl,
        ordinals.join(","),
        binding.basis
    )
}
