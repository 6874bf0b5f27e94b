//! A comparison of two links as a document.

use ::explain::{
    Confounder, Difference, LinkComparison, LinkNext, LinkOutcome, LinkSide, LinkVerdict, NotTold,
    PeerState, SideFacts, TimeOf,
};
use record::unit::ByteCount;
use view::page::BarKind;
use view::{Block, Document, Next, Section, Tone};

use super::bars::{bar, detail, frame, inputs, priors, range, table, waterfall};
use super::finding::{grouped, refused, words};
use crate::explain::curves::{all_reduces, drawn, mark};

/// The document of a comparison.
pub(crate) fn links(a: &LinkSide, b: &LinkSide, of: &LinkComparison) -> Document {
    let title = format!("{}: TP{} on two links", of.model, of.tp);
    let mut document = frame(title, of.simulated.clone(), "tplens explain");
    match &of.outcome {
        LinkOutcome::Compared { figures } => {
            let differences = || figures.decode.iter().chain(&figures.first_token);
            document.answer = differences().flat_map(|one| sentences(of, one)).collect();
            document.tone = match differences().next().map(|one| &one.verdict) {
                Some(LinkVerdict::ExplainedByLink | LinkVerdict::NoDifference) => Tone::Good,
                _ => Tone::Warning,
            };
            let (findings, notes) = grouped(&figures.caveats);
            document.findings = findings;
            document.next = figures.next.iter().map(next).collect();
            document
                .sections
                .extend(differences().map(|one| time(of, one)));
            let marks = differences()
                .filter_map(|one| one.needed.as_ref())
                .map(|of| mark(of.bytes_per_rank, &format!("{} calls", of.count)));
            let series = [all_reduces("A: ", &a.inputs), all_reduces("B: ", &b.inputs)].concat();
            let curves = drawn(
                "all-reduce on both sides, us over bytes",
                series,
                marks.collect(),
            );
            let all = [
                detail("Sides", vec![sides(of)]),
                detail("Collectives", curves.into_iter().collect()),
                detail(
                    "What else differs",
                    vec![Block::list(figures.confounders.iter().map(confounder))],
                ),
                detail(
                    "Not judged",
                    vec![Block::list(figures.not_judged.iter().map(words))],
                ),
                notes,
                priors(&figures.priors),
            ];
            document.sections.extend(all.into_iter().flatten());
        }
        LinkOutcome::Refused { refusal } => {
            document.tone = Tone::Bad;
            let notes = refused(&mut document, "No answer", refusal, &of.findings);
            document
                .sections
                .extend(detail("Sides", vec![sides(of)]).into_iter().chain(notes));
        }
    }
    document.sections.extend(inputs(&of.inputs));
    document
}

fn sides(of: &LinkComparison) -> Block {
    let row = |side: &SideFacts| {
        let link = side.link.as_ref().map_or_else(
            || "unknown".to_owned(),
            |link| format!("{}, {:.1} GB/s raw", link.words, link.raw_gb_per_s),
        );
        let peer = match side.peer {
            PeerState::Direct => "direct",
            PeerState::Staged => "staged",
            PeerState::Denied => "none",
            PeerState::Unprobed => "not probed",
        };
        let machine = side
            .box_name
            .clone()
            .unwrap_or_else(|| "unknown".to_owned());
        let (runs, points) = (side.runs.len().to_string(), side.curve_points.to_string());
        [
            side.name.clone(),
            link,
            peer.to_owned(),
            machine,
            runs,
            points,
        ]
    };
    let heads = [
        "side",
        "link",
        "peer access",
        "machine",
        "runs",
        "curve points",
    ];
    table(heads, vec![row(&of.a), row(&of.b)])
}

fn what(of: TimeOf) -> &'static str {
    match of {
        TimeOf::DecodeStep => "A decode step",
        TimeOf::FirstToken => "The first token",
    }
}

/// What differs, and what that is from.
fn sentences(of: &LinkComparison, one: &Difference) -> [String; 2] {
    let (a, b) = (&of.a.name, &of.b.name);
    let (on_a, on_b, apart) = (one.a.mid, one.b.mid, range(&one.measured, 2));
    let first = format!(
        "{} takes {on_a:.2} ms on {a}, {on_b:.2} on {b}: {apart} ms apart.",
        what(one.of)
    );
    [first, verdict(&one.verdict, of.tp == 1)]
}

fn verdict(of: &LinkVerdict, one_gpu: bool) -> String {
    match of {
        LinkVerdict::ExplainedByLink => "The link explains the difference.".to_owned(),
        LinkVerdict::MoreThanLink { .. } if one_gpu => {
            "One GPU sends nothing: something beside the link differs.".to_owned()
        }
        LinkVerdict::MoreThanLink { beyond } => {
            format!(
                "{} ms more than the link explains: something else differs.",
                range(beyond, 2)
            )
        }
        LinkVerdict::LessThanLink { short } => {
            format!(
                "{} ms less than the curves say: overlap, or another path.",
                range(short, 2)
            )
        }
        LinkVerdict::NoDifference if one_gpu => {
            "No difference: the negative control holds.".to_owned()
        }
        LinkVerdict::NoDifference => "The two links make no difference here.".to_owned(),
        LinkVerdict::CannotShow {
            most_ms,
            seen_from_ms,
        } => {
            format!(
                "Links differ by {most_ms:.3} ms at most; these runs show {seen_from_ms:.2} and more."
            )
        }
        LinkVerdict::LinkCould => {
            "The link could be the cause; the curves do not prove it.".to_owned()
        }
        LinkVerdict::AgainstLink => {
            "The faster link is the slower side: it is not the link.".to_owned()
        }
        LinkVerdict::NotTold { why } => match why {
            NotTold::NoCurves => {
                "Whether the link is the cause needs all-reduce times of both sides."
            }
            NotTold::CurveModes => {
                "The two curves were timed in different modes: measure both in one."
            }
            NotTold::RunsTooRough => "The runs do not distinguish the difference from zero.",
            NotTold::CurvesTooRough => "The curves show no difference between the links.",
        }
        .to_owned(),
    }
}

fn confounder(of: &Confounder) -> String {
    let (what, a, b) = match of {
        Confounder::Machine { a, b } => ("machine", a, b),
        Confounder::Gpu { a, b } => ("GPU", a, b),
        Confounder::Engine { a, b } => ("engine", a, b),
        Confounder::Path { a, b } => ("path", a, b),
    };
    format!("{what}: {a} against {b}")
}

fn next(of: &LinkNext) -> Next {
    match of {
        LinkNext::Curves { command } => Next::by(
            "Time the all-reduce on each side, give it with --allreduce-a, --allreduce-b.",
            command,
        ),
        LinkNext::SameMode { command } => {
            Next::by("Time the all-reduce on both in one mode.", command)
        }
        LinkNext::MoreLaunches { command } => {
            Next::by("Time it five times on each side, and give all.", command)
        }
        LinkNext::OneGpu => Next::plain("Compare one GPU of each side (--tp 1): it sends nothing."),
        LinkNext::Path => {
            Next::plain("Check the engine's path: NCCL_DEBUG=INFO, and a trace for overlap.")
        }
        LinkNext::Repeats => {
            Next::plain("Start each server five times, in turn, and give every file.")
        }
    }
}

fn time(of: &LinkComparison, one: &Difference) -> Section {
    let mut bars = vec![bar(&of.a.name, one.a, BarKind::Total, None)];
    let mut rows = vec![[
        "measured difference, ms".to_owned(),
        range(&one.measured, 2),
    ]];
    match &one.predicted {
        Some(by) => {
            bars.push(bar(
                "the link, by curves",
                by.difference,
                BarKind::Cause,
                Some(by.grade),
            ));
            bars.push(bar("beyond it", by.beyond, BarKind::Unexplained, None));
            rows.push([
                "difference by the curves, ms".to_owned(),
                range(&by.difference, 2),
            ]);
            let effective = by.effective.as_ref();
            rows.extend(effective.map(|n| {
                [
                    "effective all-reduces".to_owned(),
                    format!("{} of {}", range(n, 1), by.planned),
                ]
            }));
        }
        None => bars.push(bar("difference", one.measured, BarKind::Unexplained, None)),
    }
    bars.push(bar(&of.b.name, one.b, BarKind::Total, None));
    rows.extend(one.needed.as_ref().map(|needed| {
        let size = ByteCount(needed.bytes_per_rank);
        let what = format!(
            "were the link all of it, us for each of {} x {size}",
            needed.count
        );
        [what, range(&needed.us, 2)]
    }));
    rows.push([
        "runs".to_owned(),
        format!("{} and {}", one.runs_of_a, one.runs_of_b),
    ]);
    Section::new(
        what(one.of),
        vec![waterfall(2, bars), table(["", "median (5% to 95%)"], rows)],
    )
}
