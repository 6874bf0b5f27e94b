//! The flags of the forms. It gives texts and files to write; `main` prints and writes them.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use measure::export::nccl_tests;
use measure::record::Record;
use measure::render::text;
use program::outputs::check_folder;

use super::pictures;

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

    /// Draw pictures into this folder, which is made where it is not there: for each operation and type with several sizes the
    /// time of a call over the size.
    #[arg(long, value_name = "DIR")]
    pub(crate) svg: Option<PathBuf>,
}

impl Forms {
    /// Whether the pictures that are asked for can be written.
    ///
    /// # Errors
    /// Says why not.
    pub(crate) fn check(&self) -> Result<(), String> {
        match &self.svg {
            Some(folder) => check_folder("--svg", folder),
            None => Ok(()),
        }
    }

    /// How the record's text is made.
    pub(crate) fn text(&self) -> fn(&Record) -> String {
        match self.format {
            Format::Text => text::record,
            // A record of collectives always has this form, and no other record comes here but one that `show` was given.
            Format::NcclTests => |record| match nccl_tests(record) {
                Ok(made) => made.text,
                Err(error) => format!("{error}\n"),
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

    /// The pictures that were asked for, by the path of their file.
    pub(crate) fn pictures(&self, record: &Record) -> Vec<(PathBuf, String)> {
        let Some(folder) = &self.svg else {
            return Vec::new();
        };
        let pictures = pictures::of(record).into_iter();
        pictures
            .map(|picture| (folder.join(&picture.file), picture.svg))
            .collect()
    }
}
