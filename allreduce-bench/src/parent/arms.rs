//! The arms as they run: what the ranks of each begin with, and what each lost.

use std::ffi::OsString;

use record::Arm;
use record::caveat::{Caveat, Condition};

use super::group::Start;
use super::losses::Losses;

/// An arm, or the only variant of a run without arms.
#[derive(Debug)]
pub(super) struct Variant {
    /// `None` where no arm was given.
    pub(super) arm: Option<Arm>,
    /// Whether ranks of it became one communicator.
    pub(super) joined: bool,
    /// What it lost, which is its own.
    pub(super) losses: Losses,
}

impl Variant {
    /// Those of a command line: one without a name where it names no arm.
    pub(super) fn of(arms: &[Arm]) -> Vec<Self> {
        let fresh = |arm: Option<Arm>| Self {
            arm,
            joined: false,
            losses: Losses::default(),
        };
        if arms.is_empty() {
            vec![fresh(None)]
        } else {
            arms.iter().cloned().map(Some).map(fresh).collect()
        }
    }

    /// Its name in the record.
    pub(super) fn name(&self) -> Option<&str> {
        self.arm.as_ref().map(|arm| arm.name.as_str())
    }

    /// What a group of its ranks begins with.
    pub(super) fn start(&self) -> Start {
        begin(self.arm.as_ref())
    }
}

/// What a group begins with: the variables of its arm.
pub(super) fn begin(arm: Option<&Arm>) -> Start {
    let mut start = Start {
        environment: quiet(),
        ..Start::default()
    };
    let of_arm = arm.into_iter().flat_map(|arm| &arm.variables);
    let of_arm = of_arm.map(|(name, value)| (name.into(), value.into()));
    start.environment.extend(of_arm);
    start
}

/// Variables by which libraries write of what they do.
const TALK: [&str; 2] = ["NCCL_DEBUG", "MCCL_DEBUG"];

/// Keeps libraries from writing while they are timed where this program's own environment asks for it: warnings are enough.
fn quiet() -> Vec<(OsString, OsString)> {
    let set = TALK.iter().filter(|name| std::env::var_os(name).is_some());
    set.map(|name| (name.into(), "WARN".into())).collect()
}

/// What to say of a log that the user asked for.
pub(super) fn not_logged() -> Option<Caveat> {
    (!quiet().is_empty()).then(|| Condition::TransportNotLogged.with(TALK.join(" or ")))
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
    fn ranks_have_the_variables_of_their_arm() {
        let arm = arm("a", &[("NCCL_PROTO", "LL"), ("NCCL_P2P_DISABLE", "1")]);
        let pair = |name: &str, value: &str| (name.into(), value.into());
        let environment = begin(Some(&arm)).environment;
        assert!(environment.ends_with(&[pair("NCCL_PROTO", "LL"), pair("NCCL_P2P_DISABLE", "1"),]));
        assert_eq!(begin(None).environment.len() + 2, environment.len());
        assert_eq!(Variant::of(&[])[0].name(), None);
    }
}
