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
            (Outcome::ClientLimit, ..) => says.extend(self.of_client(found)),
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
        let doubtful: Vec<String> = self
            .runs
            .iter()
            .filter(|run| run.judged.verdict == Verdict::NotKnown)
            .map(|run| format!("{} at {}", run.run, run.at))
            .collect();
        if !doubtful.is_empty() {
            says.push(format!(
                "runs that say nothing about the server: {} {unit}",
                doubtful.join(", ")
            ));
        }
        says
    }

    /// What is known where the client was the limit before the server, why, and what to do about it.
    fn of_client(&self, found: &Found) -> Vec<String> {
        let unit = &self.unit;
        let slo = self.slo.join(" and ");
        let limit = found
            .client_limit
            .map_or_else(String::new, |at| format!("{at} {unit}"));
        let known = match found.met {
            Some(met) => format!("{slo} is met up to {met} {unit}; not known above"),
            None => format!("{slo} is not known to be met at any load"),
        };
        let missed = found.not_met.map_or_else(String::new, |not| {
            let verdict = found.not_met_verdict.map_or("not met", Verdict::words);
            format!("; {not} {unit} is {verdict}")
        });
        let at_limit = |run: &&Decision| Some(run.at) == found.client_limit;
        let last = self.runs.iter().rfind(at_limit);
        let reason = last.and_then(|run| run.judged.client.as_deref());
        vec![
            format!("{known}: the load generator was the limit at {limit}{missed}"),
            format!(
                "at {limit}: {}",
                reason.unwrap_or("the load generator was the limit")
            ),
            "to know more: give the load generator a CPU of its own (`taskset -c N serve-bench slo ...`, with the server on other \
             CPUs) or another machine, and search into another folder (--out)"
                .to_owned(),
        ]
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

#[cfg(test)]
mod tests {
    use super::super::search::Bounds;
    use super::*;

    fn decision(run: usize, at: f64, verdict: Verdict) -> Decision {
        let objective: Objective = "mean_ttft<=50ms".parse().unwrap();
        let client = (verdict == Verdict::NotKnown).then(|| "it waited (limit 10%), so".to_owned());
        let judged = Judged {
            verdict,
            why: verdict.words().to_owned(),
            client,
            seen: vec![objective.seen(&[])],
            sustained: Vec::new(),
        };
        Decision::new(run, at, format!("run-{run}"), judged, None)
    }

    #[test]
    fn a_limit_of_the_client_is_no_bound_of_the_server() {
        let settings = Settings {
            schema: SCHEMA,
            search: "rate".to_owned(),
            slo: vec!["mean_ttft <= 50 ms".to_owned()],
            bounds: Bounds {
                start: 50.0,
                lowest: 1.0,
                highest: 1e3,
                resolution: 0.3,
                runs: 4,
                whole: false,
            },
            window_s: 60.0,
            rounds: 4,
            seed: 1,
            load: Vec::new(),
        };
        let decisions = [
            decision(1, 50.0, Verdict::Met),
            decision(2, 64.0, Verdict::NotKnown),
            decision(3, 64.0, Verdict::NotKnown),
        ];
        let found = Found {
            outcome: Outcome::ClientLimit,
            met: Some(50.0),
            not_met: None,
            not_met_verdict: None,
            not_known_above: Some(50.0),
            client_limit: Some(64.0),
        };
        let answer = Answer::new(&settings, "requests/s", &[], &decisions, Some(found), None);
        let says = answer.says.join("\n");
        assert!(
            says.starts_with(
                "mean_ttft <= 50 ms is met up to 50 requests/s; not known above: the load generator was the limit at 64 requests/s\n"
            ),
            "{says}"
        );
        assert!(says.contains("a CPU of its own"), "{says}");
        assert!(says.contains("nothing about the server: 2 at 64, 3 at 64 requests/s"));
        // The long reason stands once, whatever runs it has ended.
        let text = answer.text();
        assert_eq!(text.matches("it waited").count(), 1, "{text}");
        let json = answer.json().unwrap();
        assert!(json.contains("\"not_known_above\": 50.0"), "{json}");
        assert!(json.contains("\"outcome\": \"client_limit\""), "{json}");
    }
}
