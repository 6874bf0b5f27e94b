//! The explanation as one page: the answer, the waterfall, the collective curve with the model's sizes, what to do, and where
//! each input came from.

use ::explain::{
    Attribution, Cause, Explanation, Gate, Grade, InputSource, Inputs, Outcome, Prior, Range,
};
use measure::record::{CallMode, CollectiveKind};
use measure::unit::ByteCount;
use program::provenance::now;
use report::{
    Bar, BarKind, Block, CurvePoint, CurveSeries, Curves, Page, Section, SizeMark, Table, Waterfall,
};

/// What a cell shows where there is nothing to show.
const ABSENT: &str = "—";

/// The page of an explanation.
pub(super) fn page(inputs: &Inputs, explanation: &Explanation, note: Option<&str>) -> Page {
    let mut sections = Vec::new();
    match &explanation.outcome {
        Outcome::Attributed {
            attribution,
            advice,
            next,
            what_if,
        } => {
            sections.push(step(attribution));
            sections.push(collectives(inputs, attribution));
            sections.push(list(
                "What to do",
                advice.iter().map(ToString::to_string).collect(),
            ));
            sections.push(list(
                "What if",
                what_if.iter().map(ToString::to_string).collect(),
            ));
            sections.push(list(
                "What to measure next",
                next.iter().map(ToString::to_string).collect(),
            ));
            sections.push(gates(&explanation.gates));
            sections.push(list("Reservations", attribution.caveats.clone()));
            sections.push(sources(&explanation.inputs, &attribution.priors));
            sections.push(list(
                "What is taken as known makes of the width",
                ::explain::prior_shares(&attribution.prior_shares),
            ));
        }
        Outcome::Refused { .. } => {
            let told = explanation.bounded.iter();
            sections.push(list(
                "What this case still tells",
                told.flat_map(::explain::Bounded::sentences).collect(),
            ));
            sections.push(curve_only(inputs));
            sections.push(gates(&explanation.gates));
            sections.push(sources(&explanation.inputs, &[]));
        }
    }
    let first = explanation.first_token.iter();
    let first = first.map(ToString::to_string).collect();
    let last = sections.len() - 1;
    sections.insert(last, list("Time to first token", first));
    sections.retain(|section| !section.blocks.is_empty());
    let mut answer = ::explain::answer(explanation);
    answer.extend(note.map(str::to_owned));
    let batch = match &explanation.outcome {
        Outcome::Attributed { attribution, .. } => Some(attribution.batch),
        Outcome::Refused { .. } => None,
    };
    sections.insert(
        0,
        Section {
            heading: "What was compared".to_owned(),
            blocks: vec![Block::Paragraph(::explain::heading(explanation, batch))],
        },
    );
    Page {
        title: match explanation.tp {
            1 => format!("{} on one GPU", explanation.model),
            tp => format!("{}: {tp} GPUs against one", explanation.model),
        },
        simulated: explanation.simulated.clone(),
        answer,
        sections,
        made_by: format!(
            "tplens {}, serve-bench explain, {}",
            env!("CARGO_PKG_VERSION"),
            now()
        ),
    }
}

/// The waterfall with its numbers.
fn step(attribution: &Attribution) -> Section {
    let whole = |range: Range| (range.low, range.mid, range.high);
    let total = |label: String, range: Range| Bar {
        label,
        low_mid_high: whole(range),
        grade: String::new(),
        kind: BarKind::Total,
    };
    let mut bars = vec![total("step on one GPU".to_owned(), attribution.step_of_one)];
    bars.extend(attribution.bars.iter().map(|bar| {
        Bar {
            label: bar.cause.to_string(),
            low_mid_high: whole(bar.ms),
            grade: bar
                .grade
                .map_or_else(String::new, |grade| grade.to_string()),
            kind: match bar.cause {
                Cause::Ideal => BarKind::Total,
                Cause::Unexplained => BarKind::Unexplained,
                Cause::NarrowGemm
                | Cause::Unsharded
                | Cause::Host
                | Cause::AllReduce
                | Cause::AllGather
                | Cause::Communication => BarKind::Cause,
            },
        }
    }));
    bars.push(total(
        format!("step on {} GPUs", attribution.tp),
        attribution.step_of_several,
    ));
    let all = attribution.bars.iter().chain(&attribution.communication);
    let rows = all.map(|bar| {
        vec![
            match bar.cause {
                Cause::Communication => "all-reduce and all-gather together".to_owned(),
                other => other.to_string(),
            },
            bar.ms.with_decimals(2),
            bar.grade.map_or_else(
                || ABSENT.to_owned(),
                |grade| format!("{grade}: {}", grade.meaning()),
            ),
            bar.source.clone(),
        ]
    });
    let mut section = Section {
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
                heads: heads(&[
                    "part",
                    "ms a step, median [5%, 95%]",
                    "evidence",
                    "rests on",
                ]),
                rows: rows.collect(),
            }),
            Block::Paragraph(::explain::too_much(attribution).unwrap_or_default()),
            Block::Paragraph(format!(
                "Speed-up of a step: {}x. With free links it would be at most {}x; with GEMMs that lose nothing, {}x; with both, {}x: this is what is possible at this batch.",
                attribution.speed_up.with_decimals(2),
                attribution.free_links.with_decimals(2),
                attribution.halved_gemms.with_decimals(2),
                attribution
                    .possible
                    .map_or_else(|| ABSENT.to_owned(), |possible| possible.with_decimals(2))
            )),
        ],
    };
    let half = ::explain::half_width(attribution);
    if !half.is_empty() {
        section.blocks.push(Block::List(half));
    }
    section
}

/// The curve of this box and what the model's step takes from it.
fn collectives(inputs: &Inputs, attribution: &Attribution) -> Section {
    let mut marks: Vec<SizeMark> = Vec::new();
    let reduces = attribution
        .collectives
        .iter()
        .filter(|cost| cost.kind == CollectiveKind::AllReduce);
    for cost in reduces {
        if marks.iter().any(|mark| mark.bytes == cost.bytes_per_rank) {
            continue;
        }
        let of_size = attribution
            .collectives
            .iter()
            .filter(|other| other.kind == cost.kind && other.bytes_per_rank == cost.bytes_per_rank);
        let count: u32 = of_size.map(|other| other.count).sum();
        marks.push(SizeMark {
            bytes: cost.bytes_per_rank,
            label: format!("{count} a step at batch {}", attribution.batch),
        });
    }
    let mut blocks = Vec::new();
    if let Some(implied) = &attribution.implied {
        let mut text = format!(
            "If all that is left were communication, one all-reduce of {} would take {} us: an upper figure.",
            ByteCount(implied.bytes_per_rank),
            implied.us.with_decimals(0)
        );
        for time in &implied.published {
            text.push_str(&format!(
                " Published: {:.1} us, {} ({}).",
                time.us, time.path, time.source
            ));
        }
        blocks.push(Block::Paragraph(text));
    }
    blocks.push(curves(inputs, marks));
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
    let rows: Vec<Vec<String>> = rows.collect();
    if !rows.is_empty() {
        blocks.push(Block::Table(Table {
            heads: heads(&[
                "collective",
                "a step",
                "bytes a rank",
                "done by",
                "us each",
                "evidence",
                "read from",
            ]),
            rows,
        }));
    }
    Section {
        heading: "Collectives at the model's sizes".to_owned(),
        blocks,
    }
}

/// The curve without a step to mark on it.
fn curve_only(inputs: &Inputs) -> Section {
    let has_curve = inputs
        .curve
        .iter()
        .any(|point| point.kind == CollectiveKind::AllReduce);
    Section {
        heading: "All-reduce on this box".to_owned(),
        blocks: if has_curve {
            vec![curves(inputs, Vec::new())]
        } else {
            Vec::new()
        },
    }
}

fn curves(inputs: &Inputs, marks: Vec<SizeMark>) -> Block {
    let modes = CallMode::ALL.into_iter().rev().map(Some).chain([None]);
    let kinds = modes.flat_map(|mode| [(mode, false), (mode, true)]);
    let series = kinds.map(|(mode, by_engine)| {
        let of_mode = inputs.curve.iter().filter(|point| {
            point.kind == CollectiveKind::AllReduce
                && point.ranks == inputs.tp
                && point.mode == mode
                && point.engine.is_some() == by_engine
        });
        let mut points: Vec<CurvePoint> = of_mode
            .map(|point| CurvePoint {
                bytes: point.bytes_per_rank,
                microseconds: point.us,
                interval: point.low.zip(point.high),
            })
            .collect();
        points.sort_by_key(|point| point.bytes);
        CurveSeries {
            name: format!(
                "all_reduce on {} ranks, {}{}",
                inputs.tp,
                mode.map_or_else(|| "mode not told".to_owned(), |mode| mode.to_string()),
                if by_engine {
                    ", the engine's own code"
                } else {
                    ""
                }
            ),
            points,
        }
    });
    Block::Curves(Curves {
        title: "all-reduce of this box: time of one call over message size, with 95% intervals; dashed: the model's sizes".to_owned(),
        series: series.filter(|series| !series.points.is_empty()).collect(),
        marks,
    })
}

pub(super) fn gates(gates: &[Gate]) -> Section {
    let rows = gates.iter().map(|gate| {
        vec![
            gate.verdict.to_string(),
            gate.name.clone(),
            gate.seen.clone(),
            gate.needed.clone(),
            gate.what_to_run.clone().unwrap_or_default(),
        ]
    });
    Section {
        heading: "What had to hold before anything was claimed".to_owned(),
        blocks: vec![Block::Table(Table {
            heads: heads(&["", "gate", "seen", "needed", "what to run"]),
            rows: rows.collect(),
        })],
    }
}

pub(super) fn sources(inputs: &[InputSource], priors: &[Prior]) -> Section {
    let rows = inputs
        .iter()
        .map(|source| vec![source.origin.clone(), source.taken.clone()]);
    let mut blocks = vec![Block::Table(Table {
        heads: heads(&["file", "what was taken"]),
        rows: rows.collect(),
    })];
    if !priors.is_empty() {
        blocks.push(Block::Paragraph(format!(
            "Taken as known without being measured here (evidence {}: {}):",
            Grade::D,
            Grade::D.meaning()
        )));
        blocks.push(Block::List(
            priors.iter().map(ToString::to_string).collect(),
        ));
    }
    Section {
        heading: "Where each input came from".to_owned(),
        blocks,
    }
}

pub(super) fn list(heading: &str, points: Vec<String>) -> Section {
    Section {
        heading: heading.to_owned(),
        blocks: if points.is_empty() {
            Vec::new()
        } else {
            vec![Block::List(points)]
        },
    }
}

pub(super) fn heads(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}
