//! Values of the command line: choices by name, which are those of records and may be written with hyphens.

use std::fmt::Display;

use clap::ValueEnum;

/// A serving engine by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum EngineArg {
    /// vLLM.
    Vllm,
    /// SGLang.
    Sglang,
}

/// One of several by its name.
pub(crate) fn one_of<T: Display + Copy>(all: &[T], name: &str) -> Result<T, String> {
    let is_it = |one: &&T| one.to_string() == name.replace('-', "_");
    all.iter().find(is_it).copied().ok_or_else(|| {
        let names: Vec<String> = all.iter().map(T::to_string).collect();
        format!("one of {}", names.join(", "))
    })
}
