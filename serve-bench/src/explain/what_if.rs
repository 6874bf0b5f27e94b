//! What is asked with `--what-if`: files are read here, the rest is the explanation's own language.

use std::path::Path;

use ::explain::{By, Substitution};
use import::collectives;

/// What `--what-if` names, in the order given.
///
/// # Errors
/// A file that cannot be read, or words that mean nothing; in words.
pub(super) fn asked(texts: &[String]) -> Result<Vec<Substitution>, String> {
    let one = |text: &String| {
        let by = match text.strip_prefix("curve=") {
            Some(file) => collectives::read(Path::new(file))
                .map(|points| By::Curve { points })
                .map_err(|error| error.to_string()),
            None => text
                .parse()
                .map_err(|error: ::explain::WhatIfError| error.to_string()),
        };
        let asked = text.clone();
        by.map(|by| Substitution { asked, by })
            .map_err(|why| format!("--what-if {text}: {why}"))
    };
    texts.iter().map(one).collect()
}
