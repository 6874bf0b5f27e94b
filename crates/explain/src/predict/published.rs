//! Published curves as anybody can read them, and the reading between their sizes, so that it can be judged.

use crate::curve::Curve;
use crate::priors::{Priors, PublishedCurve, PublishedPath};

/// A published curve of all-reduce times.
#[derive(Debug, Clone, PartialEq)]
pub struct PublishedAllReduce {
    /// Part of the GPU's name.
    pub gpu: String,
    /// `peer`, `staged` or `custom`.
    pub path: &'static str,
    /// The same in words.
    pub words: &'static str,
    /// Number of GPUs.
    pub ranks: u32,
    /// Who measured it.
    pub source: String,
    /// Bytes of each rank's message and us, ascending.
    pub points: Vec<(u64, f64)>,
}

impl Priors {
    /// Every published curve.
    #[must_use]
    pub fn published(&self) -> Vec<PublishedAllReduce> {
        self.all_curves()
            .iter()
            .map(PublishedAllReduce::of)
            .collect()
    }

    /// Those of a GPU, named as its driver does, at a number of GPUs.
    #[must_use]
    pub fn published_for(&self, gpu: Option<&str>, ranks: u32) -> Vec<PublishedAllReduce> {
        let curves = self.curves(gpu, ranks).into_iter();
        curves.map(PublishedAllReduce::of).collect()
    }
}

impl PublishedAllReduce {
    fn of(curve: &PublishedCurve) -> Self {
        Self {
            gpu: curve.gpu.clone(),
            path: match curve.path {
                PublishedPath::Peer => "peer",
                PublishedPath::Staged => "staged",
                PublishedPath::Custom => "custom",
            },
            words: curve.path.words(),
            ranks: curve.ranks,
            source: curve.source.clone(),
            points: curve.points.clone(),
        }
    }
}

/// The time at a size as every curve here is read: on a line between the neighbours, both axes logarithmic. `None` without
/// points. They are ascending by size.
#[must_use]
pub fn between(points: &[(u64, f64)], bytes: u64) -> Option<f64> {
    let curve = PublishedCurve {
        gpu: String::new(),
        path: PublishedPath::Peer,
        ranks: 2,
        source: String::new(),
        points: points.to_vec(),
    };
    (!points.is_empty()).then(|| Curve::of_published(&curve).at(bytes).us)
}
