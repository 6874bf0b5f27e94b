//! Forms of streams that have led clients astray: each is one line of the selftest at a few streams.

/// Streams at once in these lines.
pub(super) const STREAMS: u32 = 4;

/// A form of streams.
pub(super) struct Mode {
    /// Its name in the table.
    pub(super) name: &'static str,
    /// The endpoint that has it.
    pub(super) endpoint: &'static str,
    /// What the server is told.
    pub(super) server: fn(u32) -> Vec<String>,
    /// What the client is told.
    pub(super) client: &'static [&'static str],
}

/// What every server does without further words.
pub(super) const PLAIN: Mode = Mode {
    name: "plain",
    endpoint: "completions",
    server: |_| Vec::new(),
    client: &[],
};

/// The forms.
pub(super) const MODES: [Mode; 5] = [
    // vLLM 0.33's Rust client takes the role's instant for the first token's.
    Mode {
        name: "role early",
        endpoint: "chat",
        server: |_| words(&["--role-early"]),
        client: &[],
    },
    Mode {
        name: "reasoning",
        endpoint: "chat",
        server: |_| words(&["--reasoning", "reasoning"]),
        client: &[],
    },
    // vLLM 0.33's Python client takes such replies for failed ones.
    Mode {
        name: "reasoning_content",
        endpoint: "chat",
        server: |_| words(&["--reasoning", "reasoning_content"]),
        client: &[],
    },
    Mode {
        name: "4 tokens a chunk",
        endpoint: "completions",
        server: |_| words(&["--tokens-per-chunk", "4"]),
        client: &[],
    },
    // sglang's Rust client counts the tokens that were asked for.
    Mode {
        name: "early end, no usage",
        endpoint: "completions",
        server: |tokens| vec!["--end-early".to_owned(), (tokens / 2).to_string()],
        client: &["--no-ignore-eos"],
    },
];

/// A server without a schedule that writes sixteen tokens at once.
pub(super) const FLOOD: Mode = Mode {
    name: "flood",
    endpoint: "completions",
    server: |_| words(&["--flood", "--chunks-per-write", "16"]),
    client: &[],
};

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}
