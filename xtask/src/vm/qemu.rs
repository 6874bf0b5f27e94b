//! Boots a machine under QEMU and hands back what its guest wrote.
//!
//! Always by software emulation, so that a host with KVM gives the same run. It judges nothing that the guest says.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::machines::Machine;
use super::packages::Tree;

/// The kernel's command line. Self-tests, watchdogs and walls against enemies cost time and change no answer; a huge page, which
/// the kernel counts as one, would.
const KERNEL: &str = "console=ttyS0 quiet panic=-1 cryptomgr.notests nowatchdog mitigations=off nokaslr transparent_hugepage=never";
/// What a line of the guest's begins with that names a section.
const MARK: &str = "@@ ";
/// The last section.
const END: &str = "end";
/// Lines of the console that are shown where a machine did not end by itself.
const TAIL: usize = 25;

/// What a command in the guest did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Section {
    pub(super) code: i32,
    pub(super) output: String,
    pub(super) messages: String,
}

/// What the guest wrote, by the name of the section.
pub(super) type Sections = BTreeMap<String, Section>;

/// Why a guest did not come to its end; each with the end of its console.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// Its time was over.
    Late(String),
    /// Anything else.
    Broken(String),
}

/// Boots the machine and waits for its end, so many seconds at most; `folder` gets the console and what the guest wrote.
///
/// The inner result says what went wrong with this machine.
pub(super) fn boot(
    tree: &Tree,
    machine: &Machine,
    initramfs: &Path,
    folder: &Path,
    seconds: u64,
) -> Result<Result<Sections, Failure>> {
    fs::create_dir_all(folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    let (console, data) = (folder.join("console.txt"), folder.join("guest.txt"));
    let mut timeout = Command::new("timeout");
    // In the foreground it stays in this process group, so that Ctrl-C ends the machine too.
    timeout.args(["--foreground", "--kill-after=5", &seconds.to_string()]);
    timeout.arg(tree.loader()?);
    let mut command = tree.loaded(timeout);
    command
        .arg(tree.file("usr/bin/qemu-system-x86_64"))
        // Started by the loader, QEMU does not find its modules beside itself.
        .env(
            "QEMU_MODULE_DIR",
            tree.file("usr/lib/x86_64-linux-gnu/qemu"),
        );
    for firmware in ["qemu", "seabios"] {
        command.arg("-L").arg(tree.file("usr/share").join(firmware));
    }
    command.arg("-L").arg(tree.file("usr/lib/ipxe/qemu"));
    command.args("-machine q35 -accel tcg,thread=multi -cpu qemu64".split(' '));
    command.args("-nodefaults -display none -no-reboot".split(' '));
    for file in [&console, &data] {
        command
            .arg("-serial")
            .arg(format!("file:{}", file.display()));
    }
    command.arg("-kernel").arg(tree.kernel()?);
    command.arg("-initrd").arg(initramfs);
    command.args(["-append", KERNEL]);
    command.args(machine.arguments.split_whitespace());
    let start = Instant::now();
    let output = command
        .stdin(Stdio::null())
        .output()
        .context("timeout did not start")?;
    // What `timeout` exits with is its own number, or the signal's where it had to kill; the clock tells both.
    let late = start.elapsed() >= Duration::from_secs(seconds);
    let sections = sections(&read(&data));
    if output.status.success() && sections.contains_key(END) {
        return Ok(Ok(sections));
    }
    let why = match (late, output.status.success()) {
        (true, _) => String::new(),
        (false, true) => "the guest ended early".to_owned(),
        (false, false) => format!("QEMU: {}", output.status),
    };
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    let told = [why, said, tail(&read(&console))]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join("\n");
    Ok(Err(if late {
        Failure::Late(told)
    } else {
        Failure::Broken(told)
    }))
}

/// A file that QEMU wrote; nothing where it did not come to that.
fn read(file: &Path) -> String {
    let bytes = fs::read(file).unwrap_or_default();
    String::from_utf8_lossy(&bytes).replace('\r', "")
}

/// Reads `@@ NAME CODE`, the output, `@@ NAME.messages 0`, the messages.
fn sections(text: &str) -> Sections {
    let mut sections = Sections::new();
    for part in format!("\n{text}").split(&format!("\n{MARK}")).skip(1) {
        let (head, body) = part.split_once('\n').unwrap_or((part, ""));
        let mut words = head.split(' ');
        let name = words.next().unwrap_or_default();
        let code = words.next().and_then(|code| code.parse().ok());
        match (name.strip_suffix(".messages"), code) {
            (Some(name), _) => {
                sections.entry(name.to_owned()).or_default().messages = body.trim().to_owned();
            }
            (None, Some(code)) => {
                let section = sections.entry(name.to_owned()).or_default();
                (section.code, section.output) = (code, body.trim_end().to_owned());
            }
            // Cut off within the line.
            (None, None) => {}
        }
    }
    sections
}

fn tail(console: &str) -> String {
    let lines: Vec<&str> = console
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    let last = &lines[lines.len().saturating_sub(TAIL)..];
    last.iter()
        .map(|line| format!("  console: {line}"))
        .collect::<Vec<_>>()
        .join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_code_and_messages_of_a_command_are_read() {
        let text = "@@ prove 3\n{\"a\":1}\n\n@@ prove.messages 0\nnot allowed\n\n@@ end 0\n";
        let sections = sections(text);
        assert_eq!(
            sections["prove"],
            Section {
                code: 3,
                output: "{\"a\":1}".to_owned(),
                messages: "not allowed".to_owned(),
            }
        );
        assert!(sections.contains_key(END));
    }

    #[test]
    fn a_guest_that_was_cut_off_has_no_end() {
        let sections = sections("@@ numactl 0\navailable: 2 nodes (0-1)\n@@ en");
        assert_eq!(sections.len(), 1);
        assert!(!sections.contains_key(END));
    }

    #[test]
    fn the_end_of_a_console_is_shown_without_blank_lines() {
        let console: String = (0..30).map(|line| format!("line {line}\n\n")).collect();
        let tail = tail(&console);
        // 30 lines, the last 25: 5 to 29.
        assert!(tail.starts_with("  console: line 5\n"), "{tail}");
        assert!(tail.ends_with("\n  console: line 29"));
    }
}
