//! What the bounds of a run of prompt chunks say, in sentences that follow from their intervals. The bounds themselves are
//! worked out in [`super::chunks`].

use measure::unit::ByteCount;

use super::chunks::{ChunkBound, PathBound, count};
use crate::range::Range;

/// What a step takes beyond its products and its all-reduces.
const MISSING: &str = "attention, the host, small kernels and waits between ranks";

impl ChunkBound {
    /// What it says, a sentence each.
    pub(super) fn sentences(&self) -> Vec<String> {
        let reduces: Vec<String> = self
            .all_reduces
            .iter()
            .map(|of| format!("{} x {}", of.count, megabytes(of.bytes_per_rank)))
            .collect();
        let mut said = vec![format!(
            "the step of this run is a chunk of {} prompt tokens, not a decode step: {} prompt tokens and the outputs make {:.0} steps of {:.1} ms, near the median gap of {:.1} ms",
            self.chunk_tokens, self.prompt_tokens, self.steps, self.step_ms, self.gap_ms
        )];
        for path in &self.paths {
            let part = |ms: f64| ms / self.step_ms * 100.0;
            let percent = Range {
                low: part(path.ms.low),
                mid: part(path.ms.mid),
                high: part(path.ms.high),
            };
            said.push(format!(
                "its all-reduces ({}) take {} ms {}, {}% of the step{} ({})",
                reduces.join(" + "),
                ends(&path.ms),
                path.path,
                ends(&percent),
                if path.fits {
                    ""
                } else {
                    ", which leaves no room for the arithmetic: excluded"
                },
                path.source
            ));
        }
        said.push(format!(
            "its arithmetic is {:.1} TFLOP a GPU, {} ms ({})",
            self.tflop,
            ends(&self.arithmetic),
            self.rate
        ));
        said.push(self.held());
        said.push(format!("what settles it: {}", self.settles));
        said
    }

    /// Which paths' sums with the arithmetic hold the step, and what that tells.
    fn held(&self) -> String {
        let step = self.step_ms;
        let sum = |path: &PathBound| Range {
            low: path.ms.low + self.arithmetic.low,
            mid: path.ms.mid + self.arithmetic.mid,
            high: path.ms.high + self.arithmetic.high,
        };
        let of = |path: &PathBound| format!("{} ms {}", ends(&sum(path)), path.path);
        let fitting: Vec<&PathBound> = self.paths.iter().filter(|path| path.fits).collect();
        let sums: Vec<String> = fitting.iter().map(|path| of(path)).collect();
        let sums = sums.join(" and ");
        let short: Vec<&PathBound> = fitting
            .iter()
            .copied()
            .filter(|path| sum(path).high < step)
            .collect();
        match (fitting.as_slice(), short.as_slice()) {
            ([], _) if self.paths.is_empty() => {
                "no path is known for this GPU: the all-reduces are not bounded".to_owned()
            }
            ([], _) => format!(
                "no path holds the {step:.0} ms: even at its least each sum is longer than the step, so that the rate or the times are not those of this box, and the all-reduces are not bounded"
            ),
            ([only], []) => format!(
                "one path is left: all-reduces are {} of {step:.0} ms; with the arithmetic that is {} ms, which holds the step, and {MISSING} take what is left of it",
                ends(&only.ms),
                ends(&sum(only))
            ),
            ([only], [_]) => format!(
                "one path is left: all-reduces are {} of {step:.0} ms; with the arithmetic that is {} ms, which ends {} ms before the step: {MISSING} take that much at least",
                ends(&only.ms),
                ends(&sum(only)),
                gap(step, &sum(only))
            ),
            (_, []) => format!(
                "the sums, {sums}, all hold the {step:.0} ms: which path it is, and so the share of communication, is NOT identifiable from this run"
            ),
            (all, short) if short.len() == all.len() => {
                let least = short
                    .iter()
                    .map(|path| step - sum(path).high)
                    .fold(f64::INFINITY, f64::min);
                format!(
                    "the sums, {sums}, all end before the {step:.0} ms: {MISSING} take {} ms at least, and which path it is, and so the share of communication, is NOT identifiable from this run",
                    tenths_if_small(least)
                )
            }
            (all, short) => {
                let holding: Vec<&str> = all
                    .iter()
                    .filter(|path| sum(path).high >= step)
                    .map(|path| path.path.as_str())
                    .collect();
                let missing: Vec<String> = short
                    .iter()
                    .map(|path| {
                        format!(
                            "{} ms of them would make it the step {}, too",
                            gap(step, &sum(path)),
                            path.path
                        )
                    })
                    .collect();
                format!(
                    "of the sums, {sums}, the {step:.0} ms lie only in the one {}, which points to it and does not prove it: {MISSING} are not in the arithmetic, and {}, so that the share of communication is NOT identifiable from this run",
                    holding.join(" and the one "),
                    missing.join(", and ")
                )
            }
        }
    }
}

/// How much a sum that ends before the step leaves of it, ms.
fn gap(step: f64, sum: &Range) -> String {
    let (least, most) = (step - sum.high, step - sum.low);
    format!("{} to {}", tenths_if_small(least), tenths_if_small(most))
}

/// Milliseconds, with a digit where none would read as nothing.
fn tenths_if_small(ms: f64) -> String {
    match ms < 10.0 {
        true => format!("{ms:.1}"),
        false => format!("{ms:.0}"),
    }
}

/// Both ends, or one where they are the same.
fn ends(range: &Range) -> String {
    if range.high - range.low < 0.5 {
        format!("{:.0}", range.mid)
    } else {
        format!("{:.0} to {:.0}", range.low, range.high)
    }
}

/// Megabytes for sizes that are no power of two, with the bytes' own form beside.
pub(super) fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB ({})", count(bytes) / 1e6, ByteCount(bytes))
}
