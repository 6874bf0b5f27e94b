//! What a search was begun with: kept in its folder, so that only the same search goes on there.

use std::path::Path;

use serde::Serialize;

use super::search::Bounds;

/// The version that is written.
pub(super) const SCHEMA: u32 = 1;

/// Its name in the folder.
pub(super) const FILE: &str = "settings.json";

/// The settings of a search.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Settings {
    /// Version of this file and of `slo.json`.
    pub(super) schema: u32,
    /// `rate` or `concurrency`.
    pub(super) search: String,
    /// The objectives in words.
    pub(super) slo: Vec<String>,
    /// Where to search.
    pub(super) bounds: Bounds,
    /// Seconds of arrivals of a run.
    pub(super) window_s: f64,
    /// Requests for each in flight.
    pub(super) rounds: u32,
    /// Seed of the first run.
    pub(super) seed: u64,
    /// Flags of `tplens serve run`, without secrets.
    pub(super) load: Vec<String>,
}

/// The seed of the search that a folder holds.
pub(super) fn seed_of(folder: &Path) -> Option<u64> {
    let text = bounded::text(&folder.join(FILE), bounded::SETTINGS).ok()?;
    let kept: serde_json::Value = serde_json::from_str(&text).ok()?;
    kept["seed"].as_u64()
}
