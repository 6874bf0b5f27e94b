//! Checks of what is far from what: `[[far]]` tables.

use super::{Check, Keys};
use crate::{BoxFile, Far};
use std::collections::HashSet;

impl BoxFile {
    pub(super) fn check_far(&self, keys: &Keys<'_>) -> Check {
        let mut seen = HashSet::new();
        for (index, far) in self.far.iter().enumerate() {
            let key = |name: &str| format!("far[{index}].{name}");
            self.check_place(keys, &key, far)?;
            let new = seen.insert((far.distance, far.nodes));
            let place = far.nodes.map_or_else(
                || format!("{:?}", far.distance),
                |nodes| format!("{nodes:?}"),
            );
            keys.require(
                new,
                &format!("far[{index}]"),
                place,
                "a distance or two nodes have one [[far]] table",
            )?;
            self.check_route(keys, &key("segments"), &far.segments)?;
        }
        if self.far.is_empty() {
            return Ok(());
        }
        for from in &self.node {
            for memory in self.node.iter().filter(|memory| memory.id != from.id) {
                keys.require(
                    self.far(from.id, memory.id).is_some(),
                    "far",
                    format!("nodes [{}, {}]", from.id, memory.id),
                    "where there is a [[far]] table, every two nodes need one, by distance or by nodes",
                )?;
            }
        }
        Ok(())
    }

    /// Either a distance that there is between two nodes, or two nodes that there are.
    fn check_place(&self, keys: &Keys<'_>, key: &impl Fn(&str) -> String, far: &Far) -> Check {
        match (far.distance, far.nodes) {
            (Some(distance), None) => {
                let ids: Vec<u32> = self.node.iter().map(|node| node.id).collect();
                let stands = self.node.iter().any(|from| {
                    let others = ids.iter().zip(&from.distances);
                    others
                        .filter(|(id, _)| **id != from.id)
                        .any(|(_, found)| *found == distance)
                });
                keys.require(
                    stands,
                    &key("distance"),
                    distance,
                    "no two [[node]] tables are this far from one another",
                )
            }
            (None, Some(nodes)) => {
                for id in nodes {
                    self.check_node(keys, &key("nodes"), Some(id))?;
                }
                keys.require(
                    nodes[0] != nodes[1],
                    &key("nodes"),
                    format!("{nodes:?}"),
                    "two different nodes: of the device or the thread, then of the memory",
                )
            }
            _ => Err(keys.refuse(
                &key("distance"),
                "both or none",
                "give either distance or nodes",
            )),
        }
    }
}
