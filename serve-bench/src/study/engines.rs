//! How a server command is told its tensor parallel size and its port, and what it says of itself by its flags.
//!
//! A row a known engine; any other command works where it says `{tp}` and `{port}` itself.

use program::Stop;
use tp_plan::Engine;

use crate::explain::{EngineFlags, NO_OWN_ALL_REDUCE};
use crate::flags;

/// Where a size and a port belong in a command.
pub(crate) const TP: &str = "{tp}";
const PORT: &str = "{port}";

/// Engines whose flags are known: what the name of a program, module or script begins with.
const KNOWN: [&str; 3] = ["tplens", "vllm", "sglang"];

/// By which they are given their tensor parallel size; all know the first.
pub(crate) const TP_FLAGS: [&str; 4] = ["--tensor-parallel-size", "--tp-size", "--tp", "-tp"];

/// A server command that can be started for any size, with `{tp}` and `{port}` where it does not say them itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServerCommand {
    words: Vec<String>,
    /// What its program is called by [`KNOWN`], where its flags are known.
    pub(crate) known: Option<&'static str>,
}

impl ServerCommand {
    /// Takes a command that can be started once for each size.
    ///
    /// # Errors
    /// It is empty, names its own tensor parallel size, or how it is given one or a port is not known.
    pub(crate) fn new(mut words: Vec<String>, sizes: &[u32]) -> Result<Self, String> {
        let Some(program) = words.first() else {
            return Err("no server command: write it after `--`, such as `-- vllm serve MODEL`, or simulate a machine with --sim BOX".to_owned());
        };
        let is_known = |begins: &&str| words.iter().take(3).any(|word| is_named(word, begins));
        let known = KNOWN.into_iter().find(is_known);
        let has = |place| words.iter().any(|word| word.contains(place));
        let port = flags::value(&words, &["--port"]).and_then(|port| port.parse::<u16>().ok());
        let (has_tp, has_port) = (has(TP), has(PORT) || port.is_some());
        let says = flags::value(&words, &TP_FLAGS).is_some_and(|value| !value.contains(TP));
        match known {
            None if !has_tp && sizes != [1] => {
                return Err(format!(
                    "how to tell `{program}` its tensor parallel size is not known: write {TP} where the number belongs, or study one GPU with --tp 1"
                ));
            }
            None if !has_port => {
                return Err(format!(
                    "on which port `{program}` listens is not known: write --port N or {PORT} in its command"
                ));
            }
            Some(_) if says => {
                return Err(format!(
                    "the server command says its tensor parallel size itself: leave it out, the study adds it for each of --tp, or write {TP} for the number"
                ));
            }
            _ => {}
        }
        if known.is_some() && !has_tp {
            words.extend([TP_FLAGS[0], TP].map(str::to_owned));
        }
        if !has_port {
            words.extend(["--port", PORT].map(str::to_owned));
        }
        Ok(Self { words, known })
    }

    /// The command for one size; `{port}` stands where a port is to be chosen.
    pub(crate) fn for_size(&self, tp: u32) -> Vec<String> {
        let words = self.words.iter();
        words
            .map(|word| word.replace(TP, &tp.to_string()))
            .collect()
    }

    /// Adds a word, where it does not say it itself.
    pub(crate) fn add(&mut self, flag: &str) {
        if !self.says(flag) {
            self.words.push(flag.to_owned());
        }
    }

    /// Whether it says this word itself.
    pub(crate) fn says(&self, flag: &str) -> bool {
        flags::says(&self.words, &[flag])
    }

    /// How it runs, as far as its flags say; anything but SGLang is planned by vLLM's rules.
    pub(crate) fn flags(&self) -> EngineFlags {
        let number = |names: &[&str]| flags::value(&self.words, names)?.parse().ok();
        EngineFlags {
            engine: (self.known == Some("sglang")).then_some(Engine::Sglang),
            eager: flags::says(&self.words, &["--enforce-eager", "--disable-cuda-graph"]),
            max_num_seqs: number(&["--max-num-seqs", "--max-running-requests"]),
            max_batched_tokens: number(&["--max-num-batched-tokens", "--chunked-prefill-size"]),
            library_only: self.says(NO_OWN_ALL_REDUCE),
            kv_cache_bytes: None,
        }
    }
}

/// The embedded engine on a simulated machine, as a server command with this size, or `{tp}`.
///
/// # Errors
/// This program's own file is not found.
pub(crate) fn embedded(sim: &str, model: &str, tp: &str) -> Result<Vec<String>, Stop> {
    let own = runner::child::tplens()?.display().to_string();
    let words = [
        "serve", "engine", "--box", sim, "--model", model, "--tp", tp, "--port", PORT,
    ];
    Ok([&*own]
        .into_iter()
        .chain(words)
        .map(str::to_owned)
        .collect())
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
                "python3 -m sglang.launch_server --model-path m --port 9 --tensor-parallel-size 2",
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
        let flags = eager.flags();
        assert!(flags.eager && flags.engine.is_none() && !flags.library_only);
        assert_eq!(
            (flags.max_num_seqs, flags.max_batched_tokens),
            (Some(32), None)
        );
        let plain = command("vllm serve m --disable-custom-all-reduce", &[2]).unwrap();
        assert!(plain.flags().library_only);
    }
}
