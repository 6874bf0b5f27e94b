//! When a point does not apply, by how its devices reach each other.

use inventory::Built;
use record::{KernelAccess, Links, Outcome, PeerVerdict};

use super::plan::Planned;
use crate::cases::{Engine, Pattern};

/// Why a point is not measured; `None` where it is. What was not looked at is skipped, and does not count as broken.
pub(super) fn refusal(
    point: &Planned,
    backend: Built,
    no_peer: bool,
    links: &Links,
) -> Option<Outcome> {
    let not_applicable = |reason: String| {
        let reason = reason.into();
        Some(Outcome::NotApplicable { reason })
    };
    let probe = |pair| {
        let mut probes = links.probes.iter();
        probes.find(|probe| (probe.from, probe.to) == pair)
    };
    let verdict = |pair| probe(pair).map_or(PeerVerdict::NotTried, |probe| probe.verdict);
    let pattern = point.case.pattern;
    if let (Pattern::Staged | Pattern::DriverStaged, Some((a, b))) = (pattern, point.pair()) {
        let ways = [verdict((a, b)), verdict((b, a))];
        if !no_peer && ways == [PeerVerdict::Direct; 2] {
            let reason = "peer access is direct; --no-peer measures the staged path";
            return not_applicable(reason.to_owned());
        }
        let is_denied = !no_peer && ways == [PeerVerdict::Denied; 2];
        if pattern == Pattern::DriverStaged && !backend.copies_obey_access() && !is_denied {
            let reason = "the runtime copies directly where the hardware can, whatever was enabled, so this would be the \
                          direct path under a false name";
            return not_applicable(reason.to_owned());
        }
        return None;
    }
    if no_peer && pattern.uses_peer_access() {
        return not_applicable("peer access is switched off by --no-peer".to_owned());
    }
    point.accesses().into_iter().find_map(|pair| {
        let label = |at: usize| {
            links
                .devices
                .get(at)
                .map_or("?", |device| device.label.as_str())
        };
        let between = match point.is_group() {
            true => format!("between {} and {} ", label(pair.0), label(pair.1)),
            false => String::new(),
        };
        let kernels = probe(pair).map(|probe| &probe.kernels);
        match (verdict(pair), point.case.engine, kernels) {
            // A staged path works, only slowly: it is measured and named.
            (PeerVerdict::Direct | PeerVerdict::Staged, Engine::Copy, _)
            | (PeerVerdict::Direct, Engine::Kernel, Some(KernelAccess::Usable)) => None,
            (PeerVerdict::Direct, _, Some(KernelAccess::Untested { reason })) => {
                let reason = format!("{between}no kernel tried peer access: {reason}").into();
                Some(Outcome::Skipped { reason })
            }
            (PeerVerdict::Direct, _, Some(KernelAccess::Unusable { reason })) => not_applicable(
                format!("{between}kernels must not use peer access: {reason}"),
            ),
            (verdict, ..) => not_applicable(format!(
                "{between}peer access is {verdict}; what that rests on stands with its probe"
            )),
        }
    })
}

#[cfg(test)]
mod tests {
    use record::PeerProbe;
    use record::unit::ByteCount;

    use super::*;
    use crate::cases;
    use crate::parent::plan::plan;

    /// What is said of a case on two devices with these verdicts, both ways.
    fn said(key: &str, backend: Built, no_peer: bool, verdicts: [PeerVerdict; 2]) -> String {
        let probe = |(from, verdict): (usize, PeerVerdict)| PeerProbe {
            from,
            to: 1 - from,
            verdict,
            rests_on: String::new(),
            steps: Vec::new(),
            kernels: KernelAccess::Usable,
            surroundings: None,
        };
        let links = Links {
            probes: (0..).zip(verdicts).map(probe).collect(),
            ..Links::default()
        };
        let point = plan(&cases::matching(key).unwrap(), 2, &[ByteCount(1)])[0];
        match refusal(&point, backend, no_peer, &links) {
            None => String::new(),
            Some(Outcome::NotApplicable { reason }) => reason.detail,
            Some(other) => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_driver_that_heeds_no_access_stages_only_where_the_hardware_must() {
        use PeerVerdict::{Denied, WrongData};
        let of =
            |backend, no_peer, verdicts| said("d2d_driver_staged_ce", backend, no_peer, verdicts);
        assert_eq!(of(Built::Hip, false, [Denied; 2]), "");
        let wrong = [Denied, WrongData];
        assert!(of(Built::Hip, false, wrong).contains("false name"));
        assert_eq!(of(Built::Cuda, false, wrong), "");
        // With --no-peer nobody looked.
        assert!(of(Built::Hip, true, wrong).contains("false name"));
        assert_eq!(of(Built::Cuda, true, wrong), "");
    }
}
