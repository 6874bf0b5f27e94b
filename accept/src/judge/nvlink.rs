//! NVLinks: whether all are up, the fabric that joins them, and errors that they count.

use record::{NvlinkReading, Payload};
use topology::FabricState;

use super::judging::{Judging, seen_times};
use crate::report::{Check, Evidence, ReasonCode, Seen, Verdict};

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
    let is_wanted = judging.profile.peer.nvlinks.is_some();
    if all.iter().all(|reading| reading.active == 0) && !is_wanted {
        return Vec::new();
    }
    let one = |label: String| {
        let own = all.iter().filter(|reading| reading.device == label);
        let own: Vec<&NvlinkReading> = own.copied().collect();
        match own.is_empty() {
            true if is_wanted => judging.open(KIND, &label, ReasonCode::Unreadable, ""),
            true => judging.skip(KIND, &label, ReasonCode::NotApplicable),
            false => of_device(judging, label, &own),
        }
    };
    judging.pool.labels().into_iter().map(one).collect()
}

/// The first evidence is named by the code of what was found.
fn of_device(judging: &Judging<'_>, label: String, own: &[&NvlinkReading]) -> Check {
    let links = own.iter().map(|reading| reading.links).max().unwrap_or(0);
    let active = own.iter().map(|reading| reading.active).min().unwrap_or(0);
    let wanted = judging.profile.peer.nvlinks.unwrap_or(links);
    let errors = |reading: Option<&&NvlinkReading>| reading.map_or(0, |reading| reading.errors);
    let (before, after) = (errors(own.first()), errors(own.last()));
    let has_failed = own.iter().any(|reading| {
        use FabricState::{Failed, NotStarted};
        matches!(reading.fabric, Some(NotStarted | Failed))
    });
    let up = |active: usize| format!("{active} of {} up", links.max(wanted));
    let share = (100 * wanted.saturating_sub(active) + wanted / 2) / wanted.max(1);
    let (came, first) = match () {
        () if active < wanted => {
            let value = format!("{}, {share}% of the bandwidth missing", up(active));
            let (what, expected) = ("nvlink-inactive", Some(up(wanted)));
            let seen = seen_times(own.len(), what, value, expected, SOURCE);
            ((Verdict::Fail, ReasonCode::LinkDegraded), seen)
        }
        () if has_failed => {
            let expected = Some("started".to_owned());
            let seen = seen_times(own.len(), "fabric-manager", "not started", expected, SOURCE);
            ((Verdict::Fail, ReasonCode::ConfigMismatch), seen)
        }
        () if after > 0 => {
            let seen = Evidence::Counted {
                what: "nvlink-errors".to_owned(),
                before: Some(before),
                after: Some(after),
                over_s: 0.0,
                source: SOURCE.to_owned(),
            };
            let verdict = match after > before {
                true => Verdict::Fail,
                false => Verdict::Warn,
            };
            ((verdict, ReasonCode::ErrorsCounted), seen)
        }
        () => {
            let seen = seen_times(own.len(), "NVLinks", up(active), Some(up(wanted)), SOURCE);
            ((Verdict::Pass, ReasonCode::AsExpected), seen)
        }
    };
    let detail = match came.1 {
        ReasonCode::ErrorsCounted => format!("errors such as CRC: {before} before, {after} after"),
        _ => String::new(),
    };
    let came = (came.0, came.1, detail);
    judging.judged(KIND, [label], came, None, Seen::new(first, []))
}
