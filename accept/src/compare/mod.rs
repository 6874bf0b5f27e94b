//! `accept compare A B`: which figures and verdicts of B are worse than those of A, and whether the two may be compared at all.

mod differences;
mod judge;
mod side;
#[cfg(test)]
mod tests;
mod text;

use measure::exit;
use program::outputs::print;
use program::say;

use crate::cli::CompareArgs;

/// Compares, prints, and gives the exit code.
pub(crate) fn run(args: &CompareArgs) -> u8 {
    match compared(args) {
        Ok((text, code)) => exit::fold([print(&text), code]),
        Err(error) => {
            say!("error: {error}");
            exit::USAGE
        }
    }
}

/// What is printed, and the exit code.
fn compared(args: &CompareArgs) -> Result<(String, u8), String> {
    let tolerance = judge::tolerance(args.tolerance)?;
    let allowed = differences::allowed(&args.allow)?;
    let (a, b) = (side::load(&args.a)?, side::load(&args.b)?);
    let compared = judge::compare(&a, &b, tolerance, &allowed)?;
    let text = if args.json {
        serde_json::to_string_pretty(&compared).map_err(|error| error.to_string())? + "\n"
    } else {
        text::text(&compared)
    };
    Ok((text, compared.exit_code))
}
