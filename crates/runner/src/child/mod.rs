//! Processes of this project from both sides: a worker's own side of the pipes, and other programs that are started and watched over.

mod line;
mod own;
mod program;
mod tied;
mod watcher;

pub use self::line::{Line, SHORT_LADDER, start, start_with};
pub use self::own::{ChildError, Inbox, Outbox, die_with_parent, expected_parent, inbox};
pub(crate) use self::program::into_log;
pub use self::program::{Ended, Program, ProgramError, run, run_within, tplens, words};
pub use self::tied::become_tied;
pub(crate) use self::watcher::{LADDER, SERVER, WATCHER_LIMIT};
pub use self::watcher::{TIED, hidden};
pub use crate::worker::{PARENT_VARIABLE, last_line};
