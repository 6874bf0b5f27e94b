//! What a run leaves: `report.json` and the page in its folder, whole or not at all, and the forms that were asked for.

use std::path::Path;

use anyhow::anyhow;
use measure::record::write_whole;
use program::Stop;

use super::journal::{FILE, not_durable};
use super::kept::Kept;
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
    let report = kept(report, folder, forms)?;
    Ok(outputs::write(&report, forms))
}

/// Puts what stood before in the place of an earlier report of a run that is taken up again, so that nobody takes the earlier one for
/// what the run came to; where there is none, nothing is written.
///
/// # Errors
/// The disk refuses; an older report is then as it was.
pub(super) fn taken_up(before: &Kept, folder: &Path, forms: &Forms) -> Result<(), Stop> {
    match folder.join(REPORT_FILE).exists() {
        true => kept(&before.taken_up(), folder, forms).map(drop),
        false => Ok(()),
    }
}

/// Report and page in the folder; gives the report as they have it.
fn kept(report: &Report, folder: &Path, forms: &Forms) -> Result<Report, Stop> {
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
    Ok(report)
}

#[cfg(test)]
mod tests {
    use super::super::kept::read;
    use super::*;
    use crate::made::{bandwidth, folder, report};
    use crate::report::{BoxVerdict, RunStatus};

    #[test]
    fn a_run_that_is_taken_up_again_leaves_no_report_that_accepts_it() {
        let folder = folder("taken-up");
        let ended = report("n1", vec![bandwidth("p2p", "GPU0->GPU1", 20.0)]);
        assert_eq!(ended.verdict, BoxVerdict::Accepted);
        let key = serde_json::json!({"profile": "ab", "program": null, "measuring": null, "driver": "570", "devices": [], "asked": []});
        let lines = [
            serde_json::json!({"begin": {"schema": 1, "key": key, "report": ended}}),
            serde_json::json!({"end": {"report": ended}}),
        ];
        let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
        std::fs::write(folder.join(FILE), lines).unwrap();
        let kept = read(&folder.join(FILE)).unwrap();
        let forms = Forms::default();
        // Where no report was, none is made.
        taken_up(&kept, &folder, &forms).unwrap();
        assert!(!folder.join(REPORT_FILE).exists() && !folder.join(PAGE).exists());
        finish(&ended, &folder, &forms).unwrap();
        taken_up(&kept, &folder, &forms).unwrap();
        let now = crate::report::read(&folder).unwrap();
        assert_eq!(
            (&now.status, now.verdict, now.exit_code),
            (&RunStatus::Broken, BoxVerdict::Inconclusive, 3)
        );
        let page = std::fs::read_to_string(folder.join(PAGE)).unwrap();
        assert!(
            page.contains("INCONCLUSIVE")
                && page.contains("taken up again")
                && !page.contains("ACCEPTED"),
            "{page}"
        );
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
