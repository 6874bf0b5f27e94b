//! What the readers of captured text say of the tools' outputs in `texts/`, of pastes around these, and of broken ones.
//!
//! The outputs are of real machines but for `*.constructed.txt`, which is built from the tool's format. No test needs a GPU or a tool.

mod amd;
mod broken;
mod metax;
mod nodes;
mod nvidia;
mod pastes;
mod texts;

use topology::Matrix;
use topology::captured::{Captured, read};

/// Reads a text that has to be read.
fn captured(text: &str) -> Captured {
    read(text).unwrap_or_else(|error| panic!("{error} in\n{text}"))
}

/// The classes of a matrix, a line of names for each row.
fn classes(matrix: &Matrix) -> Vec<String> {
    let row = |row: &Vec<topology::PathType>| {
        let names: Vec<_> = row.iter().map(|class| class.name()).collect();
        names.join(" ")
    };
    matrix.classes.iter().map(row).collect()
}
