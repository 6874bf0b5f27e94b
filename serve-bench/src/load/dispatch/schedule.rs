//! The instants at which a load wants its requests sent, from its arrivals and its seed. Pure.

use std::time::Duration;

use record::Arrivals;
use stats::SplitMix;

use crate::load::data::{Purpose, random};

/// Requests of a run that only a time ends, at most.
const MOST: usize = 10_000_000;

/// The instants after the start, ascending; empty for a closed loop.
///
/// With a number of requests and no ramp, gaps are stretched so that the last one comes after exactly number / rate, as vLLM's
/// client does (benchmarks/serve.py, `get_request`); the first one waits, too. Requests beyond `duration` are left out. An instant
/// that no clock can hold, or none at all where all gaps came out as 0, is [`Duration::MAX`].
pub(in crate::load) fn schedule(
    arrivals: &Arrivals,
    requests: Option<u32>,
    duration: Option<Duration>,
    seed: u64,
) -> Vec<Duration> {
    let mut random = random(seed, Purpose::Arrivals, 0);
    let count = requests.map_or(MOST, |requests| requests as usize);
    let end_s = duration.map_or(f64::INFINITY, |duration| duration.as_secs_f64());
    let (mut at_s, mut instants) = (0.0, Vec::new());
    for number in 0..count {
        let Some(gap_s) = gap_s(arrivals, number, count, &mut random) else {
            return Vec::new();
        };
        at_s += gap_s;
        // What is stretched may come to lie before the end again.
        if at_s > end_s && requests.is_none() {
            break;
        }
        instants.push(at_s);
    }
    let stretch = match (arrivals, requests, arrivals.rate()) {
        (Arrivals::Ramp { .. }, ..) | (_, None, _) | (_, _, None) => 1.0,
        (_, Some(requests), Some(rate)) => f64::from(requests) / rate / at_s,
    };
    instants
        .into_iter()
        .map(|at_s| at_s * stretch)
        .take_while(|at_s| at_s.is_nan() || *at_s <= end_s)
        .map(|at_s| Duration::try_from_secs_f64(at_s).unwrap_or(Duration::MAX))
        .collect()
}

/// The time before a request, s; `None` for a closed loop, which has no instants.
fn gap_s(arrivals: &Arrivals, number: usize, count: usize, random: &mut SplitMix) -> Option<f64> {
    Some(match *arrivals {
        // Those of a trace stand in it.
        Arrivals::ClosedLoop | Arrivals::Trace { .. } => return None,
        Arrivals::AllAtOnce => 0.0,
        Arrivals::Constant { rate } => 1.0 / rate,
        Arrivals::Poisson { rate } => exponential(random) / rate,
        Arrivals::Gamma { rate, burstiness } => gamma(random, burstiness) / (rate * burstiness),
        Arrivals::Ramp {
            from,
            to,
            exponential: by_factors,
        } => {
            let progress = number as f64 / count.saturating_sub(1).max(1) as f64;
            let rate = if by_factors {
                from * (to / from).powf(progress)
            } else {
                from + (to - from) * progress
            };
            exponential(random) / rate
        }
    })
}

/// Above 0 and at most 1.
fn uniform(random: &mut SplitMix) -> f64 {
    ((random.next() >> 11) + 1) as f64 / (1u64 << 53) as f64
}

/// Of mean 1.
fn exponential(random: &mut SplitMix) -> f64 {
    -uniform(random).ln()
}

/// Of mean 0 and deviation 1 (Box and Muller, 1958).
fn normal(random: &mut SplitMix) -> f64 {
    let radius = (2.0 * exponential(random)).sqrt();
    radius * (std::f64::consts::TAU * uniform(random)).cos()
}

/// Of this shape and scale 1 (Marsaglia and Tsang, A Simple Method for Generating Gamma Variables, 2000).
fn gamma(random: &mut SplitMix, shape: f64) -> f64 {
    if shape < 1.0 {
        let boost = uniform(random).powf(1.0 / shape);
        return gamma(random, shape + 1.0) * boost;
    }
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let x = normal(random);
        let v = (1.0 + c * x).powi(3);
        if v > 0.0 && uniform(random).ln() < 0.5 * x * x + d - d * v + d * v.ln() {
            return d * v;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instants(arrivals: &Arrivals, requests: u32, seed: u64) -> Vec<f64> {
        let all = schedule(arrivals, Some(requests), None, seed);
        all.iter().map(Duration::as_secs_f64).collect()
    }

    /// Mean and squared coefficient of variation of the gaps.
    fn gaps(instants: &[f64]) -> (f64, f64) {
        let gaps: Vec<f64> = std::iter::once(instants[0])
            .chain(instants.windows(2).map(|pair| pair[1] - pair[0]))
            .collect();
        let n = gaps.len() as f64;
        let mean = gaps.iter().sum::<f64>() / n;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / n;
        (mean, variance / (mean * mean))
    }

    #[test]
    fn the_seed_decides_and_the_last_comes_after_number_by_rate() {
        let poisson = Arrivals::Poisson { rate: 4.0 };
        assert_eq!(instants(&poisson, 50, 1), instants(&poisson, 50, 1));
        assert_ne!(instants(&poisson, 50, 1), instants(&poisson, 50, 2));
        for arrivals in [
            poisson,
            Arrivals::Constant { rate: 4.0 },
            Arrivals::Gamma {
                rate: 4.0,
                burstiness: 0.5,
            },
        ] {
            // 50 / 4 = 12.5 s.
            let last = *instants(&arrivals, 50, 3).last().unwrap();
            assert!((last - 12.5).abs() < 1e-6, "{arrivals:?}: {last}");
        }
    }

    #[test]
    fn what_no_clock_can_hold_is_the_end_of_time() {
        let slow = Arrivals::Poisson { rate: 1e-300 };
        assert_eq!(schedule(&slow, Some(2), None, 1)[1], Duration::MAX);
        // A gamma variable of shape 1e-9 is below the smallest number but for one in a million.
        let bursts = Arrivals::Gamma {
            rate: 500.0,
            burstiness: 1e-9,
        };
        assert_eq!(schedule(&bursts, Some(3), None, 1), [Duration::MAX; 3]);
    }

    #[test]
    fn gaps_vary_as_their_distribution_says() {
        // The squared coefficient of variation of a gamma distribution is 1 / shape; of 20,000 gaps its error is a few percent,
        // and of constant ones that of whole nanoseconds.
        for (arrivals, expected) in [
            (Arrivals::Constant { rate: 10.0 }, 0.0),
            (Arrivals::Poisson { rate: 10.0 }, 1.0),
            (
                Arrivals::Gamma {
                    rate: 10.0,
                    burstiness: 4.0,
                },
                0.25,
            ),
            (
                Arrivals::Gamma {
                    rate: 10.0,
                    burstiness: 0.5,
                },
                2.0,
            ),
        ] {
            let (mean, squared) = gaps(&instants(&arrivals, 20_000, 9));
            assert!((mean - 0.1).abs() < 1e-6, "{arrivals:?}: {mean}");
            assert!(
                (squared - expected).abs() <= expected * 0.1 + 1e-9,
                "{arrivals:?}: {squared}"
            );
        }
    }

    #[test]
    fn a_ramp_goes_from_one_rate_to_the_other() {
        let ramp = |exponential| Arrivals::Ramp {
            from: 10.0,
            to: 1000.0,
            exponential,
        };
        let quarter_s = |exponential| {
            let all = instants(&ramp(exponential), 8000, 2);
            (all[1999], all[7999] - all[5999])
        };
        // Linear: the time of the first quarter is the sum of 1 / rate over it: 8000 / 990 x ln(257.5 / 10) = 26.25 s, and of the
        // last 8000 / 990 x ln(1000 / 752.5) = 2.30 s. By factors: 8000 / ln(100) x (1/10 - 1/31.62) = 118.8 s, and of the last
        // 8000 / ln(100) x (1/316.2 - 1/1000) = 3.756 s. Of random gaps, within 15%.
        for (exponential, first, last) in [(false, 26.25, 2.30), (true, 118.8, 3.756)] {
            let got = quarter_s(exponential);
            assert!((got.0 / first - 1.0).abs() < 0.15, "{got:?}");
            assert!((got.1 / last - 1.0).abs() < 0.15, "{got:?}");
        }
    }

    #[test]
    fn a_time_ends_it_and_a_closed_loop_has_no_instants() {
        let second = Some(Duration::from_secs(1));
        let constant = Arrivals::Constant { rate: 10.0 };
        // At 0.1, 0.2 and so on; the tenth may fall on either side of the end.
        let by_time = schedule(&constant, None, second, 1).len();
        assert!((9..=10).contains(&by_time), "{by_time}");
        assert_eq!(schedule(&constant, Some(5), second, 1).len(), 5);
        let cut = schedule(&constant, Some(100), second, 1).len();
        assert!((9..=10).contains(&cut), "{cut}");
        assert!(schedule(&Arrivals::ClosedLoop, Some(5), None, 1).is_empty());
        assert_eq!(
            schedule(&Arrivals::AllAtOnce, Some(3), None, 1),
            [Duration::ZERO; 3]
        );
    }
}
