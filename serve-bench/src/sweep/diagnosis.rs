//! Why a server did not come up, read from its log. A row each; the first that is found counts.

/// Words of one line, all of them in lower case, and the code of what that means.
const PATTERNS: [(&[&str], &str); 11] = [
    (&["out of memory"], "server-out-of-memory"),
    (
        &["free memory on device", "less than desired"],
        "server-out-of-memory",
    ),
    (&["kv cache", "max seq len"], "server-cache-too-small"),
    (
        &["max_model_len", "greater than the derived"],
        "server-length-too-long",
    ),
    (&["address already in use"], "port-taken"),
    (&["cannot listen on"], "port-taken"),
    (&["driver", "too old"], "driver-too-old"),
    (&["is not a valid model identifier"], "model-missing"),
    (&["repository not found"], "model-missing"),
    (&["cannot find any model weights"], "model-missing"),
    (&["is neither a model that is shipped"], "model-missing"),
];

/// The code of what a log's text says of the server's end; `None` where no row fits.
pub(super) fn diagnosis(log: &str) -> Option<&'static str> {
    let lines: Vec<String> = log.lines().map(str::to_lowercase).collect();
    let fits = |words: &[&str]| {
        lines
            .iter()
            .any(|line| words.iter().all(|word| line.contains(word)))
    };
    PATTERNS
        .iter()
        .find(|(words, _)| fits(words))
        .map(|(_, code)| *code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_of_engines_are_understood() {
        for (log, code) in [
            (
                "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB",
                "server-out-of-memory",
            ),
            (
                "ValueError: Free memory on device (30/47 GiB) on startup is less than desired GPU memory utilization",
                "server-out-of-memory",
            ),
            (
                "ValueError: To serve at least one request with the models's max seq len (32768), (4.0 GiB KV cache is needed",
                "server-cache-too-small",
            ),
            (
                "User-specified max_model_len (99999) is greater than the derived max_model_len",
                "server-length-too-long",
            ),
            ("OSError: [Errno 98] Address already in use", "port-taken"),
            (
                "error: cannot listen on 127.0.0.1:8000: in use",
                "port-taken",
            ),
            (
                "RuntimeError: The NVIDIA driver on your system is too old (found version 12020)",
                "driver-too-old",
            ),
            (
                "OSError: x/y is not a local folder and is not a valid model identifier",
                "model-missing",
            ),
        ] {
            assert_eq!(diagnosis(log), Some(code), "{log}");
            assert!(view::codes::page(code).is_some(), "{code}");
        }
        assert_eq!(diagnosis("INFO all is well"), None);
    }
}
