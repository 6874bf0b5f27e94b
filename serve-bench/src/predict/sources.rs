//! From files to what the prediction starts from.

use ::explain::PredictInputs;
use import::ServeRun;

use super::args::PredictArgs;
use super::links::{curve_of, described_link, measured_link};
use crate::explain::Sources;

/// Prompt and output tokens where nobody says.
const LENGTHS: (f64, f64) = (1024.0, 256.0);

/// Reads everything.
///
/// # Errors
/// A file, a name or a prior that cannot be used, or a batch that nobody gives; in words.
pub(super) fn read(args: &PredictArgs) -> Result<PredictInputs, String> {
    let mut sizes = args.tp.clone();
    sizes.sort_unstable();
    sizes.dedup();
    let largest = sizes.last().copied().unwrap_or(1);
    let sources = sources(args);
    let case = &args.case;
    let is_named = [
        case.box_name.is_some(),
        case.links.is_some(),
        case.gpu.is_some(),
    ];
    if !is_named.contains(&true) && args.tp1.is_none() {
        return Err("which machine is not said: give --box, --gpu, --links or --tp1".to_owned());
    }
    let mut base = sources.read()?;
    let (around, known) = sources.the_box(largest)?;
    // That of one GPU is compared with a result of one, whatever is asked about.
    let others = sizes.iter().copied().filter(|tp| *tp != 1);
    base.engines = [1]
        .into_iter()
        .chain(others)
        .map(|tp| case.engine.facts(tp, &around))
        .collect();
    (base.around, base.known) = (around, known);
    let described = case.described()?;
    let ranks = largest as usize;
    let link = match (&case.links, &described) {
        (Some(file), _) => measured_link(file, ranks)?,
        (None, Some(described)) => described_link(described, ranks),
        (None, None) => None,
    };
    // A described box stands beside nothing that was measured: a figure of it says nothing about another one.
    let measured = !base.curve.is_empty() || !base.serve.is_empty();
    if let (Some(described), None, false) = (&described, &case.links, measured) {
        base.curve = curve_of(described);
    }

    let runs: Vec<&ServeRun> = base.serve.iter().map(|(_, run)| run).collect();
    let each = |all: Option<u64>, run: &ServeRun| {
        all.filter(|_| run.completed > 0)
            .map(|all| per(all, run.completed))
    };
    let first = |of: &dyn Fn(&ServeRun) -> Option<f64>| runs.iter().find_map(|run| of(run));
    let flight = first(&|run| run.concurrency_asked);
    // Of engines that are split each batch is looked at.
    let split = args.paper.split.map(|_| 1);
    let batch = args.batch.or_else(|| flight.map(whole)).or(split).ok_or(
        "how many sequences decode at once is not known: give --batch N, or a result with a concurrency (--tp1)",
    )?;
    let input = args.input_tokens.map(f64::from);
    let output = args.output_tokens.map(f64::from);
    let input_tokens = input.or_else(|| first(&|run| each(run.input_tokens, run)));
    let output_tokens = output.or_else(|| first(&|run| each(run.output_tokens, run)));
    Ok(PredictInputs {
        base,
        sizes,
        batch,
        input_tokens: input_tokens.unwrap_or(LENGTHS.0),
        output_tokens: output_tokens.unwrap_or(LENGTHS.1),
        link,
    })
}

fn sources(args: &PredictArgs) -> Sources {
    Sources {
        model: args.model.clone(),
        serving: args.tp1.iter().map(|file| (1, file.clone())).collect(),
        case: args.case.clone(),
        ..Sources::default()
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "tokens and requests are far below 2^53"
)]
fn per(all: u64, requests: u64) -> f64 {
    all as f64 / requests as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "held between 1 and a million"
)]
fn whole(flight: f64) -> u32 {
    flight.round().clamp(1.0, 1e6) as u32
}
