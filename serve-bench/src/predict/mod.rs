//! `tplens predict`: what a model will take on one GPU and on several of a box, before it is served there.

mod args;
mod sources;
#[cfg(test)]
mod tests;

use ::explain::{DRAWS, PredictError, predict};
use program::show::Show;
use program::{Stop, outputs, say};
use record::exit;

pub(crate) use self::args::PredictArgs;
use crate::split::on_paper;

/// Seed of the draws, so that the same files give the same prediction.
const SEED: u64 = 0x0074_706c_656e_7332;

/// Predicts what the command line asks for, and gives the exit code: 0 predicted, 3 where a result says nothing about a
/// decode step.
///
/// # Errors
/// Files or names that cannot be used or contradict each other, or a file that cannot be written.
pub(crate) fn run(args: &PredictArgs, show: Show) -> Result<u8, Stop> {
    if let Some(file) = &args.case.json {
        outputs::check_file("--json", file).map_err(Stop::Usage)?;
    }
    let inputs = sources::read(args).map_err(Stop::Usage)?;
    let file = args.case.json.as_deref();
    let shown = match args.paper.split {
        Some(_) if args.tp.len() > 2 => {
            let why =
                "--tp with --split takes one size, or that of prefill and that of decode engines";
            return Err(Stop::Usage(why.to_owned()));
        }
        Some(engines) => {
            let sizes = [args.tp[0], args.tp[args.tp.len() - 1]];
            on_paper(&args.paper, engines, sizes, &inputs, SEED)
                .map(|(json, document)| outputs::with_json(show, &document, &json, file))
        }
        None => predict(&inputs, SEED, DRAWS).map(|prediction| {
            let document = crate::explain::prediction(&prediction);
            outputs::with_json(show, &document, &prediction, file)
        }),
    };
    match shown {
        Err(error @ PredictError::Refused { .. }) => {
            say!("error: {error}");
            Ok(exit::INCONCLUSIVE)
        }
        shown => shown.map_err(|error| Stop::Usage(error.to_string())),
    }
}
