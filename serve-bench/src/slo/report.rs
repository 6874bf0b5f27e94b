//! The answer of a search: in words, as a table, as JSON. It works nothing out but what follows from verdicts.

use std::fmt::Write as _;

use measure::record::ServeSummary;
use serde::{Deserialize, Serialize};

use super::judge::Judged;
use super::objective::Objective;
use super::search::{Found, Outcome, Trial, Verdict};
use super::settings::{SCHEMA, Settings};

/// A run and the verdict on its load, with the earlier runs of the same load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Decision {
    /// Number of the run, from 1.
    pub(super) run: usize,
    /// Its load.
    pub(super) at: f64,
    /// Its folder's name.
    pub(super) folder: String,
    /// Requests of the run that succeeded.
    pub(super) completed: u32,
    /// Requests of the run that failed.
    pub(super) failed: u32,
    /// Completed requests per second of the run's whole duration.
    pub(super) requests_per_s: f64,
    /// Output tokens per second.
    pub(super) output_tokens_per_s: Option<f64>,
    /// The verdict.
    pub(super) judged: Judged,
}

impl Decision {
    pub(super) fn new(
        run: usize,
        at: f64,
        folder: String,
        judged: Judged,
        summary: Option<&ServeSummary>,
    ) -> Self {
        Self {
            run,
            at,
            folder,
            completed: summary.map_or(0, |summary| summary.completed),
            failed: summary.map_or(0, |summary| summary.failed),
            requests_per_s: summary.map_or(0.0, |summary| summary.requests_per_s),
            output_tokens_per_s: summary.and_then(|summary| summary.output_tokens_per_s),
            judged,
        }
    }

    /// What the search needs of it.
    pub(super) fn trial(&self) -> Trial {
        Trial {
            at: self.at,
            verdict: self.judged.verdict,
        }
    }
}

/// The answer, or as much of it as there is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Answer {
    /// Version of this file.
    pub(super) schema: u32,
    /// The soft box behind it.
    pub(super) simulated: Option<String>,
    /// `rate` or `concurrency`.
    pub(super) search: String,
    /// The load's unit.
    pub(super) unit: String,
    /// The objectives in words.
    pub(super) slo: Vec<String>,
    /// Their limits, ms.
    pub(super) limits_ms: Vec<f64>,
    /// `None` while the search is under way.
    pub(super) found: Option<Found>,
    /// The answer in sentences.
    pub(super) says: Vec<String>,
    /// Every run with its verdict.
    pub(super) runs: Vec<Decision>,
}

impl Answer {
    pub(super) fn new(
        settings: &Settings,
        unit: &str,
        objectives: &[Objective],
        decisions: &[Decision],
        found: Option<Found>,
        simulated: Option<String>,
    ) -> Self {
        let mut answer = Self {
            schema: SCHEMA,
            simulated,
            search: settings.search.clone(),
            unit: unit.to_owned(),
            slo: settings.slo.clone(),
            limits_ms: objectives.iter().map(|one| one.limit_ms).collect(),
            found,
            says: Vec::new(),
            runs: decisions.to_vec(),
        };
        answer.says = answer.sentences(settings);
        answer
    }

    fn sentences(&self, settings: &Settings) -> Vec<String> {
        let Some(found) = &self.found else {
            return vec![format!("under way: {} run(s) so far", self.runs.len())];
        };
        let unit = &self.unit;
        let slo = self.slo.join(" and ");
        let mut says = Vec::new();
        let gap = |met: f64, not: f64| (not / met - 1.0) * 100.0;
        match (found.outcome, found.met, found.not_met) {
            (Outcome::Always, Some(met), _) => says.push(format!(
                "{slo} is met at every load that was tried, up to {met} {unit}; {}",
                if met >= settings.bounds.highest {
                    "that is --highest"
                } else {
                    "raise --start or --runs to find where it ends"
                }
            )),
            (Outcome::Found | Outcome::Wide, Some(met), Some(not)) => {
                says.push(format!(
                    "{slo} is met up to {met} {unit}; {not} {unit} is {}",
                    found.not_met_verdict.map_or("not met", Verdict::words)
                ));
                if found.outcome == Outcome::Wide {
                    says.push(format!(
                        "the gap of {:.1}% is wider than the resolution of {:.1}%: the runs were spent; raise --runs, or begin nearer with --start {met}",
                        gap(met, not),
                        settings.bounds.resolution * 100.0
                    ));
                }
            }
            (_, _, Some(not)) => says.push(format!(
                "{slo} is met at no load that was tried, down to {not} {unit}; {}",
                if not <= settings.bounds.lowest {
                    "that is --lowest"
                } else {
                    "lower --start or raise --runs to find where it begins"
                }
            )),
            _ => says.push("nothing was tried".to_owned()),
        }
        says.extend(self.burst(found));
        let doubtful = self
            .runs
            .iter()
            .filter(|run| run.judged.verdict == Verdict::Failed);
        says.extend(doubtful.map(|run| {
            format!(
                "run {} at {} {unit} says nothing about the server: {}",
                run.run, run.at, run.judged.why
            )
        }));
        says
    }

    /// The largest load that kept its objectives and was not sustained.
    fn burst(&self, found: &Found) -> Option<String> {
        let above = |run: &&Decision| found.met.is_none_or(|met| run.at > met);
        let largest = self
            .runs
            .iter()
            .filter(|run| run.judged.verdict == Verdict::NotSustained)
            .filter(above)
            .max_by(|one, other| one.at.total_cmp(&other.at))?;
        Some(format!(
            "{} requests at {} {} missed no objective and were not sustained: that is a burst size and not a rate ({})",
            largest.completed + largest.failed,
            largest.at,
            self.unit,
            largest.judged.why
        ))
    }

    /// As JSON text.
    pub(super) fn json(&self) -> Result<String, String> {
        serde_json::to_string_pretty(self)
            .map(|text| text + "\n")
            .map_err(|error| error.to_string())
    }

    /// Heads of the table of runs.
    pub(super) fn heads(&self) -> Vec<String> {
        let mut heads = vec!["run".to_owned(), self.unit.clone()];
        heads.extend(self.slo.iter().cloned());
        heads.extend(["completed/s", "completed", "failed", "verdict", "why"].map(str::to_owned));
        heads
    }

    /// Rows of the table of runs.
    pub(super) fn rows(&self) -> Vec<Vec<String>> {
        let row = |run: &Decision| {
            let mut row = vec![run.run.to_string(), run.at.to_string()];
            row.extend(run.judged.seen.iter().map(|seen| {
                match (seen.value_ms, seen.interval_ms) {
                    (None, _) => "—".to_owned(),
                    (Some(value), None) => format!("{value:.2}"),
                    (Some(value), Some((low, high))) => format!("{value:.2} [{low:.2}, {high:.2}]"),
                }
            }));
            row.extend([
                format!("{:.3}", run.requests_per_s),
                run.completed.to_string(),
                run.failed.to_string(),
                run.judged.verdict.words().to_owned(),
                run.judged.why.clone(),
            ]);
            row
        };
        self.runs.iter().map(row).collect()
    }

    /// As a table with the answer above it.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a String cannot fail, here and below.
        if let Some(soft_box) = &self.simulated {
            let _ = writeln!(
                text,
                "SIMULATED on soft box {soft_box}: arithmetic of a box file, not a measurement"
            );
        }
        for sentence in &self.says {
            let _ = writeln!(text, "{sentence}");
        }
        text.push('\n');
        let all: Vec<Vec<String>> = std::iter::once(self.heads()).chain(self.rows()).collect();
        let columns = self.heads().len();
        let width = |column: usize| all.iter().map(|row| row[column].chars().count()).max();
        let widths: Vec<usize> = (0..columns).filter_map(width).collect();
        for row in &all {
            let cells: Vec<String> = row
                .iter()
                .zip(&widths)
                .map(|(cell, width)| format!("{cell:<width$}"))
                .collect();
            let _ = writeln!(text, "{}", cells.join("  ").trim_end());
        }
        text
    }
}
