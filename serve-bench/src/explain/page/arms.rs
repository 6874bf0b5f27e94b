//! Arms of an ablation: the line through them beside the planned one, and a row for each.

use ::explain::{ArmSummary, Range, Slope, slope_answer, slope_controls};
use report::{Block, Scatter, ScatterLine, ScatterPoint};

use super::parts::{ABSENT, table};

/// Whether the step follows the link.
pub(super) fn arms(slope: &Slope) -> Vec<Block> {
    let mut blocks = vec![Block::Paragraph(slope_answer(slope))];
    blocks.extend(picture(slope).map(Block::Scatter));
    let rows = slope.arms.iter().map(|arm| {
        let ms = |range: Option<&Range>| {
            range.map_or_else(|| ABSENT.to_owned(), |range| range.with_decimals(2))
        };
        vec![
            arm.name.clone(),
            arm.change.to_string(),
            arm.launches.to_string(),
            ms(arm.collective_us.as_ref()),
            ms(arm.step_ms.as_ref()),
            if arm.fitted { "yes" } else { "no" }.to_owned(),
        ]
    });
    blocks.extend(table(
        &[
            "arm",
            "changes",
            "launches, n",
            "us an all-reduce, median [5%, 95%]",
            "ms a step, median [5%, 95%]",
            "in the line",
        ],
        rows.collect(),
    ));
    if let Some(fit) = &slope.fit {
        blocks.push(Block::Paragraph(format!(
            "The line: slope {} all-reduces a step of {} planned, 95% interval [{:.0}, {:.0}], through {} arms and {} launches; without links a step takes {} ms; \
             communication takes {} ms of the step in the arm {} (90% intervals, {} draws of launches).",
            fit.slope.with_decimals(0),
            slope.planned,
            fit.slope_95.low,
            fit.slope_95.high,
            fit.arms.len(),
            fit.launches,
            fit.intercept_ms.with_decimals(2),
            fit.communication_ms.with_decimals(2),
            fit.at,
            slope.draws
        )));
    }
    let mut notes = slope_controls(slope);
    notes.extend(slope.caveats.iter().cloned());
    blocks.push(Block::List(notes));
    blocks
}

/// Steps over collective times; `None` where no line goes through them.
fn picture(slope: &Slope) -> Option<Scatter> {
    let fit = slope.fit.as_ref()?;
    let ends = |range: &Range| (range.low, range.mid, range.high);
    let point = |arm: &ArmSummary| {
        Some(ScatterPoint {
            label: arm.name.clone(),
            x: ends(arm.collective_us.as_ref()?),
            y: ends(arm.step_ms.as_ref()?),
            counts: arm.fitted,
        })
    };
    // The planned line goes through the fitted one at the arm whose communication is told.
    let x = fit.collective_us.mid;
    let through = (x, fit.intercept_ms.mid + fit.communication_ms.mid);
    // Microseconds of step for each microsecond, on an axis of milliseconds.
    let line = |name: String, collectives: f64| ScatterLine {
        name,
        through,
        slope: collectives / 1e3,
    };
    Some(Scatter {
        title: "step over collective time, an arm each; bars are 5% and 95% of its launches' mean"
            .to_owned(),
        across: "us an all-reduce".to_owned(),
        up: "ms a step".to_owned(),
        points: slope.arms.iter().filter_map(point).collect(),
        lines: vec![
            line(
                format!("fitted: {} all-reduces a step", fit.slope.with_decimals(0)),
                fit.slope.mid,
            ),
            line(
                format!("planned: {} all-reduces a step", slope.planned),
                f64::from(slope.planned),
            ),
        ],
    })
}
