//! Inventory: whether the devices are those of the profile, free, and on the nodes where they are expected; and whether the baseline
//! is of this box.

use measure::unit::ByteCount;

use super::judging::{Judging, in_use};
use super::pool::Device;
use crate::findings::Found;
use crate::plural::plural;
use crate::profile::Match;
use crate::report::{Check, Evidence, Fingerprint, ReasonCode, Seen, Verdict};

/// A single thing that was read once.
pub(super) fn seen(
    what: impl Into<String>,
    value: impl Into<String>,
    expected: Option<String>,
    source: &str,
) -> Evidence {
    Evidence::Seen {
        what: what.into(),
        value: value.into(),
        expected,
        n: 1,
        source: source.to_owned(),
    }
}

/// Number, names, memory and kind of the devices, and the baseline's box where there is one.
pub(super) fn inventory(judging: &Judging<'_>) -> Vec<Check> {
    let mut checks = Vec::new();
    if let Some(matches) = &judging.profile.matches
        && let Some(first) = judging.pool.devices.first()
    {
        checks.push(devices(judging, matches, first));
    }
    checks.extend(baseline(judging));
    let gone = judging.findings.lost.iter();
    checks.extend(gone.map(|(label, why)| lost(judging, label, why)));
    checks
}

/// A device that was there at the start and stopped answering: whatever was asked for, a box that loses one is no good.
fn lost(judging: &Judging<'_>, label: &str, why: &Found<String>) -> Check {
    let text = format!(
        "{label} was lost while it was measured, and left out of what followed: {}",
        why.it
    );
    let expected = Some("an answer until the end".to_owned());
    let evidence = seen("what came of it", why.it.clone(), expected, &why.source);
    let came = (Verdict::Fail, ReasonCode::DeviceLost, text);
    let about = [label.to_owned()];
    judging.judged("inventory", about, came, None, Seen::new(evidence, []))
}

fn devices(judging: &Judging<'_>, matches: &Match, first: &Device) -> Check {
    let found = &judging.pool.devices;
    let about = || ["devices".to_owned()];
    let mut wrong = Vec::new();
    let backend = judging.pool.backend.as_deref();
    if backend != Some(matches.backend.as_str()) {
        let is = backend.unwrap_or("not told");
        wrong.push(format!("the backend is {is} and not {}", matches.backend));
    }
    let count = found.len();
    let missing = matches.count.saturating_sub(count);
    // What is there and was not asked for is not missing; what is neither is.
    let are_left_out = missing > 0 && judging.findings.left_out >= missing;
    if missing > 0 && !are_left_out {
        wrong.push(format!(
            "{count} of {} there",
            plural(matches.count, "device")
        ));
    } else if count > matches.count && matches.more != Some(true) {
        wrong.push(format!(
            "{} there where the profile expects {}: choose with --gpus",
            plural(count, "device"),
            matches.count
        ));
    }
    for device in found {
        wrong.extend(differs(device, matches));
    }
    if let Some((expected, is)) = matches.guest.zip(judging.pool.is_guest)
        && expected != is
    {
        let words = |guest| {
            if guest {
                "a virtual machine"
            } else {
                "no virtual machine"
            }
        };
        wrong.push(format!(
            "this is {}, the profile is for {}",
            words(is),
            words(expected)
        ));
    }
    if are_left_out && wrong.is_empty() {
        let text = format!(
            "{missing} of the profile's {} were left out with --gpus: a whole box is judged without --gpus",
            plural(matches.count, "device")
        );
        return judging
            .subject("inventory", about())
            .skipped(ReasonCode::ExcludedByUser, text)
            .advised("run without --gpus");
    }
    let one = |device: &Device| {
        let memory = device
            .it
            .memory_bytes
            .map_or_else(String::new, |bytes| format!(", {}", ByteCount(bytes)));
        let value = format!("{}{memory}", device.it.name);
        seen(
            device.it.label.clone(),
            value,
            Some(matches.names.join(" or ")),
            &device.source,
        )
    };
    let evidence = Seen::new(one(first), found.iter().skip(1).map(one));
    let mut unequal = unequal(found);
    unequal.extend(mixed(found, matches));
    let came = if !wrong.is_empty() {
        wrong.extend(unequal);
        (Verdict::Fail, ReasonCode::DeviceMissing, wrong.join("; "))
    } else if !unequal.is_empty() {
        (Verdict::Warn, ReasonCode::Outlier, unequal.join("; "))
    } else {
        let is = plural(count, "device");
        let text = format!("{is} as the profile expects");
        (Verdict::Pass, ReasonCode::AsExpected, text)
    };
    judging.judged("inventory", about(), came, None, evidence)
}

/// Memory of two devices of one kind that differs by more than this part is not the same memory (our choice: what a driver keeps for
/// itself is below it, and the part that ECC takes on cards that keep it in the same memory, a sixteenth, is above).
const UNEQUAL: f64 = 0.01;

/// Devices with less memory than the largest of their kind, by its name, and of a MIG instance its profile.
fn unequal(found: &[Device]) -> Vec<String> {
    let kind = |device: &Device| {
        let mig = device.it.mig.as_ref().map(|mig| mig.profile.clone());
        (device.it.name.clone(), mig)
    };
    let less = |device: &Device| {
        let bytes = device.it.memory_bytes?;
        let like = found.iter().filter(|other| kind(other) == kind(device));
        let most = like.filter_map(|other| Some((other.it.memory_bytes?, other)));
        let (largest, other) = most.max_by_key(|(bytes, _)| *bytes)?;
        #[expect(clippy::cast_precision_loss, reason = "memory is far below 2^53 bytes")]
        let is_less = (bytes as f64) < largest as f64 * (1.0 - UNEQUAL);
        is_less.then(|| {
            format!(
                "{} has {} and {} {}, both {}: ECC may be on in one and off in the other, or one is another card",
                device.it.label,
                ByteCount(bytes),
                other.it.label,
                ByteCount(largest),
                device.it.name
            )
        })
    };
    found.iter().filter_map(less).collect()
}

/// Devices of other names than the first, where the profile lists both names: it is for either, and a box of both is rarely meant. One
/// pattern with a `*` that fits both has them on purpose.
fn mixed(found: &[Device], matches: &Match) -> Option<String> {
    let listed = |device: &Device| {
        let names = matches.names.iter();
        names.clone().position(|name| is_named(device, name))
    };
    let first = found.first()?;
    let is_other = |device: &&Device| {
        device.it.name != first.it.name
            && listed(device).is_some()
            && listed(device) != listed(first)
    };
    let other = found.iter().find(is_other)?;
    Some(format!(
        "{} is {} and {} is {}: the profile is for either, and cards of two kinds differ in clocks, power or memory",
        first.it.label, first.it.name, other.it.label, other.it.name
    ))
}

/// Whether a device has a name of the profile, which may end with a `*`.
fn is_named(device: &Device, name: &str) -> bool {
    match name.strip_suffix('*') {
        Some(beginning) => device.it.name.starts_with(beginning),
        None => device.it.name == *name,
    }
}

/// What of a device is other than the profile has it.
fn differs(device: &Device, matches: &Match) -> Vec<String> {
    let label = &device.it.label;
    let mut wrong = Vec::new();
    if !matches.names.iter().any(|name| is_named(device, name)) {
        wrong.push(format!("{label} is `{}`", device.it.name));
    }
    let is_mig = device.it.mig.is_some();
    if matches.mig.is_some_and(|expected| expected != is_mig) {
        let is = if is_mig {
            "a MIG instance"
        } else {
            "no MIG instance"
        };
        wrong.push(format!("{label} is {is}"));
    }
    if let Some((least, bytes)) = matches.memory_gib_at_least.zip(device.it.memory_bytes) {
        #[expect(clippy::cast_precision_loss, reason = "memory is far below 2^53 bytes")]
        let gib = bytes as f64 / f64::from(1 << 30);
        if gib < least {
            wrong.push(format!("{label} has {gib:.1} GiB, {least} are expected"));
        }
    }
    wrong
}

/// Whether the baseline is of this box: without that its figures are not held against.
fn baseline(judging: &Judging<'_>) -> Option<Check> {
    let baseline = judging.findings.baseline.as_ref()?;
    let about = ["baseline".to_owned()];
    let Some(own) = &judging.findings.fingerprint else {
        let text =
            "what this box is was not read, so that the baseline's figures are not held against"
                .to_owned();
        let subject = judging.subject("inventory", about);
        return Some(subject.inconclusive(ReasonCode::VersionMismatch, text, None, vec![]));
    };
    let differences = differences(&baseline.fingerprint, own);
    let value = if differences.is_empty() {
        "as the baseline's".to_owned()
    } else {
        differences.join("; ")
    };
    let evidence = seen(
        "driver, firmware and box",
        value,
        Some("as the baseline's".to_owned()),
        "the baseline",
    );
    if differences.is_empty() {
        let text = format!("the baseline of {} is of this box", baseline.started);
        let came = (Verdict::Pass, ReasonCode::AsExpected, text);
        return Some(judging.judged("inventory", about, came, None, Seen::new(evidence, [])));
    }
    let text = format!(
        "the baseline is of another box or software, so that its figures are not held against: {}; capture a new one",
        differences.join("; ")
    );
    let subject = judging.subject("inventory", about);
    Some(subject.inconclusive(ReasonCode::VersionMismatch, text, None, vec![evidence]))
}

/// Whether a baseline may be held against a run of this box.
pub(super) fn is_comparable(baseline: &Fingerprint, own: Option<&Fingerprint>) -> bool {
    own.is_some_and(|own| differences(baseline, own).is_empty())
}

/// In words, what differs between two boxes.
fn differences(a: &Fingerprint, b: &Fingerprint) -> Vec<String> {
    let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "not read".to_owned());
    let list = |values: &[u32]| {
        values
            .iter()
            .map(u32::to_string)
            .collect::<Vec<_>>()
            .join(" ")
    };
    [
        ("backend", a.backend.clone(), b.backend.clone()),
        ("devices", a.devices.join(", "), b.devices.join(", ")),
        ("driver", text(&a.driver), text(&b.driver)),
        ("interface", text(&a.interface), text(&b.interface)),
        (
            "collective library",
            text(&a.collectives),
            text(&b.collectives),
        ),
        ("kernel", text(&a.kernel), text(&b.kernel)),
        ("CPU", text(&a.cpu), text(&b.cpu)),
        ("topology", text(&a.topology), text(&b.topology)),
        (
            "payload sizes",
            list(&a.max_payload_bytes),
            list(&b.max_payload_bytes),
        ),
    ]
    .into_iter()
    .filter(|(_, a, b)| a != b)
    .map(|(what, a, b)| format!("{what} was {a} and is {b}"))
    .collect()
}

/// Whether each device was free before the first load.
pub(super) fn idle(judging: &Judging<'_>) -> Vec<Check> {
    let one = |device: &Device| {
        let about = [device.it.label.clone()];
        let Some(busy) = &device.it.busy else {
            let text = "the driver does not say who uses the device".to_owned();
            return judging
                .subject("idle", about)
                .skipped(ReasonCode::UnsupportedByDevice, text);
        };
        let by = in_use(busy);
        let value = by.clone().unwrap_or_else(|| "free".to_owned());
        let evidence = seen(
            "use by others",
            value,
            Some("free".to_owned()),
            &device.source,
        );
        match by {
            None => {
                let text = format!("free: {} held, no process", ByteCount(busy.used_bytes));
                let came = (Verdict::Pass, ReasonCode::AsExpected, text);
                judging.judged("idle", about, came, None, Seen::new(evidence, []))
            }
            Some(by) => {
                let text = format!("in use by others ({by}): stop the other work and run again");
                judging.subject("idle", about).inconclusive(
                    ReasonCode::BusyDevice,
                    text,
                    None,
                    vec![evidence],
                )
            }
        }
    };
    judging.pool.devices.iter().map(one).collect()
}
