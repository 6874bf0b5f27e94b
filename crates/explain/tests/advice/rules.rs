//! For each rule of links a box where it fires, and one where it must not.

use crate::advice::made::*;

use explain::attribute;
use record::PeerVerdict;

#[test]
fn all_through_the_host_is_told_where_peers_are_denied_or_staged() {
    for verdict in [PeerVerdict::Denied, PeerVerdict::Staged] {
        let mut inputs = bare(verdict);
        assert!(of(&inputs, "through_host").is_some());
        inputs.known.guest = Some(true);
        assert!(of(&inputs, "through_host").is_some());
    }
    assert_eq!(of(&bare(PeerVerdict::Direct), "through_host"), None);
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
