//! What is found in a reply's body while it comes in: the chunks with tokens and their instants, counts, errors.
//!
//! Runs behind each read, after its instant was taken; it keeps instants and counts, and no text. A chunk carries the instant of
//! the read that completed it.

use std::borrow::Cow;
use std::time::Instant;

use openai::{Carries, Event, LineTooLong, MAX_LINE_BYTES, Reader, Seen, Usage, look, words};
use record::{RequestError, RequestErrorKind as Kind};

use super::MAX_MODEL_BYTES;
use super::intake::failed;

/// Bytes that are kept of what may not be a stream.
const OPENING_BYTES: usize = 4 << 10;

/// Bytes that are kept of an error's body.
const ERROR_BYTES: usize = 64 << 10;

/// Members that hold a token's text, up to it, as engines write them.
const TEXTS: [&[u8]; 4] = [
    br#""text":""#,
    br#""content":""#,
    br#""reasoning_content":""#,
    br#""reasoning":""#,
];

/// So many chunks in a row that differ in more than their text are compared no longer.
const UNLIKE: u32 = 8;

/// What was found in a body so far.
#[derive(Debug, Default)]
pub(super) struct Content {
    form: Form,
    reader: Reader,
    /// The body's beginning, until an event came; all of it where it is not a stream.
    kept: Vec<u8>,
    /// Bytes of a body that is no stream.
    whole_bytes: usize,
    /// When the first bytes came.
    pub(super) first: Option<Instant>,
    /// Chunks with tokens so far.
    pub(super) chunks: Vec<Chunk>,
    /// What chunks with nothing but text look like.
    alike: Option<Alike>,
    /// Chunks in a row that look like none before.
    unlike: u32,
    /// Empty text with a finish reason after which no more tokens came.
    empty_finish: Option<Chunk>,
    /// The server's count; the last one.
    pub(super) usage: Option<Usage>,
    /// The model that the last chunk with one names.
    pub(super) model: Option<String>,
    /// Whether the reply says that it is complete.
    pub(super) is_complete: bool,
    /// Whether the stream said that nothing follows.
    pub(super) is_over: bool,
    failure: Option<RequestError>,
}

/// What a body is.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Nothing but white space came.
    #[default]
    Unknown,
    /// It does not begin like one JSON object, so it is read as events; whether there was one.
    Stream { events: bool },
    /// One JSON object.
    Object,
    /// Of an error, in whatever form.
    Error,
}

/// A chunk with tokens.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chunk {
    /// When it came.
    at: Instant,
    /// Token ids in it.
    ids: Option<u32>,
    /// The server's count at it.
    total: Option<u32>,
}

/// An object that carried tokens, without its text: neither ids, nor a count, nor an end. One that differs in the text alone, which is
/// not empty, says the same, and needs not be read as JSON: that takes most of the time of a chunk.
#[derive(Debug)]
struct Alike {
    begin: Vec<u8>,
    behind: Vec<u8>,
}

impl Alike {
    /// Of such an object; `None` where it is large, or its text does not stand in it as it is.
    fn of(data: &[u8]) -> Option<Self> {
        if data.len() > OPENING_BYTES {
            return None;
        }
        let behind_text = |name: &&[u8]| {
            let at = data.windows(name.len()).position(|part| part == *name);
            at.map(|at| at + name.len())
        };
        let begin = TEXTS.iter().find_map(behind_text)?;
        let length = data[begin..].iter().position(|byte| *byte == b'"')?;
        let (text, behind) = data[begin..].split_at(length);
        is_plain(text).then(|| Self {
            begin: data[..begin].to_vec(),
            behind: behind.to_vec(),
        })
    }

    /// Whether an object differs from it in the text alone.
    fn is(&self, data: &[u8]) -> bool {
        let text = data.strip_prefix(&self.begin[..]);
        let text = text.and_then(|text| text.strip_suffix(&self.behind[..]));
        text.is_some_and(is_plain)
    }
}

/// Whether it is a text that stands in JSON as it is.
fn is_plain(text: &[u8]) -> bool {
    let is_plain = |byte: &u8| *byte >= b' ' && !matches!(byte, b'"' | b'\\');
    !text.is_empty() && text.iter().all(is_plain) && std::str::from_utf8(text).is_ok()
}

/// The chunks with tokens of a whole reply.
#[derive(Debug, Default, PartialEq)]
pub(super) struct TokenChunks {
    /// When each came.
    pub(super) instants: Vec<Instant>,
    /// Tokens in each; empty where the server does not tell.
    pub(super) tokens: Vec<u32>,
    /// All tokens by the ids that came with them.
    pub(super) by_ids: Option<u32>,
}

impl Content {
    /// Takes a part of the body of a reply that did or did not succeed.
    ///
    /// # Errors
    /// It is too large to be kept.
    pub(super) fn take(
        &mut self,
        bytes: &[u8],
        at: Instant,
        success: bool,
    ) -> Result<(), RequestError> {
        if self.first.is_none() {
            self.first = Some(at);
        }
        if self.form == Form::Unknown {
            self.form = match bytes.trim_ascii_start().first() {
                _ if !success => Form::Error,
                None => Form::Unknown,
                Some(b'{') => Form::Object,
                Some(_) => Form::Stream { events: false },
            };
        }
        let (limit, whole) = match self.form {
            Form::Error => (ERROR_BYTES, Some("the body of the error")),
            Form::Object => (MAX_LINE_BYTES, Some("the reply is one object and")),
            Form::Unknown | Form::Stream { events: false } => (OPENING_BYTES, None),
            Form::Stream { events: true } => (0, None),
        };
        self.keep(bytes, limit);
        let Some(whole) = whole else {
            return self.events(bytes, at);
        };
        self.whole_bytes += bytes.len();
        match self.whole_bytes > MAX_LINE_BYTES {
            true => Err(too_large(whole)),
            false => Ok(()),
        }
    }

    /// The body has ended, or there will be no more of it.
    pub(super) fn end(&mut self, at: Instant) {
        if self.form == Form::Object {
            self.look_at_object();
        }
        let mut reader = std::mem::take(&mut self.reader);
        if let Some(event) = reader.finish() {
            self.event(event, at);
        }
    }

    /// Why it failed by what stands in it; the body of a reply with an error status is not looked at.
    pub(super) fn failure(&self, streamed: bool, is_whole: bool) -> Option<RequestError> {
        if self.failure.is_some() {
            return self.failure.clone();
        }
        match self.form {
            Form::Stream { events: true } if streamed => None,
            Form::Stream { events: true } => Some(failed(
                Kind::Garbled,
                "the server streams where one object was asked for",
            )),
            // What is cut off is not judged by what is missing.
            _ if !is_whole || self.form == Form::Error => None,
            _ if streamed => Some(self.no_stream()),
            _ => look(&self.kept).err().map(|error| {
                let seen = format!("the reply is not JSON of the OpenAI kind: {error}");
                failed(Kind::Garbled, seen)
            }),
        }
    }

    fn look_at_object(&mut self) {
        let kept = std::mem::take(&mut self.kept);
        if let Ok(seen) = look(&kept) {
            self.failure = seen.error.map(|words| failed(Kind::InStream, words));
            self.is_complete = seen.finished || seen.carries > Carries::Nothing;
            self.usage = seen.usage;
            self.model = seen.model.map(short);
        }
        self.kept = kept;
    }

    /// The words of an error's body.
    pub(super) fn error_words(&self) -> String {
        match look(&self.kept).map(|seen| seen.error) {
            Ok(Some(words)) => words,
            _ => words(&String::from_utf8_lossy(&self.kept)),
        }
    }

    /// The chunks with tokens.
    ///
    /// Where the server tells its count along the way, empty text with the finish reason is a token if the count rose with it. Else
    /// it is one where the server counted one more than other chunks came, or where it counted none and nothing else came. With
    /// more than one token too many, chunks hold several, and it need not hold any.
    pub(super) fn token_chunks(&self) -> TokenChunks {
        let certain = self.chunks.len();
        let counted = self.usage.and_then(|usage| usage.completion_tokens);
        let before = every(&self.chunks, |chunk| chunk.total);
        let before = before.and_then(|totals| totals.last().copied());
        let is_token = |finish: &Chunk| match before.zip(finish.total) {
            Some((before, total)) => total > before,
            None => counted.map_or(certain == 0, |count| count as usize == certain + 1),
        };
        let last = self.empty_finish.filter(is_token);
        let chunks: Vec<Chunk> = self.chunks.iter().copied().chain(last).collect();
        let ids = every(&chunks, |chunk| chunk.ids);
        let by_ids = ids.as_ref().map(|ids| ids.iter().sum());
        let totals = || every(&chunks, |chunk| chunk.total);
        let told = ids.or_else(|| differences(&totals()?));
        // Lists that are always empty tell nothing.
        let told = told.filter(|tokens| tokens.iter().any(|tokens| *tokens > 0));
        TokenChunks {
            by_ids: by_ids.filter(|sum| *sum > 0),
            tokens: told.unwrap_or_default(),
            instants: chunks.iter().map(|chunk| chunk.at).collect(),
        }
    }

    fn keep(&mut self, bytes: &[u8], limit: usize) {
        let room = limit.saturating_sub(self.kept.len()).min(bytes.len());
        self.kept.extend_from_slice(&bytes[..room]);
    }

    fn events(&mut self, bytes: &[u8], at: Instant) -> Result<(), RequestError> {
        // The reader stands aside, so that events borrowed from it can be taken.
        let mut reader = std::mem::take(&mut self.reader);
        let mut rest = bytes;
        loop {
            match reader.next(&mut rest) {
                Ok(Some(event)) => self.event(event, at),
                Ok(None) => break,
                Err(LineTooLong) => return Err(too_large("one line or event")),
            }
        }
        self.reader = reader;
        Ok(())
    }

    fn event(&mut self, event: Event<'_>, at: Instant) {
        if self.form != (Form::Stream { events: true }) {
            self.form = Form::Stream { events: true };
            self.kept = Vec::new();
        }
        // What stands behind a failure, or behind the end, says nothing more.
        if self.failure.is_some() || self.is_over {
            return;
        }
        if event.data.trim_ascii() == b"[DONE]" {
            (self.is_complete, self.is_over) = (true, true);
            return;
        }
        if !event.error
            && self
                .alike
                .as_ref()
                .is_some_and(|alike| alike.is(event.data))
        {
            self.unlike = 0;
            return self.chunk(at, None, None);
        }
        let failure = match look(event.data) {
            Ok(seen) => {
                let has_more = seen.token_ids.is_some() || seen.usage.is_some() || seen.finished;
                let is_text = seen.carries == Carries::Tokens && !has_more && seen.error.is_none();
                self.object(seen, event.error, at);
                if is_text && self.unlike < UNLIKE {
                    self.unlike += 1;
                    self.alike = Alike::of(event.data);
                }
                return;
            }
            Err(_) if event.error => {
                failed(Kind::InStream, words(&String::from_utf8_lossy(event.data)))
            }
            // Half an event at the end of a stream is no fault of the format.
            Err(_) if event.unfinished => return,
            Err(error) => failed(
                Kind::Garbled,
                format!("a chunk is not JSON of the OpenAI kind: {error}"),
            ),
        };
        self.failure = Some(failure);
    }

    fn object(&mut self, seen: Seen<'_>, error: bool, at: Instant) {
        let words = match seen.error {
            None if error => Some("an error event without a message".to_owned()),
            words => words,
        };
        if let Some(words) = words {
            self.failure = Some(failed(Kind::InStream, words));
            return;
        }
        let ids = seen.token_ids;
        let total = seen.usage.and_then(|usage| usage.completion_tokens);
        match seen.carries {
            Carries::Tokens => self.chunk(at, ids, total),
            Carries::EmptyFinish => self.empty_finish = Some(Chunk { at, ids, total }),
            Carries::Nothing => {}
        }
        self.is_complete |= seen.finished;
        self.usage = seen.usage.or(self.usage);
        if let Some(model) = seen.model
            && self.model.as_deref() != Some(&*model)
        {
            self.model = Some(short(model));
            self.alike = None;
        }
    }

    fn chunk(&mut self, at: Instant, ids: Option<u32>, total: Option<u32>) {
        self.chunks.push(Chunk { at, ids, total });
        self.empty_finish = None;
    }

    /// A body without events: an error as one JSON object, or something else.
    fn no_stream(&self) -> RequestError {
        let one = "the server does not stream: one JSON object came; use --no-stream";
        match look(&self.kept).map(|seen| seen.error) {
            Ok(Some(words)) => failed(Kind::InStream, words),
            Ok(None) => failed(Kind::Garbled, one),
            Err(_) if self.kept.trim_ascii().is_empty() => {
                failed(Kind::CutShort, "the stream is empty")
            }
            Err(_) => {
                let kept = words(&String::from_utf8_lossy(&self.kept));
                failed(Kind::Garbled, format!("not a stream: {kept}"))
            }
        }
    }
}

fn too_large(what: &str) -> RequestError {
    failed(Kind::Garbled, format!("{what} is longer than 16 MiB"))
}

/// The name of a model; one that is longer than any that is asked for is cut.
fn short(model: Cow<'_, str>) -> String {
    match model.len() {
        ..=MAX_MODEL_BYTES => model.into_owned(),
        _ => words(&model),
    }
}

/// A number of every chunk; `None` where one has none, or nothing came.
fn every(chunks: &[Chunk], of: fn(&Chunk) -> Option<u32>) -> Option<Vec<u32>> {
    let all: Option<Vec<u32>> = chunks.iter().map(of).collect();
    all.filter(|all| !all.is_empty())
}

/// What each number adds to the one before, from nothing on; `None` where one is less than the one before.
fn differences(totals: &[u32]) -> Option<Vec<u32>> {
    let before = [0].iter().chain(totals);
    let pairs = totals.iter().zip(before);
    pairs
        .map(|(total, before)| total.checked_sub(*before))
        .collect()
}
