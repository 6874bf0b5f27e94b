//! Things a reader must know before believing a number, each with what to try next.

use serde::{Deserialize, Serialize};

/// A reservation about a number or a whole record; `Display` says the cause and the next thing to try.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Caveat {
    /// Another process holds memory on a device or runs on it.
    DeviceBusy {
        /// The device's label, such as `GPU0`.
        device: String,
        /// Memory in use by others, in MiB.
        used_mib: u64,
        /// Names or process ids of those that could be listed.
        processes: Vec<String>,
    },
    /// Timed without a spin gate.
    NoGate,
    /// Buffers fit into a cache.
    CacheResident {
        /// Bytes of the largest buffer that does.
        bytes: u64,
        /// Bytes of the cache, and which one.
        cache_bytes: u64,
    },
    /// The interval is wider than asked, for the reason given.
    WideInterval {
        /// Wider side of the interval relative to the median; `None` below six samples.
        relative_half_width: Option<f64>,
    },
    /// Samples that lie far from the rest.
    Outliers {
        /// How many.
        count: usize,
        /// Of how many samples.
        n: usize,
    },
    /// The link got narrower or slower while it was measured.
    LinkNarrowed {
        /// The device's label.
        device: String,
        /// What it was, such as `Gen4 x16`.
        from: String,
        /// What it became.
        to: String,
    },
    /// The link is narrower or slower than device and slot could be.
    LinkBelowMaximum {
        /// The device's label.
        device: String,
        /// State under load.
        now: String,
        /// Maximum that device and slot report.
        maximum: String,
    },
    /// The maximum payload size could not be read, so the ceiling assumes one.
    PayloadSizeAssumed {
        /// Label of the device, or of several, with commas.
        device: String,
        /// The assumed size in bytes.
        bytes: u32,
    },
    /// Host memory was wanted on a node and is not proven to be there.
    PlacementUnproven {
        /// What is known.
        reason: String,
    },
    /// The process could not be bound to the CPUs of the device's node.
    NotBound {
        /// The device's label.
        device: String,
        /// Why.
        reason: String,
    },
    /// The two directions of a bidirectional case did not end together.
    PartlyAlone {
        /// Part of the time in which both ran, 0 to 1.
        overlapped: f64,
    },
    /// More than the link can carry was measured.
    AboveCeiling {
        /// Fraction of the payload ceiling.
        fraction: f64,
    },
    /// A peer path whose verdict rests on thin evidence.
    PeerSignature {
        /// What was seen.
        seen: String,
    },
    /// Several devices of the host backend share a CPU.
    SharedCpu {
        /// Labels of the devices.
        devices: Vec<String>,
        /// The CPU.
        cpu: usize,
    },
    /// Something else that the reader should know.
    Note {
        /// The text, with what to try.
        text: String,
    },
}

impl std::fmt::Display for Caveat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::DeviceBusy {
                device,
                used_mib,
                processes,
            } => {
                write!(f, "{device} is in use by others ({used_mib} MiB held")?;
                if !processes.is_empty() {
                    write!(f, "; {}", processes.join(", "))?;
                }
                write!(
                    f,
                    "): its numbers are those of a shared device; stop the other work and measure again"
                )
            }
            Self::NoGate => write!(
                f,
                "timed without a spin gate: the cost of issuing the first copies can lie inside the window, \
                 so sizes below about 1 MiB read slower than the link is"
            ),
            Self::CacheResident { bytes, cache_bytes } => write!(
                f,
                "buffers up to {} fit into the cache of {}, so numbers up to that size are those of a cache in part; \
                 use --sizes {} or more",
                crate::unit::ByteCount(*bytes),
                crate::unit::ByteCount(*cache_bytes),
                crate::unit::ByteCount((cache_bytes + 1).next_power_of_two()).short(),
            ),
            Self::WideInterval {
                relative_half_width: Some(width),
            } => write!(
                f,
                "the interval is ±{:.1}% wide: raise --budget or --samples, or quieten the machine",
                width * 100.0
            ),
            Self::WideInterval {
                relative_half_width: None,
            } => {
                write!(f, "fewer than six samples, so no interval: raise --samples")
            }
            Self::Outliers { count, n } => {
                write!(
                    f,
                    "{count} of {n} samples lie far from the rest (kept): something else may use the link or the CPU"
                )
            }
            Self::LinkNarrowed { device, from, to } => write!(
                f,
                "{device}'s link fell from {from} to {to} while it was measured: look for AER errors in the kernel log, reseat the card"
            ),
            Self::LinkBelowMaximum {
                device,
                now,
                maximum,
            } => write!(
                f,
                "{device} runs at {now} under load where card and slot allow {maximum}: check seating, riser, and the slot's setting in the BIOS"
            ),
            Self::PayloadSizeAssumed { device, bytes } => write!(
                f,
                "the maximum payload size of {device} is unreadable, {bytes} B is assumed for the ceiling: it needs root and a readable configuration space"
            ),
            Self::PlacementUnproven { reason } => {
                write!(
                    f,
                    "the node of the host memory is not proven ({reason}): treat near and far as unknown"
                )
            }
            Self::NotBound { device, reason } => {
                write!(
                    f,
                    "not bound to the CPUs of {device}'s node ({reason}): the copy may have crossed sockets"
                )
            }
            Self::PartlyAlone { overlapped } => write!(
                f,
                "one direction ended earlier: both ran at once for {:.0}% of the time, so the slower one's number and the \
                 total are in part those of one direction alone",
                overlapped * 100.0
            ),
            Self::AboveCeiling { fraction } => write!(
                f,
                "{:.0}% of the payload ceiling is more than the link can carry: the link or its payload size was misread, or a cache answered",
                fraction * 100.0
            ),
            Self::PeerSignature { seen } => write!(f, "{seen}"),
            Self::SharedCpu { devices, cpu } => write!(
                f,
                "{} share CPU {cpu}, so copies that run at once slow each other: choose fewer devices with --gpus",
                devices.join(" and ")
            ),
            Self::Note { text } => write!(f, "{text}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caveat_says_the_cause_and_what_to_try() {
        let busy = Caveat::DeviceBusy {
            device: "GPU0".to_owned(),
            used_mib: 448,
            processes: vec![],
        };
        let text = busy.to_string();
        assert!(
            text.contains("GPU0") && text.contains("448 MiB") && text.contains("measure again"),
            "{text}"
        );
    }
}
