//! What the numbers say: what far memory costs, and which binding to use.

use std::collections::BTreeSet;

use super::super::cell::ABSENT;
use super::super::header::{indented, numbers_right, table};
use super::super::record::line;
use super::places::{alike, kind_words, node_words};
use super::{direction_and_kind, direction_words, label};
use crate::near::{Difference, NOTICED, Penalty, penalties};
use crate::record::{LinkDevice, Numa, NumaPoint};

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
    let drifted = all.iter().map(|one| one.noticed).fold(0.0, f64::max);
    if drifted > NOTICED {
        line(
            &mut text,
            &format!(
                "  near memory measured again at the end differed by up to {:.0}%: differences of a kind within what it did itself are not named",
                drifted * 100.0
            ),
        );
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
    let is_near = |point: &NumaPoint| {
        let device = numa.devices.get(point.device);
        device.is_some_and(|device| point.memory_node == device.node)
    };
    Some(if nodes < 2 {
        "one NUMA node has no far memory; what it can tell is how kinds of memory compare"
            .to_owned()
    } else if numa.devices.iter().all(|device| device.node.is_none()) {
        "the kernel does not say on which node the devices are, so none is near".to_owned()
    } else if !numa.points.iter().any(is_near) {
        "near memory was not asked for".to_owned()
    } else {
        "no pair of places has memory and thread proven where they were wanted and six samples each"
            .to_owned()
    })
}

/// The binding to use, and what far memory costs in a sentence.
pub(super) fn binding(numa: &Numa, is_whole: bool) -> String {
    let Some(binding) = &numa.binding else {
        return String::new();
    };
    let list = |of: fn(&LinkDevice) -> String, between: &str| {
        let all: Vec<String> = numa.devices.iter().map(of).collect();
        all.join(between)
    };
    let is_host = numa
        .backend
        .as_ref()
        .is_some_and(|backend| backend.name == "host");
    // Devices of host memory are none that `numa exec` could ask a driver for.
    let of_devices = match is_host {
        true => {
            let nodes: Vec<String> = binding.cpu_nodes.iter().map(u32::to_string).collect();
            format!("--node {}", nodes.join(","))
        }
        false => format!("--gpus {}", list(|device| device.ordinal.to_string(), ",")),
    };
    let mut text = format!(
        "\nBinding for {}\n",
        list(|device| device.label.clone(), ", ")
    );
    let nodes = numa
        .machine
        .as_ref()
        .map_or(0, |machine| machine.nodes.len());
    if binding.cpu_nodes.len() > 1 {
        let all = if binding.cpu_nodes.len() == nodes {
            ", which is all there are: as one program it is bound to nothing"
        } else {
            ""
        };
        line(
            &mut text,
            &format!(
                "  the devices are on {} nodes{all}. Each worker belongs on the node of its own device:",
                binding.cpu_nodes.len()
            ),
        );
        let by_rank = if is_host { "" } else { " --per-rank" };
        line(
            &mut text,
            &format!("  cargo xtask numa exec {of_devices}{by_rank} -- PROGRAM"),
        );
        line(
            &mut text,
            &format!("  as one program: {} PROGRAM", binding.numactl),
        );
    } else {
        line(&mut text, &format!("  {} PROGRAM", binding.numactl));
        line(
            &mut text,
            &format!("  cargo xtask numa exec {of_devices} -- PROGRAM"),
        );
    }
    line(&mut text, &format!("  {}", binding.basis));
    if let Some(sentence) = cost(numa, is_whole) {
        line(&mut text, &format!("  {sentence}"));
    }
    text
}

/// What the worst far place costs, for pageable memory and for that which the device reaches itself.
fn cost(numa: &Numa, is_whole: bool) -> Option<String> {
    let all = penalties(numa);
    let devices: BTreeSet<usize> = all.iter().map(|one| one.far.device).collect();
    let devices: Vec<String> = devices.into_iter().map(|at| label(numa, at)).collect();
    let directions: BTreeSet<&str> = all
        .iter()
        .map(|one| direction_words(direction_and_kind(one.far).0))
        .collect();
    let part = part_of(&devices, numa.devices.len(), &directions, is_whole);
    let worst = |pageable: bool| {
        let of = all
            .iter()
            .filter(|one| (direction_and_kind(one.far).1 == "pageable") == pageable)
            .filter(|one| one.difference() == Difference::Slower);
        of.min_by(|a, b| a.ratio.value.total_cmp(&b.ratio.value))
    };
    let words = |one: &Penalty<'_>| {
        format!(
            "{} up to {:.0}% of its rate [{:.0}, {:.0}]",
            kind_words(direction_and_kind(one.far).1),
            -percent(one.ratio.value),
            -percent(one.ratio.interval.high),
            -percent(one.ratio.interval.low),
        )
    };
    let parts: Vec<String> = [worst(true), worst(false)]
        .into_iter()
        .flatten()
        .map(words)
        .collect();
    (!parts.is_empty()).then(|| {
        format!(
            "the wrong node costs {} (the worst place measured, 95% interval{part})",
            parts.join(", and ")
        )
    })
}

/// What a sentence about the worst place is from, where it is not from all that was asked for.
fn part_of(
    devices: &[String],
    asked: usize,
    directions: &BTreeSet<&str>,
    is_whole: bool,
) -> String {
    // Both directions, device to host and host to device.
    if is_whole && devices.len() == asked && directions.len() > 1 {
        return String::new();
    }
    let directions: Vec<&str> = directions.iter().copied().collect();
    let only = if directions.len() == 1 { " only" } else { "" };
    let end = if is_whole { "" } else { "; broken off" };
    format!(
        "; from {}, {}{only}{end}",
        devices.join(", "),
        directions.join(" and ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_part_of_the_measurement_says_names_the_part() {
        let (h2d, d2h) = ("host to device", "device to host");
        let gpus = ["GPU0", "GPU1"].map(str::to_owned);
        let said = |devices, directions: &[&'static str], is_whole| {
            part_of(devices, 2, &directions.iter().copied().collect(), is_whole)
        };
        assert_eq!(
            said(&gpus[..1], &[h2d], false),
            "; from GPU0, host to device only; broken off"
        );
        assert_eq!(
            said(&gpus[..1], &[h2d, d2h], true),
            "; from GPU0, device to host and host to device"
        );
        assert_eq!(said(&gpus, &[h2d, d2h], true), "");
    }
}
