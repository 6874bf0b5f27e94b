//! A run that says its progress, and the words of it.

use std::path::Path;

use record::{Payload, exit};
use runner::Interrupt;
use runner::run::{Progress, Run};
use serde::Serialize;

use crate::command_line::quoted;
use crate::places::check_folder;
use crate::stop::Stop;

/// Opens the folder of a run, named by `--out`, that says its progress through `say`; `of` is what it is and the file of its settings.
///
/// # Errors
/// The folder cannot be written, is in use, or holds another run.
pub fn open_run<'a>(
    folder: &Path,
    of: (&'static str, &str),
    settings: &impl Serialize,
    interrupt: &'a Interrupt,
    say: &'a dyn Fn(&str),
) -> Result<Run<'a>, Stop> {
    check_folder("--out", folder).map_err(Stop::Usage)?;
    let tell = move |progress: &Progress<'_>| say_progress(progress, say);
    Ok(Run::open(folder, of, settings, interrupt, tell)?)
}

/// Says what a run tells, a line each.
pub fn say_progress(progress: &Progress<'_>, say: &dyn Fn(&str)) {
    let line = match progress {
        Progress::Resumed { what, folder } => format!("resumes {what} in {}", folder.display()),
        Progress::Waiting { folder } => format!(
            "waiting until the programs of an earlier run in {} have ended",
            folder.display()
        ),
        Progress::NoLocks { folder } => format!(
            "{} cannot be locked: start no other run in it",
            folder.display()
        ),
        Progress::Done { step } => format!("{step}: measured before"),
        Progress::SetAside { step, kept } => format!(
            "{step}: done again; what a broken-off run left is kept as {}",
            kept.display()
        ),
        Progress::Begins {
            step, about, of: 0, ..
        } => format!("{step}: {about}"),
        Progress::Begins {
            step,
            about,
            number,
            of,
            left,
        } => format!(
            "[{number}/{of}] {step}: {about} (about {} to go)",
            minutes(left.as_secs_f64())
        ),
        Progress::Starting { words } => {
            let words: Vec<String> = words.iter().map(|word| quoted(word.as_ref())).collect();
            format!("  starting: {}", words.join(" "))
        }
        Progress::Answers { after } => {
            format!("  it answers after {:.1} s", after.as_secs_f64())
        }
        Progress::Ended {
            step,
            folder,
            took,
            code,
            last,
        } => {
            let code = match *code {
                exit::DONE => String::new(),
                code => format!(", exit code {code}"),
            };
            let result = match code.is_empty() {
                true => result(folder),
                false => Some((*last).to_owned()),
            };
            let result = result.map_or_else(String::new, |result| format!(": {result}"));
            format!("{step}: done in {:.1} s{code}{result}", took.as_secs_f64())
        }
        _ => return,
    };
    say(&line);
}

/// The sentence of a step's answer that has its figures; of collectives and loads the first says what was measured.
fn result(folder: &Path) -> Option<String> {
    let record = record::load(folder).ok()?;
    let at = usize::from(!matches!(record.payload, Payload::Links(_)));
    view::record(&record).answer.into_iter().nth(at)
}

/// A time as people say it.
#[must_use]
pub fn minutes(seconds: f64) -> String {
    match seconds {
        s if s < 90.0 => format!("{s:.0} s"),
        s if s < 5400.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}
