//! Max-min fair rates, found as a fixed point of one level per channel and then checked for the property that defines them.
//!
//! Nothing is filled step by step: each channel asks which level of its own, together with what the others allow,
//! uses it up, by bisection, over and over until no level changes.

use std::collections::{BTreeMap, BTreeSet};

/// What limits a flow: a rate of its own, and how often it crosses each channel.
pub(crate) struct Flow<'a> {
    /// GB/s.
    pub(crate) cap: f64,
    pub(crate) crosses: &'a BTreeMap<String, f64>,
}

/// The rates in GB/s of flows over channels of these capacities.
pub(crate) fn rates(flows: &[Flow<'_>], capacity: &BTreeMap<String, f64>) -> Vec<f64> {
    let used: BTreeSet<&String> = flows.iter().flat_map(|flow| flow.crosses.keys()).collect();
    let mut levels: BTreeMap<&String, f64> = used.iter().map(|id| (*id, f64::INFINITY)).collect();
    // After each round at least one more bottleneck has its final level, so there are no more rounds than channels.
    for _ in 0..=used.len() {
        let mut changed = false;
        for channel in &used {
            let limits: Vec<(f64, f64)> = flows
                .iter()
                .filter_map(|flow| {
                    let times = flow.crosses.get(*channel)?;
                    Some((*times, limit(flow, &levels, Some(channel.as_str()))))
                })
                .collect();
            let level = level(&limits, capacity[*channel]);
            changed |= levels.insert(*channel, level) != Some(level);
        }
        if !changed {
            break;
        }
    }
    let rates: Vec<f64> = flows
        .iter()
        .map(|flow| limit(flow, &levels, None))
        .collect();
    certify(flows, capacity, &rates);
    rates
}

/// What a flow may have, one channel left out.
fn limit(flow: &Flow<'_>, levels: &BTreeMap<&String, f64>, but: Option<&str>) -> f64 {
    let others = flow.crosses.keys().filter(|id| Some(id.as_str()) != but);
    others.fold(flow.cap, |limit, id| limit.min(levels[id]))
}

/// The level at which flows with these weights and limits use a capacity up; infinite where they cannot.
fn level(limits: &[(f64, f64)], capacity: f64) -> f64 {
    let used = |level: f64| -> f64 {
        limits
            .iter()
            .map(|(times, limit)| times * limit.min(level))
            .sum()
    };
    if used(f64::INFINITY) <= capacity {
        return f64::INFINITY;
    }
    let (mut low, mut high) = (0.0, capacity);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if used(middle) > capacity {
            high = middle;
        } else {
            low = middle;
        }
    }
    low
}

/// Rates are max-min fair if and only if they fit, and each flow has its cap or crosses a full channel on which nobody
/// has more (Bertsekas and Gallager, Data Networks, section 6.5.2).
fn certify(flows: &[Flow<'_>], capacity: &BTreeMap<String, f64>, rates: &[f64]) {
    const SLACK: f64 = 1e-9;
    let load = |id: &String| -> f64 {
        let loads = flows.iter().zip(rates);
        loads
            .map(|(flow, rate)| flow.crosses.get(id).unwrap_or(&0.0) * rate)
            .sum()
    };
    for (flow, rate) in flows.iter().zip(rates) {
        let bottleneck = |id: &&String| {
            let most = flows
                .iter()
                .zip(rates)
                .filter(|(other, _)| other.crosses.contains_key(*id))
                .map(|(_, rate)| *rate)
                .fold(0.0, f64::max);
            load(id) >= capacity[*id] * (1.0 - SLACK) && *rate >= most * (1.0 - SLACK)
        };
        let good =
            *rate >= flow.cap * (1.0 - SLACK) || flow.crosses.keys().any(|id| bottleneck(&id));
        assert!(good, "a flow of {rate} GB/s could have more");
        let fits = |id: &String| load(id) <= capacity[id] * (1.0 + SLACK);
        assert!(
            flow.crosses.keys().all(fits),
            "a channel carries more than it can"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(entries: &[(&str, f64)]) -> BTreeMap<String, f64> {
        entries
            .iter()
            .map(|(id, value)| ((*id).to_owned(), *value))
            .collect()
    }

    fn close(got: &[f64], expected: &[f64]) {
        let near = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-9;
        assert!(
            got.len() == expected.len() && got.iter().zip(expected).all(near),
            "{got:?} {expected:?}"
        );
    }

    #[test]
    fn two_flows_share_what_the_slower_leaves() {
        let (shared, alone) = (map(&[("x", 1.0)]), map(&[]));
        let rates = |a, b, x| {
            let flows = [
                Flow {
                    cap: a,
                    crosses: &shared,
                },
                Flow {
                    cap: b,
                    crosses: &shared,
                },
                Flow {
                    cap: 7.0,
                    crosses: &alone,
                },
            ];
            super::rates(&flows, &map(&[("x", x)]))
        };
        close(&rates(20.0, 30.0, 60.0), &[20.0, 30.0, 7.0]); // 20 + 30 fit
        close(&rates(20.0, 30.0, 36.0), &[18.0, 18.0, 7.0]); // half of 36 each
        close(&rates(10.0, 30.0, 36.0), &[10.0, 26.0, 7.0]); // 36 - 10 are left
    }

    #[test]
    fn a_flow_that_crosses_twice_takes_twice() {
        // r + 2 r = 24, so 8 each.
        let (once, twice) = (map(&[("x", 1.0)]), map(&[("x", 2.0)]));
        let flows = [
            Flow {
                cap: 50.0,
                crosses: &once,
            },
            Flow {
                cap: 50.0,
                crosses: &twice,
            },
        ];
        close(&rates(&flows, &map(&[("x", 24.0)])), &[8.0, 8.0]);
    }

    #[test]
    fn a_bottleneck_elsewhere_leaves_more_to_the_other() {
        // On y the first gets 5 with another; x = 30 then has 25 for the third.
        let (both, y, x) = (
            map(&[("x", 1.0), ("y", 1.0)]),
            map(&[("y", 1.0)]),
            map(&[("x", 1.0)]),
        );
        let flows = [&both, &y, &x].map(|crosses| Flow {
            cap: 100.0,
            crosses,
        });
        close(
            &rates(&flows, &map(&[("x", 30.0), ("y", 10.0)])),
            &[5.0, 5.0, 25.0],
        );
    }
}
