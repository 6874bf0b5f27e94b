//! Comparisons of two links, and of two sizes, as one page each: the answer, the bars, the curves, and everything behind them.

use ::explain::{
    Difference, Inputs, LinkComparison, LinkOutcome, LinkSide, Range, SizeAttribution, SizeCause,
    SizeComparison, SizeOutcome, TimeOf, links_answer, links_heading, sizes_answer,
};
use measure::record::{CallMode, CollectiveKind};
use measure::unit::ByteCount;
use program::provenance::now;
use report::{
    Bar, BarKind, Block, CurvePoint, CurveSeries, Curves, Page, Section, SizeMark, Table, Waterfall,
};

use super::page::{gates, heads, list, sources};

/// The page of two links.
pub(super) fn links(a: &LinkSide, b: &LinkSide, comparison: &LinkComparison) -> Page {
    let mut sections = vec![Section {
        heading: "What was compared".to_owned(),
        blocks: vec![Block::List(
            links_heading(comparison)
                .lines()
                .map(|line| line.trim().to_owned())
                .collect(),
        )],
    }];
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
        sections.push(curves(&[("A", &a.inputs), ("B", &b.inputs)], marks));
        sections.push(list(
            "What bytes over the wire make of it, without any latency",
            figures.wire.iter().map(ToString::to_string).collect(),
        ));
        sections.push(list("Not judged", figures.not_judged.clone()));
        sections.push(list(
            "What else differs between the sides",
            figures.confounders.clone(),
        ));
        sections.push(list("What to measure next", figures.next.clone()));
        sections.push(gates(&comparison.gates));
        sections.push(list("Reservations", figures.caveats.clone()));
        sections.push(sources(&comparison.inputs, &figures.priors));
    } else {
        sections.push(gates(&comparison.gates));
        sections.push(sources(&comparison.inputs, &[]));
    }
    whole(
        format!("{}: TP{} on two links", comparison.model, comparison.tp),
        comparison.simulated.clone(),
        links_answer(comparison),
        sections,
    )
}

/// The page of two sizes.
pub(super) fn sizes(inputs: &Inputs, comparison: &SizeComparison) -> Page {
    let mut sections = Vec::new();
    let (mut reservations, mut priors) = (Vec::new(), Vec::new());
    if let SizeOutcome::Attributed { attribution } = &comparison.outcome {
        sections.push(step(comparison, attribution));
        let reduces = attribution
            .collectives_of_more
            .iter()
            .find(|cost| cost.kind == CollectiveKind::AllReduce);
        let marks = reduces.map(|cost| SizeMark {
            bytes: cost.bytes_per_rank,
            label: format!("a decode step of {}", attribution.batch),
        });
        let of = |tp: u32| Inputs {
            tp,
            ..inputs.clone()
        };
        let (fewer, more) = (of(comparison.from), of(comparison.to));
        let names = [comparison.from, comparison.to].map(|tp| format!("TP{tp}"));
        sections.push(curves(
            &[(&names[0], &fewer), (&names[1], &more)],
            marks.into_iter().collect(),
        ));
        reservations = attribution.caveats.clone();
        priors = attribution.priors.clone();
    }
    sections.push(gates(&comparison.gates));
    sections.push(list("Reservations", reservations));
    sections.push(sources(&comparison.inputs, &priors));
    whole(
        format!(
            "{}: {} GPUs against {}",
            comparison.model, comparison.to, comparison.from
        ),
        comparison.simulated.clone(),
        sizes_answer(comparison),
        sections,
    )
}

fn whole(
    title: String,
    simulated: Option<String>,
    answer: Vec<String>,
    mut sections: Vec<Section>,
) -> Page {
    sections.retain(|section| !section.blocks.is_empty());
    Page {
        title,
        simulated,
        answer,
        sections,
        made_by: format!(
            "tplens {}, serve-bench explain, {}",
            env!("CARGO_PKG_VERSION"),
            now()
        ),
    }
}

fn what(of: TimeOf) -> &'static str {
    match of {
        TimeOf::DecodeStep => "a decode step",
        TimeOf::FirstToken => "a prompt",
        TimeOf::WholeRun => "all prompts",
    }
}

fn bar(label: String, range: Range, kind: BarKind, grade: String) -> Bar {
    Bar {
        label,
        low_mid_high: (range.low, range.mid, range.high),
        grade,
        kind,
    }
}

/// A time on both links as a waterfall: the base, what the link makes, what is left, and the other.
fn time(comparison: &LinkComparison, of: &Difference) -> Section {
    let total = |name: &str, range| bar(name.to_owned(), range, BarKind::Total, String::new());
    let mut bars = vec![total(&comparison.a.name, of.a)];
    match &of.predicted {
        Some(by) => {
            bars.push(bar(
                "the link, by the curves".to_owned(),
                by.difference,
                BarKind::Cause,
                by.grade.to_string(),
            ));
            bars.push(bar(
                "beyond it".to_owned(),
                by.beyond,
                BarKind::Unexplained,
                String::new(),
            ));
        }
        None => bars.push(bar(
            "difference, not explained".to_owned(),
            of.measured,
            BarKind::Unexplained,
            String::new(),
        )),
    }
    bars.push(total(&comparison.b.name, of.b));
    let mut rows = vec![
        vec![
            "measured difference, ms".to_owned(),
            of.measured.with_decimals(2),
        ],
        vec![
            "runs".to_owned(),
            format!("{} and {}", of.runs_of_a, of.runs_of_b),
        ],
    ];
    if let Some(by) = &of.predicted {
        rows.push(vec![
            "predicted difference, ms".to_owned(),
            by.difference.with_decimals(2),
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
                needed.us.with_decimals(2),
                needed.count,
                ByteCount(needed.bytes_per_rank)
            ),
        ]);
    }
    Section {
        heading: match of.of {
            TimeOf::FirstToken => "The time to first token".to_owned(),
            TimeOf::DecodeStep | TimeOf::WholeRun => "The decode step".to_owned(),
        },
        blocks: vec![
            Block::Waterfall(Waterfall {
                title: "ms; whiskers are 5% and 95% of the draws".to_owned(),
                unit: "ms".to_owned(),
                bars,
            }),
            Block::Table(Table {
                heads: heads(&["", "median [5%, 95%]"]),
                rows,
            }),
        ],
    }
}

fn step(comparison: &SizeComparison, attribution: &SizeAttribution) -> Section {
    let total = |tp: u32, range| {
        bar(
            format!("step on {tp} GPUs"),
            range,
            BarKind::Total,
            String::new(),
        )
    };
    let mut bars = vec![total(comparison.from, attribution.step_of_fewer)];
    bars.extend(attribution.bars.iter().map(|one| {
        let kind = match one.cause {
            SizeCause::Ideal => BarKind::Total,
            SizeCause::Unexplained => BarKind::Unexplained,
            SizeCause::NarrowGemm | SizeCause::Unsharded | SizeCause::Communication => {
                BarKind::Cause
            }
        };
        let grade = one
            .grade
            .map_or_else(String::new, |grade| grade.to_string());
        bar(one.cause.to_string(), one.ms, kind, grade)
    }));
    bars.push(total(comparison.to, attribution.step_of_more));
    let rows = attribution.bars.iter().map(|one| {
        vec![
            one.cause.to_string(),
            one.ms.with_decimals(2),
            one.source.clone(),
        ]
    });
    Section {
        heading: "Where the time of a step goes".to_owned(),
        blocks: vec![
            Block::Waterfall(Waterfall {
                title: format!(
                    "ms of a decode step of {} sequences; whiskers are 5% and 95% of {} draws",
                    attribution.batch, attribution.draws
                ),
                unit: "ms".to_owned(),
                bars,
            }),
            Block::Table(Table {
                heads: heads(&["part", "ms a step, median [5%, 95%]", "rests on"]),
                rows: rows.collect(),
            }),
        ],
    }
}

/// All-reduce times of both sides, each mode a series.
fn curves(sides: &[(&str, &Inputs)], marks: Vec<SizeMark>) -> Section {
    let modes = || CallMode::ALL.into_iter().rev().map(Some).chain([None]);
    let series = sides.iter().flat_map(|(name, inputs)| {
        modes().filter_map(move |mode| {
            let mut points: Vec<CurvePoint> = inputs
                .curve
                .iter()
                .filter(|point| {
                    point.kind == CollectiveKind::AllReduce
                        && point.ranks == inputs.tp
                        && point.mode == mode
                        && point.engine.is_none()
                })
                .map(|point| CurvePoint {
                    bytes: point.bytes_per_rank,
                    microseconds: point.us,
                    interval: point.low.zip(point.high),
                })
                .collect();
            points.sort_by_key(|point| point.bytes);
            let mode = mode.map_or_else(|| "mode not told".to_owned(), |mode| mode.to_string());
            (!points.is_empty()).then(|| CurveSeries {
                name: format!("{name}: all_reduce on {} ranks, {mode}", inputs.tp),
                points,
            })
        })
    });
    let series: Vec<CurveSeries> = series.collect();
    Section {
        heading: "All-reduce on both sides".to_owned(),
        blocks: if series.is_empty() {
            Vec::new()
        } else {
            vec![Block::Curves(Curves {
                title: "time of one call over message size, with 95% intervals; dashed: the model's sizes".to_owned(),
                series,
                marks,
            })]
        },
    }
}
