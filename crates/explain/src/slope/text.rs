//! A slope test for the terminal: the answer in a sentence, then the line, the controls and every arm.

use comfy_table::{CellAlignment, Table, presets};

use super::arms::Change;
use super::constant::ConstantPart;
use super::result::{NegativeControl, Slope, SlopeFit, SlopeVerdict};
use crate::range::Range;
use crate::words::{ABSENT, simulated};

/// The test as text; lines are not wrapped.
#[must_use]
pub fn slope_text(slope: &Slope) -> String {
    simulated(slope.simulated.as_deref()) + &slope_body(slope)
}

/// The same without the mark of a soft box, for a text that has one.
pub(crate) fn slope_body(slope: &Slope) -> String {
    let mut text = format!("{}\n\n", slope_answer(slope));
    text.push_str(&format!(
        "slope of the step over collective time: {}, TP{}, {} sequences a step; medians with 90% intervals, {} draws of launches, seed {}\n",
        slope.model, slope.tp, slope.batch, slope.draws, slope.seed
    ));
    if let Some(fit) = &slope.fit {
        text.push_str(&line(slope, fit));
    }
    for (name, words) in controls(slope) {
        text.push_str(&format!("  {name:<14} {words}\n"));
    }
    text.push_str(&format!("{}\n", arms(slope)));
    for beside in &slope.beside {
        let range = |of: Option<&Range>| {
            of.map_or_else(|| "not known".to_owned(), |range| range.with_decimals(2))
        };
        text.push_str(&format!(
            "beside the line, {}: step {} ms; planned collectives {} ms; one GPU {} ms; step less one GPU {} ms\n",
            beside.arm,
            beside.step_ms.with_decimals(2),
            range(beside.collectives_ms.as_ref()),
            range(beside.one_gpu_ms.as_ref()),
            range(beside.difference_ms.as_ref())
        ));
    }
    for caveat in &slope.caveats {
        text.push_str(&format!("reservation: {caveat}\n"));
    }
    text
}

/// The answer in a sentence.
#[must_use]
pub fn slope_answer(slope: &Slope) -> String {
    let found = slope.fit.as_ref().map_or_else(String::new, |fit| {
        format!(
            "slope {}, 95% interval [{:.0}, {:.0}], planned {}",
            fit.slope.with_decimals(0),
            fit.slope_95.low,
            fit.slope_95.high,
            slope.planned
        )
    });
    let said = match &slope.passes {
        SlopeVerdict::Follows => {
            let words = slope.fit.as_ref().map(|fit| communication(slope, fit));
            let words = words.unwrap_or_default();
            format!("The step follows the link: {found}. {words}")
        }
        SlopeVerdict::BelowPlan { why } => {
            format!("The step follows the link less than planned: {found}. It points to {why}.")
        }
        SlopeVerdict::AbovePlan { why } => {
            format!("The step follows the link more than planned: {found}. It points to {why}.")
        }
        SlopeVerdict::Undecided { why } if found.is_empty() => format!("Undecided: {why}."),
        SlopeVerdict::Undecided { why } => format!("Undecided ({found}): {why}."),
    };
    match &slope.late {
        Some(late) => format!("{said} {late}."),
        None => said,
    }
}

/// What communication takes, and how much of that the slope shows.
fn communication(slope: &Slope, fit: &SlopeFit) -> String {
    let (by_link, at) = (fit.communication_ms.with_decimals(1), &fit.at);
    match &slope.constant {
        ConstantPart::NotKnown => format!(
            "Communication takes {by_link} ms of the step in the arm {at} at least: what no arm changes, such as ranks that wait for each other, is not in it (a half-width model tells it: explain with --half)."
        ),
        ConstantPart::Assumed {
            communication_ms,
            by,
        } => format!(
            "Communication takes {} ms of the step in the arm {at}: {by_link} ms by the slope, and for what no arm changes, such as ranks that wait for each other, {} {}..{} is assumed (a half-width model tells it: --half).",
            communication_ms.with_decimals(1),
            by.name,
            by.low,
            by.high
        ),
        ConstantPart::HalfModel { check } => {
            let (half, constant) = (
                check.half_ms.with_decimals(1),
                check.constant_ms.with_decimals(1),
            );
            let whole = check.communication_ms.with_decimals(1);
            if check.contradicts() {
                format!(
                    "But the half-width model's step, {half} ms, is longer than the step without links by the line: {constant} ms with the executor, which no communication makes. One of the two is not of this load, and neither is believed."
                )
            } else if check.agrees {
                format!(
                    "Communication takes {whole} ms of the step in the arm {at} by the half-width model, {by_link} ms by the slope; the step without links is the half-width model's and the executor's ({constant} ms apart), so that no wait shows that no arm changes."
                )
            } else {
                format!(
                    "Communication takes {whole} ms of the step in the arm {at} by the half-width model, of which {by_link} ms follow the link and {constant} ms do not, whatever the link: ranks that wait for each other, or the host of several."
                )
            }
        }
    }
}

fn line(slope: &Slope, fit: &SlopeFit) -> String {
    let chi = fit.residual.reduced_chi_square;
    let chi = chi.map_or("two arms, no distance to judge".to_owned(), |chi| {
        format!("mean squared distance {chi:.1} standard errors")
    });
    format!(
        "  slope          {} of {} planned, {} arms, {} launches\n  \
           without links  {} ms a step\n  \
           by the link    {} ms a step of communication at {} us ({}), a lower figure\n  \
           left by line   {:.2} ms ({chi}; farthest {})\n  \
           leverage       {:.0}% of the slope rests on {}\n  \
           power          95% half-width {:.0}% at a spread between launches of {:.1}% (step) and {:.1}% (collectives); 10% needs {} launches an arm\n",
        fit.slope.with_decimals(0),
        slope.planned,
        fit.arms.len(),
        fit.launches,
        fit.intercept_ms.with_decimals(1),
        fit.communication_ms.with_decimals(1),
        fit.collective_us.with_decimals(1),
        fit.at,
        fit.residual.ms,
        fit.residual.worst,
        fit.leverage.1 * 100.0,
        fit.leverage.0,
        fit.power.half_width * 100.0,
        fit.power.step_cv * 100.0,
        fit.power.collective_cv * 100.0,
        fit.power.launches_for_tenth
    )
}

/// What the controls show, a line each.
#[must_use]
pub fn slope_controls(slope: &Slope) -> Vec<String> {
    let named = controls(slope);
    let line = |(name, words): &(&str, String)| format!("{name}: {words}");
    named.iter().map(line).collect()
}

fn controls(slope: &Slope) -> [(&'static str, String); 2] {
    let one = match &slope.negative_control {
        NegativeControl::NotRun => {
            "not run: whether the variables change more than the link is not known".to_owned()
        }
        NegativeControl::Still { arms, most_ms } => {
            format!("did not move: {most_ms:.2} ms at most between {arms} arms")
        }
        NegativeControl::Moved { arm, ms } => {
            format!(
                "MOVED in {arm} by {} ms: the test is void",
                ms.with_decimals(2)
            )
        }
        NegativeControl::Unclear { arm, ms } => format!(
            "cannot tell: {arm} by {} ms; run more launches",
            ms.with_decimals(2)
        ),
    };
    let delay = match &slope.delay_control {
        None => "not run".to_owned(),
        Some(of) => format!(
            "slope {}, {}",
            of.slope.with_decimals(0),
            if of.follows {
                "as planned"
            } else {
                "not as planned"
            }
        ),
    };
    [("one GPU", one), ("known delay", delay)]
}

fn arms(slope: &Slope) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header([
        "arm",
        "changes",
        "launches",
        "collective us",
        "step ms",
        "fitted",
    ]);
    for arm in &slope.arms {
        let range = |of: Option<&Range>| {
            of.map_or_else(|| ABSENT.to_owned(), |range| range.with_decimals(2))
        };
        table.add_row([
            arm.name.clone(),
            arm.change.to_string(),
            arm.launches.to_string(),
            range(arm.collective_us.as_ref()),
            range(arm.step_ms.as_ref()),
            if arm.fitted { "yes" } else { "no" }.to_owned(),
        ]);
    }
    for column in 2..5 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let lines = table.to_string();
    let lines: Vec<String> = lines
        .lines()
        .map(|line| format!("  {}", line.trim()))
        .collect();
    lines.join("\n")
}

impl std::fmt::Display for Change {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Baseline => "nothing",
            Self::Link => "the link",
            Self::Delay => "a known delay",
            Self::Confounded => "the link and more",
            Self::NegativeControl => "one GPU",
        })
    }
}
