//! What a profile asks for, in words, and the list of those that came with the program.

use std::fmt::Write as _;

use super::error::ProfileError;
use super::load::{Loaded, load, shipped};
use super::model::{Expected, LimitRow, LimitUnit, Profile};
use super::shipped::SHIPPED;
use super::valid::named;
use crate::checks;
use crate::cli::Level;
use crate::judge::is_asked;
use crate::report::Side;

/// The profiles that came with the program, a line each.
///
/// # Errors
/// One of them does not read, which a test rules out.
pub(crate) fn list() -> Result<String, ProfileError> {
    let mut text = String::new();
    let longest = SHIPPED
        .iter()
        .map(|(name, _)| name.len())
        .max()
        .unwrap_or(0);
    for (name, _) in SHIPPED {
        let title = load(name)?.profile.title;
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{name:<longest$}  {title}");
    }
    Ok(text)
}

/// What a profile asks for, or with `whole` its TOML with all that it extends.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn checked(name_or_path: &str, whole: bool) -> Result<String, ProfileError> {
    let loaded = load(name_or_path)?;
    if !whole {
        return Ok(asks_for(&loaded));
    }
    let merged = Profile {
        extends: None,
        ..loaded.profile
    };
    toml::to_string(&merged).map_err(|error| ProfileError::Invalid {
        origin: name_or_path.to_owned(),
        problem: format!("it cannot be written as one file ({error})"),
    })
}

fn asks_for(loaded: &Loaded) -> String {
    let Loaded {
        profile,
        sha256,
        files,
        ..
    } = loaded;
    let mut lines = vec![
        format!("{}: {}", profile.name, profile.title),
        format!("made of {}; sha256 {sha256}", files.join(", ")),
    ];
    lines.push(match &profile.matches {
        None => "matches no box: it can only be extended".to_owned(),
        Some(matches) => {
            let mut words = format!(
                "matches {}{} {} of {}",
                if matches.more == Some(true) {
                    "at least "
                } else {
                    ""
                },
                matches.count,
                if matches.count == 1 {
                    "device"
                } else {
                    "devices"
                },
                matches.backend
            );
            let _ = write!(words, " named {}", matches.names.join(" or "));
            for (asked, yes, no) in [
                (matches.mig, ", MIG instances", ", no MIG instances"),
                (matches.guest, ", in a virtual machine", ", on bare metal"),
            ] {
                words.push_str(asked.map_or("", |is| if is { yes } else { no }));
            }
            if let Some(memory) = matches.memory_gib_at_least {
                let _ = write!(words, ", {memory} GiB each or more");
            }
            words
        }
    });
    lines.push(match (profile.link.generation, profile.link.width) {
        (None, None) => "link at the slot: not stated, so the check is inconclusive".to_owned(),
        (generation, width) => {
            let or_any =
                |value: Option<u8>| value.map_or("any".to_owned(), |value| value.to_string());
            format!(
                "link at the slot under load: Gen{} x{} ({})",
                or_any(generation),
                or_any(width),
                profile.link.source
            )
        }
    });
    lines.push(format!(
        "changes of the link under load: {} at most",
        profile.link.transitions_at_most
    ));
    lines.push(match profile.peer.expect {
        None => "peer access: not stated, so the check is inconclusive".to_owned(),
        Some(expected) => format!("peer access: {} ({})", expected.word(), profile.peer.source),
    });
    if let Some(numa) = &profile.numa {
        let nodes: Vec<String> = numa.nodes.iter().map(u32::to_string).collect();
        lines.push(format!(
            "NUMA nodes: {} ({})",
            nodes.join(", "),
            numa.source
        ));
    }
    lines.push(format!(
        "samples: {} a figure, up to {} where that does not decide; time: quick {} s, standard {} s",
        profile.sampling.repeats, profile.sampling.max_repeats, profile.budget.quick_s, profile.budget.standard_s
    ));
    lines.extend(profile.limit.iter().map(limit_line));
    for level in ["quick", "standard", "soak"] {
        let kinds = profile.required.get(level).map(|kinds| kinds.join(", "));
        lines.push(format!("{level} must decide {}", kinds.unwrap_or_default()));
    }
    lines.extend(profile.limit.iter().filter_map(rejects_nowhere(profile)));
    lines.push(String::new());
    lines.join("\n")
}

/// What is said of a limit of the user's own that fails a check and rejects no box, for want of a level that requires the check. What is
/// a fault rejects wherever it is seen, and a limit that came with the program is a choice of it.
fn rejects_nowhere(profile: &Profile) -> impl Fn(&LimitRow) -> Option<String> {
    let is_required = |level: &str, kind: &str| {
        let kinds = profile.required.get(level);
        kinds.is_some_and(|kinds| kinds.iter().any(|required| required == kind))
    };
    move |row| {
        let kind = checks::kind(&row.check)?;
        let is_own = !shipped().any(|loaded| loaded.profile.limit.contains(row));
        if row.fail.is_none() || !is_own || checks::sees_faults(kind.key) {
            return None;
        }
        let levels = [
            ("quick", Level::Quick),
            ("standard", Level::Standard),
            ("soak", Level::Soak),
        ];
        let open: Vec<&str> = levels
            .into_iter()
            .filter(|(word, level)| is_asked(kind.group, *level) && !is_required(word, kind.key))
            .map(|(word, _)| word)
            .collect();
        (!open.is_empty()).then(|| {
            format!(
                "{} has a fail limit and is not required at {}: there it warns at most, and rejects no box; put {} into [required] to reject by it",
                named(row),
                open.join(", "),
                kind.key
            )
        })
    }
}

fn limit_line(row: &LimitRow) -> String {
    let line = |word: &str, value: Option<f64>| {
        value.map(|value| {
            let beyond = match row.good {
                Side::AtLeast => "below",
                Side::AtMost => "above",
            };
            let unit = match row.unit {
                LimitUnit::OfCeiling => " of what its link carries".to_owned(),
                LimitUnit::Ratio => String::new(),
                unit => format!(" {}", unit.word()),
            };
            format!("{word} {beyond} {value}{unit}")
        })
    };
    let lines: Vec<String> = [line("fails", row.fail), line("warns", row.warn)]
        .into_iter()
        .flatten()
        .collect();
    format!("{}: {} ({})", named(row), lines.join(", "), row.source)
}

impl Expected {
    /// As in a profile.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Staged => "staged",
            Self::Forbidden => "forbidden",
        }
    }
}

impl LimitUnit {
    /// As in a profile.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::OfCeiling => "of_ceiling",
            Self::Ratio => "ratio",
            Self::GbPerS => "GB/s",
            Self::Microseconds => "us",
            Self::Milliseconds => "ms",
            Self::Events => "events",
            Self::EventsPerHour => "events/h",
            Self::Repairs => "repairs",
            Self::Celsius => "degC",
        }
    }
}
