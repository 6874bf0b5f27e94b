//! The lists and totals that a flat summary has beside its figures: they must make the same.
//!
//! Nothing is taken from them; requests are read from the lists of vLLM's and SGLang's clients only.

use super::aliases::{Alias, INPUT_LENGTHS, LATENCIES, OUTPUT_LENGTHS, TOTAL_TOKENS};
use super::result::{Finding, FindingKind, float};
use super::run::ServeRun;
use super::summary::Found;
use crate::import::error::ImportError;

/// Figures that were rounded agree within this.
const ROUNDED: f64 = 0.02;

/// Tokens that a chat template may add to a prompt.
const TEMPLATE: f64 = 64.0;

/// Prompts this many times as long, or as short, are other prompts.
const OTHER_PROMPTS: f64 = 2.0;

/// A millisecond in seconds, which a list may be in where its key names no unit.
const MS: f64 = 1e-3;

/// A list of numbers under one of its names.
struct Listed<'a> {
    key: &'a str,
    /// Seconds that one of them counts; `None` where the key names no unit.
    scale: Option<f64>,
    values: Vec<f64>,
}

impl Listed<'_> {
    fn sum(&self) -> f64 {
        self.values.iter().sum()
    }

    fn n(&self) -> f64 {
        float(self.values.len() as u64)
    }
}

impl Found<'_> {
    /// Refuses a summary whose own lists are of other requests.
    ///
    /// # Errors
    /// Such a summary, with both figures.
    pub(super) fn refuse_other_lists(&self, run: &ServeRun) -> Result<(), ImportError> {
        if let Some(latencies) = self.listed(&LATENCIES) {
            self.refuse_other_count(&latencies, run)?;
            // With those of the failed requests among them, the mean is another one than that of the others.
            if latencies.values.len() as u64 == run.completed {
                self.refuse_other_mean(&latencies, run)?;
            }
        }
        if let (Some(lengths), Some(told)) = (self.listed(&OUTPUT_LENGTHS), run.output_tokens) {
            self.refuse_other_count(&lengths, run)?;
            let sum = lengths.sum();
            if !is_near(sum, float(told)) {
                let want = format!("the {told} output tokens that the file's other figures make");
                return Err(self.listed_nonsense(
                    &lengths,
                    &format!("they sum to {sum:.0}"),
                    &want,
                ));
            }
        }
        if let (Some(lengths), Some(told)) = (self.listed(&INPUT_LENGTHS), run.input_tokens) {
            self.refuse_other_count(&lengths, run)?;
            let (sum, told) = (lengths.sum(), float(told));
            // A server counts what it adds to each prompt, too.
            let is_template = (sum - told).abs() <= TEMPLATE * lengths.n();
            if !is_template && sum.max(told) > OTHER_PROMPTS * sum.min(told) {
                let want =
                    format!("about the {told:.0} prompt tokens that the file's other figures make");
                return Err(self.listed_nonsense(
                    &lengths,
                    &format!("they sum to {sum:.0}"),
                    &want,
                ));
            }
        }
        Ok(())
    }

    /// That the total of tokens, which nothing is taken from, is not that of prompts and output.
    pub(super) fn other_total(&self, run: &ServeRun) -> Option<Finding> {
        let total = self.lenient(&TOTAL_TOKENS)?;
        let (input, output) = (run.input_tokens?, run.output_tokens?);
        let both = input + output;
        // Some clients mean one of both by it.
        let is_one = [both, input, output]
            .into_iter()
            .any(|one| is_near(total, float(one)));
        (!is_one).then(|| {
            Finding::new(
                FindingKind::TotalTokens,
                format!(
                    "{} is {total:.0}, and prompt and output tokens together are {input} + {output} = {both}; nothing is taken from it",
                    self.key(&TOTAL_TOKENS)
                ),
            )
        })
    }

    /// Refuses a list of latencies whose mean is not that of the file.
    fn refuse_other_mean(&self, latencies: &Listed<'_>, run: &ServeRun) -> Result<(), ImportError> {
        let told = run.e2el_ms.map_or(0.0, |latency| latency.mean / 1e3);
        let mean = latencies.sum() / latencies.n();
        let scales = match latencies.scale {
            Some(scale) => vec![scale],
            None => vec![1.0, MS],
        };
        if scales.iter().any(|scale| is_near(mean * scale, told)) {
            return Ok(());
        }
        let want = format!("their mean to be that of the file, {told:.4} s");
        Err(self.listed_nonsense(latencies, &format!("their mean is {mean:.4}"), &want))
    }

    /// The list of numbers of that name; `None` where there is none, or something else in it.
    fn listed(&self, alias: &Alias) -> Option<Listed<'_>> {
        let (key, scale) = self.keys(alias).into_iter().next()?;
        let values = self.fields.value(key)?.as_array()?;
        let values: Option<Vec<f64>> = values.iter().map(serde_json::Value::as_f64).collect();
        let values = values.filter(|values| !values.is_empty())?;
        Some(Listed { key, scale, values })
    }

    /// One value for each request that succeeded, or for each that was sent.
    fn refuse_other_count(&self, list: &Listed<'_>, run: &ServeRun) -> Result<(), ImportError> {
        let (n, sent) = (
            list.values.len() as u64,
            run.completed + run.failed.unwrap_or(0),
        );
        if n == run.completed || n == sent {
            return Ok(());
        }
        let want = format!("one of each of {} completed requests", run.completed);
        Err(self.listed_nonsense(list, &format!("it holds {n}"), &want))
    }

    fn listed_nonsense(&self, list: &Listed<'_>, seen: &str, want: &str) -> ImportError {
        ImportError::Nonsense {
            origin: self.fields.origin.to_owned(),
            key: list.key.to_owned(),
            seen: format!("a list: {seen}"),
            want: want.to_owned(),
        }
    }
}

fn is_near(one: f64, other: f64) -> bool {
    (one - other).abs() <= ROUNDED * other.abs()
}
