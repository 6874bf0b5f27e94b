//! One line of JSON for each request: who served it, how it ended, where its keys and values are, and its instants.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// The version of the lines.
const SCHEMA: u32 = 1;

/// A request's line. Instants are microseconds after the router had its head.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Row {
    /// Version of the line.
    pub(crate) schema: u32,
    /// Seconds since 1970 at which the request's head was there.
    pub(crate) unix_s: f64,
    /// Its `X-Request-Id`.
    pub(crate) id: String,
    /// The protocol.
    pub(crate) dialect: String,
    /// The prefill engine that served it, `host:port`.
    pub(crate) prefill: Option<String>,
    /// The decode engine.
    pub(crate) decode: Option<String>,
    /// How it ended, a code.
    pub(crate) outcome: String,
    /// Where its keys and values are, a code.
    pub(crate) kv: Kv,
    /// Seconds of the lease that ends what is held.
    pub(crate) lease_s: Option<u32>,
    /// Engines that were asked.
    pub(crate) asked: u32,
    /// Tokens of the prompt as the prefill engine counted them.
    pub(crate) prompt_tokens: Option<u64>,
    /// The body was there.
    pub(crate) body_us: Option<u64>,
    /// The prefill engine's request was sent.
    pub(crate) prefill_sent_us: Option<u64>,
    /// Its reply was whole.
    pub(crate) prefill_reply_us: Option<u64>,
    /// The decode engine's request was sent.
    pub(crate) decode_sent_us: Option<u64>,
    /// The head of its reply was there.
    pub(crate) decode_head_us: Option<u64>,
    /// The first part of its body.
    pub(crate) decode_first_us: Option<u64>,
    /// The end of its body.
    pub(crate) decode_last_us: Option<u64>,
    /// Parts of its body.
    pub(crate) parts: u64,
}

/// Where a request's keys and values are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kv {
    /// Nothing was held.
    #[default]
    None,
    /// The decode engine took them.
    Taken,
    /// The requests were closed, which frees them.
    Closed,
    /// A decode engine was asked to take them for one token, and did.
    Released,
    /// The prefill engine holds them until its lease ends.
    Lease,
}

impl Row {
    /// A line that begins now.
    pub(super) fn begun(id: String) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            schema: SCHEMA,
            unix_s: now.map_or(0.0, |since| since.as_secs_f64()),
            id,
            ..Self::default()
        }
    }
}

/// The file of lines; without one they go nowhere.
#[derive(Default)]
pub(super) struct Journal {
    file: Option<File>,
    /// Whether a line could not be written, which is said once.
    is_broken: AtomicBool,
}

impl Journal {
    /// Opens a file to append to.
    ///
    /// # Errors
    /// It cannot be opened.
    pub(super) fn open(path: Option<&Path>) -> std::io::Result<Self> {
        let file = path.map(|path| OpenOptions::new().create(true).append(true).open(path));
        Ok(Self {
            file: file.transpose()?,
            ..Self::default()
        })
    }

    /// Whether lines are kept.
    pub(super) fn is_kept(&self) -> bool {
        self.file.is_some()
    }

    /// Adds a line, at once: what a router that is killed has written can be read.
    pub(super) fn write(&self, row: &impl Serialize) {
        let Some(mut file) = self.file.as_ref() else {
            return;
        };
        // A line that was cut off ends here; empty lines are passed over.
        let end = if self.is_whole() { "" } else { "\n" };
        let row = serde_json::to_string(row).unwrap_or_default();
        let line = format!("{end}{row}\n");
        if let Err(error) = file.write_all(line.as_bytes())
            && !self.is_broken.swap(true, Relaxed)
        {
            program::say!("error: cannot write the journal: {error}");
        }
    }

    /// Whether all lines were written.
    pub(super) fn is_whole(&self) -> bool {
        !self.is_broken.load(Relaxed)
    }
}
