//! One case: its title, a row per device or stream, a matrix over pairs or a row per size, and what its numbers mean.

use super::cell::{fraction, names, number};
use super::ends::{is_group, pair};
use super::notes::notes;
use super::record::line;
use super::{matrix::matrix, rows::rows, sweep::sweep};
use crate::quantity::{Gate, Quantity, TimeSource, Timing};
use crate::record::{LOAD_ARITHMETIC, LOAD_MEMORY, Links, Outcome, Point};
use crate::unit::ByteCount;

pub(super) fn case(key: &str, points: &[&Point], links: &Links, soft: bool) -> String {
    let sizes = sizes(points);
    let mark = if soft { " [simulated]" } else { "" };
    let mut text = String::new();
    if let Some(reason) = same_refusal(points) {
        line(&mut text, &format!("{key}{mark}: {reason}"));
        return text;
    }
    let is_sweep = sizes.len() > 1;
    let has_fraction = points.iter().any(|point| {
        names(&[point])
            .into_iter()
            .any(|name| fraction(point, name).is_some())
    });
    let unit = unit(points);
    let mut title: Vec<String> = unit.iter().cloned().collect();
    match sizes[..] {
        [size] if names(points).contains(&"latency") => {
            title.push(format!("a chain of {}", ByteCount(size)));
        }
        _ if key == LOAD_ARITHMETIC => {}
        [size] if key == LOAD_MEMORY => {
            title.push(format!("{} over and over", ByteCount(size)));
        }
        [size] => title.push(format!("{} a copy", ByteCount(size))),
        _ => {}
    }
    title.push("median ± wider side of its 95% interval".to_owned());
    if is_sweep {
        title.extend(counts(points));
        title.extend(has_fraction.then(|| "% of the ceiling".to_owned()));
    }
    // What a chase is stands in its legend.
    let is_chase = names(points).contains(&"latency");
    let engine = if key.ends_with("_sm") && !is_chase {
        " (kernel)"
    } else {
        ""
    };
    line(
        &mut text,
        &format!("{key}{engine}{mark}: {}", title.join(", ")),
    );
    if is_sweep {
        text.push_str(&sweep(points, &sizes, links));
    } else if points.iter().any(|point| pair(point).is_some()) {
        text.push_str(&matrix(points, links));
    } else {
        text.push_str(&rows(points, links, unit.as_deref().unwrap_or_default()));
    }
    legends(points, soft)
        .iter()
        .chain(&notes(points, links, is_sweep))
        .for_each(|note| line(&mut text, &format!("  {note}")));
    text
}

/// The unit of the case's numbers; `None` where there are none.
fn unit(points: &[&Point]) -> Option<String> {
    let mut units: Vec<String> = Vec::new();
    for quantity in points.iter().flat_map(|point| quantities(point)) {
        let unit = quantity.unit.to_string();
        if !units.contains(&unit) {
            units.push(unit);
        }
    }
    (!units.is_empty()).then(|| units.join(" or "))
}

/// The numbers of a point, also those that stand for nothing because data was wrong.
fn quantities(point: &Point) -> impl Iterator<Item = &Quantity> {
    let named = match &point.outcome {
        Outcome::Measured { quantities, .. } => quantities.as_slice(),
        _ => &[],
    };
    named.iter().map(|named| &named.quantity)
}

/// `n=6` or `n=6..20`: how many samples the numbers have.
fn counts(points: &[&Point]) -> Option<String> {
    let counts = points.iter().flat_map(|point| {
        names(&[point])
            .into_iter()
            .filter_map(|name| number(point, name))
    });
    let counts: Vec<usize> = counts.map(|quantity| quantity.n).collect();
    match (counts.iter().min(), counts.iter().max()) {
        (Some(least), Some(most)) if least == most => Some(format!("n={least}")),
        (Some(least), Some(most)) => Some(format!("n={least}..{most}")),
        _ => None,
    }
}

fn sizes(points: &[&Point]) -> Vec<u64> {
    let mut sizes: Vec<u64> = points.iter().map(|point| point.bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// The one reason why no point of the case was measured.
fn same_refusal(points: &[&Point]) -> Option<String> {
    let reason = |point: &&Point| match &point.outcome {
        Outcome::NotApplicable { reason } => Some(format!("not applicable, {reason}")),
        Outcome::Skipped { reason } => Some(format!("skipped, {reason}")),
        _ => None,
    };
    let first = points.first().and_then(reason)?;
    points
        .iter()
        .all(|point| reason(point).as_ref() == Some(&first))
        .then_some(first)
}

/// A number that is not simply the bytes of its copies by their time.
struct Meaning {
    name: &'static str,
    means: &'static str,
    /// What a sample is made of.
    of: &'static str,
    /// Whether it is the device's time, which a gate starts.
    is_gated: bool,
}

const MEANINGS: [Meaning; 3] = [
    Meaning {
        name: "latency",
        means: "one load that waits for the load before it, a share of the kernel's launch included",
        of: "loads",
        is_gated: true,
    },
    Meaning {
        name: "issue",
        means: "what the host takes to hand one copy to the driver",
        of: "copies",
        is_gated: false,
    },
    Meaning {
        name: "pace",
        means: "from one copy to the next in a stream, back to back",
        of: "copies",
        is_gated: true,
    },
];

/// What the names in the table mean, and for times how they were taken.
fn legends(points: &[&Point], soft: bool) -> Vec<String> {
    let named = |name: &str| {
        let mut numbers = points.iter().filter_map(|point| number(point, name));
        numbers.next().map(|quantity| quantity.timing)
    };
    let mut legends = Vec::new();
    if names(points).contains(&"total") {
        let whose = if points.iter().any(|point| is_group(point)) {
            "all streams'"
        } else {
            "both directions'"
        };
        legends.push(format!(
            "total: {whose} bytes from the first start to the last end"
        ));
    }
    legends.extend(MEANINGS.iter().filter_map(|meaning| {
        let timed = timed(named(meaning.name)?, meaning, soft);
        Some(format!("{}: {}; {timed}", meaning.name, meaning.means))
    }));
    legends
}

/// How a time was taken.
fn timed(timing: Timing, meaning: &Meaning, soft: bool) -> String {
    let clock = match timing.source {
        TimeSource::DeviceEvent => "device events",
        TimeSource::HostMonotonic => "the host's monotonic clock",
        TimeSource::VirtualClock => "the box's virtual clock",
    };
    let gate = match timing.gate {
        _ if !meaning.is_gated => "",
        Gate::None => "",
        Gate::SpinKernel => ", started by a spin gate",
        Gate::HeldQueue => ", started from a held queue",
    };
    // A soft box has no host of its own: what this machine took says nothing of the box.
    let foreign = if soft && timing.source == TimeSource::HostMonotonic {
        "; NOT SIMULATED, this machine's time, which is not judged"
    } else {
        ""
    };
    format!(
        "by {clock}, {} {} a sample{gate}{foreign}",
        timing.copies_per_sample, meaning.of
    )
}
