//! Whether a server kept up with a rate: it completed what was offered, and the requests in flight did not grow.
//!
//! Looked at from the median request's duration after the first arrival on, when replies come as fast as requests where a
//! server keeps up, to the last arrival, after which nothing is offered any more.

use record::ServeRequest;
use serde::Serialize;
use stats::sorted;

/// Part of what is offered that must be completed.
const COMPLETED: f64 = 0.95;

/// Growth of the requests in flight, as a part of the offered rate, that counts as growing.
const GROWTH: f64 = 0.05;

/// Growth that counts where it stands out: above this, and this many standard errors above none.
const SIGNIFICANT: (f64, f64) = (0.01, 4.0);

/// Standard deviations of the requests in flight at two instants, by which they may differ by chance. Arrivals that know nothing of
/// each other leave a number in flight whose variance is its mean.
const BY_CHANCE: f64 = 2.0;

/// Of fewer in flight the looks tell their mean too poorly.
const FEW: f64 = 2.0;

/// Part of the arrivals' time that the median request may last; where it lasts longer, nothing shows what is sustained.
const LONGEST: f64 = 0.5;

/// Instants at which requests in flight are counted for the slope.
const LOOKS: u32 = 10;

/// What a run says about its rate.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Sustained {
    /// Seconds that were looked at; `None` where arrivals ended before replies came steadily.
    pub(crate) window_s: Option<f64>,
    /// Requests that arrived in that time; in the whole run without a window.
    pub(crate) offered: u32,
    /// Requests that succeeded in that time.
    pub(crate) completed: u32,
    /// Requests per second that were completed while others arrived: that part of the rate of all arrivals.
    pub(crate) completed_per_s: Option<f64>,
    /// Growth of the requests in flight, requests per second.
    pub(crate) growth_per_s: Option<f64>,
    /// Whether the rate was sustained.
    pub(crate) held: bool,
}

/// Looks at the requests of one open-loop run.
pub(crate) fn sustained(requests: &[ServeRequest]) -> Sustained {
    let arrival = |one: &ServeRequest| one.intended_ms.unwrap_or(one.sent_ms);
    let number = |is: &dyn Fn(&ServeRequest) -> bool| -> u32 {
        requests.iter().map(|one| u32::from(is(one))).sum()
    };
    let of_all =
        |of: &dyn Fn(&ServeRequest) -> f64| sorted(&requests.iter().map(of).collect::<Vec<f64>>());
    let arrivals = of_all(&arrival);
    let (Some(first), Some(last)) = (arrivals.first(), arrivals.last()) else {
        return Sustained::default();
    };
    let median = of_all(&|one| one.ended_ms - arrival(one))[requests.len() / 2];
    if median > LONGEST * (last - first) {
        return Sustained {
            offered: number(&|_| true),
            ..Sustained::default()
        };
    }
    let begin = first + median;
    // Without the arrival that ends it: none of few could be completed by then.
    let within = |instant: f64| begin < instant && instant < *last;
    let offered = number(&|one| within(arrival(one)));
    let completed = number(&|one| one.error.is_none() && within(one.ended_ms));
    let failed = f64::from(number(&|one| one.error.is_some() && within(one.ended_ms)));
    let looks = (0..LOOKS).map(|look| {
        let instant = begin + f64::from(look) / f64::from(LOOKS - 1) * (last - begin);
        let in_flight = number(&|one| arrival(one) <= instant && instant < one.ended_ms);
        (instant / 1e3, f64::from(in_flight))
    });
    let (mean, slope, error) = line(&looks.collect::<Vec<_>>());
    let window_s = (last - begin) / 1e3;
    let of = f64::from(offered);
    let growth = slope * window_s / of.max(1.0);
    let (least, errors) = SIGNIFICANT;
    let by_chance = BY_CHANCE * (2.0 * mean.max(FEW)).sqrt();
    let is_growing = (growth > GROWTH && slope * window_s > by_chance)
        || (growth > least && slope > errors * error);
    let lacking = of - f64::from(completed) - failed;
    let is_chance = lacking <= by_chance && failed <= of * (1.0 - COMPLETED);
    let is_completed = f64::from(completed) / of.max(1.0) >= COMPLETED;
    let arriving = (arrivals.len() as f64 - 1.0) / (last - first) * 1e3;
    Sustained {
        window_s: Some(window_s),
        offered,
        completed,
        completed_per_s: (offered > 0).then(|| f64::from(completed) / of * arriving),
        growth_per_s: Some(slope),
        held: (is_completed || is_chance) && !is_growing,
    }
}

/// The mean height of points, the least-squares slope through them and its standard error.
fn line(points: &[(f64, f64)]) -> (f64, f64, f64) {
    let sum = |of: &dyn Fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>();
    let n = sum(&|_| 1.0);
    let (x, y) = (sum(&|point| point.0) / n, sum(&|point| point.1) / n);
    let square = sum(&|point| (point.0 - x).powi(2));
    let slope = sum(&|point| (point.0 - x) * (point.1 - y)) / square;
    let rest = sum(&|point| (point.1 - y - slope * (point.0 - x)).powi(2));
    (y, slope, (rest / (n - 2.0) / square).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Requests at a rate, served one after the other at another, each lasting `service_ms` at least.
    fn queue(count: u32, rate: f64, capacity: f64, service_ms: f64) -> Vec<ServeRequest> {
        let mut free = 0.0f64;
        (0..count)
            .map(|id| {
                let arrival = f64::from(id) / rate * 1e3;
                free = free.max(arrival) + 1e3 / capacity;
                ServeRequest {
                    id,
                    intended_ms: Some(arrival),
                    sent_ms: arrival,
                    ended_ms: free.max(arrival + service_ms),
                    ..ServeRequest::default()
                }
            })
            .collect()
    }

    #[test]
    fn a_server_that_keeps_up_is_sustained() {
        // 10 a second of 20 possible for 60 s, 1 s each.
        let found = sustained(&queue(600, 10.0, 20.0, 1000.0));
        assert!(found.held, "{found:?}");
        // Arrivals 0 to 59.9 s, looked at from 1 s on: 58.9 s, without the arrivals at its ends.
        assert!((found.window_s.unwrap() - 58.9).abs() < 1e-9);
        assert_eq!(found.offered, 588);
    }

    #[test]
    fn a_queue_that_grows_slowly_is_not_sustained() {
        // 3% above what the server can: 97% is completed, and the queue grows by 10 - 9.7 = 0.3 a second.
        let found = sustained(&queue(600, 10.0, 9.7, 0.0));
        assert!(!found.held, "{found:?}");
        assert!(
            (found.growth_per_s.unwrap() - 0.3).abs() < 0.03,
            "{found:?}"
        );
    }

    /// Runs of random arrivals at a rate, served one after the other at another, each lasting so long at least.
    fn random(rate: f64, count: u32, capacity: f64, lasts_ms: f64) -> Vec<Sustained> {
        let mut random = stats::SplitMix::new(3);
        let mut run = || {
            let (mut at, mut free) = (0.0_f64, 0.0_f64);
            let requests = (0..count).map(|id| {
                let uniform = (random.below(1 << 30) as f64 + 0.5) / f64::from(1 << 30);
                at -= uniform.ln() / rate * 1e3;
                free = free.max(at) + 1e3 / capacity;
                ServeRequest {
                    id,
                    intended_ms: Some(at),
                    sent_ms: at,
                    ended_ms: free.max(at + lasts_ms),
                    ..ServeRequest::default()
                }
            });
            sustained(&requests.collect::<Vec<_>>())
        };
        (0..200).map(|_| run()).collect()
    }

    #[test]
    fn what_random_arrivals_leave_by_chance_is_no_queue() {
        // A server that never queues, each request 0.45 s, random arrivals of 5 and of 2 a second for ten times as long as a request;
        // and one that can do 20% less than comes, for a minute.
        let held = |runs: Vec<Sustained>| runs.iter().filter(|run| run.held).count();
        for (rate, count) in [(5.0, 22), (2.0, 20), (5.0, 300)] {
            let held = held(random(rate, count, 1e6, 450.0));
            assert!(held >= 190, "{rate} {count}: {held}");
        }
        let held = held(random(10.0, 600, 8.0, 450.0));
        assert!(held <= 4, "{held}");
    }

    #[test]
    fn a_low_rate_that_is_kept_up_is_neither_estimated_nor_judged_low() {
        // 20 random arrivals at 0.5 a second, each request 5 s: 20 over 38 s of arrivals and 5 s of the last one
        // would be 0.465.
        let runs = random(0.5, 20, 1e6, 5000.0);
        let sum = |of: &dyn Fn(&Sustained) -> f64| runs.iter().map(of).sum::<f64>();
        let completed = sum(&|run| f64::from(run.completed));
        let rate = sum(&|run| run.completed_per_s.unwrap_or_default()) / 200.0;
        // The mean of 19 over the time of 19 random gaps is 19 / 18 of the rate, and that of 200 runs is within 2% of it (1 / sqrt(17 200)).
        assert!((rate / 0.5 - 19.0 / 18.0).abs() < 0.05, "{rate}");
        let part = completed / sum(&|run| f64::from(run.offered));
        assert!((part - 1.0).abs() < 0.05, "{part}");
        // Every 2 s one arrives, from 6 s to 36 s, and one ends, from 7 s to 37 s.
        let found = sustained(&queue(20, 0.5, 1e6, 5000.0));
        assert_eq!((found.offered, found.completed), (16, 16));
        assert_eq!(found.completed_per_s, Some(0.5));
    }

    #[test]
    fn five_seconds_of_arrivals_that_take_twenty_are_a_burst() {
        // As 400 requests at 80 a second, of which 15 a second were completed (prefill and decode on two nodes): the last
        // arrives after 5 s, the median request lasts 200/15 - 200/80 = 10.8 s.
        let found = sustained(&queue(400, 80.0, 15.0, 0.0));
        assert!(!found.held && found.window_s.is_none(), "{found:?}");
    }

    #[test]
    fn failed_requests_are_not_completed() {
        let mut requests = queue(600, 10.0, 20.0, 100.0);
        for request in requests.iter_mut().step_by(10) {
            request.error = Some(record::RequestError {
                kind: record::RequestErrorKind::Status,
                seen: "503".to_owned(),
            });
        }
        // 90% succeed.
        let found = sustained(&requests);
        assert!(!found.held, "{found:?}");
    }
}
