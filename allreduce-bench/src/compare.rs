//! `tplens allreduce compare`: which times of two files of collectives are of the same call.

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::Args;
use import::collectives::{CallFile, CallTrouble, CallValue, read_file_as};
use import::links::TroubleKind;
use program::compare::{CompareFlags, Fact, Gone, Rules, Side, Value, compare};
use program::outputs;
use program::show::Show;
use record::CollectiveKind;
use record::calls::Series;
use record::quantity::Unit;

use crate::values::one_of;

/// What is compared.
#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// The baseline: a result folder, record.json or journal.jsonl of tplens allreduce, or text or JSON of nccl-tests or rccl-tests.
    pub(crate) a: PathBuf,

    /// The file that is compared with it, in any of these formats.
    pub(crate) b: PathBuf,

    /// The operation of an output of nccl-tests that does not name its own.
    #[arg(long, value_name = "NAME", value_parser = |name: &str| one_of(&CollectiveKind::ALL, name))]
    pub(crate) op: Option<CollectiveKind>,

    #[command(flatten)]
    pub(crate) flags: CompareFlags,
}

/// Compares, prints, and returns the exit code.
///
/// # Errors
/// A file cannot be read, or only one is simulated.
pub(crate) fn run(args: &CompareArgs, show: Show) -> anyhow::Result<u8> {
    let (a, b) = (
        read_file_as(&args.a, args.op)?,
        read_file_as(&args.b, args.op)?,
    );
    let rules = Rules {
        threshold: args.flags.threshold,
        is_same: agrees,
        gone: &|value| why_gone(value, &b),
        worse_peers: 0,
    };
    let comparison = compare(side(&a), side(&b), &rules)?;
    let (document, code) = (comparison.document(), comparison.exit_code());
    outputs::comparison(&args.flags, &comparison, (&document, show), code)
}

/// Whether two files mean the same call: a type or mode that one does not name is the other's.
fn agrees(a: &Series, b: &Series) -> bool {
    let whole = |one: &Series, other: &Series| Series {
        element: one.element.or(other.element),
        mode: one.mode.or(other.mode),
        ..one.clone()
    };
    whole(a, b) == whole(b, a)
}

/// Why a time of the baseline is not in this file.
fn why_gone(value: &Value<Series>, file: &CallFile) -> Gone {
    let is_its = |trouble: &&CallTrouble| {
        let series = trouble.series.as_ref();
        trouble.bytes_per_rank == value.bytes
            && series.is_some_and(|series| agrees(series, &value.number))
    };
    let of_file = |trouble: &&CallTrouble| trouble.series.is_none();
    let troubles = || file.troubles.iter();
    let mut ranks = file.values.iter().map(|value| value.series.ranks);
    let own = value.number.ranks;
    if !file.values.is_empty() && ranks.all(|ranks| ranks != own) {
        return Gone::Untried(format!("other number of ranks than {own}"));
    }
    let Some(trouble) = troubles().find(is_its).or(troubles().find(of_file)) else {
        return Gone::NotAsked;
    };
    let words = trouble.to_string();
    match trouble.kind {
        TroubleKind::Failed
        | TroubleKind::Hang
        | TroubleKind::WrongData
        | TroubleKind::NotApplicable => Gone::Lost(words),
        TroubleKind::Absent | TroubleKind::Interrupted | TroubleKind::File => Gone::Untried(words),
    }
}

fn side(file: &CallFile) -> Side<Series> {
    let value = |value: &CallValue| Value {
        number: value.series.clone(),
        of: value.series.to_string(),
        bytes: Some(value.bytes_per_rank),
        value: value.us,
        unit: Unit::Microseconds,
        n: value.n,
        samples: value.samples.clone(),
        is_judged: true,
    };
    let is_said = |trouble: &&CallTrouble| {
        trouble.series.is_none() || trouble.kind != TroubleKind::NotApplicable
    };
    let troubles = file.troubles.iter().filter(is_said);
    let troubles: BTreeSet<String> = troubles
        .map(|trouble| match &trouble.series {
            Some(series) => format!("{series}: {trouble}"),
            None => trouble.to_string(),
        })
        .collect();
    Side {
        file: file.origin.clone(),
        started: file.started.clone(),
        simulated: file.simulated.clone(),
        facts: facts(file),
        troubles: troubles.into_iter().collect(),
        values: file.values.iter().map(value).collect(),
    }
}

fn facts(file: &CallFile) -> Vec<Fact> {
    let ranks = file.values.iter().map(|value| value.series.ranks);
    let known = [
        ("tool", Some(file.made_by.clone())),
        ("transport", file.transport.clone()),
        ("library", file.library.clone()),
        ("number of ranks", each_once(ranks)),
        ("devices", each_once(file.devices.iter())),
        ("driver", file.driver.clone()),
        ("backend", file.backend.clone()),
        ("host", file.host.clone()),
    ];
    let fact = |(what, value): (&'static str, Option<String>)| {
        Some(Fact {
            what,
            of: String::new(),
            value: value?,
        })
    };
    known.into_iter().filter_map(fact).collect()
}

fn each_once<T: Ord + ToString>(all: impl Iterator<Item = T>) -> Option<String> {
    let all: BTreeSet<T> = all.collect();
    let all: Vec<String> = all.iter().map(T::to_string).collect();
    (!all.is_empty()).then(|| all.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{BufferPlacement, CallMode, ElementType};

    fn series() -> Series {
        Series {
            kind: CollectiveKind::AllReduce,
            element: Some(ElementType::Bf16),
            ranks: 2,
            mode: Some(CallMode::Graph),
            placement: BufferPlacement::OutOfPlace,
            engine: None,
        }
    }

    #[test]
    fn a_file_that_says_less_is_compared_by_what_it_says() {
        let mut plain = series();
        (plain.element, plain.mode) = (None, None);
        assert!(agrees(&plain, &series()));
        // Different calls are never put together.
        let mut other = series();
        other.placement = BufferPlacement::InPlace;
        assert!(!agrees(&plain, &other));
        other = series();
        other.engine = Some("vllm".to_owned());
        assert!(!agrees(&plain, &other));
    }

    #[test]
    fn what_failed_is_lost_and_what_was_not_tried_is_not_compared() {
        let trouble = |bytes, kind| CallTrouble {
            kind,
            series: Some(series()),
            bytes_per_rank: Some(bytes),
            detail: "w".to_owned(),
        };
        let file = CallFile {
            troubles: vec![
                trouble(8, TroubleKind::Failed),
                trouble(16, TroubleKind::Absent),
            ],
            ..CallFile::default()
        };
        let gone = |bytes| {
            let value = Value {
                number: series(),
                of: String::new(),
                bytes: Some(bytes),
                value: 10.0,
                unit: Unit::Microseconds,
                n: None,
                samples: Vec::new(),
                is_judged: true,
            };
            why_gone(&value, &file)
        };
        assert!(matches!(gone(8), Gone::Lost(_)));
        assert!(matches!(gone(16), Gone::Untried(_)));
        assert_eq!(gone(32), Gone::NotAsked);
    }
}
