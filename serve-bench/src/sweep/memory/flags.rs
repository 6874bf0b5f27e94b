//! What a server's command says about memory, under the names of vLLM's flags and SGLang's.

/// The part of a GPU's memory that vLLM uses where its command does not say (`vllm/config/cache.py`, 0.13).
const VLLM_PART: f64 = 0.9;

/// Flags with a number.
const UTILIZATION: [&str; 2] = ["--gpu-memory-utilization", "--mem-fraction-static"];
const LENGTH: [&str; 2] = ["--max-model-len", "--context-length"];
const SEQUENCES: [&str; 2] = ["--max-num-seqs", "--max-running-requests"];
const CACHE: [&str; 1] = ["--kv-cache-dtype"];

/// Flags with which weights or cache have another size or place than the model's shape tells.
const ELSEWHERE: [&str; 9] = [
    "--quantization",
    "-q",
    "--cpu-offload-gb",
    "--swap-space",
    "--pipeline-parallel-size",
    "-pp",
    "--pp-size",
    "--load-format",
    "--dtype",
];

/// Words of a command that tell whose rules hold.
const ENGINES: [&str; 4] = ["vllm", "sglang", "serve-bench", "tplens"];

/// What a command tells.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Told {
    /// Part of the memory that the engine uses.
    pub(super) utilization: f64,
    /// Whether the command says so.
    pub(super) utilization_told: bool,
    /// Longest prompt and reply together.
    pub(super) max_len: Option<u32>,
    /// Sequences at once at most.
    pub(super) sequences: Option<u32>,
    /// Bytes of an element of the cache, where the command says.
    pub(super) cache_bytes: Option<u32>,
    /// Why the size of weights and cache is not sure.
    pub(super) unsure: Option<String>,
}

/// Reads a command whose places are filled.
pub(super) fn told(words: &[String]) -> Told {
    let utilization = value(words, &UTILIZATION).and_then(|text| text.parse::<f64>().ok());
    let utilization = utilization.filter(|part| *part > 0.0 && *part <= 1.0);
    let number = |flags: &[&str]| value(words, flags).and_then(|text| text.parse::<u32>().ok());
    let is_known = words.iter().any(|word| {
        let name = word.rsplit('/').next().unwrap_or(word);
        ENGINES.iter().any(|engine| {
            name.strip_prefix(engine)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    });
    let elsewhere = words.iter().find(|word| {
        let flag = word.split('=').next().unwrap_or(word);
        ELSEWHERE.contains(&flag)
    });
    let unsure = match elsewhere {
        Some(flag) => Some(format!("{flag} may change it")),
        None if !is_known => {
            Some("the command is of no engine whose rules are known here".to_owned())
        }
        None => None,
    };
    Told {
        utilization: utilization.unwrap_or(VLLM_PART),
        utilization_told: utilization.is_some(),
        max_len: number(&LENGTH),
        sequences: number(&SEQUENCES),
        cache_bytes: value(words, &CACHE)
            .filter(|kind| kind.starts_with("fp8"))
            .map(|_| 1),
        unsure,
    }
}

/// The word after a flag, or after its `=`.
fn value<'a>(words: &'a [String], flags: &[&str]) -> Option<&'a str> {
    let at = |(index, word): (usize, &'a String)| {
        flags.iter().find_map(|flag| {
            let rest = word.strip_prefix(flag)?;
            match rest.strip_prefix('=') {
                Some(value) => Some(value),
                None if rest.is_empty() => words.get(index + 1).map(String::as_str),
                None => None,
            }
        })
    };
    words.iter().enumerate().find_map(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn flags_are_read_in_both_forms() {
        let told = told(&words(
            "vllm serve m --gpu-memory-utilization=0.95 --max-model-len 1280 --max-num-seqs 32 --kv-cache-dtype fp8_e5m2",
        ));
        assert_eq!((told.utilization, told.utilization_told), (0.95, true));
        assert_eq!((told.max_len, told.sequences), (Some(1280), Some(32)));
        assert_eq!((told.cache_bytes, told.unsure), (Some(1), None));
    }

    #[test]
    fn what_is_not_known_is_not_sure() {
        for (command, says) in [
            ("llama-server -m x.gguf", "no engine whose rules"),
            (
                "vllm serve m --quantization=fp8",
                "--quantization=fp8 may change it",
            ),
            ("/opt/v/bin/vllm serve m -pp 2", "-pp may change it"),
        ] {
            let unsure = told(&words(command)).unsure.unwrap_or_default();
            assert!(unsure.contains(says), "{command}: {unsure}");
        }
        let plain = told(&words(
            "python3 -m vllm.entrypoints.openai.api_server --model m",
        ));
        assert_eq!((plain.unsure, plain.utilization), (None, 0.9));
        assert!(!plain.utilization_told && plain.max_len.is_none());
    }
}
