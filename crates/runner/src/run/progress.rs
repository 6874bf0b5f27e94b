//! What a run tells while it is under way, as data.

use std::path::Path;
use std::time::Duration;

/// Something that a run tells.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Progress<'a> {
    /// The folder holds this very run, which is resumed.
    Resumed {
        /// What it is, such as `a study`.
        what: &'static str,
        /// Its folder.
        folder: &'a Path,
    },
    /// The programs of an earlier run in the folder are ending, and are waited for.
    Waiting {
        /// The folder.
        folder: &'a Path,
    },
    /// The file system has no locks: a second run in the folder would not be refused.
    NoLocks {
        /// The folder.
        folder: &'a Path,
    },
    /// A step was done before.
    Done {
        /// The step.
        step: &'a str,
    },
    /// What a broken-off step left has another name now.
    SetAside {
        /// The step.
        step: &'a str,
        /// Where it is.
        kept: &'a Path,
    },
    /// A step begins.
    Begins {
        /// The step.
        step: &'a str,
        /// What it is.
        about: &'a str,
        /// Its number in the run's plan, from 1.
        number: usize,
        /// Steps of the plan.
        of: usize,
        /// What is left of the plan, this step included.
        left: Duration,
    },
    /// A server is started.
    Starting {
        /// Its command, without secrets.
        words: &'a [String],
    },
    /// The server answers.
    Answers {
        /// So long after it was started.
        after: Duration,
    },
    /// A step ended with a result.
    Ended {
        /// The step.
        step: &'a str,
        /// Its folder, which holds its result.
        folder: &'a Path,
        /// How long it took.
        took: Duration,
        /// Its program's exit code.
        code: u8,
        /// What its program printed last.
        last: &'a str,
    },
}

/// Takes what a run tells.
pub type Tell<'a> = dyn Fn(&Progress<'_>) + 'a;
