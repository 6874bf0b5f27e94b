//! The page of an explanation: the answer, then its topics in the order that the text has, too.

use ::explain::{
    Advice, Attribution, Bounded, Cause, Explanation, Inputs, NextStep, Topic, grades, heading,
    implied, in_figures, step_decimals, warning,
};
use measure::record::CollectiveKind;
use measure::unit::ByteCount;
use report::{BarKind, Block, CurvePoint, CurveSeries, Page, SizeMark};

use super::arms::arms;
use super::parts::{
    ABSENT, about, all_reduces, bar, curves, gates, known, lines, of_a_step, points, sources,
    table, total, waterfall, whole,
};

/// A curve of this box: what its picture shows.
const OWN: &str = "all-reduce of this box: time of one call over message size, with 95% intervals; dashed: the model's sizes";

/// The same without one.
const PUBLISHED: &str = "all-reduce times that others published for this GPU, since this box has no curve of its own; dashed: the model's sizes";

/// The page of an explanation.
pub(in crate::explain) fn page(
    inputs: &Inputs,
    explanation: &Explanation,
    note: Option<&str>,
) -> Page {
    let sections = Topic::ALL.map(|topic| about(topic, told(topic, inputs, explanation)));
    let mut answer = ::explain::answer(explanation);
    let attributed = explanation.outcome.attribution();
    answer.extend(attributed.and_then(|of| warning(&explanation.gates, &of.lowered)));
    answer.extend(note.map(str::to_owned));
    let title = match explanation.tp {
        1 => format!("{} on one GPU", explanation.model),
        tp => format!("{}: {tp} GPUs against one", explanation.model),
    };
    whole(
        title,
        explanation.simulated.clone(),
        answer,
        sections.into(),
    )
}

/// What is told of a topic; nothing where there is nothing to tell.
fn told(topic: Topic, inputs: &Inputs, explanation: &Explanation) -> Vec<Block> {
    let outcome = &explanation.outcome;
    let attributed = outcome.attribution();
    let of_step = |told: fn(&Attribution) -> Vec<Block>| attributed.map_or_else(Vec::new, told);
    match topic {
        Topic::Compared => {
            let batch = attributed.map(|of| of.batch);
            vec![Block::Paragraph(heading(explanation, batch))]
        }
        Topic::Step => {
            let figures = in_figures(explanation).map(Block::Paragraph);
            figures.into_iter().chain(of_step(step)).collect()
        }
        Topic::StillTold => {
            let bounded = explanation.bounded.iter();
            points(bounded.flat_map(Bounded::sentences).collect())
        }
        Topic::Ablation => explanation.slope.as_ref().map_or_else(Vec::new, arms),
        Topic::Collectives => attributed.map_or_else(
            || {
                let own = all_reduces(None, inputs);
                curves(OWN, own, Vec::new()).into_iter().collect()
            },
            |of| collectives(inputs, of),
        ),
        Topic::ToDo => advised(outcome.advice()),
        Topic::WhatIf => points(lines(outcome.what_if())),
        Topic::ToMeasure => measured_next(outcome.to_measure()),
        Topic::Gates => gates(&explanation.gates),
        Topic::Reservations => of_step(|of| points(of.caveats.clone())),
        Topic::FirstToken => points(
            explanation
                .first_token
                .iter()
                .map(ToString::to_string)
                .collect(),
        ),
        Topic::TakenAsKnown => of_step(|of| known(&of.priors)),
        Topic::Widths => of_step(|of| points(::explain::prior_shares(&of.prior_shares))),
        Topic::Inputs => sources(&explanation.inputs),
    }
}

/// The waterfall with its numbers.
fn step(attribution: &Attribution) -> Vec<Block> {
    let decimals = step_decimals(attribution);
    let mut bars = vec![total("step on one GPU".to_owned(), attribution.step_of_one)];
    bars.extend(attribution.bars.iter().map(|one| {
        let kind = match one.cause {
            Cause::Ideal => BarKind::Total,
            Cause::Unexplained => BarKind::Unexplained,
            Cause::NarrowGemm
            | Cause::Unsharded
            | Cause::Host
            | Cause::AllReduce
            | Cause::AllGather
            | Cause::Communication => BarKind::Cause,
        };
        bar(one.cause.to_string(), one.ms, kind, one.grade)
    }));
    bars.push(total(
        format!("step on {} GPUs", attribution.tp),
        attribution.step_of_several,
    ));
    let title = format!(
        "{}; evidence {}",
        of_a_step(attribution.batch, attribution.draws),
        grades(attribution)
    );
    let mut blocks = vec![waterfall(title, decimals, bars)];
    blocks.push(Block::Paragraph(format!(
        "Speed-up of a step: {}x; {}. With GEMMs that lose nothing it would be {}x; with both, {}x: this is what is possible at this batch.",
        attribution.speed_up.with_decimals(2),
        ::explain::free_links(attribution),
        attribution.halved_gemms.with_decimals(2),
        attribution
            .possible
            .map_or_else(|| ABSENT.to_owned(), |possible| possible.with_decimals(2))
    )));
    let all = attribution.bars.iter().chain(&attribution.communication);
    let rows = all.map(|bar| {
        vec![
            match bar.cause {
                Cause::Communication => "all-reduce and all-gather together".to_owned(),
                other => other.to_string(),
            },
            bar.ms.with_decimals(decimals),
            bar.grade.map_or_else(
                || ABSENT.to_owned(),
                |grade| format!("{grade}: {}", grade.meaning()),
            ),
            bar.source.clone(),
        ]
    });
    blocks.extend(table(
        &[
            "part",
            "ms a step, median [5%, 95%]",
            "evidence",
            "rests on",
        ],
        rows.collect(),
    ));
    blocks.extend(::explain::too_much(attribution).map(Block::Paragraph));
    let half = ::explain::half_width(attribution);
    if !half.is_empty() {
        blocks.push(Block::List(half));
    }
    blocks
}

/// The curve of this box, or published ones, and what the model's step takes from it.
fn collectives(inputs: &Inputs, attribution: &Attribution) -> Vec<Block> {
    let mut blocks = Vec::new();
    if let Some(of) = &attribution.implied {
        blocks.push(Block::Paragraph(implied(of)));
        if !of.published.is_empty() {
            blocks.push(Block::List(lines(&of.published)));
        }
    }
    let own = all_reduces(None, inputs);
    let (title, mut series) = match own.is_empty() {
        true => (PUBLISHED, published(inputs)),
        false => (OWN, own),
    };
    series.extend(upper_figure(attribution));
    blocks.extend(curves(title, series, marks(attribution)));
    let rows = attribution.collectives.iter().map(|cost| {
        vec![
            format!("{}, {}", cost.kind, cost.role),
            cost.count.to_string(),
            ByteCount(cost.bytes_per_rank).to_string(),
            cost.path.to_string(),
            format!("{:.1}", cost.us),
            cost.grade.to_string(),
            cost.source.clone(),
        ]
    });
    blocks.extend(table(
        &[
            "collective",
            "a step",
            "bytes a rank",
            "done by",
            "us each",
            "evidence",
            "read from",
        ],
        rows.collect(),
    ));
    blocks
}

/// Each size of an all-reduce of the step, with how often it is sent.
fn marks(attribution: &Attribution) -> Vec<SizeMark> {
    let mut marks: Vec<SizeMark> = Vec::new();
    let label = |count: u32| format!("{count} a step at batch {}", attribution.batch);
    let reduces = || {
        let all = attribution.collectives.iter();
        all.filter(|cost| cost.kind == CollectiveKind::AllReduce)
    };
    for bytes in reduces().map(|cost| cost.bytes_per_rank) {
        if marks.iter().any(|mark| mark.bytes == bytes) {
            continue;
        }
        let of_size = reduces().filter(|cost| cost.bytes_per_rank == bytes);
        marks.push(SizeMark {
            bytes,
            label: label(of_size.map(|cost| cost.count).sum()),
        });
    }
    if marks.is_empty() {
        marks.extend(attribution.implied.iter().map(|of| SizeMark {
            bytes: of.bytes_per_rank,
            label: label(of.count),
        }));
    }
    marks
}

/// Curves that others published for this GPU at this number of ranks.
fn published(inputs: &Inputs) -> Vec<CurveSeries> {
    let gpu = inputs.known.gpu.as_deref();
    let all = inputs.priors.published_for(gpu, inputs.tp).into_iter();
    let series = all.map(|curve| CurveSeries {
        name: format!("published: {}", curve.words),
        points: curve
            .points
            .iter()
            .map(|&(bytes, microseconds)| CurvePoint {
                bytes,
                microseconds,
                interval: None,
            })
            .collect(),
    });
    series.collect()
}

/// What the runs leave for one all-reduce, as a point beside the curves.
fn upper_figure(attribution: &Attribution) -> Option<CurveSeries> {
    let of = attribution.implied.as_ref()?;
    Some(CurveSeries {
        name: "if all that is left were all-reduces".to_owned(),
        points: vec![CurvePoint {
            bytes: of.bytes_per_rank,
            microseconds: of.us.mid,
            interval: Some((of.us.low, of.us.high)),
        }],
    })
}

fn advised(advice: &[Advice]) -> Vec<Block> {
    let rows = advice.iter().map(|one| {
        let effect = one.effect.as_ref();
        vec![
            one.what.clone(),
            effect.map_or_else(|| ABSENT.to_owned(), ToString::to_string),
            format!("{} [{}]", one.why, one.based_on),
            one.prove.clone().unwrap_or_default(),
        ]
    });
    let heads = ["what", "gain, median [5%, 95%]", "why", "to see it"];
    table(&heads, rows.collect()).into_iter().collect()
}

fn measured_next(next: &[NextStep]) -> Vec<Block> {
    let rows = next.iter().map(|step| {
        vec![
            step.what.clone(),
            step.brings(),
            step.takes().unwrap_or_else(|| ABSENT.to_owned()),
            step.how.clone(),
        ]
    });
    let heads = ["what", "what it does to the interval", "takes", "how"];
    table(&heads, rows.collect()).into_iter().collect()
}
