//! The forms in which links are shown beside tables and CSV: the JSON of nvbandwidth, and pictures.
//!
//! It gives texts and files to write; `main` prints and writes them.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use measure::export::nvbandwidth_json;
use measure::record::Record;
use measure::render::text;
use program::outputs::check_folder;

use crate::pictures::{self, Picture};

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

    /// Draw pictures into this folder, which is made where it is not there: for each case between devices a heat map, for each
    /// case with several sizes a curve.
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
            Format::Text => text::links,
            // A record of links always has this form, and no other record comes here but one that `show` was given.
            Format::NvbandwidthJson => |record| match nvbandwidth_json(record) {
                Ok(json) => json.text,
                Err(error) => format!("{error}\n"),
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

    /// The pictures that were asked for, by the path of their file.
    pub(crate) fn pictures(&self, record: &Record) -> Vec<(PathBuf, String)> {
        let Some(folder) = &self.svg else {
            return Vec::new();
        };
        let file = |picture: Picture| (folder.join(&picture.file), picture.svg);
        pictures::of(record).into_iter().map(file).collect()
    }
}
