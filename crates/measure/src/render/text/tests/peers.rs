//! The lines below the matrix of verdicts, from hand-made records.

use super::super::links;
use super::links::{links_of, record};
use crate::record::{KernelAccess, PeerProbe, PeerVerdict};
use topology::{Crossing, Fact, PeerSurroundings};

fn probe(from: usize, to: usize, kernels: KernelAccess) -> PeerProbe {
    let unread = || Fact::Unknown("needs root".to_owned());
    PeerProbe {
        from,
        to,
        verdict: PeerVerdict::Direct,
        rests_on: "small copies are fast".to_owned(),
        steps: Vec::new(),
        kernels,
        surroundings: Some(PeerSurroundings {
            crossing: Fact::Known(Crossing::Nodes),
            acs: unread(),
            iommu: [
                Fact::Unknown("a guest".to_owned()),
                Fact::Unknown("a guest".to_owned()),
            ],
            bars: [
                Fact::Unknown("no file".to_owned()),
                Fact::Unknown(format!("no file of {}", from + to)),
            ],
        }),
    }
}

#[test]
fn kernels_that_failed_or_were_not_tried_and_what_lies_around_a_path_are_said_once() {
    let mut record = record(Vec::new());
    let links_now = links_of(&mut record);
    let third = super::links::device(2, "81:00.0");
    links_now.devices.push(third);
    let failed = || KernelAccess::Unusable {
        reason: "kernel_read: an illegal address".to_owned(),
    };
    let untested = KernelAccess::Untested {
        reason: "no compiler".to_owned(),
    };
    links_now.probes = vec![
        probe(0, 1, failed()),
        probe(1, 0, failed()),
        probe(0, 2, KernelAccess::Usable),
        probe(2, 0, untested),
    ];
    let text = links(&record);
    let peers = text.split_once("Peer access").unwrap().1;
    insta::assert_snapshot!(peers, @r#"
     (row reaches memory of column) and path class
            GPU0            GPU1         GPU2
      GPU0  —               direct NODE  direct UNKNOWN
      GPU1  direct NODE     —            —
      GPU2  direct UNKNOWN  —            —
      GPU0->GPU1 direct: small copies are fast
      GPU0->GPU1 GPU1->GPU0 for copies only, KERNELS FAILED: kernel_read: an illegal address
      GPU2->GPU0 kernels not tried: no compiler
      all pairs: path: from one NUMA node to another
      all pairs: ACS: unknown, needs root
      all pairs: IOMMU: unknown, a guest
      GPU0-GPU1 BAR: unknown, no file | unknown, no file of 1
      GPU0-GPU2 BAR: unknown, no file | unknown, no file of 2

    complete; exit code 0
    "#);
}
