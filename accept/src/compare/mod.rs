//! `tplens accept compare A B`: which figures and verdicts of B are worse than those of A, and whether the two may be compared at all.

mod differences;
pub(crate) mod judge;
mod side;
#[cfg(test)]
mod tests;

use program::outputs::print;
use program::say;
use program::show::Show;
use record::exit;

use crate::cli::CompareArgs;
use crate::documents;

/// Compares, prints, and gives the exit code.
pub(crate) fn run(args: &CompareArgs, show: Show) -> u8 {
    match compared(args) {
        Ok(compared) if args.json => match serde_json::to_string_pretty(&compared) {
            Ok(json) => exit::fold([print(&(json + "\n")), compared.exit_code]),
            Err(error) => {
                say!("error: {error}");
                exit::INTERNAL
            }
        },
        Ok(compared) => exit::fold([
            show.print(&documents::compared(&compared)),
            compared.exit_code,
        ]),
        Err(error) => {
            say!("error: {error}");
            exit::USAGE
        }
    }
}

fn compared(args: &CompareArgs) -> Result<judge::Compared, String> {
    let tolerance = judge::tolerance(args.tolerance)?;
    let allowed = differences::allowed(&args.allow)?;
    let (a, b) = (side::load(&args.a)?, side::load(&args.b)?);
    judge::compare(&a, &b, tolerance, &allowed)
}
