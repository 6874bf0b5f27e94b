//! The arms as they run: what the ranks of each begin with, and which of them are left alone.

use measure::record::Arm;

use super::group::Start;
use super::modes::Clock;
use super::transport;

/// Groups that an arm may lose one after another before the rest of it is left alone.
const LIMIT: u32 = 2;

/// An arm, or the only variant of a run without arms.
#[derive(Debug)]
pub(super) struct Variant {
    /// `None` where no arm was given.
    pub(super) arm: Option<Arm>,
    /// Whether ranks of it became one communicator.
    pub(super) joined: bool,
    /// Groups lost in a row.
    lost: u32,
    /// Why the last one was.
    why: String,
}

impl Variant {
    /// Those of a command line: one without a name where it names no arm.
    pub(super) fn of(arms: &[Arm]) -> Vec<Self> {
        let fresh = |arm: Option<Arm>| Self {
            arm,
            joined: false,
            lost: 0,
            why: String::new(),
        };
        if arms.is_empty() {
            vec![fresh(None)]
        } else {
            arms.iter().cloned().map(Some).map(fresh).collect()
        }
    }

    /// Its name in the record.
    pub(super) fn name(&self) -> Option<String> {
        self.arm.as_ref().map(|arm| arm.name.clone())
    }

    /// What a group of its ranks begins with.
    pub(super) fn start(&self, clock: Clock) -> Start {
        begin(self.arm.as_ref(), clock)
    }

    /// A point came to its end.
    pub(super) fn held(&mut self) {
        self.lost = 0;
    }

    /// Its ranks were lost; `for_good` where more of them should not be started.
    pub(super) fn lose(&mut self, why: &str, for_good: bool) {
        self.lost = if for_good { LIMIT } else { self.lost + 1 };
        why.clone_into(&mut self.why);
    }

    /// Why no more of its ranks are started; `None` while they are.
    pub(super) fn left_alone(&self) -> Option<String> {
        (self.lost >= LIMIT).then(|| {
            format!(
                "the ranks were lost {LIMIT} times in a row and are not started again; last: {}",
                self.why
            )
        })
    }
}

/// What a group begins with: the variables of its arm and of its clock.
pub(super) fn begin(arm: Option<&Arm>, clock: Clock) -> Start {
    let mut start = transport::start().0;
    let of_arm = arm.into_iter().flat_map(|arm| &arm.variables);
    let of_arm = of_arm.map(|(name, value)| (name.into(), value.into()));
    start.environment.extend(of_arm);
    let of_clock = clock
        .variables()
        .map(|(name, value)| (name.into(), value.into()));
    start.environment.extend(of_clock);
    start
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arm(name: &str, variables: &[(&str, &str)]) -> Arm {
        let variables = variables.iter();
        Arm {
            name: name.to_owned(),
            variables: variables
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
        }
    }

    #[test]
    fn an_arm_that_loses_its_ranks_twice_in_a_row_is_left_alone_and_others_are_not() {
        let mut variants = Variant::of(&[arm("a", &[]), arm("b", &[])]);
        for why in ["first", "second"] {
            variants[0].lose("before", false);
            variants[0].held();
            variants[0].lose(why, false);
            assert_eq!(variants[0].left_alone(), None);
            variants[0].held();
        }
        variants[0].lose("first", false);
        variants[0].lose("second", false);
        assert!(variants[0].left_alone().unwrap().ends_with("last: second"));
        assert_eq!(variants[1].left_alone(), None);
        variants[1].lose("it cannot be ended", true);
        assert!(variants[1].left_alone().is_some());
    }

    #[test]
    fn ranks_have_the_variables_of_their_arm_and_of_their_clock() {
        let arm = arm("a", &[("NCCL_PROTO", "LL"), ("NCCL_P2P_DISABLE", "1")]);
        let pair = |name: &str, value: &str| (name.into(), value.into());
        let environment = begin(Some(&arm), Clock::Wall).environment;
        assert!(environment.ends_with(&[
            pair("NCCL_PROTO", "LL"),
            pair("NCCL_P2P_DISABLE", "1"),
            pair("TPLENS_SOFT_CLOCK", "wall"),
        ]));
        let plain = begin(None, Clock::Own).environment;
        assert_eq!(plain.len() + 3, environment.len());
        assert_eq!(Variant::of(&[])[0].name(), None);
    }
}
