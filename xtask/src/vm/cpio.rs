//! [`Archive`]: an initramfs in the form that the kernel unpacks (`newc`, Documentation/driver-api/early-userspace/buffer-format).
//!
//! It writes folders and regular files of root, and neither links nor device nodes. It compresses nothing: what software
//! emulation would take to unpack is more than what is saved.

use std::collections::BTreeSet;

/// The type bits of a folder and of a regular file in `mode`, with the permissions that are given.
const FOLDER: u32 = 0o040_755;
const FILE: u32 = 0o100_644;
const PROGRAM: u32 = 0o100_755;
/// The name of the entry that ends an archive.
const TRAILER: &str = "TRAILER!!!";

/// An archive that grows entry by entry.
#[derive(Default)]
pub(super) struct Archive {
    bytes: Vec<u8>,
    entries: u32,
    /// Folders that are in it.
    folders: BTreeSet<String>,
}

impl Archive {
    /// Adds a folder and those above it, where they are not there yet; `path` has no slash at its ends.
    pub(super) fn folder(&mut self, path: &str) {
        if path.is_empty() || !self.folders.insert(path.to_owned()) {
            return;
        }
        self.parents(path);
        self.entry(path, FOLDER, &[]);
    }

    /// Adds a file that is read.
    pub(super) fn file(&mut self, path: &str, content: &[u8]) {
        self.parents(path);
        self.entry(path, FILE, content);
    }

    /// Adds a file that is run.
    pub(super) fn program(&mut self, path: &str, content: &[u8]) {
        self.parents(path);
        self.entry(path, PROGRAM, content);
    }

    /// The archive, ended.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.entry(TRAILER, 0, &[]);
        self.bytes
    }

    fn parents(&mut self, path: &str) {
        if let Some((parent, _)) = path.rsplit_once('/') {
            self.folder(parent);
        }
    }

    fn entry(&mut self, path: &str, mode: u32, content: &[u8]) {
        self.entries += 1;
        self.bytes.extend(b"070701");
        // The size of a file is 32 bits wide, as all fields are; nothing here comes near.
        let size = u32::try_from(content.len()).unwrap_or(u32::MAX);
        let name = u32::try_from(path.len() + 1).unwrap_or(u32::MAX);
        // Inode, mode, owner, group, links, time, size, device and its minor, node and its minor, name with its end, checksum.
        for field in [self.entries, mode, 0, 0, 1, 0, size, 0, 0, 0, 0, name, 0] {
            self.bytes.extend(format!("{field:08X}").bytes());
        }
        self.bytes.extend(path.bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend(content);
        self.pad();
    }

    /// Names and contents end at multiples of four bytes.
    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_a_header_of_110_characters_a_name_and_a_content_padded_to_four() {
        let mut archive = Archive::default();
        archive.program("init", b"#!/x\n");
        let bytes = archive.finish();
        // 6 + 13 x 8 = 110 characters; with `init` and its end 115, padded 116; 5 bytes of content, padded 8: 124.
        let header = concat!(
            "070701", "00000001", "000081ED", "00000000", "00000000", "00000001", "00000000",
            "00000005", "00000000", "00000000", "00000000", "00000000", "00000005", "00000000",
        );
        assert_eq!(header.len(), 110);
        assert_eq!(bytes[..110], *header.as_bytes());
        assert_eq!(bytes[110..124], *b"init\0\0#!/x\n\0\0\0");
        // The trailer: 110 + 11 = 121, padded 124; 124 + 124 = 248.
        assert_eq!(bytes[124 + 110..124 + 121], *b"TRAILER!!!\0");
        assert_eq!(bytes.len(), 248);
    }

    #[test]
    fn folders_come_before_what_is_in_them_and_once() {
        let mut archive = Archive::default();
        archive.file("a/b/one", b"");
        archive.file("a/b/two", b"");
        archive.folder("a");
        let text = String::from_utf8(archive.finish()).unwrap();
        let names: Vec<&str> = text
            .split("070701")
            .skip(1)
            .map(|entry| entry[104..].trim_end_matches('\0'))
            .collect();
        assert_eq!(names, ["a", "a/b", "a/b/one", "a/b/two", TRAILER]);
    }
}
