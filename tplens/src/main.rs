//! `tplens`: every command of this house in one program.
//!
//! The work is done in the crates that the commands come from; what they start of each other is this program again, as a process.
#![forbid(unsafe_code)]

mod cli;
mod kind;
mod old;

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitCode;

use clap::FromArgMatches as _;
use program::show::Show;
use program::{command_line, outputs, say};
use record::exit;

use crate::cli::{OWNERS, Own};
use crate::kind::Kind;

/// Results of a folder that are named.
const NEWEST: usize = 3;

fn main() -> ExitCode {
    // A worker of this program is started by its hidden word.
    let first = std::env::args_os().nth(1);
    if let Some(code) = first
        .as_deref()
        .and_then(OsStr::to_str)
        .and_then(cli::worker)
    {
        return ExitCode::from(code);
    }
    command_line::go_by(old::translated(std::env::args_os().collect()));
    ExitCode::from(run(&command_line::words()))
}

/// Carries out a command line, the program's name first, and gives the exit code.
fn run(words: &[OsString]) -> u8 {
    if let [_, help, asked @ ..] = words
        && help == "help"
        && let code = asked.join(OsStr::new("-"))
        && let Some(page) = code.to_str().and_then(view::codes::page)
    {
        let printed = outputs::print(&format!("{page}\n"));
        // p2p, numa and kv are commands, too.
        if printed != exit::DONE || cli::line().find_subcommand(code).is_none() {
            return printed;
        }
    }
    if let [name] = words {
        run(&[name.clone(), "--help".into()]);
        return exit::USAGE;
    }
    if let [name, help, word] = words
        && help == "help"
        && word != "help"
        && cli::line().find_subcommand(word).is_none()
    {
        // `sweep` is a command of `serve`.
        let line = cli::line();
        let mut groups = line.get_subcommands();
        if let Some(group) = groups.find(|group| group.find_subcommand(word).is_some()) {
            let group = OsString::from(group.get_name());
            return run(&[name.clone(), group, word.clone(), "--help".into()]);
        }
        let word = word.to_string_lossy();
        let near = view::codes::all().map(|(code, _)| code);
        let near: Vec<&str> = near.filter(|code| code.contains(&*word)).take(9).collect();
        let next = match near[..] {
            [] => "tplens --help lists the commands".to_owned(),
            _ => format!("codes with it: {}", near.join(", ")),
        };
        let word = record::control::shortened(&word);
        say!("error: no command, code or word is called `{word}`; {next}");
        return exit::USAGE;
    }
    let matches = match command_line::parse(cli::line(), words) {
        Ok(matches) => matches,
        Err(code) => return code,
    };
    let name = matches.subcommand_name().unwrap_or_default();
    let done = Show::from_arg_matches(&matches).and_then(|show| {
        match OWNERS.iter().find(|owner| owner.has(name)) {
            Some(owner) => (owner.run)(&matches, show),
            None => Own::from_arg_matches(&matches).map(|command| own(command, show)),
        }
    });
    done.unwrap_or_else(|error| command_line::refused(&error))
}

fn own(command: Own, show: Show) -> u8 {
    match command {
        Own::Completions { shell } => cli::completions(shell),
        Own::Show { path, .. } if kind::is_of_several(&path) && kind::parts(&path).is_empty() => {
            let folder = path.display();
            say!("error: {folder} has no result yet; start its command again with --out {folder}");
            exit::USAGE
        }
        Own::Show { path, .. } if kind::is_of_several(&path) => {
            let parts: Vec<String> = kind::parts(&path)
                .iter()
                .take(NEWEST)
                .map(|part| part.display().to_string())
                .collect();
            let (folder, parts) = (path.display(), parts.join(", "));
            let page = path.join("report.html");
            let page = match page.is_file() {
                true => format!("; its answer is the page {}", page.display()),
                false => String::new(),
            };
            say!("error: {folder} is a folder of results: show one of them, such as {parts}{page}");
            exit::USAGE
        }
        Own::Show { path, .. } if is_explanation(&path) => {
            let page = path.with_extension("html");
            say!(
                "error: {} is an explanation, for scripts: open {}",
                path.display(),
                page.display()
            );
            exit::USAGE
        }
        Own::Show { path, more } => match Kind::of(&path) {
            Kind::Unknown if kind::is_foreign(&path) => {
                let path = path.display();
                say!("error: {path} has no format that is known here; looked for {KNOWN}");
                exit::USAGE
            }
            kind => handed_on(kind.show(), &[&path], &more, show),
        },
        Own::Compare { a, b, more } => {
            let kinds = [&a, &b].map(|path| Kind::of(path));
            if kinds[0] != kinds[1] && !kinds.contains(&Kind::Unknown) {
                let [of_a, of_b] = kinds.map(Kind::words);
                say!("error: one is of {of_a}, the other of {of_b}: compare two of one kind");
                return exit::USAGE;
            }
            handed_on(kinds[0].compare(), &[&a, &b], &more, show)
        }
    }
}

/// What `show` reads.
const KNOWN: &str = "results of tplens, nccl-tests, nvbandwidth, vllm bench serve, SGLang, evalscope, perftest, ucx_perftest; \
                     topologies of nvidia-smi, rocm-smi, amd-smi, mx-smi, numactl; server logs";

/// Whether a study wrote its explanation to this file.
fn is_explanation(path: &Path) -> bool {
    let name = path.file_name().and_then(OsStr::to_str);
    name.is_some_and(|name| name.starts_with("explanation") && name.ends_with(".json"))
}

/// Carries out a command of the crate that knows a file.
fn handed_on(command: [&str; 2], paths: &[&Path], more: &[OsString], show: Show) -> u8 {
    let command = ["tplens"].into_iter().chain(command).map(OsString::from);
    let paths = paths.iter().map(OsString::from);
    let verbose = show.verbose.then(|| OsString::from("--verbose"));
    let quiet = show.quiet.then(|| OsString::from("--quiet"));
    let words = command.chain(paths).chain(more.iter().cloned());
    let words: Vec<OsString> = words.chain(verbose).chain(quiet).collect();
    run(&words)
}
