//! The documents of the profiles that came with the program, and of what one asks for.

use view::{Block, Document, Section, Table};

use crate::checks::plural;
use crate::profile::{Loaded, Profile, shipped};

/// The profiles that came with the program.
pub(crate) fn profiles() -> Document {
    let mut table = Table::under(["profile", "for"]);
    for loaded in shipped() {
        table.row([loaded.profile.name.clone(), loaded.profile.title.clone()]);
    }
    Document {
        title: "Profiles".to_owned(),
        answer: vec![plural(table.rows.len(), "profile") + " came with this program."],
        sections: vec![Section::new("", vec![Block::Table(table)])],
        ..Document::default()
    }
}

/// What a profile asks for: its lines with those of all that it extends, each with its source.
pub(crate) fn asks_for(loaded: &Loaded) -> Document {
    let profile = &loaded.profile;
    let limits = plural(profile.limit.len(), "limit");
    let merged = Profile {
        extends: None,
        ..profile.clone()
    };
    let lines = toml::to_string(&merged).unwrap_or_default();
    let lines = lines.lines().map(str::to_owned).collect();
    let title = format!("{}: {}", profile.name, profile.title);
    let (sha256, files) = (&loaded.sha256, loaded.files.join(", "));
    let of = format!("{limits}; sha256 {sha256}, of {files}.");
    Document {
        answer: vec![format!("{title}."), of],
        title,
        sections: vec![Section::detail("Asks for", vec![Block::Code(lines)])],
        ..Document::default()
    }
}
