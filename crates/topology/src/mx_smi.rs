//! What MetaX's `mx-smi` prints: the matrix of `topo -m`, and the addresses of `-L` that say which GPU is which.
//!
//! MetaXLink lies beside PCI Express and is in no file of sysfs, so the tool's text is the source. Nothing is run here.

use crate::{PathType, PciAddress};

/// The most GPUs that a matrix may have; the largest machines have 64.
const MOST: usize = 256;

/// The line above the matrix.
const TITLE: &str = "Device link type matrix";

/// Words of the matrix that are no path class of ours; the legend calls the second one "unknown".
const NO_CLASS: [&str; 2] = ["ETH", "NA"];

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
    let mut lines = text.lines().map(str::trim);
    let refuse = |what: String| Err(MatrixError(what));
    let mut attached = None;
    loop {
        match lines.next() {
            None => return refuse(format!("there is no `{TITLE}`")),
            Some(TITLE) => break,
            Some(line) => {
                let count = line.strip_prefix("Attached GPUs").and_then(|rest| {
                    rest.trim_start()
                        .strip_prefix(':')?
                        .trim()
                        .parse::<usize>()
                        .ok()
                });
                attached = count.or(attached);
            }
        }
    }
    let header = lines.next().unwrap_or_default();
    let columns: Vec<&str> = header
        .split_whitespace()
        .take_while(|word| is_end(word))
        .collect();
    let gpus: Vec<usize> = (0..columns.len())
        .filter(|column| columns[*column].starts_with("GPU"))
        .collect();
    if gpus.is_empty() || gpus.len() > MOST {
        return refuse(format!("its header has {} GPUs", gpus.len()));
    }
    if attached.is_some_and(|attached| attached != gpus.len()) {
        let attached = attached.unwrap_or_default();
        return refuse(format!(
            "{attached} GPUs are attached and the matrix has {}",
            gpus.len()
        ));
    }
    let rows: Vec<Vec<&str>> = lines
        .take_while(|line| !line.is_empty())
        .map(|line| line.split_whitespace().collect())
        .collect();
    let mut classes = Vec::new();
    for &row in &gpus {
        let name = columns[row];
        let Some(cells) = rows.iter().find(|cells| cells.first() == Some(&name)) else {
            return refuse(format!("there is no row {name}"));
        };
        // The first word is the row's name.
        let of_column = |&column: &usize| match cells.get(column + 1) {
            None => Err(MatrixError(format!("row {name} is cut short"))),
            Some(word) => class(word).ok_or_else(|| {
                MatrixError(format!("row {name} has `{word}`, which is no link type"))
            }),
        };
        classes.push(gpus.iter().map(of_column).collect::<Result<Vec<_>, _>>()?);
    }
    for a in 0..classes.len() {
        for b in 0..classes.len() {
            if classes[a][b] != classes[b][a] || (a == b) != (classes[a][b] == PathType::Same) {
                let (a, b) = (columns[gpus[a]], columns[gpus[b]]);
                return refuse(format!("{a} and {b} contradict each other"));
            }
        }
    }
    Ok(Matrix { classes })
}

/// Reads the addresses of `mx-smi -L` in the tool's order; `None` unless every GPU from 0 on has one.
#[must_use]
pub fn list(text: &str) -> Option<Vec<PciAddress>> {
    let mut gpus = Vec::new();
    for line in text.lines() {
        let Some(rest) = line.trim_start().strip_prefix("GPU#") else {
            continue;
        };
        let mut words = rest.split_whitespace();
        let number: usize = words.next()?.parse().ok()?;
        // A name can have several words; an address has colons and is short.
        let address = words.find_map(|word| word.contains(':').then(|| word.parse().ok())?)?;
        if number != gpus.len() {
            return None;
        }
        gpus.push(address);
    }
    (!gpus.is_empty()).then_some(gpus)
}

/// Whether a word of the header names an end, such as `GPU0` or `NIC3`.
fn is_end(word: &str) -> bool {
    let number = ["GPU", "NIC"]
        .iter()
        .find_map(|kind| word.strip_prefix(kind));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

/// The class of a word of the matrix.
fn class(word: &str) -> Option<PathType> {
    const CLASSES: [PathType; 7] = [
        PathType::Same,
        PathType::Mx,
        PathType::Pix,
        PathType::Pxb,
        PathType::Phb,
        PathType::Node,
        PathType::Sys,
    ];
    let ours = CLASSES.into_iter().find(|class| class.name() == word);
    ours.or_else(|| NO_CLASS.contains(&word).then_some(PathType::Unknown))
}
