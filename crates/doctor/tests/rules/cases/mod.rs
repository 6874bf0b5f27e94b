//! For each rule, changes to the sound box and what it has to say of the changed one; a file for each concern.

mod host;
mod links;
mod nics;
mod nvlink;
mod peers;
mod process;
mod repairs;
mod software;

use doctor::Verdict;

use crate::bench::Bench;

/// One box.
pub(crate) struct Case {
    pub(crate) rule: &'static str,
    /// The worst verdict.
    pub(crate) verdict: Verdict,
    pub(crate) what: &'static str,
    pub(crate) change: fn(&mut Bench),
}

const fn case(
    rule: &'static str,
    verdict: Verdict,
    what: &'static str,
    change: fn(&mut Bench),
) -> Case {
    Case {
        rule,
        verdict,
        what,
        change,
    }
}

fn sound(_: &mut Bench) {}

/// Every case.
pub(crate) fn all() -> impl Iterator<Item = &'static Case> {
    let files = [
        peers::CASES,
        links::CASES,
        host::CASES,
        process::CASES,
        repairs::CASES,
        software::CASES,
        nics::CASES,
        nvlink::CASES,
    ];
    files.into_iter().flatten()
}
