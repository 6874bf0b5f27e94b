//! A document on this process's standard output, as wide as the terminal and in its colours.

use std::io::{self, ErrorKind, IsTerminal as _, Write as _};

use clap::Args;
use record::exit;
use view::{Document, Screen};

use crate::say;

/// How much of a result is printed.
#[derive(Debug, Clone, Copy, Default, Args)]
pub struct Show {
    /// Print every table and how it was measured
    #[arg(short, long, global = true, display_order = 900)]
    pub verbose: bool,

    /// Print the answer only
    #[arg(long, global = true, display_order = 901, conflicts_with = "verbose")]
    pub quiet: bool,
}

/// Characters of a line where no terminal says, and the most on one that is wider.
const WIDTH: (usize, usize) = (100, 140);

impl Show {
    /// The screen that standard output is. `NO_COLOR` and `TERM=dumb` turn colours off.
    #[must_use]
    pub fn screen(self) -> Screen {
        let stdout = io::stdout();
        let is_terminal = stdout.is_terminal();
        let columns = rustix::termios::tcgetwinsize(&stdout).map(|size| usize::from(size.ws_col));
        let columns = columns.ok().filter(|columns| is_terminal && *columns >= 40);
        let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        Screen {
            width: columns.unwrap_or(WIDTH.0).min(WIDTH.1),
            verbose: self.verbose,
            quiet: self.quiet,
            colour: is_terminal && !is_dumb && !is_set("NO_COLOR"),
        }
    }

    /// Prints a document, and gives the exit code. A reader that went away, as with `| head`, is no failure.
    #[must_use]
    pub fn print(self, document: &Document) -> u8 {
        let text = document.screen(self.screen());
        let mut stdout = io::stdout().lock();
        let written = stdout
            .write_all(text.as_bytes())
            .and_then(|()| stdout.flush());
        match written {
            Err(error) if error.kind() != ErrorKind::BrokenPipe => {
                say!("error: cannot write to standard output: {error}");
                exit::INTERNAL
            }
            _ => exit::DONE,
        }
    }
}
