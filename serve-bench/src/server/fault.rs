//! Faults on purpose: which there are, how the command line says them, and which requests they strike.

use std::str::FromStr;
use std::time::Duration;

use measure::stats::SplitMix;

/// A kind of fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// After so many tokens nothing more comes, and the connection stays open.
    Stall,
    /// An error status instead of a reply.
    Status,
    /// After so many tokens the connection is closed within the reply.
    Cut,
    /// After so many tokens an error object comes, as from an engine that died.
    ErrorInStream,
    /// Status 200, and then an error object instead of a reply.
    ErrorAfter200,
    /// A connection is taken so many ms after it was made; the next one only after that.
    SlowAccept,
    /// The reply comes a byte at a time, so many ms apart.
    Trickle,
    /// One line of so many bytes.
    EndlessLine,
    /// No answer at all, and the connection stays open.
    NoAnswer,
}

/// A kind's name, and what `N` is where none is given; `None` where it takes none.
type Row = (Kind, &'static str, Option<u64>);

const ROWS: [Row; 9] = [
    (Kind::Stall, "stall", Some(1)),
    (Kind::Status, "status", Some(500)),
    (Kind::Cut, "cut", Some(1)),
    (Kind::ErrorInStream, "error-in-stream", Some(1)),
    (Kind::ErrorAfter200, "error-after-200", None),
    (Kind::SlowAccept, "slow-accept", Some(1000)),
    (Kind::Trickle, "trickle", Some(1000)),
    (Kind::EndlessLine, "endless-line", Some(1_000_000_000)),
    (Kind::NoAnswer, "no-answer", None),
];

impl Kind {
    fn row(self) -> Row {
        // Each kind has a row, which a test counts.
        let found = ROWS.into_iter().find(|(kind, ..)| *kind == self);
        found.unwrap_or(ROWS[0])
    }

    /// Its name on the command line and in the log.
    pub(super) fn name(self) -> &'static str {
        self.row().1
    }
}

/// A fault that a part of the requests meets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Fault {
    pub(super) kind: Kind,
    /// Tokens, a status, ms or bytes, as the kind has it.
    pub(super) amount: u64,
    /// Part of the requests, or of the connections for one that is taken late.
    share: f64,
}

impl Fault {
    /// A fault within a reply, and the tokens before it.
    pub(super) fn amid(self) -> Option<(Kind, u64)> {
        let is_amid = matches!(self.kind, Kind::Stall | Kind::Cut | Kind::ErrorInStream);
        is_amid.then_some((self.kind, self.amount))
    }
}

impl FromStr for Fault {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (rest, share) = match text.split_once('@') {
            None => (text, 1.0),
            Some((rest, share)) => (rest, part(share)?),
        };
        let (name, amount) = match rest.split_once('=') {
            None => (rest, None),
            Some((name, amount)) => (name, Some(amount)),
        };
        let (kind, _, default) = ROWS
            .into_iter()
            .find(|(_, known, _)| *known == name)
            .ok_or_else(|| {
                let names = ROWS.map(|(_, name, _)| name).join(", ");
                format!("`{name}` is no fault; there are {names}")
            })?;
        let amount = match (amount, default) {
            (None, default) => default.unwrap_or(0),
            (Some(_), None) => return Err(format!("{name} takes no number")),
            (Some(amount), Some(_)) => amount
                .parse()
                .map_err(|_| format!("`{amount}` is no whole number of 0 or more"))?,
        };
        if kind == Kind::Status && !(400..600).contains(&amount) {
            return Err(format!(
                "status {amount} is no error; give one of 400 to 599"
            ));
        }
        Ok(Self {
            kind,
            amount,
            share,
        })
    }
}

fn part(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|share| (0.0..=1.0).contains(share))
        .ok_or_else(|| format!("`{text}` is no share from 0 to 1"))
}

/// All faults of a server.
#[derive(Debug, Clone, Default)]
pub(super) struct Faults {
    list: Vec<Fault>,
    seed: u64,
}

impl Faults {
    pub(super) fn new(list: Vec<Fault>, seed: u64) -> Self {
        Self { list, seed }
    }

    /// The fault that the request of this number meets: the first of those that strike it.
    pub(super) fn of_request(&self, number: u64) -> Option<Fault> {
        self.strike(number, |kind| kind != Kind::SlowAccept)
    }

    /// How long the connection of this number waits to be taken.
    pub(super) fn accept_after(&self, number: u64) -> Option<Duration> {
        self.strike(number, |kind| kind == Kind::SlowAccept)
            .map(|fault| Duration::from_millis(fault.amount))
    }

    fn strike(&self, number: u64, is_asked: impl Fn(Kind) -> bool) -> Option<Fault> {
        let mut list = (0..).zip(&self.list);
        let (_, fault) = list.find(|(index, fault)| {
            is_asked(fault.kind) && self.draw(number, *index) < fault.share
        })?;
        Some(*fault)
    }

    /// Uniform in 0..1, the same for a seed, a number and a fault.
    #[expect(clippy::cast_precision_loss, reason = "53 bits are exact in an f64")]
    fn draw(&self, number: u64, index: u64) -> f64 {
        let mut random = SplitMix::new(self.seed);
        // Each number and fault has a generator of its own, whose seed an own one scatters.
        let seed = random.next() ^ SplitMix::new(number).next() ^ SplitMix::new(!index).next();
        (SplitMix::new(seed).next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(text: &str) -> Fault {
        text.parse().unwrap()
    }

    #[test]
    fn a_fault_is_a_kind_with_a_number_and_a_share() {
        for (text, kind, amount, share) in [
            ("stall", Kind::Stall, 1, 1.0),
            ("stall=3@0.25", Kind::Stall, 3, 0.25),
            ("status", Kind::Status, 500, 1.0),
            ("status=503", Kind::Status, 503, 1.0),
            ("no-answer@0", Kind::NoAnswer, 0, 0.0),
            ("endless-line", Kind::EndlessLine, 1_000_000_000, 1.0),
        ] {
            let expected = Fault {
                kind,
                amount,
                share,
            };
            assert_eq!(fault(text), expected, "{text}");
        }
        for (text, says) in [
            ("hang", "`hang` is no fault; there are stall, status, cut"),
            ("no-answer=1", "takes no number"),
            ("cut=x", "`x` is no whole number"),
            ("cut@2", "`2` is no share"),
            ("status=200", "status 200 is no error"),
        ] {
            let refusal = text.parse::<Fault>().unwrap_err();
            assert!(refusal.contains(says), "{refusal}");
        }
    }

    #[test]
    fn every_kind_has_one_row() {
        for (index, (kind, name, _)) in ROWS.into_iter().enumerate() {
            assert_eq!(kind.name(), name);
            let first = ROWS.iter().position(|(other, ..)| *other == kind);
            assert_eq!(first, Some(index));
        }
    }

    #[test]
    fn a_share_is_met_and_the_same_seed_strikes_the_same_requests() {
        let struck = |seed| -> Vec<u64> {
            let faults = Faults::new(vec![fault("cut@0.2"), fault("stall@0.5")], seed);
            let is_cut = |number: &u64| {
                faults
                    .of_request(*number)
                    .is_some_and(|fault| fault.kind == Kind::Cut)
            };
            (0..10_000).filter(is_cut).collect()
        };
        let first = struck(7);
        // A binomial of 10 000 at 0.2: 2000, standard deviation 40; five of them.
        assert!((1800..=2200).contains(&first.len()), "{}", first.len());
        assert_eq!(first, struck(7));
        assert_ne!(first, struck(8));
    }

    #[test]
    fn what_the_first_fault_leaves_the_second_gets() {
        let faults = Faults::new(vec![fault("cut@0.5"), fault("stall")], 1);
        let kinds: Vec<Kind> = (0..1000)
            .map(|number| faults.of_request(number).unwrap().kind)
            .collect();
        let cut = kinds.iter().filter(|kind| **kind == Kind::Cut).count();
        // 500, standard deviation 16; five of them.
        assert!((420..=580).contains(&cut), "{cut}");
        assert!(kinds.contains(&Kind::Stall));
        let slow = Faults::new(vec![fault("slow-accept=20")], 1);
        assert_eq!(slow.of_request(0), None);
        assert_eq!(slow.accept_after(0), Some(Duration::from_millis(20)));
        assert_eq!(faults.accept_after(0), None);
    }
}
