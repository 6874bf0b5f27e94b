//! What a run leaves: `report.json` and the page in its folder, whole or not at all, and the forms that were asked for.

use std::path::Path;

use anyhow::anyhow;
use measure::record::write_whole;
use program::Stop;

use super::journal::{FILE, not_durable};
use crate::cli::Forms;
use crate::outputs;
use crate::report::{REPORT_FILE, Report, unsound};

/// The page's name in the result folder.
const PAGE: &str = "report.html";

/// Writes the report into the folder, without identities unless they were asked for, and what was asked for besides; gives the exit
/// code of having done so.
///
/// # Errors
/// The disk refuses; an older report is then as it was.
pub(crate) fn finish(report: &Report, folder: &Path, forms: &Forms) -> Result<u8, Stop> {
    if let Some(what) = unsound(report) {
        return Err(Stop::Internal(anyhow!(
            "the report contradicts itself, which is a defect of this program: {what}"
        )));
    }
    let report = outputs::redacted(report.clone(), forms.identify);
    let json = outputs::json(&report).map_err(|why| anyhow!(why))?;
    let keep = |name: &str, text: String| {
        write_whole(&folder.join(name), text.as_bytes()).map_err(|error| {
            let stop = Stop::Internal(error.into());
            match folder.join(FILE).exists() {
                true => not_durable(stop, folder),
                // A run that looked at no device is not gone on with.
                false => stop,
            }
        })
    };
    keep(REPORT_FILE, json)?;
    keep(PAGE, outputs::html(&report))?;
    Ok(outputs::write(&report, forms))
}
