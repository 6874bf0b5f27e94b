//! The forms in which collectives are shown beside the document and CSV: the text of nccl-tests.

use clap::{Args, ValueEnum};
use program::forms::{Export, Exported};
use view::export::{NcclTestsText, nccl_tests};

/// What is said of a path where there is nothing.
pub(crate) const NO_FILE: &str = "there is no such file or folder; give a result folder, record.json or journal.jsonl of tplens \
                                  allreduce, or what nccl-tests wrote";

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
    /// What makes the form, where it is another tool's.
    pub(crate) fn export(&self) -> Option<Export> {
        match self.format {
            Format::Text => None,
            Format::NcclTests => Some(|record| match nccl_tests(record) {
                Ok(NcclTestsText { text, left_out }) => Ok(Exported { text, left_out }),
                Err(error) => Err(error.to_string()),
            }),
        }
    }
}
