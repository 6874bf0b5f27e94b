//! A half model as a document.

use tp_plan::HalfModel;
use view::{Block, Document, Section};

use crate::study::shell::shell;

/// What a person reads: the command, what the share is, and what to know of it.
pub(super) fn document(half: &HalfModel, command: &[String], is_written: bool) -> Document {
    let facts = &half.facts;
    Document {
        title: facts.name.clone(),
        answer: vec![format!(
            "{} of {}: TPOT of TP{} less its TPOT is exposed communication.",
            facts.name, half.model, half.tp
        )],
        sections: vec![
            Section::new("Command", vec![Block::Code(vec![shell(command)])]),
            Section::new("Notes", vec![Block::list(notes(half, is_written).cloned())]),
        ],
        ..Document::default()
    }
}

/// What to know; of a written configuration only where one is.
fn notes(half: &HalfModel, is_written: bool) -> impl Iterator<Item = &String> {
    let of_config = half.config_notes.iter().filter(move |_| is_written);
    half.notes.iter().chain(of_config)
}
