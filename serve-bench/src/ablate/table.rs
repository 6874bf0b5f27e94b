//! [`ROWS`]: everything that an ablation can change, a row each.

use boxfile::{Limits, Protocol, Transport};
use explain::Change;

use super::args::AblateArgs;
use super::arm::{Arm, Row, Soft};
use super::place::Place;

/// All of them, the baseline first.
pub(super) static ROWS: [Row; 5] = [
    Row {
        name: "baseline",
        change: Change::Baseline,
        about: "the box as it is",
        variables: &[],
        library_only: false,
        soft: Soft::Limited(Limits::default),
        checks: &[],
        arms: one,
    },
    Row {
        name: "custom-off",
        change: Change::Link,
        about: "the engine leaves all-reduces to the library",
        variables: &[],
        library_only: true,
        soft: Soft::Not(
            "the engine's own all-reduce is not timed on a simulated machine, so every arm runs without it",
        ),
        checks: &[own_is_timed],
        arms: one,
    },
    Row {
        name: "p2p-off",
        change: Change::Link,
        about: "everything between GPUs goes through host memory",
        variables: &[("P2P_DISABLE", "1")],
        library_only: true,
        soft: Soft::Limited(through_host),
        checks: &[has_library, has_peers],
        arms: one,
    },
    Row {
        name: "proto-simple",
        change: Change::Link,
        about: "the library's protocol Simple alone",
        variables: &[("PROTO", "Simple")],
        library_only: true,
        soft: Soft::Limited(simple),
        checks: &[has_library],
        arms: one,
    },
    Row {
        name: "delay",
        change: Change::Delay,
        about: "each all-reduce takes --delays us longer: the positive control",
        variables: &[],
        library_only: true,
        soft: Soft::Limited(Limits::default),
        checks: &[has_library, has_shim],
        arms: delays,
    },
];

/// The names with what they mean, for the long help.
pub(crate) fn help() -> String {
    let mut text = String::from("Names for --arms:\n");
    for row in &ROWS {
        text.push_str(&format!("  {:<13} {}\n", row.name, row.about));
    }
    text.push_str(
        "Arms of delay have names of their own, such as delay-20, which may be given, too.\n",
    );
    text
}

fn one(row: &'static Row, args: &AblateArgs) -> Vec<Arm> {
    vec![Arm::of(row, args.tp)]
}

fn delays(row: &'static Row, args: &AblateArgs) -> Vec<Arm> {
    let of = |us: &u32| Arm {
        name: format!("{}-{us}", row.name),
        delay_us: Some(*us),
        ..Arm::of(row, args.tp)
    };
    args.delays.iter().map(of).collect()
}

fn through_host() -> Limits {
    Limits {
        transport: Some(Transport::Shm),
        ..Limits::default()
    }
}

fn simple() -> Limits {
    Limits {
        protocols: vec![Protocol::Simple],
        ..Limits::default()
    }
}

fn own_is_timed(args: &AblateArgs, place: &Place) -> Option<String> {
    if let Some(reason) = place.own_is_off(args.tp) {
        return Some(format!(
            "the engine leaves all-reduces to the library by itself: {reason}"
        ));
    }
    args.engine_python.is_none().then(|| {
        "its time is not known without --engine-python, so every arm runs without it".to_owned()
    })
}

fn has_library(_: &AblateArgs, place: &Place) -> Option<String> {
    place.names.is_none().then(|| {
        "no collective library whose variables are known does the collectives here".to_owned()
    })
}

fn has_peers(_: &AblateArgs, place: &Place) -> Option<String> {
    (place.around.peer_access == Some(false)).then(|| {
        let reason = &place.around.no_peer_reason;
        let why = if reason.is_empty() {
            "no peer access"
        } else {
            reason
        };
        format!("everything goes through host memory already: {why}")
    })
}

fn has_shim(args: &AblateArgs, place: &Place) -> Option<String> {
    (place.soft.is_none() && args.shim.is_none()).then(|| {
        "the library that adds the delay is not named: give --shim FILE; an archive has it below `shim`, a checkout makes it with `cargo xtask shim`"
            .to_owned()
    })
}
