//! NVLinks: whether all are up, the fabric that joins them, and errors that they count.

use record::{NvlinkReading, Payload};
use topology::FabricState;

use super::judging::Judging;
use crate::report::{Came, Check, Evidence, ReasonCode, Verdict};

const KIND: &str = "nvlink";
const SOURCE: &str = "NVML";

/// One check for each device.
pub(super) fn nvlink(judging: &Judging<'_>) -> Vec<Check> {
    let records = judging.findings.links.iter();
    let all = records.filter_map(|found| match &found.it.payload {
        Payload::Links(links) => Some(&links.nvlinks),
        _ => None,
    });
    let all: Vec<&NvlinkReading> = all.flatten().collect();
    let wanted = judging.profile.peer.nvlinks;
    if all.iter().all(|reading| reading.active == 0) && wanted.is_none() {
        return Vec::new();
    }
    judging.each(KIND, |device| {
        let own = all.iter().filter(|one| one.device == device.it.label);
        let own: Vec<&NvlinkReading> = own.copied().collect();
        match own.is_empty() {
            true if wanted.is_some() => Came::open(ReasonCode::Unreadable),
            true => Came::skip(ReasonCode::NotApplicable),
            false => of_device(&own, wanted),
        }
    })
}

/// The first evidence is named by the code of what was found.
fn of_device(own: &[&NvlinkReading], wanted: Option<usize>) -> Came {
    use FabricState::{Failed, NotStarted};
    let links = own.iter().map(|reading| reading.links).max().unwrap_or(0);
    let active = own.iter().map(|reading| reading.active).min().unwrap_or(0);
    let wanted = wanted.unwrap_or(links);
    let errors = |reading: Option<&&NvlinkReading>| reading.map_or(0, |reading| reading.errors);
    let (before, after) = (errors(own.first()), errors(own.last()));
    let mut fabrics = own.iter().filter_map(|reading| reading.fabric);
    let up = |active: usize| format!("{active} of {} up", links.max(wanted));
    let seen = |what: &str, value: String, expected: String| {
        let seen = Evidence::seen(what, value, SOURCE).times(own.len());
        seen.expecting(expected)
    };
    if active < wanted {
        let share = (100 * (wanted - active) + wanted / 2) / wanted.max(1);
        let value = format!("{}, {share}% of the bandwidth missing", up(active));
        let seen = seen("nvlink-inactive", value, up(wanted));
        return Came::fail(ReasonCode::LinkDegraded, seen);
    }
    if fabrics.any(|fabric| matches!(fabric, NotStarted | Failed)) {
        let seen = seen("fabric-manager", "not started".into(), "started".into());
        return Came::fail(ReasonCode::ConfigMismatch, seen);
    }
    if after == 0 {
        return Came::pass(seen("NVLinks", up(active), up(wanted)));
    }
    let verdict = match after > before {
        true => Verdict::Fail,
        false => Verdict::Warn,
    };
    let counted = Evidence::Counted {
        what: "nvlink-errors".to_owned(),
        before: Some(before),
        after: Some(after),
        over_s: 0.0,
        source: SOURCE.to_owned(),
    };
    let came = Came::new(verdict, ReasonCode::ErrorsCounted).with([counted]);
    came.saying(format!(
        "errors such as CRC: {before} before, {after} after"
    ))
}
