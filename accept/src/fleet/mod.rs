//! Reports of many machines: which are slower than their like, and which were not accepted.
//!
//! Nothing is measured here, and no report is judged anew.

mod gather;
pub(crate) mod judge;
#[cfg(test)]
mod tests;

use program::Stop;
use program::outputs::{check_file, json, write};
use program::show::Show;
use record::exit;

use crate::cli::FleetArgs;
use crate::documents;

/// `tplens accept fleet`.
pub(crate) fn run(args: &FleetArgs, show: Show) -> Result<u8, Stop> {
    let page = args.html.as_deref();
    let checked = page.map_or(Ok(()), |path| check_file("--html", path));
    let gathered = checked.and_then(|()| gather::gather(&args.reports, args.expect));
    let mut fleet = gathered.map_err(Stop::Usage)?;
    fleet.judge();
    let document = documents::fleet(&fleet);
    let page = page.map_or(exit::DONE, |path| write(path, Ok(document.html())));
    let printed = match args.json {
        false => show.print(&document),
        true => json(&fleet)?,
    };
    Ok(exit::fold([page, printed, fleet.exit_code]))
}
