//! What several results of one series tell together and none of them alone.

use super::finding::Finding;
use super::result::{ServeResult, float};

/// Replies this much shorter than those of the result with the fewest failures are of other requests.
const SHORTER: f64 = 0.05;

/// A gain in requests per second below this is none.
const GAIN: f64 = 0.05;

/// What is found over results that differ in how many requests were to be in flight; nothing where they are of other models, or
/// fewer than three tell it.
#[must_use]
pub fn across(results: &[ServeResult]) -> Vec<Finding> {
    let mut series: Vec<(f64, &ServeResult)> = results
        .iter()
        .filter_map(|one| Some((one.run.concurrency_asked?, one)))
        .collect();
    series.sort_by(|a, b| a.0.total_cmp(&b.0));
    let is_same = series
        .windows(2)
        .all(|pair| pair[0].1.run.model == pair[1].1.run.model && pair[0].0 < pair[1].0);
    if series.len() < 3 || !is_same {
        return Vec::new();
    }
    [survivors(&series), saturated(&series)]
        .into_iter()
        .flatten()
        .collect()
}

/// Replies that shorten as failures rise: the long ones are those that failed.
fn survivors(series: &[(f64, &ServeResult)]) -> Option<Finding> {
    let told: Vec<(f64, f64, f64)> = series
        .iter()
        .filter_map(|(asked, one)| {
            let failed = float(one.run.failed?);
            let part = failed / (float(one.run.completed) + failed);
            Some((*asked, part, one.output_each()?))
        })
        .collect();
    let least = told.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
    let most = told.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let falls = most.1 > least.1 && most.2 < least.2 * (1.0 - SHORTER);
    falls.then_some(Finding::Survivors {
        least: least.2,
        most: most.2,
    })
}

/// The number in flight from which more are served no faster.
fn saturated(series: &[(f64, &ServeResult)]) -> Option<Finding> {
    let rates: Vec<(f64, f64)> = series
        .iter()
        .map(|(asked, one)| (*asked, one.run.requests_per_s))
        .collect();
    let best = rates.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
    let (from, _) = *rates
        .iter()
        .find(|(_, rate)| *rate >= best * (1.0 - GAIN))?;
    (from < rates.last()?.0).then_some(Finding::Saturated { from, best })
}
