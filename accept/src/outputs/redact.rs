//! Identities out of a report: the machine's name, UUIDs and serials become stand-ins, in every text.
//!
//! A stand-in is the beginning of a SHA-256 and the same wherever the same thing is named, so that a fleet's reports still tell nodes
//! apart and a card is seen to move. What could be guessed is not hashed by itself: a machine's name, of which there are few likely ones,
//! is hashed together with the UUIDs of its devices, which an outsider does not know; without a UUID it is withheld. A random salt of each
//! report would be harder to guess and would make a node a stranger in every report. Who holds the devices' UUIDs (their owner, perhaps
//! their maker) can recognise the machine.
//!
//! PCI addresses stay: they name a slot of a board of which there are many. Words about things that this program does not know are only
//! searched for what has the form of a UUID, a serial, a MAC address, a host in a URL or a path of the user's own.

use sha2::{Digest, Sha256};

use super::paths;
use super::texts::{self, Place};
use crate::report::Report;

/// In place of what has no stand-in.
pub(super) const WITHHELD: &str = "(withheld)";

/// A machine whose name can only be withheld.
pub(crate) const NODE_WITHHELD: &str = "node-withheld";

/// Characters of a UUID.
const UUID: usize = 36;

/// Hexadecimal digits in a row that nobody guesses.
const STRONG_DIGITS: usize = 16;

/// Shorter names and serials are parts of too many other words to be searched for.
const SEARCHED: usize = 3;

/// The report without identities, unless they are to stay.
///
/// A report that says that it has none is returned as it is.
pub(crate) fn redacted(mut report: Report, identify: bool) -> Report {
    if identify || !report.node.identified {
        return report;
    }
    let stand_ins = StandIns::of(&report);
    texts::each(&mut report, &mut |place, text| match place {
        Place::NodeName => text.clone_from(&stand_ins.node),
        Place::Identity => *text = stand_ins.of_identity(text),
        Place::Key | Place::Profile => {}
        Place::Model => *text = stand_ins.known_words(text),
        Place::Words => *text = stand_ins.words(text),
    });
    report.node.identified = false;
    report
}

/// A report as its run has it and as it was written, both as they are held against each other: with identities where the written one has
/// them, else without. What an earlier version of this program left in words is taken out of both.
pub(super) fn alike(kept: &Report, written: &Report) -> [Report; 2] {
    if written.node.identified {
        return [kept.clone(), written.clone()];
    }
    let stand_ins = StandIns::of(kept);
    [redacted(kept.clone(), false), written.clone()].map(|mut report| {
        texts::each(&mut report, &mut |place, text| {
            if place == Place::Words {
                *text = stand_ins.words(text);
            }
        });
        report
    })
}

/// What stands for the identities of one report.
struct StandIns {
    /// The machine.
    node: String,
    /// Hash of all that an outsider does not know.
    key: String,
    /// Words to look for, longest first, and what takes their place.
    known: Vec<(String, String)>,
}

impl StandIns {
    fn of(report: &Report) -> Self {
        let name = &report.node.name;
        let devices = report.devices.iter();
        let mut identities: Vec<&str> = devices
            .filter_map(|device| device.identity.as_deref())
            .collect();
        identities.sort_unstable();
        let strong: Vec<&str> = identities
            .iter()
            .copied()
            .filter(|id| is_strong(id))
            .collect();
        let key = hash(&["key", name, &identities.join(" ")]);
        let node = if strong.is_empty() {
            NODE_WITHHELD.to_owned()
        } else {
            format!(
                "node-{}",
                hash(&["node", &name.to_ascii_lowercase(), &strong.join(" ")])
            )
        };
        let mut stand_ins = Self {
            node,
            key,
            known: Vec::new(),
        };
        // `node17` stands alone, too, where the machine is called node17.example.
        let short = name.split('.').next().unwrap_or(name);
        let named = [name.as_str(), short].map(|name| (name.to_owned(), stand_ins.node.clone()));
        let identified = identities
            .iter()
            .map(|id| ((*id).to_owned(), stand_ins.of_identity(id)));
        let mut known: Vec<(String, String)> = named.into_iter().chain(identified).collect();
        known.retain(|(word, _)| word.len() >= SEARCHED);
        known.sort_by_key(|(word, _)| std::cmp::Reverse(word.len()));
        stand_ins.known = known;
        stand_ins
    }

    /// What stands for a UUID or serial. One that nobody guesses has the same stand-in in every report; a serial, of which there are few
    /// likely ones, is hashed together with the rest of this machine.
    fn of_identity(&self, identity: &str) -> String {
        if is_strong(identity) {
            return format!("id-{}", hash(&["id", core(identity)]));
        }
        format!("id-{}", hash(&["id", &self.key, identity]))
    }

    /// A text without the words that this report is known to hold.
    fn known_words(&self, text: &str) -> String {
        let replace = |text: String, (word, with): &(String, String)| replaced(&text, word, with);
        self.known.iter().fold(text.to_owned(), replace)
    }

    /// A text without those and without what has the form of an identity.
    fn words(&self, text: &str) -> String {
        let text = self.known_words(text);
        let text = forms(&text, uuid, |found| self.of_identity(found));
        let text = forms(&text, mac_address, |_| WITHHELD.to_owned());
        let text = hosts(&text);
        serials(&paths::withheld(&text))
    }
}

/// Whether nobody guesses an identity.
fn is_strong(identity: &str) -> bool {
    let bytes = identity.as_bytes();
    (0..bytes.len()).any(|at| uuid(bytes, at).is_some())
        || bytes
            .split(|byte| !byte.is_ascii_hexdigit())
            .any(|run| run.len() >= STRONG_DIGITS && run.iter().any(u8::is_ascii_alphabetic))
}

/// A UUID without what vendors put before and after it, so that both spellings have one stand-in.
fn core(identity: &str) -> &str {
    let bytes = identity.as_bytes();
    let found = (0..bytes.len()).find_map(|at| Some((at, uuid(bytes, at)?)));
    found
        .and_then(|(at, length)| identity.get(at..at + length))
        .unwrap_or(identity)
}

/// The beginning of a hash over some texts, 40 bits: a fleet of a thousand has two alike once in two million times.
fn hash(parts: &[&str]) -> String {
    let mut sha = Sha256::new();
    sha.update("tplens accept stand-in");
    for part in parts {
        sha.update([0]);
        sha.update(part.to_ascii_lowercase());
    }
    sha.finalize()[..5]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// Length of the UUID that begins here.
fn uuid(bytes: &[u8], at: usize) -> Option<usize> {
    let found = bytes.get(at..at + UUID)?;
    let has_form = found.iter().enumerate().all(|(place, byte)| match place {
        8 | 13 | 18 | 23 => *byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    });
    has_form.then_some(UUID)
}

/// Length of the MAC address that begins here: six pairs of hexadecimal digits, with no more of them on either side.
fn mac_address(bytes: &[u8], at: usize) -> Option<usize> {
    const LENGTH: usize = 17;
    let found = bytes.get(at..at + LENGTH)?;
    let has_form = found
        .iter()
        .enumerate()
        .all(|(place, byte)| match place % 3 {
            2 => *byte == b':',
            _ => byte.is_ascii_hexdigit(),
        });
    let goes_on =
        |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_hexdigit() || *byte == b':');
    let before = at.checked_sub(1).and_then(|before| bytes.get(before));
    (has_form && !goes_on(before) && !goes_on(bytes.get(at + LENGTH))).then_some(LENGTH)
}

/// A text with everything of a form replaced; the form is of ASCII characters.
fn forms(
    text: &str,
    form: fn(&[u8], usize) -> Option<usize>,
    with: impl Fn(&str) -> String,
) -> String {
    let bytes = text.as_bytes();
    let (mut made, mut copied, mut at) = (String::with_capacity(text.len()), 0, 0);
    while at < bytes.len() {
        if let Some(length) = form(bytes, at) {
            made.push_str(&text[copied..at]);
            made.push_str(&with(&text[at..at + length]));
            at += length;
            copied = at;
        } else {
            at += 1;
        }
    }
    made.push_str(&text[copied..]);
    made
}

/// Whether a character ends what stands in a text without blanks, as a URL does.
pub(super) fn ends_word(c: char) -> bool {
    c.is_whitespace() || "\"'`)>;,".contains(c)
}

/// A text with what follows the mark of a URL withheld.
fn hosts(text: &str) -> String {
    const MARK: &str = "://";
    let mut parts = text.split(MARK);
    let mut made = parts.next().unwrap_or_default().to_owned();
    for rest in parts {
        made.push_str(MARK);
        let end = rest.find(ends_word).unwrap_or(rest.len());
        if end > 0 {
            made.push_str(WITHHELD);
        }
        made.push_str(&rest[end..]);
    }
    made
}

/// A text with what is called a serial withheld: a word with a digit after `serial`, `serial number:`, `S/N` and the like.
fn serials(text: &str) -> String {
    let (mut made, mut is_next) = (String::with_capacity(text.len()), false);
    for word in text.split_inclusive(|c: char| c.is_whitespace() || "=:#,;".contains(c)) {
        let plain = word.trim_matches(|c: char| !is_of_name(c));
        let lower = plain.to_ascii_lowercase();
        if is_next && plain.len() >= 5 && plain.contains(|c: char| c.is_ascii_digit()) {
            made.push_str(&word.replacen(plain, WITHHELD, 1));
            is_next = false;
            continue;
        }
        let names_it = [
            "serial",
            "serialnumber",
            "serial_number",
            "serial-number",
            "s/n",
            "sn",
        ]
        .contains(&lower.as_str());
        // `number`, `no.` and signs may stand between.
        is_next = names_it
            || (is_next
                && (plain.is_empty() || ["number", "no", "nr", "is"].contains(&lower.as_str())));
        made.push_str(word);
    }
    made
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || "-_./".contains(c)
}

/// A text with a word replaced wherever it is no part of a longer one, whatever the case of its letters.
fn replaced(text: &str, word: &str, with: &str) -> String {
    // ASCII letters keep their length when their case is changed, so that places in one text are places in the other.
    let (lower, word) = (text.to_ascii_lowercase(), word.to_ascii_lowercase());
    let (mut made, mut copied) = (String::with_capacity(text.len()), 0);
    for (at, found) in lower.match_indices(&word) {
        let end = at + found.len();
        let before = lower[..at].chars().next_back();
        let after = lower[end..].chars().next();
        let is_part = [before, after]
            .into_iter()
            .flatten()
            .any(char::is_alphanumeric);
        if !is_part && at >= copied {
            made.push_str(&text[copied..at]);
            made.push_str(with);
            copied = end;
        }
    }
    made.push_str(&text[copied..]);
    made
}
