//! The page of two links: the answer, each time as a waterfall, both curves, and everything behind them.

use ::explain::{
    Difference, LinkComparison, LinkOutcome, LinkSide, TimeOf, Topic, links_answer, links_heading,
    warning,
};
use measure::unit::ByteCount;
use report::{BarKind, Page, Section, SizeMark};

use super::parts::{
    about, all_reduces, bar, curves, gates, known, lines, points, section, sources, table, total,
    waterfall, whole,
};

/// Decimals of milliseconds: differences between links are small.
const DECIMALS: usize = 2;

/// The page of two links.
pub(in crate::explain) fn links(a: &LinkSide, b: &LinkSide, comparison: &LinkComparison) -> Page {
    let compared = links_heading(comparison);
    let compared = compared.lines().map(|line| line.trim().to_owned());
    let mut sections = vec![about(Topic::Compared, points(compared.collect()))];
    let (mut caveats, mut priors) = (Vec::new(), Vec::new());
    if let LinkOutcome::Compared { figures } = &comparison.outcome {
        for difference in figures.decode.iter().chain(&figures.first_token) {
            sections.push(time(comparison, difference));
        }
        let marks = figures
            .decode
            .iter()
            .chain(&figures.first_token)
            .filter_map(|difference| {
                let needed = difference.needed.as_ref()?;
                Some(SizeMark {
                    bytes: needed.bytes_per_rank,
                    label: format!("{} of {}", needed.count, what(difference.of)),
                })
            })
            .collect();
        let of = |name, side: &LinkSide| all_reduces(Some(name), &side.inputs);
        let drawn = curves(
            "all-reduce: time of one call over message size, with 95% intervals; dashed: the model's sizes",
            [of("A", a), of("B", b)].concat(),
            marks,
        );
        sections.push(section(
            "All-reduce on both sides",
            drawn.into_iter().collect(),
        ));
        sections.extend([
            section(
                "What bytes over the wire make of it, without any latency",
                points(lines(&figures.wire)),
            ),
            section("Not judged", points(figures.not_judged.clone())),
            section(
                "What else differs between the sides",
                points(figures.confounders.clone()),
            ),
            about(Topic::ToMeasure, points(figures.next.clone())),
        ]);
        caveats = figures.caveats.clone();
        priors = figures.priors.clone();
    }
    sections.extend([
        about(Topic::Gates, gates(&comparison.gates)),
        about(Topic::Reservations, points(caveats)),
        about(Topic::TakenAsKnown, known(&priors)),
        about(Topic::Inputs, sources(&comparison.inputs)),
    ]);
    let mut answer = links_answer(comparison);
    if matches!(comparison.outcome, LinkOutcome::Compared { .. }) {
        answer.extend(warning(&comparison.gates, &[]));
    }
    whole(
        format!("{}: TP{} on two links", comparison.model, comparison.tp),
        comparison.simulated.clone(),
        answer,
        sections,
    )
}

fn what(of: TimeOf) -> &'static str {
    match of {
        TimeOf::DecodeStep => "a decode step",
        TimeOf::FirstToken => "a prompt",
        TimeOf::WholeRun => "all prompts",
    }
}

/// A time on both links as a waterfall: the base, what the link makes, what is left, and the other.
fn time(comparison: &LinkComparison, of: &Difference) -> Section {
    let mut bars = vec![total(comparison.a.name.clone(), of.a)];
    match &of.predicted {
        Some(by) => {
            bars.push(bar(
                "the link, by the curves".to_owned(),
                by.difference,
                BarKind::Cause,
                Some(by.grade),
            ));
            bars.push(bar(
                "beyond it".to_owned(),
                by.beyond,
                BarKind::Unexplained,
                None,
            ));
        }
        None => bars.push(bar(
            "difference, not explained".to_owned(),
            of.measured,
            BarKind::Unexplained,
            None,
        )),
    }
    bars.push(total(comparison.b.name.clone(), of.b));
    let mut rows = vec![
        vec![
            "measured difference, ms".to_owned(),
            of.measured.with_decimals(DECIMALS),
        ],
        vec![
            "runs".to_owned(),
            format!("{} and {}", of.runs_of_a, of.runs_of_b),
        ],
    ];
    if let Some(by) = &of.predicted {
        rows.push(vec![
            "predicted difference, ms".to_owned(),
            by.difference.with_decimals(DECIMALS),
        ]);
        if let Some(n) = &by.effective {
            rows.push(vec![
                "effective all-reduces".to_owned(),
                format!("{} of {} planned", n.with_decimals(1), by.planned),
            ]);
        }
    }
    if let Some(needed) = &of.needed {
        let rate = needed.gb_per_s.map_or_else(String::new, |rate| {
            format!(", as if carried at {rate:.1} GB/s")
        });
        rows.push(vec![
            "were the link all of it".to_owned(),
            format!(
                "{} us more for each of {} all-reduces ({}){rate}",
                needed.us.with_decimals(DECIMALS),
                needed.count,
                ByteCount(needed.bytes_per_rank)
            ),
        ]);
    }
    let mut blocks = vec![waterfall(
        "ms; whiskers are 5% and 95% of the draws".to_owned(),
        DECIMALS,
        bars,
    )];
    blocks.extend(table(&["", "median [5%, 95%]"], rows));
    let heading = match of.of {
        TimeOf::FirstToken => "The time to first token",
        TimeOf::DecodeStep | TimeOf::WholeRun => "The decode step",
    };
    section(heading, blocks)
}
