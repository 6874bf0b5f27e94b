//! Chunks made at random: the quick look says what the full look says, or that it is no chunk, as the full look does.

use openai::{look, look_fully};

use crate::random::Random;

/// Chunks of a test run, and of one with `TPLENS_FULL=1`.
const CHUNKS: [u64; 2] = [2_000, 20_000];

/// Values that stand where a text is usual.
const TEXTS: &[&str] = &[
    "\"\"",
    "\"a\"",
    "\"\\n and \\u00e9\"",
    "\"\u{1f600} text, long enough for several words\"",
    "null",
    "\"\\ud83d\\ude00\"",
    "\"\\ud83d\"",
    "\"\\x\"",
    "\"tab\tinside\"",
    "[]",
    "[ ]",
    "[{\"index\":0}]",
    "{}",
    "true",
    "7",
    "1e999",
    "-",
];

/// Values of members that count.
const NUMBERS: &[&str] = &[
    "0",
    "1",
    "17",
    "4294967295",
    "null",
    "4294967296",
    "-1",
    "1.0",
    "1e2",
    "01",
    "\"1\"",
    "",
];

/// Values of members that nobody knows.
const OTHERS: &[&str] = &[
    "null",
    "true",
    "-12.5",
    "\"x\\\\\"",
    "{\"top_logprobs\":[{\"token\":\"a\",\"logprob\":-0.1}, 7, [ ]]}",
    "1E+9",
    "0.",
    "[1, [2, {\"a\": null}], \"b\"]",
    "{\"a\":}",
    "[1,]",
    "nul",
];

const LISTS: &[&str] = &[
    "[]",
    "[1]",
    "[1, 22,333]",
    "[ 7 ]",
    "null",
    "[-1]",
    "[\"a\"]",
    "[1,]",
    "{}",
];

/// A member's name, and what makes its value.
type Member<'a> = (&'a str, &'a dyn Fn(&mut Maker) -> String);

struct Maker(Random);

impl Maker {
    fn space(&mut self) -> &'static str {
        const SPACES: [&str; 7] = ["", "", "", "", " ", "\n ", "\t\r"];
        SPACES[self.0.below(SPACES.len())]
    }

    fn object(&mut self, members: &[Member<'_>]) -> String {
        let mut text = format!("{{{}", self.space());
        let mut comma = "";
        let turn = self.0.below(members.len());
        for index in 0..members.len() {
            // Half of the members, from any of them on, and now and then one that came already.
            if self.0.once_in(2) {
                continue;
            }
            let index = if self.0.once_in(40) {
                0
            } else {
                (turn + index) % members.len()
            };
            let (name, value) = &members[index];
            let value = value(self);
            let spaces = [self.space(), self.space(), self.space(), self.space()];
            text += &format!(
                "{comma}{}\"{name}\"{}:{}{value}{}",
                spaces[0], spaces[1], spaces[2], spaces[3]
            );
            comma = ",";
        }
        text.push('}');
        text
    }

    /// One of a list, mostly of its first five, which are those that engines send.
    fn of(&mut self, list: &[&str]) -> String {
        let all = if self.0.once_in(12) { list.len() } else { 5 };
        list[self.0.below(all)].to_owned()
    }

    fn text(&mut self) -> String {
        self.of(TEXTS)
    }

    fn number(&mut self) -> String {
        self.of(NUMBERS)
    }

    fn other(&mut self) -> String {
        self.of(OTHERS)
    }

    fn list(&mut self) -> String {
        self.of(LISTS)
    }

    fn delta(&mut self) -> String {
        if self.0.once_in(9) {
            return "null".to_owned();
        }
        self.object(&[
            ("role", &|_| "\"assistant\"".to_owned()),
            ("content", &Self::text),
            ("reasoning", &Self::text),
            ("reasoning_content", &Self::text),
            ("tool_calls", &Self::text),
            ("function_call", &Self::text),
            ("refusal", &Self::other),
            ("c\\u006fntent", &Self::text),
        ])
    }

    fn choice(&mut self) -> String {
        self.object(&[
            ("index", &Self::number),
            ("text", &Self::text),
            ("delta", &Self::delta),
            ("message", &Self::delta),
            ("finish_reason", &Self::text),
            ("token_ids", &Self::list),
            ("logprobs", &Self::other),
        ])
    }

    fn choices(&mut self) -> String {
        match self.0.below(8) {
            0 => "[]".to_owned(),
            1 => "null".to_owned(),
            2 => format!("[{},{}]", self.choice(), self.choice()),
            _ => format!("[{}]", self.choice()),
        }
    }

    fn details(&mut self) -> String {
        if self.0.once_in(2) {
            return "null".to_owned();
        }
        self.object(&[("cached_tokens", &Self::number), ("audio", &Self::other)])
    }

    fn usage(&mut self) -> String {
        if self.0.once_in(4) {
            return "null".to_owned();
        }
        self.object(&[
            ("prompt_tokens", &Self::number),
            ("completion_tokens", &Self::number),
            ("prompt_tokens_details", &Self::details),
            ("total_tokens", &Self::other),
        ])
    }

    fn chunk(&mut self) -> String {
        self.object(&[
            ("id", &|_| "\"cmpl-1\"".to_owned()),
            ("object", &|maker| {
                maker.of(&["\"a\"", "null", "\"b\"", "\"c\"", "\"d\"", "\"error\"", "1"])
            }),
            ("choices", &Self::choices),
            ("usage", &Self::usage),
            ("model", &Self::text),
            ("error", &|maker| {
                maker.of(&["null", "null", "null", "null", "null", "{}", "\"e\""])
            }),
            ("message", &Self::text),
            ("timings", &Self::other),
            ("\u{e9}", &Self::other),
        ])
    }
}

#[test]
fn the_quick_look_and_the_full_look_agree() {
    let is_full = std::env::var_os("TPLENS_FULL").is_some_and(|full| full == "1");
    let (mut chunks, mut tokens) = (0, 0);
    for seed in 0..CHUNKS[usize::from(is_full)] {
        let mut maker = Maker(Random::new(seed));
        let mut chunk = maker.chunk().into_bytes();
        // Some with a byte that is not what it was, so also bytes that are no UTF-8.
        if maker.0.once_in(4) {
            let at = maker.0.below(chunk.len());
            chunk[at] = maker.0.next() as u8;
        }
        let (quick, full) = (look(&chunk), look_fully(&chunk));
        let text = String::from_utf8_lossy(&chunk);
        assert_eq!(quick.is_ok(), full.is_ok(), "seed {seed}: {text}");
        if let (Ok(quick), Ok(full)) = (quick, full) {
            chunks += 1;
            tokens += u32::from(full.carries == openai::Carries::Tokens);
            assert_eq!(quick, full, "seed {seed}: {text}");
        }
    }
    // Otherwise nothing was compared.
    assert!(
        chunks > 500 && tokens > 50,
        "{chunks} chunks, {tokens} with tokens"
    );
}
