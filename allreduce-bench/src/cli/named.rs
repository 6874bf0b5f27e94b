//! Choices that the command line has by name: those of records, which may be written with hyphens.

use std::fmt::Display;

use clap::ValueEnum;
use record::{CallMode, CollectiveKind, ElementType};

/// A serving engine by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum EngineArg {
    /// vLLM.
    Vllm,
    /// SGLang.
    Sglang,
}

/// The operations that one word names.
#[derive(Debug, Clone)]
pub(crate) struct Kinds(pub(crate) Vec<CollectiveKind>);

/// One of several by its name.
pub(crate) fn one_of<T: Display + Copy>(all: &[T], name: &str) -> Result<T, String> {
    let is_it = |one: &&T| one.to_string() == name.replace('-', "_");
    all.iter().find(is_it).copied().ok_or_else(|| {
        let names: Vec<String> = all.iter().map(T::to_string).collect();
        format!("one of {}", names.join(", "))
    })
}

/// Operations that are measured, for clap.
pub(super) fn kinds(name: &str) -> Result<Kinds, String> {
    use CollectiveKind::{AllGather, AllReduce, ReduceScatter};
    let all = [AllReduce, AllGather, ReduceScatter];
    match name {
        "all" => Ok(Kinds(all.to_vec())),
        _ => one_of(&all, name).map(|kind| Kinds(vec![kind])),
    }
}

/// A type of elements, for clap.
pub(super) fn element(name: &str) -> Result<ElementType, String> {
    one_of(
        &[ElementType::Bf16, ElementType::F16, ElementType::F32],
        name,
    )
}

/// A mode, for clap.
pub(super) fn mode(name: &str) -> Result<CallMode, String> {
    one_of(&CallMode::ALL, name)
}
