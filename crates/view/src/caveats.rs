//! The line of each caveat: one match from what was found to a sentence with its code.

use record::caveat::{Caveat, PeerAccess};
use record::plan::StopReason;
use record::unit::ByteCount;

use crate::codes;
use crate::document::{Item, Tone};
use crate::serve::findings::item;

/// A caveat as a line with its code.
#[must_use]
pub fn line(caveat: &Caveat) -> Item {
    let text = words(caveat);
    match caveat {
        Caveat::Serve { finding } => item(finding),
        other => Item::of(Tone::Warning, text).coded(other.code()),
    }
}

/// Lines of caveats, those of one code as one line that names the first and counts the rest.
#[must_use]
pub fn folded<'a>(caveats: impl IntoIterator<Item = &'a Caveat>) -> Vec<Item> {
    let mut lines: Vec<(&str, Item, usize)> = Vec::new();
    for caveat in caveats {
        let item = line(caveat);
        match lines.iter_mut().find(|(code, ..)| *code == caveat.code()) {
            Some((_, known, more)) if known.text != item.text => *more += 1,
            Some(_) => {}
            None => lines.push((caveat.code(), item, 0)),
        }
    }
    let counted = |(_, item, more): (&str, Item, usize)| match more {
        0 => item,
        more => Item {
            text: format!("{} ({more} more).", item.text.trim_end_matches('.')),
            ..item
        },
    };
    lines.into_iter().map(counted).collect()
}

fn words(caveat: &Caveat) -> String {
    match caveat {
        Caveat::DeviceBusy {
            device,
            used_mib,
            processes,
        } => match processes.as_slice() {
            [] => format!("{device} is used by others ({used_mib} MiB)."),
            who => format!(
                "{device} is used by others ({used_mib} MiB): {}.",
                who.join(", ")
            ),
        },
        Caveat::CacheResident { bytes, cache_bytes } => format!(
            "Copies up to {} fit into a cache of {}.",
            ByteCount(*bytes),
            ByteCount(*cache_bytes)
        ),
        Caveat::WideInterval {
            relative_half_width: Some(width),
            stopped,
        } => format!(
            "The interval is ±{:.0}% wide; raise {}.",
            width * 100.0,
            match stopped {
                Some(StopReason::MaxSamples) => "--samples",
                _ => "--budget",
            }
        ),
        Caveat::WideInterval { .. } => {
            "Fewer than six samples have no interval; raise --samples.".to_owned()
        }
        Caveat::Outliers { count, n } => format!("{count} of {n} samples are outliers (kept)."),
        Caveat::LinkNarrowed { device, from, to } => {
            format!("{device}'s link fell from {from} to {to} under load.")
        }
        Caveat::LinkBelowMaximum {
            device,
            now,
            maximum,
        } => format!("{device} runs at {now}; card and slot allow {maximum}."),
        Caveat::PayloadSizeAssumed { device, bytes } => {
            format!("Payload size of {device} is unreadable; {bytes} B assumed for the limit.")
        }
        Caveat::PlacementUnproven { reason } => {
            format!("The node of the host memory is not proven ({reason}).")
        }
        Caveat::NotBound { device, reason } => {
            format!("Not bound to the CPUs of {device}'s node ({reason}).")
        }
        Caveat::PartlyAlone { overlapped } => format!(
            "The streams ran at once for {:.0}% of the time only.",
            overlapped * 100.0
        ),
        Caveat::AboveCeiling { fraction } => format!(
            "{:.0}% of the limit: the link was misread, or a cache answered.",
            fraction * 100.0
        ),
        Caveat::KernelsStaged {
            access,
            pairs,
            kernel_gb_per_s,
            copy_gb_per_s,
        } => format!(
            "Kernels' {} over {} are staged: {kernel_gb_per_s:.1} GB/s, copies {copy_gb_per_s:.1}.",
            match access {
                PeerAccess::Reads => "reads",
                PeerAccess::Writes => "writes",
            },
            some(pairs)
        ),
        Caveat::SharedCpu { devices, cpu } => {
            format!("{} share CPU {cpu}.", devices.join(" and "))
        }
        Caveat::RecordFull { requests } => {
            format!("Ended after {requests} requests: the record was full.")
        }
        Caveat::Condition { condition, detail } => {
            let line = codes::line(condition.code()).trim_end_matches('.');
            match detail.as_str() {
                "" => format!("{line}."),
                detail => format!("{line}: {detail}."),
            }
        }
        Caveat::Serve { finding } => item(finding).text,
        Caveat::NoGate | Caveat::NoDriver { .. } => codes::line(caveat.code()).to_owned(),
    }
}

/// The first of several, and how many more there are.
fn some(all: &[String]) -> String {
    match all {
        [] => String::new(),
        [one] => one.clone(),
        [first, rest @ ..] => format!("{first} and {} more", rest.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::caveat::Condition;

    #[test]
    fn lines_of_one_code_are_one_and_counted() {
        let narrowed = |device: &str| Caveat::LinkNarrowed {
            device: device.to_owned(),
            from: "Gen4 x16".to_owned(),
            to: "Gen4 x8".to_owned(),
        };
        let all = [
            narrowed("GPU0"),
            Caveat::NoGate,
            narrowed("GPU1"),
            Caveat::NoGate,
            Condition::UsersUnknown.with("no NVML"),
        ];
        let lines: Vec<String> = folded(&all).into_iter().map(|item| item.text).collect();
        insta::assert_snapshot!(lines.join("\n"), @r#"
        GPU0's link fell from Gen4 x16 to Gen4 x8 under load (1 more).
        Timed without a spin gate.
        Who else uses the devices is not known: no NVML.
        "#);
    }
}
