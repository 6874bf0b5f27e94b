//! What was repaired of the GPUs' memory.

use topology::{Fact, Repairs};

use crate::{Facts, Finding, Gpu};

pub(super) fn memory(facts: &Facts) -> Vec<Finding> {
    let of = |gpu: &Gpu| match &gpu.repairs {
        Fact::Known(repairs) => judge(&gpu.label, repairs),
        Fact::Unknown(why) => Finding::cannot_tell(&gpu.label, why),
    };
    facts.gpus.iter().map(of).collect()
}

fn judge(label: &str, repairs: &Repairs) -> Finding {
    let (rows, pages) = (repairs.rows.known(), repairs.pages.known());
    if let (Fact::Unknown(rows), Fact::Unknown(pages)) = (&repairs.rows, &repairs.pages) {
        let why = match rows == pages {
            true => rows.clone(),
            false => format!("remapped rows: {rows}; retired pages: {pages}"),
        };
        return Finding::cannot_tell(label, why);
    }
    let mut seen = Vec::new();
    if let Some(rows) = rows {
        seen.push(format!(
            "rows remapped: {} for lost data, {} for mended errors",
            rows.uncorrected, rows.corrected
        ));
    }
    if let Some(pages) = pages {
        let lost = pages.after_lost_data.map_or_else(String::new, |lost| {
            format!(", {lost} of them for lost data")
        });
        seen.push(format!("pages retired: {}{lost}", pages.retired));
    }
    let is_failed = rows.is_some_and(|rows| rows.failed)
        || pages.is_some_and(|pages| pages.failed.is_some_and(|failed| failed > 0));
    let waits_for_driver = pages.is_some_and(|pages| pages.pending && pages.by_itself);
    let waits_for_reset = rows.is_some_and(|rows| rows.pending)
        || pages.is_some_and(|pages| pages.pending && !pages.by_itself);
    for (is, what) in [
        (is_failed, "a repair failed"),
        (waits_for_reset, "a repair waits for a reset of the device"),
        (
            waits_for_driver,
            "a page waits until the driver takes it out of use",
        ),
    ] {
        if is {
            seen.push(what.to_owned());
        }
    }
    let seen = seen.join("; ");
    let is_repaired = rows.is_some_and(|rows| rows.uncorrected > 0)
        || pages.is_some_and(|pages| pages.retired > 0);
    if is_failed {
        let todo = "have the vendor's diagnostic look at it (NVIDIA Field Diagnostic, AMD's AGFHC), and give the card back where it confirms";
        return Finding::bad(label, seen, todo);
    }
    if waits_for_driver {
        let todo = "nothing now: the driver takes it out of use by itself; look again later";
        return Finding::warn(label, seen, todo);
    }
    if waits_for_reset {
        let todo = "reset the device with nothing running on it (nvidia-smi --gpu-reset -i N), or start the machine anew";
        return Finding::warn(label, seen, todo);
    }
    if is_repaired {
        let todo = "read it again after some days of load; where it grows, have the vendor's diagnostic look";
        return Finding::warn(label, seen, todo);
    }
    Finding::ok(label, seen)
}
