//! The flags of the forms. It gives texts and files to write; `main` prints and writes them.

use clap::{Args, ValueEnum};
use program::outputs;
use program::say;
use program::show::Show;
use record::{Record, exit};
use view::export::nccl_tests;

/// What stands on standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Tables.
    Text,
    /// The text that nccl-tests 2.19.6 writes, a block for each operation, type, mode and arm; what it has no word for stands in
    /// comment lines.
    NcclTests,
}

/// In which forms collectives are shown.
#[derive(Debug, Clone, Args)]
pub(crate) struct Forms {
    /// What to print on standard output.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
}

impl Forms {
    /// Prints the record in the form that was asked for, and gives the exit code.
    pub(crate) fn print(&self, record: &Record, show: Show) -> u8 {
        match self.format {
            Format::Text => show.print(&view::record(record)),
            Format::NcclTests => match nccl_tests(record) {
                Ok(made) => outputs::print(&made.text),
                Err(error) => {
                    say!("error: {error}");
                    exit::USAGE
                }
            },
        }
    }

    /// Lines about what the text leaves out.
    pub(crate) fn left_out(&self, record: &Record) -> Vec<String> {
        match self.format {
            Format::Text => Vec::new(),
            Format::NcclTests => nccl_tests(record)
                .map(|made| made.left_out)
                .unwrap_or_default(),
        }
    }
}
