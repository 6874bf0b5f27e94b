//! What an ablation is about: written into its folder when it begins, so that the same command goes on where it was broken off.

use std::path::{Path, PathBuf};

use program::Stop;
use serde::{Deserialize, Serialize};

use crate::study::settings;

/// The version that is written.
pub(super) const SCHEMA: u32 = 1;

/// Its name in the folder.
pub(super) const FILE: &str = "settings.json";

/// What decides what is measured, and in which order. A folder holds one ablation, and its settings never change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Settings {
    /// Version of this file.
    pub(super) schema: u32,
    /// `--model`.
    pub(super) model: String,
    /// `--gpus`.
    pub(super) gpus: Option<String>,
    /// `--backend`.
    pub(super) backend: String,
    /// `--tp`.
    pub(super) tp: u32,
    /// `--concurrency`.
    pub(super) concurrency: u32,
    /// `--requests`.
    pub(super) requests: u32,
    /// `--input-tokens`.
    pub(super) input_tokens: u32,
    /// `--output-tokens`.
    pub(super) output_tokens: u32,
    /// The arms that are run, by name, controls among them.
    pub(super) arms: Vec<String>,
    /// `--launches`.
    pub(super) launches: u32,
    /// `--seed`.
    pub(super) seed: u64,
    /// The arm of every launch, in the order in which they are run: what the three settings before give.
    pub(super) order: Vec<String>,
    /// `--mode`.
    pub(super) mode: Option<String>,
    /// `--ccl`.
    pub(super) ccl: Option<PathBuf>,
    /// `--shim`.
    pub(super) shim: Option<PathBuf>,
    /// `--engine-python`.
    pub(super) engine_python: Option<PathBuf>,
    /// `--sim`.
    pub(super) sim: Option<String>,
    /// The server command.
    pub(super) server: Vec<String>,
}

impl Settings {
    /// Begins an ablation in a folder, or finds that the folder holds this very one; `true` where it goes on.
    ///
    /// # Errors
    /// As [`settings::keep`].
    pub(super) fn keep(&self, folder: &Path) -> Result<bool, Stop> {
        settings::keep(self, folder, FILE, "an ablation")
    }
}
