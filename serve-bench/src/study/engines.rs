//! How a server command is told its tensor parallel size and its port, and what it says of itself by its flags.
//!
//! A row a known engine; any other command works where it says `{tp}` and `{port}` itself.

use crate::explain::{EngineFlags, NO_OWN_ALL_REDUCE};
use crate::flags;
use tp_plan::Engine;

/// An engine whose flags are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Known {
    /// What the name of its program, module or script begins with.
    word: &'static str,
    /// The flag of the tensor parallel size, first the one that is added.
    tp_flags: &'static [&'static str],
}

const KNOWN: [Known; 3] = [
    Known {
        word: "tplens",
        tp_flags: &["--tensor-parallel-size", "--tp"],
    },
    Known {
        word: "vllm",
        tp_flags: &["--tensor-parallel-size", "-tp"],
    },
    Known {
        word: "sglang",
        tp_flags: &["--tp-size", "--tensor-parallel-size", "--tp"],
    },
];

/// Flags of vLLM and SGLang by which weights or cache take other room than by the model's files, or lie elsewhere.
const KEEP_OTHERWISE: [&str; 18] = [
    // A file of flags, which is not read here.
    "--config",
    "--quantization",
    "-q",
    "--dtype",
    "--hf-overrides",
    "--json-model-override-args",
    "--kv-cache-dtype",
    "--kv-cache-memory-bytes",
    "--num-gpu-blocks-override",
    "--max-total-tokens",
    "--cpu-offload-gb",
    "--pipeline-parallel-size",
    "-pp",
    "--pp-size",
    "--decode-context-parallel-size",
    "-dcp",
    "--enable-dp-attention",
    "--torchao-config",
];

/// A server command as the user gave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServerCommand {
    words: Vec<String>,
    known: Option<Known>,
}

impl ServerCommand {
    /// Takes a command that can be started once for each size.
    ///
    /// # Errors
    /// It is empty, names its own tensor parallel size, or how it is given one or a port is not known.
    pub(crate) fn new(words: Vec<String>, sizes: &[u32]) -> Result<Self, String> {
        if words.is_empty() {
            return Err(
                "no server command: write it after `--`, such as `-- vllm serve MODEL`".to_owned(),
            );
        }
        let known = KNOWN
            .into_iter()
            .find(|known| words.iter().take(3).any(|word| is_named(word, known.word)));
        let command = Self { words, known };
        if let Some(flag) = command
            .known
            .iter()
            .flat_map(|known| known.tp_flags)
            .find(|flag| {
                let value = command.value_of(&[*flag]);
                value.is_some_and(|value| !value.contains("{tp}"))
            })
        {
            return Err(format!(
                "the server command says {flag} itself: leave it out, the study adds it for each of --tp, or write {flag} {{tp}}"
            ));
        }
        let says_tp = command.words.iter().any(|word| word.contains("{tp}"));
        if command.known.is_none() && !says_tp && sizes != [1] {
            return Err(format!(
                "how to tell `{}` its tensor parallel size is not known: write {{tp}} where the number belongs, or study one GPU with --tp 1",
                command.words[0]
            ));
        }
        if command.port().is_none() && !command.takes_a_port() {
            return Err(format!(
                "on which port `{}` listens is not known: write --port N or {{port}} in its command",
                command.words[0]
            ));
        }
        Ok(command)
    }

    /// The command for one size; `{port}` stands where a port is to be chosen.
    pub(crate) fn for_size(&self, tp: u32) -> Vec<String> {
        let words = self.words.iter();
        let mut words: Vec<String> = words
            .map(|word| word.replace("{tp}", &tp.to_string()))
            .collect();
        let Some(known) = self.known else {
            return words;
        };
        if !self.words.iter().any(|word| word.contains("{tp}")) {
            words.extend([known.tp_flags[0].to_owned(), tp.to_string()]);
        }
        if self.port().is_none() && !self.words.iter().any(|word| word.contains("{port}")) {
            words.extend(["--port".to_owned(), "{port}".to_owned()]);
        }
        words
    }

    /// The port that the command itself says.
    pub(crate) fn port(&self) -> Option<u16> {
        self.value_of(&["--port"])
            .and_then(|value| value.parse().ok())
    }

    /// Whether a port can be chosen for it.
    fn takes_a_port(&self) -> bool {
        self.known.is_some() || self.words.iter().any(|word| word.contains("{port}"))
    }

    /// Whether it is SGLang; anything else is planned by vLLM's rules.
    pub(crate) fn is_sglang(&self) -> bool {
        self.known.is_some_and(|known| known.word == "sglang")
    }

    /// Whether it forbids graphs.
    pub(crate) fn is_eager(&self) -> bool {
        flags::says(&self.words, &["--enforce-eager", "--disable-cuda-graph"])
    }

    /// Whether it is an engine whose log is read.
    pub(crate) fn logs_are_read(&self) -> bool {
        self.known
            .is_some_and(|known| ["vllm", "sglang"].contains(&known.word))
    }

    /// The part of a GPU's memory that it is told to fill.
    pub(crate) fn memory_share(&self) -> Option<f64> {
        let value = self.value_of(&["--gpu-memory-utilization", "--mem-fraction-static"])?;
        let share: f64 = value.parse().ok()?;
        (share > 0.0 && share <= 1.0).then_some(share)
    }

    /// Whether it keeps weights or cache otherwise than the model's own files say, or elsewhere, so that what they take of a GPU is
    /// not known.
    pub(crate) fn keeps_otherwise(&self) -> bool {
        flags::says(&self.words, &KEEP_OTHERWISE)
    }

    /// Whether its flags are known.
    pub(crate) fn is_known(&self) -> bool {
        self.known.is_some()
    }

    /// Whether it says this word itself.
    pub(crate) fn says(&self, flag: &str) -> bool {
        flags::says(&self.words, &[flag])
    }

    /// The model that it serves, as far as its words say.
    pub(crate) fn model(&self) -> Option<&str> {
        let named = self.value_of(&["--model", "--model-path"]);
        let after_serve = || {
            let serve = self.words.iter().position(|word| word == "serve")?;
            let first = self.words.get(serve + 1)?;
            (!first.starts_with('-')).then_some(first.as_str())
        };
        named.or_else(after_serve)
    }

    /// How it runs, as far as its flags say.
    pub(crate) fn flags(&self) -> EngineFlags {
        let number = |flags: &[&str]| self.value_of(flags).and_then(|value| value.parse().ok());
        EngineFlags {
            stated: true,
            engine: self.is_sglang().then_some(Engine::Sglang),
            eager: self.is_eager(),
            max_num_seqs: number(&["--max-num-seqs", "--max-running-requests"]),
            max_batched_tokens: number(&["--max-num-batched-tokens", "--chunked-prefill-size"]),
            library_only: self.says(NO_OWN_ALL_REDUCE),
            kv_cache_bytes: None,
        }
    }

    /// The value of the last of these flags.
    fn value_of(&self, flags: &[&str]) -> Option<&str> {
        flags::value(&self.words, flags)
    }
}

/// Whether a word names a file or module that begins so; folders above it do not count.
fn is_named(word: &str, begins: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or(word);
    // A whole script after `sh -c` is no name.
    name.starts_with(begins) && !name.contains(char::is_whitespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    fn command(text: &str, sizes: &[u32]) -> Result<ServerCommand, String> {
        ServerCommand::new(words(text), sizes)
    }

    #[test]
    fn known_engines_get_their_size_and_port() {
        for (given, becomes) in [
            (
                "vllm serve m",
                "vllm serve m --tensor-parallel-size 2 --port {port}",
            ),
            (
                "python3 -m sglang.launch_server --model-path m --port 9",
                "python3 -m sglang.launch_server --model-path m --port 9 --tp-size 2",
            ),
            (
                "my-server --gpus {tp} -p {port}",
                "my-server --gpus 2 -p {port}",
            ),
            // What says its places itself gets nothing added.
            (
                "vllm serve m --tensor-parallel-size {tp} --port {port}",
                "vllm serve m --tensor-parallel-size 2 --port {port}",
            ),
            (
                "tplens serve engine --port={port} --tp={tp}",
                "tplens serve engine --port={port} --tp=2",
            ),
        ] {
            let made = command(given, &[1, 2]).unwrap().for_size(2);
            assert_eq!(made, words(becomes));
        }
    }

    #[test]
    fn what_cannot_be_told_its_size_is_refused_for_more_than_one_gpu() {
        assert!(
            command("llama-server -m x", &[1, 2])
                .unwrap_err()
                .contains("{tp}")
        );
        // A folder's name does not make it a known engine.
        let script = command("/opt/vllm/bin/python /src/sglang/serve.py", &[1]);
        assert!(script.unwrap_err().contains("{port}"));
        let alone = command("llama-server -m x --port 7", &[1]).unwrap();
        assert_eq!(alone.for_size(1), words("llama-server -m x --port 7"));
        let twice = command("vllm serve m --tensor-parallel-size=4", &[1, 2]);
        assert!(twice.unwrap_err().contains("leave it out"));
        let script = vec!["sh".to_owned(), "-c".to_owned(), "vllm serve m".to_owned()];
        let script = ServerCommand::new(script, &[1, 2]);
        assert!(script.unwrap_err().contains("{tp}"));
        assert!(ServerCommand::new(Vec::new(), &[1]).is_err());
    }

    #[test]
    fn flags_tell_how_the_engine_runs() {
        let eager = command("vllm serve m --enforce-eager --max-num-seqs 32", &[2]).unwrap();
        assert!(eager.is_eager() && !eager.is_sglang());
        assert_eq!(eager.flags().max_num_seqs, Some(32));
        assert_eq!(eager.flags().max_batched_tokens, None);
        assert!(!eager.flags().library_only);
        // What a GPU holds is known by the model's files alone.
        let kept = |flags: &str| {
            let command = command(&format!("vllm serve m {flags}"), &[2]).unwrap();
            (command.memory_share(), command.keeps_otherwise())
        };
        assert_eq!(kept("--gpu-memory-utilization=0.95"), (Some(0.95), false));
        assert_eq!(
            kept("--gpu_memory_utilization 0.5 --gpu-memory-utilization 0.95"),
            (Some(0.95), false)
        );
        assert_eq!(kept("--config vllm.yaml"), (None, true));
        assert_eq!(kept("--kv_cache_dtype fp8"), (None, true));
        assert_eq!(kept("--quantization=fp8"), (None, true));
        let plain = command("vllm serve m --disable-custom-all-reduce", &[2]).unwrap();
        assert!(plain.flags().library_only);
    }
}
