//! The names that programs had before they were one: a link of such a name is the command that the program became.

use std::ffi::{OsStr, OsString};
use std::path::Path;

/// A program's name, the command that it is now, and those of its subcommands that are commands now.
const OLD: [(&str, &str, &[&str]); 4] = [
    (
        "p2p-bw",
        "p2p",
        &["topo", "numa", "doctor", "monitor", "help"],
    ),
    ("allreduce-bench", "allreduce", &["help"]),
    (
        "serve-bench",
        "serve",
        &["study", "demo", "ablate", "explain", "predict", "help"],
    ),
    ("accept", "accept", &["help"]),
];

/// The words of `tplens` for those of a process, its program's name first.
pub(crate) fn translated(mut words: Vec<OsString>) -> Vec<OsString> {
    let name = words.first().map(Path::new).and_then(Path::file_name);
    let old = OLD.iter().find(|(old, ..)| name == Some(OsStr::new(old)));
    if let Some((_, command, moved)) = old {
        let is_moved = words
            .get(1)
            .is_some_and(|word| moved.iter().any(|moved| word == moved));
        let is_half = *command == "serve" && words.get(1).is_some_and(|word| word == "half-model");
        if is_half {
            words[1] = OsString::from("half");
        } else if !is_moved {
            words.insert(1, OsString::from(command));
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_name_is_its_command() {
        let told = |line: &str| {
            let words = translated(line.split(' ').map(OsString::from).collect());
            let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
            words[1..].join(" ")
        };
        for (line, command) in [
            ("/opt/bin/p2p-bw --gpus 0,1", "p2p --gpus 0,1"),
            ("p2p-bw topo --from a", "topo --from a"),
            ("serve-bench run --base-url u", "serve run --base-url u"),
            ("serve-bench study --tp 1", "study --tp 1"),
            ("serve-bench half-model --tp 2", "half --tp 2"),
            ("accept run --profile p", "accept run --profile p"),
            ("p2p-bw help link-below-slot", "help link-below-slot"),
            ("tplens p2p", "p2p"),
            ("tplens", ""),
        ] {
            assert_eq!(told(line), command, "{line}");
        }
    }
}
