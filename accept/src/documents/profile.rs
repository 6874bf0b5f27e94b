//! Which profiles came with the program, and what one asks for, as documents.

use view::{Block, Document, Section, Table};

use super::words::plural;
use crate::profile::{Loaded, Profile, shipped};

/// The profiles that came with the program.
pub(crate) fn list() -> Document {
    let mut table = Table::under(["profile", "for"]);
    for loaded in shipped() {
        table.row([loaded.profile.name.clone(), loaded.profile.title.clone()]);
    }
    Document {
        title: "Profiles".to_owned(),
        answer: vec![format!(
            "{} came with this program.",
            plural(table.rows.len(), "profile")
        )],
        sections: vec![Section::new("", vec![Block::Table(table)])],
        ..Document::default()
    }
}

/// What a profile asks for: its lines with those of all that it extends, each with its source.
pub(crate) fn document(loaded: &Loaded) -> Document {
    let profile = &loaded.profile;
    let limits = plural(profile.limit.len(), "limit");
    let merged = Profile {
        extends: None,
        ..profile.clone()
    };
    let lines = toml::to_string(&merged).unwrap_or_default();
    let lines = lines.lines().map(str::to_owned).collect();
    Document {
        title: format!("{}: {}", profile.name, profile.title),
        answer: vec![
            format!("{}: {}.", profile.name, profile.title),
            format!(
                "{limits}; sha256 {}, of {}.",
                loaded.sha256,
                loaded.files.join(", ")
            ),
        ],
        sections: vec![Section::detail("Asks for", vec![Block::Code(lines)])],
        ..Document::default()
    }
}
