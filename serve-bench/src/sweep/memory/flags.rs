//! What a server's command says about memory, under the names of vLLM's flags and SGLang's.

use crate::flags::value;

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
    /// Longest prompt and reply together; without it the engine takes the model's own.
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
    let number = |flags: &[&str]| value(words, flags).and_then(count);
    let is_known = words.iter().any(|word| {
        let name = word.rsplit('/').next().unwrap_or(word);
        ENGINES.iter().any(|engine| {
            name.strip_prefix(engine)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    });
    let elsewhere = words.iter().find(|word| {
        let flag = word.split('=').next().unwrap_or(word);
        ELSEWHERE.contains(&flag.replace('_', "-").as_str())
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

/// A count as vLLM reads it: `32k` are 32,000, `32K` 32,768 (`vllm/engine/arg_utils.py`, `human_readable_int`).
fn count(text: &str) -> Option<u32> {
    let units = [("k", 1e3), ("m", 1e6), ("K", 1024.0), ("M", 1_048_576.0)];
    let (number, unit) = units
        .iter()
        .find_map(|(unit, each)| Some((text.strip_suffix(unit)?, *each)))
        .unwrap_or((text, 1.0));
    let number = number.parse::<f64>().ok()? * unit;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked to be a count that fits"
    )]
    let whole = (1.0..=f64::from(u32::MAX))
        .contains(&number)
        .then_some(number as u32);
    whole
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
    fn the_last_flag_holds_in_whatever_spelling() {
        for (command, max_len) in [
            (
                "vllm serve m --max-model-len 131072 --max-model-len 2000",
                Some(2000),
            ),
            ("vllm serve m --max_model_len 131072", Some(131_072)),
            ("vllm serve m --max-model-len 32k", Some(32_000)),
            ("vllm serve m --max-model-len=1.5K", Some(1536)),
            ("vllm serve m --max-model-len auto", None),
        ] {
            assert_eq!(told(&words(command)).max_len, max_len, "{command}");
        }
        let part = told(&words("vllm serve m --gpu_memory_utilization 0.5"));
        assert_eq!((part.utilization, part.utilization_told), (0.5, true));
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
