//! Reports of many machines: which are slower than their like, and which were not accepted.
//!
//! Nothing is measured here, and no report is judged anew.

mod gather;
pub(crate) mod judge;
pub(crate) mod outliers;
#[cfg(test)]
mod tests;

use program::outputs::{check_file, print, write};
use program::say;
use program::show::Show;
use record::exit;

use crate::cli::FleetArgs;
use crate::documents;

/// `tplens accept fleet`.
pub(crate) fn run(args: &FleetArgs, show: Show) -> u8 {
    let checked = args.html.as_ref().map(|path| check_file("--html", path));
    let gathered = checked
        .unwrap_or(Ok(()))
        .and_then(|()| gather::gather(&args.reports));
    let fleet = match gathered {
        Ok(gathered) => judge::judge(gathered, args.expect),
        Err(error) => {
            say!("error: {error}");
            return exit::USAGE;
        }
    };
    let page = args
        .html
        .as_ref()
        .map(|path| write(path, Ok(documents::fleet(&fleet).html())));
    let printed = match args.json {
        false => show.print(&documents::fleet(&fleet)),
        true => match serde_json::to_string_pretty(&fleet) {
            Ok(json) => print(&(json + "\n")),
            Err(error) => {
                say!("error: {error}");
                exit::INTERNAL
            }
        },
    };
    exit::fold([page.unwrap_or(exit::DONE), printed, fleet.exit_code])
}
