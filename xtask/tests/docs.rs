//! The pages for users against today's programs: their commands are understood, and their links lead to files.
//!
//! A command of a `console` block is parsed by its program. Below `<!-- run: CODE -->` it runs in the repository's root and
//! ends with that code. What it prints is not compared.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const PROGRAM: &str = "tplens";

/// What comes before a command of a contributor.
const ALIAS: &str = "cargo xtask ";

/// Commands of `cargo xtask` that are not those of the program.
const NOT_ALIASES: [&str; 7] = ["dist", "golden", "kernels", "shim", "soft", "test", "tidy"];

/// A command of a page.
struct Example {
    at: String,
    /// The program's arguments.
    words: Vec<String>,
    /// The exit code, where it is to run.
    code: Option<i32>,
}

fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().unwrap().to_owned()
}

/// Every page by its path from the root.
fn pages() -> Vec<(String, String)> {
    let mut folders = vec![root().join("docs")];
    let mut files = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"]
        .map(|name| root().join(name))
        .to_vec();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.extension() {
                None => folders.push(path),
                Some(_) => files.push(path),
            }
        }
    }
    let page = |path: PathBuf| {
        let name = path.strip_prefix(root()).unwrap().display().to_string();
        (name, fs::read_to_string(path).unwrap())
    };
    files.into_iter().map(page).collect()
}

/// The words of a shell line. Quotes hold words together; nothing is expanded.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    for character in line.chars().chain([' ']) {
        match (quote, character) {
            (Some(open), _) if open == character => quote = None,
            (None, '\'' | '"') => quote = Some(character),
            (None, ' ') if word.is_empty() => {}
            (None, ' ') => words.push(std::mem::take(&mut word)),
            _ => word.push(character),
        }
    }
    words
}

/// The words behind the program's name in a line that calls it.
fn called(line: &str) -> Option<Vec<String>> {
    let line = line.replace(ALIAS, "tplens ");
    let words = words(&line);
    let is_ours = |word: &String| word == PROGRAM || word.ends_with("/tplens");
    let start = words.iter().position(is_ours)? + 1;
    let ends = |word: &&String| !["#", "|", ">", "&&"].contains(&word.as_str());
    let called: Vec<String> = words[start..].iter().take_while(ends).cloned().collect();
    let first = called.first().map_or("", String::as_str);
    (!NOT_ALIASES.contains(&first)).then_some(called)
}

fn examples() -> Vec<Example> {
    let mut examples = Vec::new();
    for (page, text) in pages() {
        let (mut is_console, mut code) = (false, None);
        // A backslash at the end of a line joins it with the next.
        for line in text.replace("\\\n", " ").lines() {
            if let Some(fence) = line.strip_prefix("```") {
                code = code.filter(|_| !is_console);
                is_console = fence == "console";
            } else if let Some(marked) = line.strip_prefix("<!-- run: ") {
                code = Some(marked.trim_end_matches(" -->").parse().unwrap());
            } else if let Some(words) = line.strip_prefix("$ ").and_then(called)
                && is_console
            {
                let at = format!("{page}: {line}");
                examples.push(Example { at, words, code });
            }
        }
    }
    examples
}

#[test]
fn every_command_of_a_page_is_understood_by_its_program() {
    let built = std::env::current_exe().unwrap();
    let built = built.ancestors().nth(2).unwrap();
    let examples = examples();
    assert!(examples.iter().any(|example| example.code == Some(0)));
    let program = built.join(PROGRAM);
    if !program.is_file() {
        if let Some(log) = std::env::var_os("TPLENS_SKIP_LOG") {
            let mut log = OpenOptions::new().append(true).open(log).unwrap();
            writeln!(log, "commands of the pages: {PROGRAM} is not built").unwrap();
        }
        return;
    }
    for mut example in examples {
        if example.code.is_none() {
            let end = example.words.iter().position(|word| word == "--");
            let end = end.unwrap_or(example.words.len());
            example.words.insert(end, "--help".to_owned());
        }
        let mut command = Command::new(&program);
        let command = command.args(&example.words).current_dir(root());
        let ended = command.stdin(Stdio::null()).output().unwrap();
        let code = example.code.unwrap_or(0);
        assert_eq!(ended.status.code(), Some(code), "{}: {ended:?}", example.at);
    }
}

#[test]
fn every_link_of_a_page_leads_to_a_file() {
    for (page, text) in pages() {
        let folder = root().join(&page).parent().unwrap().to_owned();
        for link in text.split("](").skip(1) {
            let link = link.split([')', '#']).next().unwrap();
            if !link.is_empty() && !link.contains("://") {
                assert!(folder.join(link).exists(), "{page}: {link}");
            }
        }
    }
}

#[test]
fn every_machine_and_profile_is_named() {
    for (folder, page) in [
        ("boxes", "docs/simulated.md"),
        ("accept/profiles", "docs/profiles.md"),
    ] {
        let text = fs::read_to_string(root().join(page)).unwrap();
        for entry in fs::read_dir(root().join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap();
            assert!(text.contains(&format!("`{name}`")), "{page}: {name}");
        }
    }
}
