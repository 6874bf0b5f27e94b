//! What MetaX's `mx-smi` prints: the matrix of `topo -m`, and the addresses of `-L` that say which GPU is which.
//!
//! MetaXLink lies beside PCI Express and is in no file of sysfs, so the tool's text is the source. Nothing is run here; the text
//! is read as a captured one is (`captured/metax.rs`), and has to be whole.

use crate::captured::{CapturedError, link_types, listed};
use crate::{EndKind, PathType, PciAddress};

/// The classes of all pairs of GPUs, as `mx-smi topo -m` prints them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Matrix {
    /// By row and column, equal both ways.
    classes: Vec<Vec<PathType>>,
}

/// A text is not what `mx-smi topo -m` prints.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("mx-smi topo -m: {0}; run it by hand and see whether its matrix is whole")]
pub struct MatrixError(String);

/// A matrix whose GPUs have addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fabric {
    gpus: Vec<PciAddress>,
    matrix: Matrix,
}

impl Matrix {
    /// How many GPUs it has.
    #[must_use]
    pub fn gpus(&self) -> usize {
        self.classes.len()
    }

    /// The class between two GPUs by the tool's numbers.
    #[must_use]
    pub fn class(&self, a: usize, b: usize) -> Option<PathType> {
        self.classes.get(a)?.get(b).copied()
    }
}

impl Fabric {
    /// Gives the GPUs of a matrix their addresses, in the tool's order; `None` where their numbers differ.
    #[must_use]
    pub fn new(matrix: Matrix, gpus: Vec<PciAddress>) -> Option<Self> {
        (matrix.gpus() == gpus.len()).then_some(Self { gpus, matrix })
    }

    fn class(&self, a: PciAddress, b: PciAddress) -> Option<PathType> {
        let number = |address| self.gpus.iter().position(|gpu| *gpu == address);
        self.matrix.class(number(a)?, number(b)?)
    }
}

/// The class of a pair: MetaXLink where the fabric has it, else what the PCI tree says.
#[must_use]
pub fn with_fabric(path: PathType, a: PciAddress, b: PciAddress, fabric: &Fabric) -> PathType {
    match fabric.class(a, b) {
        Some(PathType::Mx) => PathType::Mx,
        _ => path,
    }
}

/// Reads the matrix of `mx-smi topo -m`, or of `topo -n`, whose network cards are left out.
///
/// # Errors
/// Names the first thing that is not as the tool prints it: a matrix that is cut short, has an unknown word, or contradicts itself.
pub fn topo_m(text: &str) -> Result<Matrix, MatrixError> {
    let (whole, missing) = link_types(text).map_err(|error| {
        MatrixError(match error {
            CapturedError::Malformed { what, .. } => what,
            other => other.to_string(),
        })
    })?;
    let ends = whole.ends.iter().enumerate();
    let gpus: Vec<usize> = ends
        .filter(|(_, end)| end.kind == EndKind::Gpu)
        .map(|(at, _)| at)
        .collect();
    let lacks = |gpu: &&usize| missing.contains(&whole.ends[**gpu].name);
    if let Some(gpu) = gpus.iter().find(lacks) {
        let name = &whole.ends[*gpu].name;
        return Err(MatrixError(format!("there is no row {name}")));
    }
    let row = |a: usize| gpus.iter().map(|&b| whole.classes[a][b]).collect();
    Ok(Matrix {
        classes: gpus.iter().map(|&a| row(a)).collect(),
    })
}

/// Reads the addresses of `mx-smi -L` in the tool's order; `None` unless every GPU from 0 on has one.
#[must_use]
pub fn list(text: &str) -> Option<Vec<PciAddress>> {
    listed(text)
}
