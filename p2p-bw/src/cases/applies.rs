//! When a case does not apply, in words.

use inventory::Built;
use record::{KernelAccess, Outcome, PeerVerdict};

use super::{Case, Ends, Engine, Pattern};

/// How one device may reach another's memory, as it was probed.
#[derive(Debug, Clone)]
pub(crate) struct Access {
    /// Labels of the accessing device and of the memory's owner.
    pub(crate) labels: (String, String),
    pub(crate) verdict: PeerVerdict,
    /// Whether kernels may, too.
    pub(crate) kernels: KernelAccess,
}

impl Access {
    /// Why a case must not use it; `None` where it may. What was not looked at is skipped, and does not count as broken.
    fn refusal(&self, engine: Engine, named: bool) -> Option<Outcome> {
        let (from, to) = &self.labels;
        let between = match named {
            true => format!("between {from} and {to} "),
            false => String::new(),
        };
        let usable = match engine {
            // A staged path works, only slowly: it is measured and named.
            Engine::Copy => matches!(self.verdict, PeerVerdict::Direct | PeerVerdict::Staged),
            Engine::Kernel => self.verdict == PeerVerdict::Direct,
        };
        if !usable {
            let verdict = self.verdict;
            let reason = format!(
                "{between}peer access is {verdict}; what that rests on stands with its probe"
            );
            return Some(Outcome::NotApplicable {
                reason: reason.into(),
            });
        }
        match (&self.kernels, engine) {
            (KernelAccess::Unusable { reason }, Engine::Kernel) => Some(Outcome::NotApplicable {
                reason: format!("{between}kernels must not use peer access: {reason}").into(),
            }),
            (KernelAccess::Untested { reason }, Engine::Kernel) => Some(Outcome::Skipped {
                reason: format!("{between}no kernel tried peer access: {reason}").into(),
            }),
            _ => None,
        }
    }
}

/// Why a case is not measured; `None` where it is. `accesses` are those that it needs, for the staged ones those that it
/// does without: both ways between its devices; `None` with `--no-peer`.
pub(crate) fn refusal(case: &Case, backend: Built, accesses: Option<&[Access]>) -> Option<Outcome> {
    let not_applicable = |reason: &str| {
        Some(Outcome::NotApplicable {
            reason: reason.into(),
        })
    };
    match (case.pattern, accesses) {
        (Pattern::Staged | Pattern::DriverStaged, Some(accesses)) if all_direct(accesses) => {
            not_applicable("peer access is direct; --no-peer measures the staged path")
        }
        (Pattern::DriverStaged, accesses)
            if !backend.copies_obey_access() && !accesses.is_some_and(all_denied) =>
        {
            not_applicable(
                "the runtime copies directly where the hardware can, whatever was enabled, so this would be the direct path \
                 under a false name",
            )
        }
        (Pattern::Staged | Pattern::DriverStaged, _) => None,
        (pattern, None) if pattern.uses_peer_access() => {
            not_applicable("peer access is switched off by --no-peer")
        }
        (_, accesses) => {
            let named = case.ends() == Ends::Group;
            let mut accesses = accesses.unwrap_or_default().iter();
            accesses.find_map(|access| access.refusal(case.engine, named))
        }
    }
}

/// The cases that a backend has: host memory has no driver that stages copies, and no kernels.
pub(crate) fn of_backend(cases: &[&'static Case], backend: Built) -> Vec<&'static Case> {
    let is_its = |case: &&&Case| {
        backend != Built::Host
            || (case.engine == Engine::Copy && case.pattern != Pattern::DriverStaged)
    };
    cases.iter().filter(is_its).copied().collect()
}

/// Whether no device can reach the other; where nothing was looked at, nobody knows.
fn all_denied(accesses: &[Access]) -> bool {
    let is_denied = |access: &Access| access.verdict == PeerVerdict::Denied;
    !accesses.is_empty() && accesses.iter().all(is_denied)
}

fn all_direct(accesses: &[Access]) -> bool {
    accesses
        .iter()
        .all(|access| access.verdict == PeerVerdict::Direct)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(from: usize, to: usize, verdict: PeerVerdict) -> Access {
        Access {
            labels: (format!("GPU{from}"), format!("GPU{to}")),
            verdict,
            kernels: KernelAccess::Usable,
        }
    }

    fn words(outcome: Outcome) -> String {
        match outcome {
            Outcome::NotApplicable { reason } => reason.detail,
            other => panic!("{other:?}"),
        }
    }

    fn reason(key: &str, accesses: &[Access]) -> Option<String> {
        refusal(Case::of(key).unwrap(), Built::Cuda, Some(accesses)).map(words)
    }

    #[test]
    fn a_direct_pair_has_peer_cases_and_no_staged_ones() {
        let there = access(0, 1, PeerVerdict::Direct);
        assert_eq!(reason("d2d_write_ce", std::slice::from_ref(&there)), None);
        let both = [there, access(1, 0, PeerVerdict::Direct)];
        assert!(
            reason("d2d_staged_ce", &both)
                .unwrap()
                .contains("--no-peer")
        );
    }

    #[test]
    fn a_denied_or_broken_pair_is_measured_staged_only() {
        for verdict in [
            PeerVerdict::Denied,
            PeerVerdict::WrongData,
            PeerVerdict::Hang,
            PeerVerdict::HostLost,
        ] {
            let pair = [access(0, 1, verdict), access(1, 0, PeerVerdict::Direct)];
            assert!(
                reason("d2d_write_ce", &pair[..1])
                    .unwrap()
                    .contains(&verdict.to_string())
            );
            assert!(reason("d2d_bidir_read_ce", &pair).is_some());
            assert_eq!(reason("d2d_staged_ce", &pair), None);
        }
    }

    #[test]
    fn a_driver_that_heeds_no_access_stages_only_where_the_hardware_must() {
        let case = Case::of("d2d_driver_staged_ce").unwrap();
        let of = |backend, verdicts: [PeerVerdict; 2]| {
            let pair = [access(0, 1, verdicts[0]), access(1, 0, verdicts[1])];
            refusal(case, backend, Some(&pair)).map(words)
        };
        let denied = [PeerVerdict::Denied; 2];
        assert_eq!(of(Built::Hip, denied), None);
        let wrong = [PeerVerdict::Denied, PeerVerdict::WrongData];
        assert!(of(Built::Hip, wrong).unwrap().contains("false name"));
        assert_eq!(of(Built::Cuda, wrong), None);
        // With --no-peer nobody looked.
        assert!(refusal(case, Built::Hip, None).is_some());
        assert_eq!(refusal(case, Built::Cuda, None), None);
    }

    #[test]
    fn a_staged_path_is_measured_by_copies_and_not_touched_by_kernels() {
        let staged = [access(0, 1, PeerVerdict::Staged)];
        assert_eq!(reason("d2d_write_ce", &staged), None);
        for key in ["d2d_write_sm", "d2d_chase_sm"] {
            assert!(reason(key, &staged).unwrap().contains("staged"), "{key}");
        }
    }
}
