//! How long a demonstration takes: what is worked out from the box file, and what a machine adds to it. Nothing is timed here.

use std::fmt;

/// Seconds for the collectives of a size, and of a launch of an ablation: what allreduce-bench is told with --budget.
pub(super) const BUDGET_S: u32 = 10;
pub(super) const LAUNCH_BUDGET_S: u32 = 2;

/// What a machine adds to what is worked out, s. Set by hand after demonstrations on two cores, and fitted to nothing: the time of
/// each step that a study says as it goes (`links: done in 12.3 s`), and that of the whole at its end, are there to correct them.
struct Added {
    /// The links of a GPU with the host, by p2p-bw's default cases.
    gpu: f64,
    /// The links of a pair of GPUs, in one direction, by the same.
    pair: f64,
    /// The start of allreduce-bench's process for a rank, its library and its communicator.
    rank: f64,
    /// The embedded engine until it answers, the load generator's start and its files.
    server: f64,
    /// An explanation of 20000 draws with its files and its page.
    page: f64,
    /// All together times this is stated, because machines are not idle. What a launch of an ablation adds to its budget and its
    /// load is in `ablate/plan.rs`.
    room: f64,
}

const ADDED: Added = Added {
    gpu: 1.5,
    pair: 0.5,
    rank: 1.5,
    server: 2.0,
    page: 1.5,
    room: 1.25,
};

/// A part of a demonstration, with its seconds.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::study) struct Part {
    name: String,
    pub(in crate::study) seconds: f64,
}

impl Part {
    /// The links of so many GPUs.
    pub(in crate::study) fn links(gpus: u32) -> Self {
        let gpus = f64::from(gpus);
        Self {
            name: "links".to_owned(),
            seconds: gpus * ADDED.gpu + gpus * (gpus - 1.0) * ADDED.pair,
        }
    }

    /// The collectives of a size, for which allreduce-bench is given so many seconds.
    pub(in crate::study) fn collectives(tp: u32, budget_s: f64) -> Self {
        Self {
            name: format!("collectives of {tp}"),
            seconds: budget_s + f64::from(tp) * ADDED.rank,
        }
    }

    /// The load on so many GPUs, which takes `seconds` by the box file.
    pub(in crate::study) fn serving(tp: u32, seconds: f64) -> Self {
        Self {
            name: format!("load on {tp} GPU(s)"),
            seconds: ADDED.server + seconds,
        }
    }

    /// The explanations of so many sizes, each against one GPU and against the size before it.
    pub(in crate::study) fn explanation(several: usize) -> Self {
        let pages = u32::try_from(2 * several.max(1) - 1).unwrap_or(u32::MAX);
        Self {
            name: "explanation".to_owned(),
            seconds: f64::from(pages) * ADDED.page,
        }
    }

    /// An ablation of a size.
    pub(super) fn ablation(tp: u32, launches: usize, seconds: f64) -> Self {
        Self {
            name: format!("ablation of {tp} in {launches} launches"),
            seconds,
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:.0}", self.name, self.seconds)
    }
}

/// The seconds that are stated: what is counted with some room, in whole fives.
pub(super) fn stated(parts: &[Part]) -> u32 {
    let counted: f64 = parts.iter().map(|part| part.seconds).sum();
    in_fives(counted * ADDED.room)
}

/// The next multiple of five.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "some minutes in seconds"
)]
fn in_fives(seconds: f64) -> u32 {
    5 * (seconds / 5.0).ceil() as u32
}

/// The stated time against the clock.
pub(super) fn kept_to(stated: u32, took_s: f64, began_before: bool) -> String {
    let why = match (began_before, took_s > f64::from(stated)) {
        (true, _) => "; some of it was measured before",
        (false, true) => "; longer than stated: this machine was busy, or is slower than two cores",
        (false, false) => "",
    };
    format!("stated {stated} s, took {took_s:.0} s{why}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stated_seconds_are_whole_fives_and_are_held_against_the_clock() {
        assert_eq!((in_fives(80.0), in_fives(80.1)), (80, 85));
        assert_eq!(kept_to(95, 88.2, false), "stated 95 s, took 88 s");
        assert!(kept_to(95, 101.0, false).contains("longer than stated"));
        assert!(kept_to(95, 10.0, true).contains("measured before"));
    }

    #[test]
    fn parts_add_up_to_what_is_stated() {
        // Four GPUs: 4 x 1.5 + 12 x 0.5 = 12; two ranks: 10 + 3 = 13; 2 + 20; sizes 2 and 4, and one against the other: 3 x 1.5.
        let parts = [
            (Part::links(4), 12.0),
            (Part::collectives(2, 10.0), 13.0),
            (Part::serving(2, 20.0), 22.0),
            (Part::explanation(2), 4.5),
        ];
        for (part, seconds) in &parts {
            assert!((part.seconds - seconds).abs() < 1e-9, "{part}");
        }
        // 51.5 x 1.25 = 64.4.
        assert_eq!(stated(&parts.map(|(part, _)| part)), 65);
    }
}
