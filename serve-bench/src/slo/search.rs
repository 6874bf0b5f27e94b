//! What to try next, and when the answer is there. Pure: it knows the tries so far and nothing else, so a search that was
//! broken off goes on by being asked again.
//!
//! From a start the load is doubled while the objectives are met, or halved while they are not; then the gap between the
//! largest that is met and the smallest that is not is halved on a logarithmic scale. A try that decides nothing is repeated
//! while there are runs to spare; after that it counts as not shown to be met. A load that the client could not make sends the
//! search down, because it can only ask for less, and is never an answer.

use serde::Serialize;

/// How often a load is tried at most.
const TRIES: usize = 3;

/// Steps of the first phase.
const FACTOR: f64 = 2.0;

/// What the runs of a load say about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, strum::Display)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "lowercase")]
pub(super) enum Verdict {
    /// All objectives are kept, and the load was sustained.
    Met,
    /// An objective is not kept.
    Missed,
    /// The interval of a statistic holds its limit.
    Undecided,
    /// Objectives are not missed, but the server did not keep up or let requests fail: a burst of this size, not a rate.
    #[strum(serialize = "not sustained")]
    NotSustained,
    /// The runs say nothing about the server: the load generator was the limit.
    #[strum(serialize = "not known")]
    NotKnown,
}

/// Where to search, and how far.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct Bounds {
    /// The first load.
    pub(super) start: f64,
    /// No load is smaller.
    pub(super) lowest: f64,
    /// No load is larger.
    pub(super) highest: f64,
    /// The largest load that is met is known to this part, such as 0.03.
    pub(super) resolution: f64,
    /// Runs at most, repeats too.
    pub(super) runs: usize,
    /// Whether loads are whole numbers.
    pub(super) whole: bool,
}

/// What is known after some tries.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct Found {
    /// How the search ended.
    pub(super) outcome: Outcome,
    /// The largest load that is met.
    pub(super) met: Option<f64>,
    /// The smallest load above it that is not shown to be met.
    pub(super) not_met: Option<f64>,
    /// What the runs of that say.
    pub(super) not_met_verdict: Option<Verdict>,
    /// The load to try next; `None` where the search has ended.
    pub(super) next: Option<f64>,
}

/// How a search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Outcome {
    /// It has not.
    Open,
    /// The largest load is known to the resolution.
    Found,
    /// There are no runs left, and the gap is wider than the resolution.
    Wide,
    /// No load is met, down to the lowest.
    Never,
    /// Every load is met, up to the highest.
    Always,
    /// The load generator was the limit before the server was, so that the largest load is not known.
    ClientLimit,
}

impl Bounds {
    /// What is known after these tries, each a load and what it and the earlier ones of the same load say together.
    pub(super) fn found(&self, tries: &[(f64, Verdict)]) -> Found {
        // The last try of a load speaks for all of them.
        let is_last = |(at, load): (usize, f64)| tries[at + 1..].iter().all(|one| one.0 != load);
        let last = tries.iter().enumerate();
        let last = last.filter(|(at, one)| is_last((*at, one.0)));
        let (met, not): (Vec<_>, Vec<_>) = last
            .map(|(_, one)| *one)
            .partition(|(_, verdict)| *verdict == Verdict::Met);
        let met = met.iter().map(|one| one.0).max_by(f64::total_cmp);
        // Where nothing is known of several loads, less load does not help: something else has the client's CPU.
        let is_starved = not.len() >= TRIES && not.iter().all(|one| one.1 == Verdict::NotKnown);
        let runs = match is_starved && met.is_none() {
            true => tries.len(),
            false => self.runs,
        };
        let not = not.into_iter();
        let above = not.filter(|(load, _)| met.is_none_or(|met| *load > met));
        let above = above.min_by(|one, other| one.0.total_cmp(&other.0));
        let (not_met, not_met_verdict) = above.unzip();
        let left = runs.saturating_sub(tries.len());
        let again = tries.last().filter(|(load, verdict)| {
            matches!(verdict, Verdict::Undecided | Verdict::NotKnown)
                && tries.iter().filter(|one| one.0 == *load).count() < TRIES
                && left > self.needed(met, not_met)
        });
        let next = match (again, met, not_met) {
            (Some((load, _)), ..) => Ok(*load),
            (_, None, None) => Ok(self.start),
            (_, Some(met), None) if met >= self.highest => Err(Outcome::Always),
            (_, Some(met), None) => Ok((met * FACTOR).min(self.highest)),
            (_, None, Some(first)) if first <= self.lowest => Err(Outcome::Never),
            (_, None, Some(first)) => Ok(self.rounded(first / FACTOR).max(self.lowest)),
            (_, Some(met), Some(first)) => self.between(met, first).ok_or(Outcome::Found),
        };
        Found {
            outcome: match (next, not_met_verdict) {
                (Ok(_), _) if left > 0 => Outcome::Open,
                (_, Some(Verdict::NotKnown)) => Outcome::ClientLimit,
                (Ok(_), _) => Outcome::Wide,
                (Err(outcome), _) => outcome,
            },
            met,
            not_met,
            not_met_verdict,
            next: next.ok().filter(|_| left > 0),
        }
    }

    /// Runs that the bisection still takes; from a factor of two on, where it has not begun.
    fn needed(&self, met: Option<f64>, not_met: Option<f64>) -> usize {
        let (mut low, high, mut steps) = match met.zip(not_met) {
            Some((met, not_met)) => (met, not_met, 0),
            None => (self.start, self.start * FACTOR, 1),
        };
        while let Some(middle) = self.between(low, high) {
            low = middle;
            steps += 1;
        }
        steps
    }

    /// The load between two; `None` where they are close enough.
    fn between(&self, low: f64, high: f64) -> Option<f64> {
        let is_close = high / low <= 1.0 + self.resolution || (self.whole && high - low <= 1.0);
        let middle = (low * high).sqrt();
        (!is_close).then(|| match self.whole {
            true => middle.round().clamp(low + 1.0, high - 1.0),
            false => self.rounded(middle),
        })
    }

    /// A load that people can read: a whole number, or four digits.
    fn rounded(&self, load: f64) -> f64 {
        if self.whole {
            return load.floor();
        }
        let power = 10f64.powf(3.0 - load.log10().floor());
        (load * power).round() / power
    }
}

/// Searches over made-up systems whose knee is known by arithmetic.
#[cfg(test)]
mod tests {
    use stats::SplitMix;

    use super::*;

    const BOUNDS: Bounds = Bounds {
        start: 1.0,
        lowest: 1e-3,
        highest: 1e6,
        resolution: 0.03,
        runs: 12,
        whole: false,
    };

    /// Runs a search to its end and gives what it found and its tries.
    fn search(
        bounds: Bounds,
        mut run: impl FnMut(f64, usize) -> Verdict,
    ) -> (Found, Vec<(f64, Verdict)>) {
        let mut tries = Vec::new();
        loop {
            let found = bounds.found(&tries);
            let Some(load) = found.next else {
                return (found, tries);
            };
            assert_eq!(found.outcome, Outcome::Open);
            assert!(tries.len() < bounds.runs, "one run too many: {tries:?}");
            tries.push((load, run(load, tries.len())));
        }
    }

    fn below(knee: f64) -> impl FnMut(f64, usize) -> Verdict {
        move |load, _| match load <= knee {
            true => Verdict::Met,
            false => Verdict::Missed,
        }
    }

    #[test]
    fn a_step_is_found_within_three_percent_in_twelve_runs() {
        let mut random = SplitMix::new(1);
        for _ in 0..200 {
            // Doubling takes as many runs as the knee is powers of two away, and one more; halving a factor of two down to 3%
            // takes five (2^(1/32) = 1.022): from 2^-6 to 2^6 these are 12 at most.
            let part = random.below(1 << 20) as f64 / f64::from(1 << 20);
            let knee = 2f64.powf(-5.9 + 11.8 * part);
            let (found, _) = search(BOUNDS, below(knee));
            assert_eq!(found.outcome, Outcome::Found, "{knee}");
            // It never claims more than the system can.
            let met = found.met.unwrap();
            assert!((knee / 1.03..=knee).contains(&met), "{found:?} of {knee}");
        }
    }

    #[test]
    fn whole_numbers_are_found_exactly_where_they_are_few() {
        let whole = Bounds {
            lowest: 1.0,
            start: 4.0,
            whole: true,
            ..BOUNDS
        };
        for knee in (1..=200).map(f64::from) {
            let (found, _) = search(whole, below(knee));
            assert_eq!(found.outcome, Outcome::Found, "{knee}");
            let met = found.met.unwrap();
            // Three percent of fewer than 34 is less than one.
            assert!(met == knee || (knee >= 34.0 && met >= knee / 1.03 && met < knee));
            assert_eq!(met.fract(), 0.0);
        }
    }

    #[test]
    fn never_and_always_are_said_with_the_bound() {
        let few = Bounds {
            lowest: 0.1,
            highest: 20.0,
            ..BOUNDS
        };
        let ended = |bounds, knee| {
            let (found, tries) = search(bounds, below(knee));
            (found.outcome, found.met, found.not_met, tries.len())
        };
        // 1, 0.5, 0.25, 0.125, 0.1.
        assert_eq!(ended(few, 0.01), (Outcome::Never, None, Some(0.1), 5));
        // 1, 2, 4, 8, 16, 20.
        assert_eq!(ended(few, 1e9), (Outcome::Always, Some(20.0), None, 6));
        // Twelve runs double eleven times.
        assert_eq!(ended(BOUNDS, 1e9), (Outcome::Wide, Some(2048.0), None, 12));
    }

    #[test]
    fn undecided_loads_are_repeated_and_not_taken_for_met() {
        // Met up to 8, undecided to 12, missed above.
        let bounds = Bounds {
            start: 6.0,
            ..BOUNDS
        };
        let (found, tries) = search(bounds, |load, _| match load {
            met if met <= 8.0 => Verdict::Met,
            open if open <= 12.0 => Verdict::Undecided,
            _ => Verdict::Missed,
        });
        assert_eq!(found.not_met_verdict, Some(Verdict::Undecided));
        let met = found.met.unwrap();
        assert!((8.0 / 1.03..=8.0).contains(&met), "{found:?}");
        assert_eq!(tries.len(), 12, "the runs that are left go into repeats");
        // 6 is met; 12 is tried three times, because there are runs to spare.
        assert_eq!(tries.iter().filter(|one| one.0 == 12.0).count(), 3);
    }

    #[test]
    fn a_load_that_the_client_could_not_make_is_no_answer() {
        // The client can 10, and the server is never asked for more than it can.
        let (found, _) = search(BOUNDS, |load, _| match load {
            met if met <= 10.0 => Verdict::Met,
            _ => Verdict::NotKnown,
        });
        assert_eq!(found.outcome, Outcome::ClientLimit);
        let met = found.met.unwrap();
        assert!((8.0..=10.0).contains(&met), "{found:?}");
        assert_eq!(found.not_met_verdict, Some(Verdict::NotKnown));

        // Where it fails at every load, the search ends before its runs do.
        let (found, tries) = search(BOUNDS, |_, _| Verdict::NotKnown);
        assert_eq!((found.outcome, found.met), (Outcome::ClientLimit, None));
        assert!(tries.len() < BOUNDS.runs, "{tries:?}");

        // Below what is missed nothing is lost by a client that failed above it.
        let (found, _) = search(BOUNDS, |load, tries| match load {
            one if one == 1.0 && tries < 3 => Verdict::NotKnown,
            met if met <= 0.3 => Verdict::Met,
            _ => Verdict::Missed,
        });
        assert_eq!(found.outcome, Outcome::Found);
    }
}
