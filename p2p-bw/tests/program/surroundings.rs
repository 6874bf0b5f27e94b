//! What `topology` reads of generated trees beside a path class, against the boxes they were made of; and the class that only
//! a vendor's tool knows.

use record::MonitorLine;
use topology::PcieLink;

use super::common::Scratch;

#[test]
fn the_monitor_tells_x8_from_x16_at_the_slot_though_both_cards_say_x16() {
    for (name, lanes) in [("r9700-x8", 8), ("r9700-x16", 16)] {
        let scratch = Scratch::new();
        let ran = scratch.run(&["monitor", "--sim", name, "--duration", "0.05"]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let lines = ran
            .stdout
            .lines()
            .map(|line| serde_json::from_str(line).unwrap());
        let samples: Vec<_> = lines
            .filter_map(|line| match line {
                MonitorLine::Sample(sample) => Some(sample.values.slot_link),
                _ => None,
            })
            .collect();
        assert!(samples.len() >= 2, "{}", ran.stdout);
        assert!(
            samples
                .iter()
                .all(|slot| *slot == PcieLink::new(5, lanes).ok()),
            "{name}: {samples:?}"
        );
    }
}
