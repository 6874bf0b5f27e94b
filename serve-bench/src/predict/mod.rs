//! `tplens predict`: what a model will take on one GPU and on several of a box, before it is served there.

mod args;
pub(crate) mod links;
mod sources;
#[cfg(test)]
mod tests;

use ::explain::{DRAWS, PredictError, predict};
use program::show::Show;
use program::{Stop, outputs, say};
use record::exit;

pub(crate) use self::args::PredictArgs;

/// Seed of the draws, so that the same files give the same prediction.
const SEED: u64 = 0x0074_706c_656e_7332;

/// Predicts what the command line asks for, and gives the exit code: 0 predicted, 3 where a result says nothing about a
/// decode step.
///
/// # Errors
/// Files or names that cannot be used or contradict each other, or a file that cannot be written.
pub(crate) fn run(args: &PredictArgs, show: Show) -> Result<u8, Stop> {
    if let Some(file) = &args.json {
        outputs::check_file("--json", file).map_err(Stop::Usage)?;
    }
    let inputs = sources::read(args).map_err(Stop::Usage)?;
    let prediction = match predict(&inputs, SEED, DRAWS) {
        Ok(prediction) => prediction,
        Err(error @ PredictError::Refused { .. }) => {
            say!("error: {error}");
            return Ok(exit::INCONCLUSIVE);
        }
        Err(error) => return Err(Stop::Usage(error.to_string())),
    };
    let document = crate::explain::prediction(&prediction);
    Ok(outputs::with_json(
        show,
        &document,
        &prediction,
        args.json.as_deref(),
    ))
}
