//! The forms in which links are shown beside the document and CSV: the JSON of nvbandwidth.

use clap::{Args, ValueEnum};
use program::outputs;
use program::say;
use program::show::Show;
use record::{Record, exit};
use view::export::nvbandwidth_json;

/// What stands on standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Tables.
    Text,
    /// The JSON that `nvbandwidth -j` writes, with the cases that it has too; of each case the largest size.
    NvbandwidthJson,
}

/// In which forms links are shown.
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
            Format::NvbandwidthJson => match nvbandwidth_json(record) {
                Ok(json) => outputs::print(&json.text),
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
            Format::NvbandwidthJson => nvbandwidth_json(record)
                .map(|json| json.left_out)
                .unwrap_or_default(),
        }
    }
}
