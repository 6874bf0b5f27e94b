//! The quick look at an object of a reply: one pass over its bytes, nothing allocated.
//!
//! It knows the members that matter and skips the others. Whatever is unusual (an error, a nested value where text is usual, a
//! number in scientific notation, half a surrogate pair, a member twice) makes it give up, and the full look decides. So it
//! has to be right only about what it says: a test holds every answer of it against the full look's.

use std::borrow::Cow;

use crate::chunk::{Carries, Seen, Usage};

/// Arrays and objects inside each other at most.
const DEPTH: u8 = 16;

/// Digits of a number at most; more may be out of range.
const DIGITS: usize = 18;

/// What stands where a text is usual.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Null,
    Empty,
    Text,
    EmptyList,
}

/// What one object says; `None` where the full look has to decide.
pub(crate) fn look(data: &[u8]) -> Option<Seen<'_>> {
    let mut scan = Scan { data, at: 0 };
    let mut seen = Seen::default();
    let mut met = Met::default();
    scan.space();
    scan.members(|scan, name| {
        match name {
            b"choices" => {
                met.first(0)?;
                scan.choices(&mut seen)?;
            }
            b"usage" => {
                met.first(1)?;
                seen.usage = scan.usage()?;
            }
            b"model" => {
                met.first(2)?;
                seen.model = scan.text()?.map(Cow::Borrowed);
            }
            b"object" => {
                met.first(3)?;
                if scan.text()? == Some("error") {
                    return None;
                }
            }
            b"error" | b"message" => {
                met.first(if name == b"error" { 4 } else { 5 })?;
                scan.null()?;
            }
            _ => scan.skip(DEPTH)?,
        }
        Some(())
    })?;
    scan.space();
    (scan.at == data.len()).then_some(seen)
}

/// Members of an object that came already.
#[derive(Default)]
struct Met(u8);

impl Met {
    /// Gives up where the member came before: the full look calls that an error.
    fn first(&mut self, member: u8) -> Option<()> {
        let bit = 1 << member;
        (self.0 & bit == 0).then(|| self.0 |= bit)
    }
}

/// A place in the bytes of an object.
struct Scan<'a> {
    data: &'a [u8],
    at: usize,
}

impl<'a> Scan<'a> {
    fn peek(&self) -> Option<u8> {
        self.data.get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\t' | b'\r')) {
            self.at += 1;
        }
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.at += 1)
    }

    /// Takes a byte if it comes next.
    fn takes(&mut self, byte: u8) -> bool {
        self.take(byte).is_some()
    }

    fn word(&mut self, word: &[u8]) -> Option<()> {
        self.data[self.at..]
            .starts_with(word)
            .then(|| self.at += word.len())
    }

    fn null(&mut self) -> Option<()> {
        self.word(b"null")
    }

    /// Goes through an object's members whose names are plain text.
    fn members(&mut self, mut member: impl FnMut(&mut Self, &[u8]) -> Option<()>) -> Option<()> {
        self.take(b'{')?;
        self.space();
        if self.takes(b'}') {
            return Some(());
        }
        loop {
            let name = self.plain_string()?;
            self.colon()?;
            member(self, name.as_bytes())?;
            if !self.goes_on(b'}')? {
                return Some(());
            }
        }
    }

    fn colon(&mut self) -> Option<()> {
        self.space();
        self.take(b':')?;
        self.space();
        Some(())
    }

    /// Behind an item: whether a comma, and so another item, comes, or the end.
    fn goes_on(&mut self, end: u8) -> Option<bool> {
        self.space();
        if self.takes(b',') {
            self.space();
            return Some(true);
        }
        self.take(end).map(|()| false)
    }

    fn choices(&mut self, seen: &mut Seen<'a>) -> Option<()> {
        if self.null().is_some() {
            return Some(());
        }
        self.take(b'[')?;
        self.space();
        if self.takes(b']') {
            return Some(());
        }
        loop {
            self.choice(seen)?;
            if !self.goes_on(b']')? {
                return Some(());
            }
        }
    }

    fn choice(&mut self, seen: &mut Seen<'a>) -> Option<()> {
        let mut met = Met::default();
        let mut text = Kind::Null;
        let mut delta = None;
        let mut finished = false;
        let mut token_ids = None;
        self.members(|scan, name| {
            match name {
                b"text" => {
                    met.first(0)?;
                    text = scan.kind()?;
                }
                b"delta" => {
                    met.first(1)?;
                    delta = scan.delta()?;
                }
                b"finish_reason" => {
                    met.first(2)?;
                    finished = scan.kind()? == Kind::Text;
                }
                b"token_ids" => {
                    met.first(3)?;
                    token_ids = scan.count()?;
                }
                b"message" => {
                    met.first(4)?;
                    scan.null()?;
                }
                _ => scan.skip(DEPTH)?,
            }
            Some(())
        })?;
        let (filled, empty) = delta.unwrap_or((text == Kind::Text, text != Kind::Null));
        let carries = Carries::of(filled, empty, finished, token_ids);
        seen.carries = seen.carries.max(carries);
        seen.finished |= finished;
        seen.token_ids = match (seen.token_ids, token_ids) {
            (Some(before), Some(more)) => Some(before.saturating_add(more)),
            (before, more) => before.or(more),
        };
        Some(())
    }

    /// Whether something stands in a delta, and whether something empty that is not the opening with the role.
    fn delta(&mut self) -> Option<Option<(bool, bool)>> {
        if self.null().is_some() {
            return Some(None);
        }
        let mut met = Met::default();
        let (mut role, mut filled, mut empty) = (false, false, false);
        self.members(|scan, name| {
            let (number, is_text) = match name {
                b"content" => (0, true),
                b"reasoning" => (1, true),
                b"reasoning_content" => (2, true),
                b"role" => {
                    met.first(3)?;
                    role = scan.kind()? != Kind::Null;
                    return Some(());
                }
                b"tool_calls" => (4, false),
                b"function_call" => (5, false),
                _ => return scan.skip(DEPTH),
            };
            met.first(number)?;
            let kind = scan.kind()?;
            filled |= kind == Kind::Text;
            empty |= is_text && kind != Kind::Null;
            Some(())
        })?;
        Some(Some((filled, empty && !role)))
    }

    fn usage(&mut self) -> Option<Option<Usage>> {
        if self.null().is_some() {
            return Some(None);
        }
        let mut met = Met::default();
        let mut usage = Usage::default();
        self.members(|scan, name| {
            match name {
                b"prompt_tokens" => {
                    met.first(0)?;
                    usage.prompt_tokens = scan.number()?;
                }
                b"completion_tokens" => {
                    met.first(1)?;
                    usage.completion_tokens = scan.number()?;
                }
                b"prompt_tokens_details" => {
                    met.first(2)?;
                    usage.cached_tokens = scan.cached_tokens()?;
                }
                _ => scan.skip(DEPTH)?,
            }
            Some(())
        })?;
        Some(Some(usage))
    }

    fn cached_tokens(&mut self) -> Option<Option<u32>> {
        if self.null().is_some() {
            return Some(None);
        }
        let mut met = Met::default();
        let mut cached = None;
        self.members(|scan, name| match name {
            b"cached_tokens" => {
                met.first(0)?;
                cached = scan.number()?;
                Some(())
            }
            _ => scan.skip(DEPTH),
        })?;
        Some(cached)
    }

    /// A whole number, or null.
    fn number(&mut self) -> Option<Option<u32>> {
        if self.null().is_some() {
            return Some(None);
        }
        let digits = self.digits()?;
        if matches!(self.peek(), Some(b'.' | b'e' | b'E')) {
            return None;
        }
        let mut number = 0_u64;
        for digit in digits {
            number = number * 10 + u64::from(digit - b'0');
        }
        u32::try_from(number).ok().map(Some)
    }

    /// Digits without a leading zero, few enough for 64 bits.
    fn digits(&mut self) -> Option<&'a [u8]> {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        let digits = &self.data[start..self.at];
        let is_plain = match digits {
            [] | [b'0', _, ..] => false,
            _ => digits.len() <= DIGITS,
        };
        is_plain.then_some(digits)
    }

    /// How many plain numbers a list holds; `None` inside for null.
    fn count(&mut self) -> Option<Option<u32>> {
        if self.null().is_some() {
            return Some(None);
        }
        self.take(b'[')?;
        self.space();
        if self.takes(b']') {
            return Some(Some(0));
        }
        let mut count = 0_u32;
        loop {
            self.digits()?;
            count = count.checked_add(1)?;
            if !self.goes_on(b']')? {
                return Some(Some(count));
            }
        }
    }

    /// What stands where a text is usual.
    fn kind(&mut self) -> Option<Kind> {
        match self.peek()? {
            b'"' => {
                let (raw, _) = self.string()?;
                std::str::from_utf8(raw).ok()?;
                Some(if raw.is_empty() {
                    Kind::Empty
                } else {
                    Kind::Text
                })
            }
            b'[' => {
                self.at += 1;
                self.space();
                self.take(b']').map(|()| Kind::EmptyList)
            }
            _ => self.null().map(|()| Kind::Null),
        }
    }

    /// A string without escapes, or null.
    fn text(&mut self) -> Option<Option<&'a str>> {
        if self.null().is_some() {
            return Some(None);
        }
        self.plain_string().map(Some)
    }

    fn plain_string(&mut self) -> Option<&'a str> {
        match self.string()? {
            (raw, false) => std::str::from_utf8(raw).ok(),
            _ => None,
        }
    }

    /// What stands between the quotes, and whether escapes are in it.
    fn string(&mut self) -> Option<(&'a [u8], bool)> {
        self.take(b'"')?;
        let start = self.at;
        let mut escaped = false;
        loop {
            self.at += stop(&self.data[self.at..])?;
            match self.peek()? {
                b'"' => {
                    let raw = &self.data[start..self.at];
                    self.at += 1;
                    return Some((raw, escaped));
                }
                b'\\' => {
                    escaped = true;
                    self.at += 1;
                    self.escape()?;
                }
                // Control characters are not allowed.
                _ => return None,
            }
        }
    }

    /// What stands behind a backslash.
    fn escape(&mut self) -> Option<()> {
        let byte = self.peek()?;
        self.at += 1;
        match byte {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(()),
            b'u' => {
                let digits = self.data.get(self.at..self.at + 4)?;
                self.at += 4;
                let is_hex = digits.iter().all(u8::is_ascii_hexdigit);
                // Halves of pairs, d800 to dfff, have to match each other.
                let is_half = matches!(
                    (digits[0], digits[1]),
                    (b'd' | b'D', b'8' | b'9' | b'a'..=b'f' | b'A'..=b'F')
                );
                (is_hex && !is_half).then_some(())
            }
            _ => None,
        }
    }

    /// Passes over any value.
    fn skip(&mut self, depth: u8) -> Option<()> {
        match self.peek()? {
            b'"' => self.string().map(drop),
            b'n' => self.null(),
            b't' => self.word(b"true"),
            b'f' => self.word(b"false"),
            b'[' => {
                let depth = depth.checked_sub(1)?;
                self.at += 1;
                self.space();
                if self.takes(b']') {
                    return Some(());
                }
                loop {
                    self.skip(depth)?;
                    if !self.goes_on(b']')? {
                        return Some(());
                    }
                }
            }
            b'{' => {
                let depth = depth.checked_sub(1)?;
                self.members(|scan, _| scan.skip(depth))
            }
            _ => {
                self.at += usize::from(self.peek()? == b'-');
                self.digits()?;
                if self.takes(b'.') {
                    let start = self.at;
                    while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
                        self.at += 1;
                    }
                    if self.at == start {
                        return None;
                    }
                }
                Some(())
            }
        }
    }
}

/// How far it is to the next quote, backslash or control character; eight bytes at a time.
fn stop(bytes: &[u8]) -> Option<usize> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const TOPS: u64 = ONES << 7;
    let mut at = 0;
    while let Some(&eight) = bytes[at..].first_chunk::<8>() {
        let word = u64::from_le_bytes(eight);
        // A byte's top bit is set where it is zero, or below 32; above the first such byte it may be set wrongly.
        let zero = |word: u64| word.wrapping_sub(ONES) & !word;
        let quote = zero(word ^ (ONES * b'"' as u64));
        let backslash = zero(word ^ (ONES * b'\\' as u64));
        let control = word.wrapping_sub(ONES * 0x20) & !word;
        let found = (quote | backslash | control) & TOPS;
        if found != 0 {
            return Some(at + found.trailing_zeros() as usize / 8);
        }
        at += 8;
    }
    let is_stop = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..=0x1f);
    bytes[at..].iter().position(is_stop).map(|more| at + more)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_engines_send_is_looked_at_quickly() {
        for file in [
            include_str!("../tests/streams/vllm_chat_stream.sse"),
            include_str!("../tests/streams/vllm_cmpl_stream.sse"),
            include_str!("../tests/streams/vllm_spec_interval4_reasoning.sse"),
            include_str!("../tests/streams/vllm_cmpl_spec.sse"),
            include_str!("../tests/streams/nixl_decode_stream.sse"),
            include_str!("../tests/streams/llamacpp_chat_stream.sse"),
            include_str!("../tests/streams/llamacpp_cmpl_stream.sse"),
            include_str!("../tests/streams/tfs_chat.sse"),
            include_str!("../tests/streams/tfs_cmpl.sse"),
        ] {
            let data = file.lines().filter_map(|line| line.strip_prefix("data: "));
            for data in data.filter(|data| *data != "[DONE]") {
                let full = crate::look_fully(data.as_bytes()).unwrap();
                assert_eq!(look(data.as_bytes()), Some(full), "{data}");
            }
        }
    }

    #[test]
    fn a_stop_is_found_at_every_place() {
        for length in 0..40 {
            for at in 0..length {
                for byte in [b'"', b'\\', 0, 0x1f] {
                    // Neighbours of what stops, and bytes with the top bit, do not.
                    let mut bytes: Vec<u8> = b"!#[] \x20\x80\xa2\xff\x7f"
                        .iter()
                        .copied()
                        .cycle()
                        .take(length)
                        .collect();
                    assert_eq!(stop(&bytes), None);
                    bytes[at] = byte;
                    assert_eq!(stop(&bytes), Some(at), "{byte} at {at} of {length}");
                }
            }
        }
    }
}
