//! The `[[collective]]` tables: how long one call of a collective library takes on this box, by bytes.

use crate::{BoxFile, Figure, Origin};
use serde::{Deserialize, Serialize};

/// The time of one collective by message size, for one library and one number of ranks.
///
/// In TOML `points = [[bytes, microseconds], ..]`, and exactly one of `published = "source"` and `assumed = "why"`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "CollectiveText", into = "CollectiveText")]
pub struct Collective {
    /// Who does it.
    pub library: CollectiveLibrary,
    /// The operation.
    pub kind: CollectiveKind,
    /// Number of ranks, at least 2.
    pub ranks: u32,
    /// Bytes that each rank brings (for an all-gather its own part, not the whole) with the time of one call on the device
    /// in microseconds; bytes ascend.
    pub points: Vec<(u64, f64)>,
    /// What one call costs the host in microseconds: calls that are issued one by one take no less. A graph's calls have none.
    pub launch_us: Option<Figure>,
    /// Where the points come from.
    pub origin: Origin,
}

/// Who does a collective.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CollectiveLibrary {
    /// NVIDIA's library.
    Nccl,
    /// An engine's own one-shot kernel over peer memory.
    Custom,
}

/// A collective operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CollectiveKind {
    /// Every rank ends with the sum over all ranks.
    AllReduce,
    /// Every rank ends with what each rank had, one after the other.
    AllGather,
}

impl Collective {
    /// The time of one call in microseconds; `None` for 0 bytes.
    ///
    /// Between two points linear in the logarithms of both; below the first its time; above the last the bandwidth of the
    /// last, that is bytes over its time.
    #[must_use]
    #[expect(
        clippy::cast_precision_loss,
        reason = "messages are far below 2^53 bytes"
    )]
    pub fn us(&self, bytes: u64) -> Option<f64> {
        let (first, last) = (self.points.first()?, self.points.last()?);
        if bytes == 0 {
            return None;
        }
        if bytes <= first.0 {
            return Some(first.1);
        }
        if bytes >= last.0 {
            return Some(last.1 * (bytes as f64 / last.0 as f64));
        }
        let above = self.points.partition_point(|point| point.0 <= bytes);
        let (below, above) = (self.points.get(above - 1)?, self.points.get(above)?);
        let part = (bytes as f64 / below.0 as f64).ln() / (above.0 as f64 / below.0 as f64).ln();
        Some(below.1 * (above.1 / below.1).powf(part))
    }
}

impl BoxFile {
    /// The table of a library, an operation and a number of ranks.
    #[must_use]
    pub fn collective_of(
        &self,
        library: CollectiveLibrary,
        kind: CollectiveKind,
        ranks: u32,
    ) -> Option<&Collective> {
        self.collective
            .iter()
            .find(|table| (table.library, table.kind, table.ranks) == (library, kind, ranks))
    }

    /// The time of one call on the device in microseconds, without launch cost, as [`Collective::us`]; `None` where the box
    /// has no such table. `bytes` are those that each rank brings.
    #[must_use]
    pub fn collective_us(
        &self,
        library: CollectiveLibrary,
        kind: CollectiveKind,
        ranks: u32,
        bytes: u64,
    ) -> Option<f64> {
        self.collective_of(library, kind, ranks)?.us(bytes)
    }
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CollectiveText {
    library: CollectiveLibrary,
    kind: CollectiveKind,
    ranks: u32,
    points: Vec<(u64, f64)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    published: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    assumed: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    launch_us: Option<Figure>,
}

impl TryFrom<CollectiveText> for Collective {
    type Error = &'static str;

    fn try_from(text: CollectiveText) -> Result<Self, Self::Error> {
        let origin = Origin::of(text.published, text.assumed).ok_or(
            "a collective needs exactly one of `published = \"source\"` and `assumed = \"why\"`",
        )?;
        Ok(Self {
            library: text.library,
            kind: text.kind,
            ranks: text.ranks,
            points: text.points,
            launch_us: text.launch_us,
            origin,
        })
    }
}

impl From<Collective> for CollectiveText {
    fn from(table: Collective) -> Self {
        let (published, assumed) = table.origin.split();
        Self {
            library: table.library,
            kind: table.kind,
            ranks: table.ranks,
            points: table.points,
            published,
            assumed,
            launch_us: table.launch_us,
        }
    }
}
