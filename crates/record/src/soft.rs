//! Whether a record is simulated, from its header and from the clocks behind its numbers.

use super::collectives::CollectiveOutcome;
use super::envelope::{Payload, Record};
use super::points::Outcome;
use crate::quantity::TimeSource;

impl Record {
    /// The simulated machine behind a record; one whose clock was virtual is simulated, whatever its header says.
    #[must_use]
    pub fn soft_box(&self) -> Option<String> {
        if let Some(soft) = &self.header.simulated {
            return Some(soft.box_name.clone());
        }
        let is_virtual = |outcome: &Outcome| match outcome {
            Outcome::Measured { quantities, .. } => quantities
                .iter()
                .any(|named| named.quantity.timing.source == TimeSource::Simulated),
            _ => false,
        };
        let is_virtual = match &self.payload {
            Payload::Links(links) => links.points.iter().any(|point| is_virtual(&point.outcome)),
            Payload::Numa(numa) => numa.points.iter().any(|point| is_virtual(&point.outcome)),
            Payload::Collectives(collectives) => {
                collectives.points.iter().any(|point| match &point.outcome {
                    CollectiveOutcome::Measured { time, .. } => {
                        time.timing.source == TimeSource::Simulated
                    }
                    _ => false,
                })
            }
            Payload::Serve(_) => false,
        };
        is_virtual.then(|| "(not named)".to_owned())
    }
}
