//! Algorithm and protocol of a size, as a logged run told them.

use super::rows::Row;
use crate::Collectives;

/// What the library said that it chose for the calls of a row, such as `RING LL`; `None` where no run told, or an engine did it.
#[must_use]
pub fn chosen(collectives: &Collectives, row: &Row<'_>) -> Option<String> {
    if row.series.engine.is_some() {
        return None;
    }
    let mut words: Vec<String> = Vec::new();
    let of_arm = collectives
        .transports
        .iter()
        .filter(|facts| facts.arm == row.series.arm);
    for choice in of_arm.flat_map(|facts| &facts.choices) {
        if (choice.kind, choice.bytes_per_rank) == (row.series.kind, row.bytes_per_rank) {
            let word = format!("{} {}", choice.algorithm, choice.protocol);
            if !words.contains(&word) {
                words.push(word);
            }
        }
    }
    (!words.is_empty()).then(|| words.join(" or "))
}
