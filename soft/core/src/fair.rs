//! Max-min fair rates of flows over shared segments. Pure arithmetic; time is the simulation's matter.

/// What one flow asks for.
#[derive(Debug, Clone, PartialEq)]
pub struct Demand<'a> {
    /// The flow's own limit in bytes per nanosecond.
    pub cap: f64,
    /// Segments it crosses, as positions in the list of capacities; one that stands twice carries the flow twice.
    pub segments: &'a [usize],
}

/// The rate of every flow in bytes per nanosecond, by progressive filling: all rates rise together, and a flow stops at its
/// cap or when a segment it crosses is full.
#[must_use]
pub fn fair_rates(demands: &[Demand<'_>], capacities: &[f64]) -> Vec<f64> {
    let mut rates: Vec<Option<f64>> = vec![None; demands.len()];
    let mut left = capacities.to_vec();
    loop {
        let mut sharing = vec![0_u32; capacities.len()];
        let open = || {
            demands
                .iter()
                .zip(&rates)
                .filter(|(_, rate)| rate.is_none())
                .map(|(demand, _)| demand)
        };
        for segment in open().flat_map(|demand| demand.segments) {
            sharing[*segment] += 1;
        }
        let share = |segment: usize| left[segment] / f64::from(sharing[segment]);
        let limit = |demand: &Demand<'_>| {
            demand
                .segments
                .iter()
                .map(|segment| share(*segment))
                .fold(demand.cap, f64::min)
        };
        let level = open().map(limit).fold(f64::INFINITY, f64::min).max(0.0);
        // The tolerance makes flows that stop at the same level stop in the same round.
        let stops: Vec<usize> = (0..demands.len())
            .filter(|&flow| rates[flow].is_none() && limit(&demands[flow]) <= level * (1.0 + 1e-12))
            .collect();
        if stops.is_empty() {
            return rates.into_iter().map(|rate| rate.unwrap_or(0.0)).collect();
        }
        for flow in stops {
            rates[flow] = Some(level);
            for segment in demands[flow].segments {
                left[*segment] = (left[*segment] - level).max(0.0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Demand, fair_rates};

    fn rates(flows: &[(f64, &[usize])], capacities: &[f64]) -> Vec<f64> {
        let demands: Vec<_> = flows
            .iter()
            .map(|&(cap, segments)| Demand { cap, segments })
            .collect();
        fair_rates(&demands, capacities)
    }

    #[test]
    fn a_lone_flow_runs_at_its_cap() {
        assert_eq!(rates(&[(10.0, &[0])], &[30.0]), [10.0]);
        assert_eq!(rates(&[(10.0, &[])], &[]), [10.0]);
    }

    #[test]
    fn what_a_capped_flow_leaves_goes_to_the_others() {
        // 30 over three flows is 10 each; the first takes only 4, so the others share 26: 13 each.
        assert_eq!(
            rates(&[(4.0, &[0]), (20.0, &[0]), (20.0, &[0])], &[30.0]),
            [4.0, 13.0, 13.0]
        );
    }

    #[test]
    fn the_tightest_segment_stops_its_flows_first() {
        // Segment 1 (10) is shared by b and c: 5 each. Segment 0 (20) then leaves a 20 - 5 = 15, below its cap of 18.
        let found = rates(
            &[(18.0, &[0]), (18.0, &[0, 1]), (18.0, &[1])],
            &[20.0, 10.0],
        );
        assert_eq!(found, [15.0, 5.0, 5.0]);
    }

    #[test]
    fn a_flow_that_crosses_a_segment_twice_takes_twice() {
        // r + 2 r = 24: 8 each.
        assert_eq!(rates(&[(50.0, &[0]), (50.0, &[0, 0])], &[24.0]), [8.0, 8.0]);
    }

    #[test]
    fn no_flows_have_no_rates() {
        assert!(rates(&[], &[1.0]).is_empty());
    }
}
