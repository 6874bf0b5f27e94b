//! The page of two sizes.

use ::explain::{
    Inputs, SizeAttribution, SizeCause, SizeComparison, SizeOutcome, Topic, sizes_answer, warning,
};
use measure::record::CollectiveKind;
use report::{BarKind, Block, Page, Section, SizeMark};

use super::parts::{
    ABSENT, about, all_reduces, bar, curves, gates, known, of_a_step, points, section, sources,
    table, total, waterfall, whole,
};

/// Decimals of milliseconds, as in the text.
const DECIMALS: usize = 1;

/// The page of two sizes.
pub(in crate::explain) fn sizes(inputs: &Inputs, comparison: &SizeComparison) -> Page {
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
        let of = |tp: u32| {
            let inputs = Inputs {
                tp,
                ..inputs.clone()
            };
            all_reduces(Some(&format!("TP{tp}")), &inputs)
        };
        let series = [of(comparison.from), of(comparison.to)].concat();
        let drawn = curves(
            "all-reduce: time of one call over message size, with 95% intervals; dashed: the model's size",
            series,
            marks.into_iter().collect(),
        );
        sections.push(section(
            "All-reduce at both sizes",
            drawn.into_iter().collect(),
        ));
        reservations = attribution.caveats.clone();
        priors = attribution.priors.clone();
    }
    let advised = comparison.advice.iter().map(ToString::to_string);
    sections.extend([
        about(Topic::ToDo, points(advised.collect())),
        about(Topic::Gates, gates(&comparison.gates)),
        about(Topic::Reservations, points(reservations)),
        about(Topic::TakenAsKnown, known(&priors)),
        about(Topic::Inputs, sources(&comparison.inputs)),
    ]);
    let mut answer = sizes_answer(comparison);
    if matches!(comparison.outcome, SizeOutcome::Attributed { .. }) {
        answer.extend(warning(&comparison.gates, &[]));
    }
    whole(
        format!(
            "{}: {} GPUs against {}",
            comparison.model, comparison.to, comparison.from
        ),
        comparison.simulated.clone(),
        answer,
        sections,
    )
}

fn step(comparison: &SizeComparison, attribution: &SizeAttribution) -> Section {
    let mut bars = vec![total(
        format!("step on {} GPUs", comparison.from),
        attribution.step_of_fewer,
    )];
    bars.extend(attribution.bars.iter().map(|one| {
        let kind = match one.cause {
            SizeCause::Ideal => BarKind::Total,
            SizeCause::Unexplained => BarKind::Unexplained,
            SizeCause::NarrowGemm | SizeCause::Unsharded | SizeCause::Communication => {
                BarKind::Cause
            }
        };
        bar(one.cause.to_string(), one.ms, kind, one.grade)
    }));
    bars.push(total(
        format!("step on {} GPUs", comparison.to),
        attribution.step_of_more,
    ));
    let rows = attribution.bars.iter().map(|one| {
        vec![
            one.cause.to_string(),
            one.ms.with_decimals(DECIMALS),
            one.grade
                .map_or_else(|| ABSENT.to_owned(), |grade| grade.to_string()),
            one.source.clone(),
        ]
    });
    let mut blocks = vec![waterfall(
        of_a_step(attribution.batch, attribution.draws),
        DECIMALS,
        bars,
    )];
    blocks.push(Block::Paragraph(format!(
        "Of the step on {} GPUs its own collectives take {} ms. Speed-up of a step: {}x; with free links on {} GPUs, all that is unexplained taken for theirs, {}x.",
        comparison.from,
        attribution.sent_of_fewer.with_decimals(DECIMALS),
        attribution.speed_up.with_decimals(2),
        comparison.to,
        attribution.free_links.with_decimals(2)
    )));
    blocks.extend(table(
        &[
            "part",
            "ms a step, median [5%, 95%]",
            "evidence",
            "rests on",
        ],
        rows.collect(),
    ));
    about(Topic::Step, blocks)
}
