//! A slope test as a document: whether the step follows the link.

use ::explain::{ArmSummary, Range, Slope, SlopeFit, SlopeVerdict, Undecided};
use view::page::{Axis, Plot, PlotPoint, PlotSeries, Shape};
use view::{Block, Document, Next, Section, Tone};

use super::bars::{ABSENT, frame, range, table, told};

/// The document of a slope test alone.
pub(crate) fn slope(of: &Slope) -> Document {
    let title = format!(
        "{}, TP{}, {} in flight: does the step follow the link?",
        of.model, of.tp, of.batch
    );
    let mut document = frame(title, of.simulated.clone(), "tplens ablate");
    document.tone = match of.passes {
        SlopeVerdict::Follows => Tone::Good,
        SlopeVerdict::Undecided { .. } => Tone::Warning,
        SlopeVerdict::BelowPlan { .. } | SlopeVerdict::AbovePlan => Tone::Bad,
    };
    document.answer = vec![sentence(of)];
    document.answer.extend(of.fit.as_ref().map(communication));
    let left_out: u32 = of.arms.iter().map(|arm| arm.left_out).sum();
    let used: u32 = of.arms.iter().map(|arm| arm.launches).sum();
    document.answer.extend((left_out > 0).then(|| {
        format!(
            "{left_out} of {} launches left out: no usable time, or this machine was too busy.",
            left_out + used
        )
    }));
    document.next = next(of).map(Next::plain).into_iter().collect();
    document.sections = vec![Section {
        detail: false,
        ..section(of)
    }];
    document
}

fn next(of: &Slope) -> Option<&'static str> {
    match &of.passes {
        SlopeVerdict::Undecided {
            why: Undecided::NothingPlanned,
        } => None,
        SlopeVerdict::Undecided {
            why: Undecided::OffTheLine { .. },
        } => Some("Run that arm again, or leave it out."),
        SlopeVerdict::Undecided { .. } => {
            Some("Run more launches, and two arms or more that change the link, and only that.")
        }
        SlopeVerdict::BelowPlan { .. } if of.delay_control.is_none() => {
            Some("Add an arm with a known delay: it tells overlap from another path.")
        }
        SlopeVerdict::BelowPlan { .. } => Some("Check which path the engine takes in each arm."),
        SlopeVerdict::AbovePlan => None,
        SlopeVerdict::Follows => {
            Some("Run the shard on one GPU (--half): it shows what no arm changes.")
        }
    }
}

/// Whether the step follows, in one sentence.
pub(super) fn sentence(of: &Slope) -> String {
    let found = of.fit.as_ref().map_or_else(String::new, |fit| {
        format!(
            " (slope {} of {} planned)",
            range(&fit.slope, 0),
            of.planned
        )
    });
    match &of.passes {
        SlopeVerdict::Follows => format!("The step follows the link{found}."),
        SlopeVerdict::BelowPlan { hidden } => {
            let why = match of.delay_control.as_ref().map(|delay| delay.follows) {
                Some(true) => "another path than was timed",
                Some(false) => "overlap",
                None => "overlap or another path",
            };
            format!(
                "The step follows less{found}: {:.0}% hidden by {why}.",
                hidden.mid * 100.0
            )
        }
        SlopeVerdict::AbovePlan => {
            format!("The step follows more than planned{found}: a confounder, or skew.")
        }
        SlopeVerdict::Undecided { why } => format!("Undecided{found}: {}.", undecided(why)),
    }
}

fn undecided(why: &Undecided) -> String {
    match why {
        Undecided::OffTheLine { arm } => format!("the arms are on no line, {arm} farthest off"),
        Undecided::Rough { half_width } => {
            format!("the slope is known to {:.0}% only", half_width * 100.0)
        }
        Undecided::NothingPlanned => "the plan has no all-reduce".to_owned(),
        Undecided::FewArms { usable, of } if *usable < 2 => {
            format!("{usable} of {of} arms have enough launches")
        }
        Undecided::FewArms { .. } => "all arms have the same collective time".to_owned(),
    }
}

fn communication(fit: &SlopeFit) -> String {
    let (by_link, at) = (range(&fit.communication_ms, 1), &fit.at);
    format!("Communication takes at least {by_link} ms in {at}.")
}

/// The arms and the line through them.
pub(super) fn section(of: &Slope) -> Section {
    let ms = |of: Option<&Range>| of.map_or_else(|| ABSENT.to_owned(), |of| range(of, 2));
    let rows = of.arms.iter().map(|arm| {
        [
            arm.name.clone(),
            told(&arm.change),
            arm.launches.to_string(),
            ms(arm.collective_us.as_ref()),
            ms(arm.step_ms.as_ref()),
            if arm.fitted { "yes" } else { "no" }.to_owned(),
        ]
    });
    let heads = "arm | changes | launches | us an all-reduce | ms a step | in the line";
    let mut blocks: Vec<Block> = picture(of).map(Block::Plot).into_iter().collect();
    blocks.push(table(heads, rows));
    blocks.push(Block::Paragraph(control(of)));
    Section::detail("Ablation", blocks)
}

fn control(of: &Slope) -> String {
    let Some(of) = &of.delay_control else {
        return "Known delay: not run.".to_owned();
    };
    let not = if of.follows { "" } else { "not " };
    let slope = range(&of.slope, 0);
    format!("Known delay: slope {slope}, {not}as planned.")
}

fn picture(of: &Slope) -> Option<Plot> {
    let fit = of.fit.as_ref()?;
    let point = |arm: &ArmSummary| {
        let (x, y) = (arm.collective_us.as_ref()?, arm.step_ms.as_ref()?);
        Some(PlotPoint {
            x: x.mid,
            y: y.mid,
            interval: Some((y.low, y.high)),
            across: Some((x.low, x.high)),
            label: Some(arm.name.clone()),
        })
    };
    let arms: Vec<PlotPoint> = of.arms.iter().filter_map(point).collect();
    let least = arms.iter().map(|point| point.x).reduce(f64::min)?;
    let most = arms.iter().map(|point| point.x).fold(least, f64::max);
    // Both lines go through the fitted one at the arm whose communication is known; its milliseconds are over microseconds.
    let x = fit.collective_us.mid;
    let y = fit.intercept_ms.mid + fit.communication_ms.mid;
    let line = |name: String, slope: f64| {
        let at = |at| PlotPoint {
            x: at,
            y: y + slope / 1e3 * (at - x),
            ..PlotPoint::default()
        };
        let (shape, points) = (Shape::Line, vec![at(least), at(most)]);
        PlotSeries {
            name,
            shape,
            points,
        }
    };
    let fitted = format!("fitted: {} all-reduces", range(&fit.slope, 0));
    let planned = format!("planned: {} all-reduces", of.planned);
    let axis = |label: &str| Axis {
        label: label.to_owned(),
        ..Axis::default()
    };
    let dots = PlotSeries {
        name: "arms".to_owned(),
        shape: Shape::Dots,
        points: arms,
    };
    let lines = [(fitted, fit.slope.mid), (planned, f64::from(of.planned))];
    let lines = lines.map(|(name, slope)| line(name, slope));
    Some(Plot {
        title: "step over collective time, an arm each; bars are 5% and 95% of its launches' mean"
            .to_owned(),
        across: axis("us an all-reduce"),
        up: axis("ms a step"),
        series: [dots].into_iter().chain(lines).collect(),
    })
}
