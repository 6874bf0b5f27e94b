//! Lists below the waterfall.

use crate::attribute::PriorShare;

/// Less than this part of both widths is not worth a line.
const LITTLE: f64 = 0.02;

/// Lines under a title; nothing where there is no line.
pub(crate) fn list(title: &str, lines: &[String]) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let lines: Vec<String> = lines.iter().map(|line| format!(" - {line}\n")).collect();
    format!("{title}\n{}\n", lines.concat())
}

/// A line each.
pub(crate) fn lines<T: ToString>(items: &[T]) -> Vec<String> {
    items.iter().map(ToString::to_string).collect()
}

/// What each prior makes of the variance of communication and of what bounds it, a line each.
#[must_use]
pub fn prior_shares(shares: &[PriorShare]) -> Vec<String> {
    let percent = |share: f64| format!("{:.0}%", share * 100.0);
    let is_much = |share: &&PriorShare| {
        share
            .of_remainder
            .max(share.of_communication.unwrap_or(0.0))
            >= LITTLE
    };
    let line = |share: &PriorShare| {
        let of_communication = share.of_communication.map_or_else(String::new, |share| {
            format!(", {} of the variance of communication", percent(share))
        });
        format!(
            "{}: {} of the variance of communication and unexplained together (so of the upper figure for an all-reduce){of_communication}",
            share.name,
            percent(share.of_remainder)
        )
    };
    shares.iter().filter(is_much).map(line).collect()
}
