//! What makes the time of a call another number, beside its size.

use serde::Serialize;

use crate::{BufferCache, BufferPlacement, CallMode, CollectiveKind, CollectivePoint, ElementType};

/// What times have to share to stand in one curve; times of different series are different numbers and are never merged.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Series {
    /// The operation.
    pub kind: CollectiveKind,
    /// The type of the elements; `None` where a file does not say.
    pub element: Option<ElementType>,
    /// Number of ranks.
    pub ranks: u32,
    /// How calls followed each other; `None` where a file does not say.
    pub mode: Option<CallMode>,
    /// Where the result lay.
    pub placement: BufferPlacement,
    /// Which memory the calls used.
    pub cache: BufferCache,
    /// The engine's own code that did it; `None` for the library.
    pub engine: Option<String>,
    /// The arm of a record of before, which had several.
    pub arm: Option<String>,
}

impl Series {
    /// The series of a point.
    #[must_use]
    pub fn of(point: &CollectivePoint) -> Self {
        Self {
            kind: point.kind,
            element: Some(point.element),
            ranks: point.ranks,
            mode: Some(point.mode),
            placement: point.placement,
            cache: point.cache,
            engine: point.engine.clone(),
            arm: point.arm.clone(),
        }
    }

    /// `all_reduce of bf16 on 2 ranks`.
    #[must_use]
    pub fn operation(&self) -> String {
        let element = self
            .element
            .map_or_else(String::new, |element| format!(" of {element}"));
        format!("{}{element} on {} ranks", self.kind, self.ranks)
    }

    /// What is unlike the ordinary call, a few words each: `in place`, `rotating buffers`, `by vllm`, `arm p2p-off`.
    pub fn qualities(&self) -> impl Iterator<Item = String> {
        [
            (self.placement == BufferPlacement::InPlace).then(|| "in place".to_owned()),
            (self.cache == BufferCache::Rotate).then(|| "rotating buffers".to_owned()),
            self.engine.as_ref().map(|engine| format!("by {engine}")),
            self.arm.as_ref().map(|arm| format!("arm {arm}")),
        ]
        .into_iter()
        .flatten()
    }
}

/// `all_reduce of bf16 on 2 ranks, graph, in place, arm p2p-off`.
impl std::fmt::Display for Series {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mode = self.mode.map(|mode| mode.to_string());
        let words: Vec<String> = [self.operation()]
            .into_iter()
            .chain(mode)
            .chain(self.qualities())
            .collect();
        f.pad(&words.join(", "))
    }
}
