//! For each rule of links a box where it fires, and one where it must not.

use crate::advice::made::*;

use explain::attribute;
use record::PeerVerdict;
use topology::{AcsPort, Fact, IommuMode, LargeBar, PeerSurroundings};

#[test]
fn denied_and_staged_name_what_probes_saw_on_the_way() {
    let surroundings = |redirects: bool, translates: bool| PeerSurroundings {
        acs: Fact::Known(vec![AcsPort {
            address: "0000:01:00.0".parse().unwrap(),
            // Request and completion redirect are bits 2 and 3 of the control register (PCI Express, ACS).
            control: Fact::Known(Some(if redirects { 0b1100 } else { 0 })),
        }]),
        iommu: [(); 2].map(|()| {
            Fact::Known(match translates {
                true => IommuMode::Translated,
                false => IommuMode::Identity,
            })
        }),
        bars: [(); 2].map(|()| Fact::<LargeBar>::Unknown("not looked at".to_owned())),
    };
    for (verdict, rule) in [
        (PeerVerdict::Denied, "through_host"),
        (PeerVerdict::Staged, "through_host"),
    ] {
        let mut inputs = bare(verdict);
        let mut seen = links(vec![device(0, 0), device(1, 0)]);
        seen.probes = vec![probe(0, 1, verdict)];
        seen.probes[0].surroundings = Some(surroundings(true, false));
        inputs.seen.links = Some(seen);
        let seen = inputs.seen.links.as_mut().unwrap();
        seen.probes[0].surroundings = Some(surroundings(false, true));
        // A guest is not told of its host's ports.
        inputs.known.guest = Some(true);
        assert_eq!(of(&bare(PeerVerdict::Direct), rule), None);
    }
}

#[test]
fn a_variable_that_keeps_the_library_from_peers_is_named_where_peers_work() {
    let set = |peer, name: &str, value: &str| {
        let mut inputs = bare(peer);
        inputs.seen.variables = vec![(name.to_owned(), value.to_owned())];
        of(&inputs, "library_told_off")
    };
    let direct = PeerVerdict::Direct;
    assert!(set(direct, "NCCL_P2P_LEVEL", "loc").is_some());
    assert!(set(direct, "NCCL_P2P_LEVEL", "SYS").is_none());
    assert!(set(direct, "NCCL_P2P_DISABLE", "0").is_none());
    assert!(set(direct, "NCCL_DEBUG", "INFO").is_none());
    // Where the driver denies it, the variable is not the reason.
    assert!(set(PeerVerdict::Denied, "NCCL_P2P_DISABLE", "1").is_none());
}

#[test]
fn a_link_below_what_slot_and_card_can_do_is_named_with_what_it_costs() {
    let with = |now, most| {
        let mut inputs = bare(PeerVerdict::Direct);
        let mut devices = vec![device(0, 0), device(1, 0)];
        devices[0].loaded = Some(reading((5, 16), (5, 16)));
        devices[1].loaded = Some(reading(now, most));
        inputs.seen.links = Some(links(devices));
        inputs
    };
    let slow = of(&with((5, 8), (5, 16)), "link_trained_down").unwrap();
    let effect = slow.effect.unwrap();
    let bound = attribute(&with((5, 8), (5, 16)), 1, DRAWS)
        .unwrap()
        .free_links;
    assert!(
        effect.times.mid > 1.33 && effect.times.mid < bound.mid,
        "{effect:?}"
    );
    assert_eq!(of(&with((5, 16), (5, 16)), "link_trained_down"), None);
    let mut guest = with((5, 8), (5, 16));
    guest.known.guest = Some(true);
    assert_eq!(of(&guest, "link_trained_down"), None);
    // An idle link trains down, which says nothing.
    let mut idle = with((5, 16), (5, 16));
    let links = idle.seen.links.as_mut().unwrap();
    links.devices[1].idle = Some(reading((1, 16), (5, 16)));
    assert_eq!(of(&idle, "link_trained_down"), None);
}
