//! What a metric is, said once for renderings and readers.

/// The definition of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    /// Its short name in the field, such as `TTFT`.
    pub name: &'static str,
    /// Its name in words.
    pub title: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// How it is worked out.
    pub formula: &'static str,
    /// Whose definition it is, and where ours differs from it.
    pub source: &'static str,
}
