//! A validation from its command line to its exit code.

use std::path::Path;

use measure::exit;
use program::compare::Compared;
use program::{outputs, say};

use super::args::ValidateArgs;
use super::assumption::Assumption;
use super::report::Report;
use super::text;

/// Runs the cases, prints the report, and gives the exit code: 0 where all bounds hold, else 3.
pub(crate) fn run(args: &ValidateArgs) -> u8 {
    let json = args.json.as_deref().filter(|path| *path != Path::new("-"));
    if let Some(Err(reason)) = json.map(|path| outputs::check_file("--json", path)) {
        say!("error: {reason}");
        return exit::USAGE;
    }
    outputs::compared(validated(args))
}

fn validated(args: &ValidateArgs) -> anyhow::Result<Compared> {
    let broken = match &args.broken[..] {
        [] => &Assumption::ALL[..],
        named => named,
    };
    let report = Report::new(args.seed, args.cases, broken)?;
    let json = serde_json::to_string_pretty(&report)? + "\n";
    let is_stdout = args.json.as_deref() == Some(Path::new("-"));
    Ok(Compared {
        shown: if is_stdout {
            json.clone()
        } else {
            text::text(&report)
        },
        file: args
            .json
            .clone()
            .filter(|_| !is_stdout)
            .map(|path| (path, json)),
        exit_code: if report.holds() {
            exit::DONE
        } else {
            exit::INCONCLUSIVE
        },
    })
}
