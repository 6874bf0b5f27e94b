//! The numbers of a `tplens numa` record.

use super::cell::{number, run_word, table, verification_word, word_of};
use record::{
    HostMemoryOutcome, HostMemoryPoint, NamedQuantity, Numa, NumaPoint, Outcome, Placement, Record,
    Verification,
};

const COLUMNS: [&str; 20] = [
    "case",
    "quantity",
    "device",
    "memory_node_wanted",
    "memory_node_proven",
    "thread_node_wanted",
    "thread_node_proven",
    "bytes",
    "outcome",
    "median",
    "unit",
    "low",
    "high",
    "n",
    "clock",
    "gate",
    "verification",
    "basis_or_reason",
    "run",
    "simulated",
];

/// One line for each number, a header line first.
pub(super) fn lines(record: &Record, numa: &Numa) -> String {
    let simulated = record.soft_box().unwrap_or_default();
    let run = run_word(&record.status);
    let copies = numa.points.iter().flat_map(|point| of_copy(point, numa));
    let host = numa.host.iter().flat_map(of_host);
    let rows = copies.chain(host).map(|mut row| {
        run.clone_into(&mut row[18]);
        row[19].clone_from(&simulated);
        row
    });
    table(COLUMNS, rows)
}

fn of_copy(point: &NumaPoint, numa: &Numa) -> Vec<[String; 20]> {
    let mut base: [String; 20] = Default::default();
    base[0].clone_from(&point.case);
    let device = numa.devices.get(point.device);
    base[2] = device.map_or_else(String::new, |device| device.label.clone());
    base[3] = node(point.memory_node);
    base[5] = node(point.thread_node);
    base[6] = proven(point.thread.as_ref());
    base[7] = point.bytes.to_string();
    let without = |mut row: [String; 20], outcome: &str, reason: &str| {
        outcome.clone_into(&mut row[8]);
        reason.clone_into(&mut row[17]);
        vec![row]
    };
    match &point.outcome {
        Outcome::Measured {
            quantities,
            verification,
            placement,
            ..
        } => {
            base[4] = proven(placement.as_ref());
            verification_word(verification).clone_into(&mut base[16]);
            base[17] = placement
                .as_ref()
                .map_or_else(String::new, |place| place.basis.clone());
            let is_wrong = matches!(verification, Verification::WrongData { .. });
            with_numbers(&base, quantities, !is_wrong)
        }
        outcome => match outcome.unmeasured() {
            Some((why, seen)) => without(base, why.into(), seen),
            None => Vec::new(),
        },
    }
}

fn of_host(point: &HostMemoryPoint) -> Vec<[String; 20]> {
    let mut base: [String; 20] = Default::default();
    "host_memory".clone_into(&mut base[0]);
    base[3] = node(point.memory_node);
    base[5] = node(point.cpu_node);
    match &point.outcome {
        HostMemoryOutcome::Measured {
            quantities,
            copy_bytes,
            chain_bytes,
            placement,
            thread,
            ..
        } => {
            base[4] = proven(Some(placement));
            base[6] = proven(Some(thread));
            base[17].clone_from(&placement.basis);
            let mut rows = with_numbers(&base, quantities, true);
            for row in &mut rows {
                row[7] = if row[1] == "latency" {
                    chain_bytes.to_string()
                } else {
                    copy_bytes.to_string()
                };
            }
            rows
        }
        HostMemoryOutcome::Failed { reason } => {
            "failed".clone_into(&mut base[8]);
            reason.detail.clone_into(&mut base[17]);
            vec![base]
        }
    }
}

/// A row for each number; one that stands for nothing is left out of its row.
fn with_numbers(
    base: &[String; 20],
    quantities: &[NamedQuantity],
    stands: bool,
) -> Vec<[String; 20]> {
    let row = |named: &NamedQuantity| {
        let mut row = base.clone();
        let quantity = &named.quantity;
        row[1].clone_from(&named.name);
        "measured".clone_into(&mut row[8]);
        if stands {
            row[9] = number(quantity.value);
            row[11] = quantity
                .interval
                .map_or_else(String::new, |i| number(i.low));
            row[12] = quantity
                .interval
                .map_or_else(String::new, |i| number(i.high));
        }
        row[10] = quantity.unit.to_string();
        row[13] = quantity.n.to_string();
        row[14] = word_of(&quantity.timing.source);
        row[15] = word_of(&quantity.timing.gate);
        row
    };
    quantities.iter().map(row).collect()
}

fn node(node: Option<u32>) -> String {
    node.map_or_else(String::new, |node| node.to_string())
}

fn proven(place: Option<&Placement>) -> String {
    node(place.and_then(|place| place.proven))
}
