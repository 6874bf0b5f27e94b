//! What collectives carry over a link beside their message: flags by which the receiver sees that data came. No latency is in it.

use measure::record::{CollectivePath, PlannedCollective};

use super::side::LinkSide;
use crate::inputs::Inputs;

/// NCCL's protocols with the bytes that they carry for each byte of a message, which RCCL and MCCL have after it: LL sends a flag of
/// four bytes beside every four, LL128 one of eight beside every 120 (nccl src/include/device.h, `union ncclLLFifoLine` and
/// `NCCL_LL128_DATAELEMS`).
const PROTOCOLS: [(&str, f64); 3] = [("LL", 2.0), ("LL128", 128.0 / 120.0), ("SIMPLE", 1.0)];

/// Variables that choose among them.
const VARIABLES: [&str; 2] = ["NCCL_PROTO", "MCCL_PROTO"];

/// Bytes carried at most for each byte that a collective must send over a link of either side, over all who may do it.
pub(super) fn carried(of: &PlannedCollective, sides: [&LinkSide; 2]) -> f64 {
    let by_library = || {
        let each = sides.map(|side| by_variable(&side.inputs));
        each.into_iter().fold(1.0, f64::max)
    };
    match of.path {
        CollectivePath::Custom if sides.iter().all(|side| is_own_kernel(&side.inputs)) => {
            by_own_kernel(sides[0].inputs.tp)
        }
        // By the engine's rules it is its own kernel, and nobody saw it: a server that found no peer access takes the library.
        CollectivePath::Custom => by_library().max(by_own_kernel(sides[0].inputs.tp)),
        CollectivePath::Library => by_library(),
    }
}

/// An engine's own kernel reads data as it is; in one shot each rank reads every other's whole message, which is n/2 times what the
/// algorithm that moves least does.
fn by_own_kernel(ranks: u32) -> f64 {
    (f64::from(ranks) / 2.0).max(1.0)
}

/// Whether the server's log rules out that the library does what the rules leave to the engine's own kernel.
fn is_own_kernel(inputs: &Inputs) -> bool {
    inputs.log(inputs.tp).is_some_and(|log| log.reduces_itself)
}

/// The most that a protocol carries which the library may choose.
fn by_variable(inputs: &Inputs) -> f64 {
    let set = VARIABLES.iter().find_map(|name| {
        let variable = inputs.seen.variable(name, |value| !value.is_empty())?;
        Some(variable.value.as_str())
    });
    most(set)
}

/// The most among those that a variable leaves, such as `Simple`, `LL,LL128` or `^LL`; all where it is not set or names none.
fn most(set: Option<&str>) -> f64 {
    let of = |is_left: &dyn Fn(&str) -> bool| {
        let left = PROTOCOLS.iter().filter(|(name, _)| is_left(name));
        left.map(|(_, carried)| *carried).fold(0.0, f64::max)
    };
    let all = of(&|_| true);
    let Some(set) = set else {
        return all;
    };
    let (is_without, names) = match set.trim().strip_prefix('^') {
        Some(names) => (true, names),
        None => (false, set),
    };
    let names: Vec<String> = names
        .split(',')
        .map(|name| name.trim().to_ascii_uppercase())
        .collect();
    let left = of(&|name: &str| names.iter().any(|named| named == name) != is_without);
    if left > 0.0 { left } else { all }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_protocol_decides_what_is_carried_beside_a_message() {
        // Four bytes of flag beside four of data; eight beside 120.
        assert_eq!(most(None), 2.0);
        assert_eq!(most(Some("LL")), 2.0);
        assert_eq!(most(Some("Simple")), 1.0);
        let of_128 = 1.0 + 8.0 / 120.0;
        for without_ll in ["^LL", "LL128", "simple, ll128"] {
            assert!(
                (most(Some(without_ll)) - of_128).abs() < 1e-12,
                "{without_ll}"
            );
        }
        // What names none that is known leaves all.
        assert_eq!(most(Some("fast")), 2.0);
    }
}
