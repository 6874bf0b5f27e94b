//! Cells that are done: why some are not to be relied on, and how one is measured again.

use std::path::{Path, PathBuf};

use anyhow::Context;
use measure::exit;
use measure::record::Record;
use program::Stop;

use super::expand::Cell;
use super::run::CELLS;
use crate::attempt::{brief, complete, of_client, serve};

/// Where results are whose cells are measured again, out of sight of what reads the others.
const ASIDE: &str = "aside";

/// What `--redo` says for every cell that failed.
const FAILED: &str = "failed";

/// Characters of a failed request's words that are repeated.
const SEEN: usize = 120;

/// The results of a sweep.
pub(super) struct Done<'a> {
    /// The sweep's folder.
    pub(super) folder: &'a Path,
    /// The cells that it is narrowed to.
    pub(super) cells: &'a [Cell],
}

impl<'a> Done<'a> {
    /// Cells that are done and whose runs were inconclusive, with the reasons.
    pub(super) fn failed(&self) -> Vec<(&'a Cell, String)> {
        let reason = |cell: &'a Cell| {
            let record = complete(&self.cell(cell))?;
            (record.exit_code != exit::DONE).then(|| (cell, why(&record)))
        };
        self.cells.iter().filter_map(reason).collect()
    }

    /// The cells with a result that are to be measured again, each once.
    ///
    /// # Errors
    /// In words: a name that no cell has.
    pub(super) fn again(&self, asked: &[String]) -> Result<Vec<&'a Cell>, String> {
        let mut again: Vec<&'a Cell> = Vec::new();
        for name in asked {
            let named: Vec<&'a Cell> = if name == FAILED {
                let failed = self.failed().into_iter();
                failed.map(|(cell, _)| cell).collect()
            } else {
                let cell = self.cells.iter().find(|cell| cell.name == *name);
                vec![cell.ok_or_else(|| {
                    format!("--redo {name}: no cell has this name; --list shows them, `{FAILED}` is all that failed")
                })?]
            };
            again.extend(named);
        }
        again.sort_by_key(|cell| cell.number);
        again.dedup_by_key(|cell| cell.number);
        again.retain(|cell| self.cell(cell).exists());
        Ok(again)
    }

    /// Takes a cell's result out of the sweep, so that it is measured again; gives where it is kept.
    pub(super) fn put_aside(&self, cell: &Cell) -> Result<PathBuf, Stop> {
        let aside = self.folder.join(ASIDE);
        measure::private::make_folders(&aside)
            .with_context(|| format!("cannot make the folder {}", aside.display()))?;
        let mut number = 1;
        let kept = loop {
            let kept = aside.join(format!("{}.aside-{number}", cell.name));
            if !kept.exists() {
                break kept;
            }
            number += 1;
        };
        std::fs::rename(self.cell(cell), &kept)
            .with_context(|| format!("cannot set the cell {} aside", cell.name))?;
        Ok(kept)
    }

    fn cell(&self, cell: &Cell) -> PathBuf {
        self.folder.join(CELLS).join(&cell.name)
    }
}

/// Why a run is not to be relied on, in a few words.
fn why(record: &Record) -> String {
    let Some(serve) = serve(record) else {
        return "it holds no load".to_owned();
    };
    if let Some(reason) = of_client(serve) {
        return format!("the load generator was the limit: {}", brief(&reason));
    }
    let mut errors = serve.requests.iter().filter_map(|one| one.error.as_ref());
    let Some(first) = errors.next() else {
        return format!("it ended with exit code {}", record.exit_code);
    };
    format!(
        "{} of {} requests failed, the first: {}: {}",
        errors.count() + 1,
        serve.requests.len(),
        first.kind,
        first.seen.chars().take(SEEN).collect::<String>()
    )
}
