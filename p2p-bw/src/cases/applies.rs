//! When a case does not apply, in words.

use measure::record::PeerVerdict;

use super::{Case, Issuer, Pattern};

/// How peer access may be used between two devices, both ways.
#[derive(Debug, Clone)]
pub(crate) enum PeerUse {
    /// `--no-peer`.
    SwitchedOff,
    /// The verdicts of both directions.
    Probed {
        /// The source accesses the destination: what a write needs.
        forward: (PeerVerdict, String),
        /// The destination accesses the source: what a read needs.
        back: (PeerVerdict, String),
    },
}

impl PeerUse {
    /// Why copies must not use the access that these issuers need; `None` where they may.
    fn refusal(&self, issuers: &[Issuer]) -> Option<String> {
        match self {
            Self::SwitchedOff => Some("peer access is switched off by --no-peer".to_owned()),
            Self::Probed { forward, back } => {
                let verdict = |issuer: &Issuer| match issuer {
                    Issuer::Source => forward,
                    Issuer::Destination => back,
                };
                let mut verdicts = issuers.iter().map(verdict);
                let bad = verdicts.find(|(verdict, _)| !usable(*verdict));
                bad.map(|(verdict, _)| {
                    format!("peer access is {verdict}; what that rests on stands with its probe")
                })
            }
        }
    }

    /// Whether both directions are direct paths that were not switched off.
    fn is_direct(&self) -> bool {
        matches!(
            self,
            Self::Probed {
                forward: (PeerVerdict::Direct, _),
                back: (PeerVerdict::Direct, _)
            }
        )
    }
}

/// A staged path works, only slowly: it is measured and named.
fn usable(verdict: PeerVerdict) -> bool {
    matches!(verdict, PeerVerdict::Direct | PeerVerdict::Staged)
}

/// Why a case does not apply on a pair of devices (or on one device, without `peer`); `None` where it does.
pub(crate) fn not_applicable(case: &Case, backend: &str, peer: Option<&PeerUse>) -> Option<String> {
    match case.pattern {
        Pattern::DriverStaged if backend == "host" => {
            Some("the host backend has no driver that stages copies".to_owned())
        }
        Pattern::Staged | Pattern::DriverStaged => peer
            .filter(|peer| peer.is_direct())
            .map(|_| "peer access is direct; --no-peer measures the staged path".to_owned()),
        Pattern::Peer(issuer) => peer.and_then(|peer| peer.refusal(&[issuer])),
        Pattern::PeerBothWays(_) => {
            peer.and_then(|peer| peer.refusal(&[Issuer::Source, Issuer::Destination]))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probed(forward: PeerVerdict, back: PeerVerdict) -> PeerUse {
        PeerUse::Probed {
            forward: (forward, "seen".to_owned()),
            back: (back, "seen".to_owned()),
        }
    }

    fn reason(key: &str, peer: &PeerUse) -> Option<String> {
        not_applicable(Case::of(key).unwrap(), "cuda", Some(peer))
    }

    #[test]
    fn a_direct_pair_has_peer_cases_and_no_staged_ones() {
        let direct = probed(PeerVerdict::Direct, PeerVerdict::Direct);
        assert_eq!(reason("d2d_write_ce", &direct), None);
        assert!(
            reason("d2d_staged_ce", &direct)
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
            let pair = probed(verdict, PeerVerdict::Direct);
            assert!(
                reason("d2d_write_ce", &pair)
                    .unwrap()
                    .contains(&verdict.to_string())
            );
            assert_eq!(reason("d2d_staged_ce", &pair), None);
        }
    }

    #[test]
    fn both_ways_needs_both_directions() {
        let half = probed(PeerVerdict::Direct, PeerVerdict::Denied);
        assert_eq!(reason("d2d_write_ce", &half), None);
        // The destination issues a read, so it needs the access that is denied.
        assert!(reason("d2d_read_ce", &half).is_some());
        assert!(reason("d2d_bidir_read_ce", &half).is_some());
    }

    #[test]
    fn without_peer_the_staged_path_is_measured() {
        assert!(
            reason("d2d_read_ce", &PeerUse::SwitchedOff)
                .unwrap()
                .contains("--no-peer")
        );
        assert_eq!(reason("d2d_staged_ce", &PeerUse::SwitchedOff), None);
    }
}
