//! The numbers of a `tplens numa` record.

use super::cell::{
    Column, high, low, outcome, run, shown, simulated, table, verification, word_of,
};
use record::quantity::Quantity;
use record::{
    HostMemoryOutcome, HostMemoryPoint, NamedQuantity, Numa, NumaPoint, Outcome, Placement, Record,
    Verification,
};

/// A node that was wanted, and where the thing was.
type Node<'a> = (Option<u32>, Option<&'a Placement>);

/// One number of a point, or a point without one.
#[derive(Clone)]
struct Line<'a> {
    record: &'a Record,
    case: &'a str,
    device: &'a str,
    memory: Node<'a>,
    thread: Node<'a>,
    bytes: Option<u64>,
    outcome: &'static str,
    reason: &'a str,
    verification: Option<&'a Verification>,
    named: Option<&'a NamedQuantity>,
}

/// One line for each number, a header line first.
pub(super) fn lines(record: &Record, numa: &Numa) -> String {
    let columns: [Column<Line<'_>>; 20] = [
        ("case", |of| of.case.to_owned()),
        ("quantity", |of| shown(of.named.map(|of| &of.name))),
        ("device", |of| of.device.to_owned()),
        ("memory_node_wanted", |of| shown(of.memory.0)),
        ("memory_node_proven", |of| proven(of.memory)),
        ("thread_node_wanted", |of| shown(of.thread.0)),
        ("thread_node_proven", |of| proven(of.thread)),
        ("bytes", |of| shown(of.bytes)),
        ("outcome", |of| of.outcome.to_owned()),
        ("median", |of| shown(of.sound().map(|sound| sound.value))),
        ("unit", |of| shown(of.named.map(|of| of.quantity.unit))),
        ("low", |of| low(of.sound())),
        ("high", |of| high(of.sound())),
        ("n", |of| shown(of.named.map(|of| of.quantity.n))),
        ("clock", |of| {
            word_of(of.named.map(|of| &of.quantity.timing.source))
        }),
        ("gate", |of| {
            word_of(of.named.map(|of| &of.quantity.timing.gate))
        }),
        ("verification", |of| verification(of.verification)),
        ("basis_or_reason", |of| of.reason.to_owned()),
        ("run", |of| run(of.record)),
        ("simulated", |of| simulated(of.record)),
    ];
    let copies = numa.points.iter();
    let copies = copies.flat_map(|point| of_copy(record, numa, point));
    let host = numa.host.iter().flat_map(|point| of_host(record, point));
    table(&columns, copies.chain(host))
}

impl<'a> Line<'a> {
    /// The number; one that belongs to wrong data stands for nothing and is not written.
    fn sound(&self) -> Option<&'a Quantity> {
        let is_wrong = matches!(self.verification, Some(Verification::WrongData { .. }));
        self.named
            .filter(|_| !is_wrong)
            .map(|named| &named.quantity)
    }
}

fn proven((_, place): Node<'_>) -> String {
    shown(place.and_then(|place| place.proven))
}

fn of_copy<'a>(record: &'a Record, numa: &'a Numa, point: &'a NumaPoint) -> Vec<Line<'a>> {
    let device = numa.devices.get(point.device);
    let (outcome, reason) = outcome(point.outcome.unmeasured());
    let line = Line {
        record,
        case: &point.case,
        device: device.map_or("", |device| &device.label),
        memory: (point.memory_node, None),
        thread: (point.thread_node, point.thread.as_ref()),
        bytes: Some(point.bytes),
        outcome,
        reason,
        verification: None,
        named: None,
    };
    let Outcome::Measured {
        quantities,
        verification,
        placement,
        ..
    } = &point.outcome
    else {
        return vec![line];
    };
    let of = |named| Line {
        memory: (point.memory_node, placement.as_ref()),
        reason: placement.as_ref().map_or("", |place| &place.basis),
        verification: Some(verification),
        named: Some(named),
        ..line.clone()
    };
    quantities.iter().map(of).collect()
}

fn of_host<'a>(record: &'a Record, point: &'a HostMemoryPoint) -> Vec<Line<'a>> {
    let line = Line {
        record,
        case: "host_memory",
        device: "",
        memory: (point.memory_node, None),
        thread: (point.cpu_node, None),
        bytes: None,
        outcome: "measured",
        reason: "",
        verification: None,
        named: None,
    };
    match &point.outcome {
        HostMemoryOutcome::Measured {
            quantities,
            copy_bytes,
            chain_bytes,
            placement,
            thread,
            ..
        } => {
            let of = |named: &'a NamedQuantity| Line {
                memory: (point.memory_node, Some(placement)),
                thread: (point.cpu_node, Some(thread)),
                bytes: Some(match named.name.as_str() {
                    "latency" => *chain_bytes,
                    _ => *copy_bytes,
                }),
                reason: &placement.basis,
                named: Some(named),
                ..line.clone()
            };
            quantities.iter().map(of).collect()
        }
        HostMemoryOutcome::Failed { reason } => vec![Line {
            outcome: "failed",
            reason: &reason.detail,
            ..line
        }],
    }
}
