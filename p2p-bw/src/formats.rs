//! The forms in which links are shown beside the document and CSV: the JSON of nvbandwidth.

use clap::{Args, ValueEnum};
use program::forms::{Export, Exported};
use view::export::{NvbandwidthJson, nvbandwidth_json};

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
    /// What makes the form, where it is another tool's.
    pub(crate) fn export(&self) -> Option<Export> {
        match self.format {
            Format::Text => None,
            Format::NvbandwidthJson => Some(|record| match nvbandwidth_json(record) {
                Ok(NvbandwidthJson { text, left_out }) => Ok(Exported { text, left_out }),
                Err(error) => Err(error.to_string()),
            }),
        }
    }
}
