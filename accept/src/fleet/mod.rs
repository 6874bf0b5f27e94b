//! `accept fleet`: many boxes beside each other, from the reports that each of them wrote: which are slower than their like.
//!
//! It measures nothing, talks to no machine, and judges no box again: a report's own verdict stands.

mod find;
mod gather;
mod held;
mod judge;
mod member;
mod outcome;
mod outliers;
mod page;
#[cfg(test)]
mod tests;
mod text;
mod told;
mod whole;

use measure::exit;
use program::outputs::{check_file, print, write};
use program::say;

use crate::cli::FleetArgs;

/// Reads, judges, prints and writes, and gives the exit code.
pub(crate) fn run(args: &FleetArgs) -> u8 {
    if let Some(path) = &args.html
        && let Err(error) = check_file("--html", path)
    {
        say!("error: {error}");
        return exit::USAGE;
    }
    let gathered = find::find(&args.reports).and_then(|found| gather::gather(&found));
    let outcome = match gathered {
        Ok(fleet) => judge::judge(&fleet, args.expect),
        Err(error) => {
            say!("error: {error}");
            return exit::USAGE;
        }
    };
    let page = args
        .html
        .as_ref()
        .map(|path| write(path, Ok(page::page(&outcome).html())));
    let shown = if args.json {
        serde_json::to_string_pretty(&outcome).map(|json| json + "\n")
    } else {
        Ok(text::text(&outcome))
    };
    let printed = match shown {
        Ok(text) => print(&text),
        Err(error) => {
            say!("error: {error}");
            exit::INTERNAL
        }
    };
    exit::fold([page.unwrap_or(exit::DONE), printed, outcome.exit_code])
}
