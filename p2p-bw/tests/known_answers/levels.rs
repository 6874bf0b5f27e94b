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
