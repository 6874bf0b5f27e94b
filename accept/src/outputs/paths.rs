//! Paths of the user's own out of a text: where somebody's files are tells who they are, on whatever disk.
//!
//! Paths of the system stay: they are alike on every machine. A path with a blank in it is known up to the blank.

use super::redact::{WITHHELD, ends_word};

/// Folders that are alike on every machine.
const SYSTEM: [&str; 13] = [
    "/bin/",
    "/boot/",
    "/dev/",
    "/etc/",
    "/lib/",
    "/lib64/",
    "/opt/",
    "/proc/",
    "/sbin/",
    "/sys/",
    "/usr/",
    "/var/lib/",
    "/var/log/",
];

/// Folders below them that are users'.
const NOT_SYSTEM: [&str; 1] = ["/dev/shm/"];

/// Ends of files' names, whose name stays where the folder is withheld; other names may be a user's.
const ENDS: [&str; 12] = [
    "conf", "csv", "html", "json", "jsonl", "log", "prom", "py", "sh", "toml", "txt", "xml",
];

/// A text with every path of the user's own withheld, but for the name of a file.
pub(super) fn withheld(text: &str) -> String {
    let (mut made, mut rest) = (String::with_capacity(text.len()), text);
    let mut before = None;
    while let Some(c) = rest.chars().next() {
        let length = match begins(before, rest) {
            true => end(rest),
            false => c.len_utf8(),
        };
        let (part, behind) = rest.split_at(length);
        match begins(before, rest) {
            true => made.push_str(&shown(part)),
            false => made.push_str(part),
        }
        before = part.chars().next_back();
        rest = behind;
    }
    made
}

/// Whether a path begins here: a slash, or the sign for a home, with a name behind it and nothing before it that it could be a part of.
fn begins(before: Option<char>, rest: &str) -> bool {
    let is_of_word = |c: char| c.is_alphanumeric() || "-_.~/)".contains(c);
    if before.is_some_and(is_of_word) {
        return false;
    }
    let mut characters = rest.chars();
    let first = characters.next();
    let next = characters.as_str();
    let is_named = next.starts_with(|c: char| c.is_alphanumeric() || "-_.".contains(c));
    match first {
        Some('/') => is_named || next.starts_with(WITHHELD),
        // `~3 GB/s` is no home.
        Some('~') => next.starts_with(|c: char| c.is_alphabetic() || c == '/'),
        _ => false,
    }
}

/// Where the path at the beginning of a text ends. A colon is a part of it unless a path, a blank or nothing follows; what was withheld
/// before is one, too.
fn end(text: &str) -> usize {
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        if text[at..].starts_with(WITHHELD) {
            at += WITHHELD.len();
            continue;
        }
        let behind = &text[at + c.len_utf8()..];
        let is_last_colon = c == ':'
            && behind
                .chars()
                .next()
                .is_none_or(|next| next == '/' || next == '~' || ends_word(next));
        if ends_word(c) || is_last_colon {
            break;
        }
        at += c.len_utf8();
    }
    at
}

/// What is shown of a path.
fn shown(path: &str) -> String {
    let is_in = |folders: &[&str]| folders.iter().any(|folder| path.starts_with(folder));
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    // `/health`, `/proc` and `</b>` are in nobody's folder.
    let is_rooted = folder.is_empty() && path.starts_with('/');
    if is_rooted || (is_in(&SYSTEM) && !is_in(&NOT_SYSTEM)) {
        return path.to_owned();
    }
    // A full stop ends a sentence, and is no part of the name.
    let plain = name.trim_end_matches('.');
    let is_file = plain
        .rsplit_once('.')
        .is_some_and(|(stem, end)| !stem.is_empty() && ENDS.contains(&end));
    let is_library = plain.contains(".so");
    let stop = &name[plain.len()..];
    match is_file || is_library {
        true => format!("{WITHHELD}/{name}"),
        false => format!("{WITHHELD}{stop}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_the_user_s_own_is_withheld_but_for_a_file_s_name() {
        let homes = "/home";
        for (text, expected) in [
            (
                "its words are in /mnt/users/alice/run/p2p.log",
                "its words are in (withheld)/p2p.log",
            ),
            ("on /data/alice.", "on (withheld)."),
            (
                "NCCL_TOPO_FILE=/nfs/lab/alice/topo.xml, set",
                "NCCL_TOPO_FILE=(withheld)/topo.xml, set",
            ),
            (
                "PATH=/usr/bin:/scratch/alice/bin:/opt/x",
                "PATH=/usr/bin:(withheld):/opt/x",
            ),
            ("`/srv/a:b/alice`: gone", "`(withheld)`: gone"),
            (
                "~alice/venv and ~/x, ~3 GB/s",
                "(withheld) and (withheld), ~3 GB/s",
            ),
            (
                "/data/alice/lib/libnccl.so.2 not found",
                "(withheld)/libnccl.so.2 not found",
            ),
            ("/dev/shm/alice-1", "(withheld)"),
        ] {
            assert_eq!(withheld(text), expected);
            // Done twice it is the same.
            assert_eq!(withheld(&withheld(text)), expected);
        }
        assert_eq!(withheld(&format!("{homes}/alice")), "(withheld)");
        assert_eq!(
            withheld(&format!("{homes}/(withheld)/run/a.log")),
            "(withheld)/a.log"
        );
    }

    #[test]
    fn paths_of_the_system_and_what_is_no_path_stay() {
        for text in [
            "/sys/bus/pci/devices/0000:21:00.0/aer_dev_fatal cannot be read",
            "/proc/driver/nvidia, /usr/lib/x86_64-linux-gnu/libcuda.so.1, /opt/rocm/lib, /dev/kmsg: denied",
            "25.4 GB/s of 28.8 GB/s, 1/2, and/or, 4 KB/s a pair",
            "asked http://(withheld) at /health and </b>",
            "groups/host_links/record.json",
        ] {
            assert_eq!(withheld(text), text);
        }
    }
}
