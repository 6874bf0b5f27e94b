//! Collectives as a document: what a step of the engine spends on them, by which way, and whether that is normal.

mod found;
mod series;
mod steps;
mod surroundings;

use record::calls::{self, Row};
use record::caveat::{Caveat, Condition};
use record::{CollectiveOutcome, Collectives, Record, Status};

use crate::document::{Block, Document, Next, Section, Tone};

/// The document of a record of collectives.
pub(crate) fn document(record: &Record, collectives: &Collectives) -> Document {
    let rows = calls::rows(collectives);
    let simulated = record.soft_box();
    let mut findings = found::findings(collectives, &rows);
    // A signal says nothing of the library.
    let is_failed = matches!(
        record.status,
        Status::Failed { .. } | Status::Refused { .. }
    );
    let is_bad = is_failed || findings.iter().any(|item| item.tone == Tone::Bad);
    findings.extend(crate::run::ending(record));
    let transport = found::transport(collectives);
    let tone = match (is_bad, &transport) {
        (true, _) => Tone::Bad,
        (false, _) if record.status != Status::Complete => Tone::Warning,
        (false, found::Transport::Host(_) | found::Transport::Unlikely(_)) => Tone::Warning,
        (false, _) => Tone::Good,
    };
    findings.extend(found::of_transport(collectives));
    findings.extend(found::reservations(collectives));
    let mut sections = Vec::new();
    sections.extend(steps::section(collectives, &rows));
    // The one that the answer is taken from comes first.
    let headline = found::headline_mode(&rows);
    let mut series: Vec<_> = rows.chunk_by(|a, b| a.series == b.series).collect();
    series.sort_by_key(|rows| rows[0].series.mode != headline);
    let series = series.into_iter();
    sections.extend(series.map(|rows| series::section(rows, collectives)));
    // Where sizes were given by hand the tables are the answer, as far as they fit.
    if collectives.steps.is_empty() {
        let few = sections.iter().filter(|section| is_short(section)).count() == sections.len();
        let most = if few { 2 } else { 1 };
        for section in sections.iter_mut().take(most) {
            section.detail = false;
        }
    }
    sections.extend(surroundings::sections(collectives));
    sections.extend(crate::run::provenance(record, collectives.backend.as_ref()));
    Document {
        title: "Collectives".to_owned(),
        simulated,
        tone,
        answer: answer(collectives, &rows, &transport, tone),
        next: next(&transport, record, collectives, &rows),
        findings,
        sections,
        made_by: crate::run::made_by(record),
    }
}

/// Whether a section takes few lines of a screen.
fn is_short(section: &Section) -> bool {
    let lines = section.blocks.iter().map(|block| match block {
        Block::Table(table) => table.rows.len(),
        _ => 1,
    });
    lines.sum::<usize>() <= 8
}

fn answer(
    collectives: &Collectives,
    rows: &[Row<'_>],
    transport: &found::Transport,
    tone: Tone,
) -> Vec<String> {
    let is_measured =
        |row: &Row<'_>| matches!(row.point.outcome, CollectiveOutcome::Measured { .. });
    if !rows.iter().any(is_measured) {
        return vec!["Nothing was measured; the reasons are below.".to_owned()];
    }
    let library = collectives.library.as_ref().map(|library| {
        let version = library.version.as_deref().unwrap_or("");
        format!("{} {version}", library.name.to_uppercase())
    });
    let library = library.unwrap_or_else(|| "The library".to_owned());
    let backend = collectives.backend.as_ref();
    let is_normal = match tone {
        _ if backend.is_some_and(|one| one.name == "host") => "Host memory, no GPU",
        Tone::Bad => "Collectives not normal",
        Tone::Warning => match transport {
            found::Transport::Host(_) => "Collectives not over P2P",
            found::Transport::Unlikely(_) => {
                "Collectives by a way that no real library takes by default"
            }
            _ => "Collectives measured in part",
        },
        Tone::Good | Tone::Open => "Collectives normal",
    };
    let ranks = collectives.devices.len();
    let mut sentences = vec![format!(
        "{is_normal}: {} between {ranks} ranks{}.",
        library.trim(),
        match transport {
            found::Transport::Direct(via) | found::Transport::Unlikely(via) => {
                format!(" over {via}")
            }
            found::Transport::Host(via) => format!(" through host memory ({via})"),
            found::Transport::Unknown => String::new(),
        }
    )];
    sentences.extend(steps::answer(collectives, rows));
    sentences.extend(found::floor_and_bandwidth(rows));
    sentences
}

/// What to do now; nothing forbids MIG instances direct access but MIG, and host memory stands for no GPU's times.
fn next(
    transport: &found::Transport,
    record: &Record,
    collectives: &Collectives,
    rows: &[Row<'_>],
) -> Vec<Next> {
    let simulated = record.soft_box();
    let ranks = collectives.devices.len();
    let is_own = |caveat: &Caveat| caveat.code() == Condition::EngineKernelNotTimed.code();
    let own = collectives.steps.first();
    let own = own.filter(|_| collectives.caveats.iter().any(is_own));
    let own = own.map(|step| {
        let (model, tp) = (&step.model, step.tp);
        let command = format!("tplens allreduce --model {model} --tp {tp} --engine-python PATH");
        let what = "Where the GPUs are, time the engine's own kernel with the Python that runs it:";
        Next::by(what, command)
    });
    let next = match (transport, found::variable(collectives)) {
        (found::Transport::Host(_), Some(variable)) => {
            let again = format!("{variable} tplens allreduce");
            vec![Next::by(
                "Run again with direct access allowed, and compare:",
                again,
            )]
        }
        (found::Transport::Host(_), None) if !found::is_mig(collectives) => {
            let what = "Look for what forbids direct access:";
            vec![Next::on(what, "tplens doctor", simulated.as_deref())]
        }
        (_, Some(variable)) => {
            let what = "Let the pairs that go through host memory try P2P:";
            vec![Next::by(what, variable)]
        }
        // A speed-up is explained from one GPU to so many.
        _ if found::is_curve(collectives, rows) && [2, 4, 8].contains(&ranks) => {
            let what = format!(
                "With results of serving on 1 GPU and on {ranks}, and this result as ALLREDUCE, explain the speed-up:"
            );
            let command = format!(
                "tplens explain --tp1 RESULT1 --tp{ranks} RESULT{ranks} --allreduce ALLREDUCE"
            );
            vec![Next::by(what, command)]
        }
        _ => Vec::new(),
    };
    own.into_iter().chain(next).collect()
}
