//! Things a reader must know before believing a number, each with what to try next.

use serde::{Deserialize, Serialize};

use crate::plan::StopReason;

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
        /// What ended the sampling, and so what to raise; absent in older records.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stopped: Option<StopReason>,
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
    /// Copies that run at once, such as the two directions of a bidirectional case, did not end together.
    PartlyAlone {
        /// Part of the time in which all ran, 0 to 1.
        overlapped: f64,
    },
    /// No GPU driver answered and no GPU was seen, so host memory was measured.
    NoDriver {
        /// Why, for each backend: its name, a colon and the reason.
        reasons: Vec<String>,
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
    /// Kernels reach a peer's memory far slower than copies do.
    KernelsStaged {
        /// Which access.
        access: PeerAccess,
        /// The pairs, as `GPU0->GPU1`: the first one's kernels reach the second one's memory.
        pairs: Vec<String>,
        /// Rate of kernels on the worst of them, in GB/s.
        kernel_gb_per_s: f64,
        /// Rate of the copy engine there.
        copy_gb_per_s: f64,
    },
    /// Several devices of the host backend share a CPU.
    SharedCpu {
        /// Labels of the devices.
        devices: Vec<String>,
        /// The CPU.
        cpu: usize,
    },
    /// A soft box's call that this machine played in real time.
    InRealTime {
        /// The box's time of a call, us; `None` where the library does not say.
        box_us: Option<f64>,
        /// The rest of the median: this machine's part, to issue the call and to wait for it, us.
        own_us: Option<f64>,
        /// Why the time says too little of the box to be judged; `None` where it may be.
        not_judged: Option<String>,
    },
    /// The run ended before its time, since a record that can be read back holds no more.
    RecordFull {
        /// Requests that ended until then.
        requests: usize,
    },
    /// Something else that the reader should know.
    Note {
        /// The text, with what to try.
        text: String,
    },
}

/// What a device does with a peer's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PeerAccess {
    /// It reads there.
    Reads,
    /// It writes there.
    Writes,
}

impl std::fmt::Display for PeerAccess {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Reads => "reads",
            Self::Writes => "writes",
        })
    }
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
                stopped,
            } => write!(
                f,
                "the interval is ±{:.1}% wide: raise {}, or quieten the machine",
                width * 100.0,
                match stopped {
                    Some(StopReason::MaxSamples) => "--samples",
                    Some(StopReason::Budget) => "--budget",
                    Some(StopReason::IntervalNarrow) | None => "--budget or --samples",
                }
            ),
            Self::WideInterval {
                relative_half_width: None,
                ..
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
                "some copies ended earlier than others: all ran at once for {:.0}% of the time, so the slower ones' numbers \
                 and the total are in part those of a link with less on it, and the numbers must not be added up",
                overlapped * 100.0
            ),
            Self::NoDriver { reasons } => {
                let backends = reasons.iter().filter_map(|reason| reason.split(':').next());
                write!(
                    f,
                    "no GPU driver answered ({}; record.json says why) and sysfs shows no GPU: host memory was measured, \
                     one CPU core a device",
                    backends.collect::<Vec<_>>().join(", ")
                )
            }
            Self::AboveCeiling { fraction } => write!(
                f,
                "{:.0}% of the payload ceiling is more than the link can carry: the link or its payload size was misread, or a cache answered",
                fraction * 100.0
            ),
            Self::PeerSignature { seen } => write!(f, "{seen}"),
            Self::KernelsStaged {
                access,
                pairs,
                kernel_gb_per_s,
                copy_gb_per_s,
            } => write!(
                f,
                "kernels' {access} of a peer's memory are slow where copies are fast ({}; the worst has \
                 {kernel_gb_per_s:.2} GB/s against the copy engine's {copy_gb_per_s:.2}): the driver leads them through \
                 host memory. Collectives whose kernels reach peers (NCCL over P2P, an engine's custom all-reduce) get \
                 this rate: compare them with NCCL_P2P_DISABLE=1, and on NVIDIA try the driver's \
                 NVreg_RegistryDwords=\"ForceP2P=0x11\"",
                pairs.join(" ")
            ),
            Self::SharedCpu { devices, cpu } => write!(
                f,
                "{} share CPU {cpu}, so copies that run at once slow each other: choose fewer devices with --gpus",
                devices.join(" and ")
            ),
            Self::InRealTime {
                box_us,
                own_us,
                not_judged,
            } => {
                match box_us.zip(*own_us) {
                    Some((box_us, own_us)) => {
                        write!(f, "box {box_us:.2} us, the rest {own_us:.2} us")?;
                    }
                    None => write!(f, "played in real time")?,
                }
                match not_judged {
                    Some(why) => write!(f, "; not judged: {why}"),
                    None => Ok(()),
                }
            }
            Self::RecordFull { requests } => write!(
                f,
                "ended after {requests} requests: a record holds no more; those in flight are not counted; ask for less"
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

    #[test]
    fn what_ended_the_sampling_is_what_to_raise() {
        let told = |stopped| {
            let wide = Caveat::WideInterval {
                relative_half_width: Some(0.125),
                stopped,
            };
            wide.to_string()
        };
        for (stopped, raise) in [
            (Some(StopReason::MaxSamples), "raise --samples, or"),
            (Some(StopReason::Budget), "raise --budget, or"),
            (None, "raise --budget or --samples, or"),
        ] {
            let text = told(stopped);
            assert!(text.contains("±12.5%") && text.contains(raise), "{text}");
        }
        // As records had it before they said what ended the sampling.
        let old = r#"{"kind":"wide_interval","relative_half_width":0.125}"#;
        let old: Caveat = serde_json::from_str(old).unwrap();
        assert_eq!(old.to_string(), told(None));
    }

    #[test]
    fn backends_that_do_not_answer_are_named_and_their_reasons_are_not_repeated() {
        let reasons = ["cuda: libcuda.so.1 not found; install it", "hip: no device"];
        let reasons = reasons.map(str::to_owned).to_vec();
        let text = Caveat::NoDriver { reasons }.to_string();
        assert!(
            text.contains("answered (cuda, hip; ") && !text.contains("libcuda"),
            "{text}"
        );
    }
}
