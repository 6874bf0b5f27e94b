//! Latency and bandwidth of ranges of sizes, as a description of what was measured in them; nothing is predicted from them.

use crate::stats::median;

/// Without a log, sizes up to this one are described by their least time, in bytes of a rank.
pub const SMALL_MESSAGE: u64 = 16 << 10;

/// Without a log, sizes from this one on are described by the slope of their times, in bytes of a rank.
pub const LARGE_MESSAGE: u64 = 4 << 20;

/// A size with its time.
#[derive(Debug, Clone, PartialEq)]
pub struct SizeTime {
    /// As [`crate::record::CollectivePoint::bytes_per_rank`].
    pub bytes_per_rank: u64,
    /// Bytes that bandwidth counts.
    pub algorithm_bytes: u64,
    /// Median time of a call, us.
    pub us: f64,
    /// Algorithm and protocol, where a log told them.
    pub chosen: Option<String>,
}

/// A range of sizes of one kind.
#[derive(Debug, Clone, PartialEq)]
pub struct Regime {
    /// What they share: algorithm and protocol; `None` where the range is one of sizes.
    pub chosen: Option<String>,
    /// The smallest size, bytes of a rank.
    pub smallest: u64,
    /// The largest.
    pub largest: u64,
    /// Number of sizes.
    pub n: usize,
    /// The least time, us; `None` for a range of large sizes.
    pub alpha_us: Option<f64>,
    /// Bytes over time along the range, GB/s: the median of the slopes between all pairs of sizes (Sen, 1968); `None` for a
    /// range of small sizes, and where time does not grow with size.
    pub gb_per_s: Option<f64>,
}

/// The regimes of ascending sizes, those of two sizes and more: runs of what the log told; without a log the small and the
/// large sizes.
#[must_use]
pub fn regimes(sizes: &[SizeTime]) -> Vec<Regime> {
    let is_told = sizes.iter().any(|size| size.chosen.is_some());
    let found: Vec<Option<Regime>> = if is_told {
        sizes
            .chunk_by(|a, b| a.chosen == b.chosen)
            .filter(|run| run[0].chosen.is_some())
            .map(|run| regime(run, true, true))
            .collect()
    } else {
        let small = sizes.partition_point(|size| size.bytes_per_rank <= SMALL_MESSAGE);
        let large = sizes.partition_point(|size| size.bytes_per_rank < LARGE_MESSAGE);
        vec![
            regime(&sizes[..small], true, false),
            regime(&sizes[large..], false, true),
        ]
    };
    found.into_iter().flatten().collect()
}

fn regime(sizes: &[SizeTime], with_alpha: bool, with_slope: bool) -> Option<Regime> {
    let (first, last) = match sizes {
        [first, .., last] => (first, last),
        _ => return None,
    };
    Some(Regime {
        chosen: first.chosen.clone(),
        smallest: first.bytes_per_rank,
        largest: last.bytes_per_rank,
        n: sizes.len(),
        alpha_us: with_alpha
            .then(|| sizes.iter().map(|size| size.us).reduce(f64::min))
            .flatten(),
        gb_per_s: with_slope.then(|| bandwidth(sizes)).flatten(),
    })
}

/// The inverse of the median slope of time over bytes, GB/s.
fn bandwidth(sizes: &[SizeTime]) -> Option<f64> {
    let mut slopes = Vec::new();
    for (at, larger) in sizes.iter().enumerate() {
        for smaller in &sizes[..at] {
            #[expect(
                clippy::cast_precision_loss,
                reason = "messages are far below 2^53 bytes"
            )]
            let bytes = larger
                .algorithm_bytes
                .saturating_sub(smaller.algorithm_bytes) as f64;
            if bytes > 0.0 {
                slopes.push((larger.us - smaller.us) / bytes);
            }
        }
    }
    // A microsecond for each thousand bytes is 1 GB/s.
    let slope = median(&slopes).filter(|slope| *slope > 0.0)?;
    Some(1.0 / (slope * 1e3))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(bytes: u64, us: f64, chosen: Option<&str>) -> SizeTime {
        SizeTime {
            bytes_per_rank: bytes,
            algorithm_bytes: bytes,
            us,
            chosen: chosen.map(str::to_owned),
        }
    }

    #[test]
    fn without_a_log_small_sizes_have_a_latency_and_large_ones_a_bandwidth() {
        let mib = 1 << 20;
        let found = regimes(&[
            size(8, 7.0, None),
            size(16 << 10, 6.5, None),
            size(64 << 10, 12.0, None),
            size(4 * mib, 220.0, None),
            size(8 * mib, 429.7152, None),
        ]);
        assert_eq!(found.len(), 2);
        assert_eq!(
            (found[0].smallest, found[0].largest, found[0].n),
            (8, 16 << 10, 2)
        );
        assert_eq!((found[0].alpha_us, found[0].gb_per_s), (Some(6.5), None));
        // 4,194,304 B in 209.7152 us are 20 GB/s.
        assert_eq!(found[1].alpha_us, None);
        assert!((found[1].gb_per_s.unwrap() - 20.0).abs() < 1e-9);
    }

    #[test]
    fn with_a_log_each_run_of_a_protocol_is_a_regime() {
        let found = regimes(&[
            size(1000, 5.0, Some("RING LL")),
            size(2000, 6.0, Some("RING LL")),
            size(3000, 7.0, Some("RING LL")),
            size(4000, 7.0, Some("RING SIMPLE")),
            size(5000, 8.0, None),
            size(6000, 9.0, Some("RING LL")),
        ]);
        // The runs of one size say nothing of their own; 1,000 B a us are 1 GB/s.
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].chosen.as_deref(), Some("RING LL"));
        assert_eq!(
            (found[0].smallest, found[0].largest, found[0].n),
            (1000, 3000, 3)
        );
        assert_eq!(found[0].alpha_us, Some(5.0));
        assert!((found[0].gb_per_s.unwrap() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn times_that_do_not_grow_have_no_bandwidth() {
        let flat = [size(8 << 20, 5.0, None), size(16 << 20, 5.0, None)];
        assert_eq!(regimes(&flat)[0].gb_per_s, None);
        assert_eq!(regimes(&flat[..1]), []);
    }
}
