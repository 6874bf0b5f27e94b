//! The words of the command line that all programs share: value parsers, and refusals in one line.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use clap::ArgMatches;
use record::exit;
use record::unit::{ByteCount, parse_sizes};

use crate::say;

/// The words of this process, where they are not what the system says.
static WORDS: OnceLock<Vec<OsString>> = OnceLock::new();

/// Takes the words that this process goes by from now on, its program's name first: those that an old name stands for, too.
pub fn go_by(words: Vec<OsString>) {
    // They are taken once, before anything reads them.
    drop(WORDS.set(words));
}

/// The words of this process, its program's name first.
#[must_use]
pub fn words() -> Vec<OsString> {
    WORDS
        .get()
        .cloned()
        .unwrap_or_else(|| std::env::args_os().collect())
}

/// Reads words, the program's name first.
///
/// # Errors
/// The exit code, where it was help or the version that was asked for (then it is printed) or the command line is wrong (then
/// that is said).
pub fn parse(line: clap::Command, words: &[OsString]) -> Result<ArgMatches, u8> {
    line.try_get_matches_from(words)
        .map_err(|error| refused(&error))
}

/// Prints help or says what is wrong, and gives the exit code.
#[must_use]
pub fn refused(error: &clap::Error) -> u8 {
    // clap's own codes: 0 for --help and --version, 2 for a wrong command line.
    let code = u8::try_from(error.exit_code()).unwrap_or(exit::USAGE);
    if code == exit::DONE {
        // A reader that went away is no failure.
        drop(error.print());
    } else {
        say!("{}", one_line(&error.render().to_string()));
    }
    code
}

/// The parser's refusal without its usage text, as one line.
#[must_use]
pub fn one_line(refusal: &str) -> String {
    let said: Vec<&str> = refusal
        .lines()
        .map(str::trim)
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more information"))
        .filter(|line| !line.is_empty())
        .collect();
    format!("{}; see --help", said.join("; ").replace(":;", ":"))
}

/// A word as a shell reads it back. What a terminal must not get, and what is no text, is written as escapes, in the `$'...'` of
/// bash and zsh.
#[must_use]
pub fn quoted(word: &OsStr) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_@%+=:,./-".contains(&byte);
    let text = word
        .to_str()
        .filter(|text| !text.contains(char::is_control));
    match text {
        Some(text) if !text.is_empty() && text.bytes().all(is_plain) => text.to_owned(),
        Some(text) => format!("'{}'", text.replace('\'', r"'\''")),
        None => {
            let escape = |byte: &u8| match byte {
                byte if is_plain(*byte) => char::from(*byte).to_string(),
                byte => format!("\\{byte:03o}"),
            };
            let escaped: String = word.as_bytes().iter().map(escape).collect();
            format!("$'{escaped}'")
        }
    }
}

/// How the run that this process was started for is resumed, to be printed when a signal ended it; `folder` where its command line
/// does not name it.
#[must_use]
pub fn resumes_by(folder: Option<&Path>) -> String {
    let words = words().into_iter();
    let words = words.map(|word| word.to_string_lossy().into_owned());
    format!(
        "interrupted; this resumes it:\n  {}",
        again(words.collect(), folder)
    )
}

fn again(mut words: Vec<String>, folder: Option<&Path>) -> String {
    if let Some(folder) = folder {
        // What follows `--` belongs to the server.
        let end = words.iter().position(|word| word == "--");
        let end = end.unwrap_or(words.len());
        let out = ["--out".to_owned(), folder.display().to_string()];
        words.splice(end..end, out);
    }
    let words: Vec<String> = words.iter().map(|word| quoted(word.as_ref())).collect();
    words.join(" ")
}

/// The name that was probably meant by a word that is none of them; `None` where none comes near.
#[must_use]
pub fn nearest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Half of its letters wrong is another word.
    let near = |distance: usize, name: &str| distance * 2 <= name.chars().count().max(2);
    let measured = names.into_iter().map(|name| {
        let distance = strsim::damerau_levenshtein(&word.to_lowercase(), &name.to_lowercase());
        (distance, name)
    });
    let (_, name) = measured
        .filter(|(distance, name)| near(*distance, name))
        .min_by_key(|(distance, _)| *distance)?;
    Some(name)
}

/// A list of sizes.
#[derive(Debug, Clone)]
pub struct Sizes(pub Vec<ByteCount>);

/// Parses sizes such as `64M`, lists and ranges, for clap.
///
/// # Errors
/// Says what is wrong with the text.
pub fn sizes(text: &str) -> Result<Sizes, String> {
    parse_sizes(text)
        .map(Sizes)
        .map_err(|error| error.to_string())
}

/// Parses a time in seconds, above 0 and at most 1000000, for clap.
///
/// # Errors
/// Says what is wrong with the text.
pub fn seconds(text: &str) -> Result<Duration, String> {
    let value: f64 = text
        .parse()
        .map_err(|_| format!("`{text}` is not a number of seconds"))?;
    if value > 0.0 && value <= 1e6 {
        Ok(Duration::from_secs_f64(value))
    } else {
        Err(format!(
            "`{text}` is not above 0 and at most 1000000 seconds"
        ))
    }
}

/// Parses a time such as `90s`, `30m`, `24h` or `1h 30m`, or a plain number of seconds, above 0 and at most 1000000 seconds, for clap.
///
/// # Errors
/// Says what is wrong with the text.
pub fn time(text: &str) -> Result<Duration, String> {
    if text.parse::<f64>().is_ok() {
        return seconds(text);
    }
    let time = humantime::parse_duration(text)
        .map_err(|_| format!("`{text}` is not a time; write it as 90s, 30m or 24h"))?;
    seconds(&time.as_secs_f64().to_string())
        .map_err(|_| format!("`{text}` is not above 0 and at most 1000000 seconds"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_a_quoted_word_back() {
        for (word, shown) in [
            (&b"--model=a/b"[..], "--model=a/b"),
            (b"", "''"),
            (b"a b", "'a b'"),
            (b"x;rm $HOME", "'x;rm $HOME'"),
            (b"it's", r"'it'\''s'"),
            // Octal: ESC is 033, a line break 012, a space 040, and 0xff 377.
            (b"a\x1b[\n b", r"$'a\033\133\012\040b'"),
            (b"\xff", r"$'\377'"),
        ] {
            assert_eq!(quoted(OsStr::from_bytes(word)), shown);
        }
    }

    #[test]
    fn the_command_that_resumes_a_run_can_be_pasted() {
        let words = |list: &[&str]| list.iter().map(|word| (*word).to_owned()).collect();
        assert_eq!(
            again(
                words(&["p", "study", "--", "vllm", "serve", "it's m"]),
                Some(Path::new("a b"))
            ),
            r"p study --out 'a b' -- vllm serve 'it'\''s m'"
        );
        assert_eq!(
            again(words(&["p", "study", "--out", "x", ""]), None),
            "p study --out x ''"
        );
    }

    #[test]
    fn a_mistyped_name_finds_its_like_and_a_strange_one_finds_nothing() {
        let names = ["link", "h2d_pinned", "h2d_pageable"];
        for (word, meant) in [
            ("h2d_pined", Some("h2d_pinned")),
            ("H2D-PAGEABLE", Some("h2d_pageable")),
            ("lnik", Some("link")),
            ("throughput", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, names), meant, "{word}");
        }
    }

    #[test]
    fn a_time_is_above_zero_and_finite() {
        assert_eq!(seconds("0.25"), Ok(Duration::from_millis(250)));
        for text in ["0", "-1", "inf", "NaN", "1e7"] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_time_has_a_unit_or_is_in_seconds() {
        for (text, seconds) in [
            ("90s", 90),
            ("30m", 1800),
            ("24h", 86_400),
            ("1h 30m", 5400),
            ("12", 12),
        ] {
            assert_eq!(time(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        for text in ["", "0s", "-1s", "1 fortnight", "12d"] {
            // Twelve days are 1036800 seconds.
            assert!(time(text).unwrap_err().contains(text), "{text}");
        }
    }

    #[test]
    fn a_refusal_is_one_line_without_usage() {
        let said = "error: unexpected argument '--gpu' found\n\n  tip: a similar argument exists: '--gpus'\n\nUsage: p --gpus <LIST>\n";
        assert_eq!(
            one_line(said),
            "error: unexpected argument '--gpu' found; tip: a similar argument exists: '--gpus'; see --help"
        );
    }
}
