//! Why a server did not come up, read from its log. A row each; the first that is found counts.

/// What a log says, what that means, and what to do about it.
struct Pattern {
    /// Words of one line, all of them, lower case.
    words: &'static [&'static str],
    means: &'static str,
    remedy: &'static str,
}

const PATTERNS: [Pattern; 9] = [
    Pattern {
        words: &["out of memory", "warming up"],
        means: "it ran out of memory while warming up",
        remedy: "lower the engine's maximum of sequences (--max-num-seqs) or its part of the memory (--gpu-memory-utilization)",
    },
    Pattern {
        words: &["out of memory"],
        means: "a device ran out of memory",
        remedy: "end what else holds its memory, take more devices, or lower --max-model-len or --max-num-seqs",
    },
    Pattern {
        words: &["free memory on device", "less than desired"],
        means: "something else holds the device's memory",
        remedy: "end it, or lower --gpu-memory-utilization",
    },
    Pattern {
        words: &["kv cache", "max seq len"],
        means: "the wanted model length does not fit into the memory that the weights leave",
        remedy: "lower --max-model-len (or slack), or take more devices",
    },
    Pattern {
        words: &["max_model_len", "greater than the derived"],
        means: "the model is not made for the wanted length",
        remedy: "lower --max-model-len to the model's own",
    },
    Pattern {
        words: &["address already in use"],
        means: "its port is taken",
        remedy: "end what listens there, or write {port} in the command",
    },
    Pattern {
        words: &["cannot listen on"],
        means: "its port is taken",
        remedy: "end what listens there, or write {port} in the command",
    },
    Pattern {
        words: &["driver", "too old"],
        means: "the driver is too old for the engine's build",
        remedy: "update the driver, or take an engine built for it",
    },
    Pattern {
        words: &["is not a valid model identifier"],
        means: "the model's weights are not there",
        remedy: "download them first, or write their folder under [paths]",
    },
];

/// What else says that weights are missing, whole file names apart.
const MISSING: [&str; 3] = [
    "repository not found",
    "cannot find any model weights",
    "is neither a model that is shipped",
];

/// What a log's text says of the server's end, with the remedy; `None` where no row fits.
pub(super) fn diagnosis(log: &str) -> Option<String> {
    let lines: Vec<String> = log.lines().map(str::to_lowercase).collect();
    let fits = |words: &[&str]| {
        lines
            .iter()
            .any(|line| words.iter().all(|word| line.contains(word)))
    };
    let said = |pattern: &Pattern| format!("{}: {}", pattern.means, pattern.remedy);
    // Engines write the cause of an exhausted memory on one line and where it happened on another.
    let [warming, ..] = &PATTERNS;
    if warming.words.iter().all(|word| fits(&[word])) {
        return Some(said(warming));
    }
    if let Some(pattern) = PATTERNS.iter().find(|pattern| fits(pattern.words)) {
        return Some(said(pattern));
    }
    let [.., weights] = &PATTERNS;
    MISSING
        .iter()
        .any(|word| fits(&[word]))
        .then(|| said(weights))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_of_engines_are_understood() {
        for (log, says) in [
            (
                "RuntimeError: CUDA out of memory occurred when warming up sampler with 256 dummy requests.",
                "--max-num-seqs",
            ),
            (
                "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB",
                "take more devices",
            ),
            (
                "ValueError: Free memory on device (30/47 GiB) on startup is less than desired GPU memory utilization",
                "--gpu-memory-utilization",
            ),
            (
                "ValueError: To serve at least one request with the models's max seq len (32768), (4.0 GiB KV cache is needed",
                "--max-model-len",
            ),
            (
                "User-specified max_model_len (99999) is greater than the derived max_model_len",
                "the model's own",
            ),
            (
                "OSError: [Errno 98] Address already in use",
                "port is taken",
            ),
            (
                "error: cannot listen on 127.0.0.1:8000: in use",
                "port is taken",
            ),
            (
                "RuntimeError: The NVIDIA driver on your system is too old (found version 12020)",
                "update the driver",
            ),
            (
                "OSError: x/y is not a local folder and is not a valid model identifier",
                "[paths]",
            ),
            (
                "RuntimeError: Cannot find any model weights with `/m`",
                "[paths]",
            ),
        ] {
            let found = diagnosis(log).unwrap_or_default();
            assert!(found.contains(says), "{log}: {found}");
        }
        assert_eq!(diagnosis("INFO all is well"), None);
    }
}
