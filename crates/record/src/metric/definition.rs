//! What a metric is, said once for renderings and readers.

/// The definition of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    /// Its short name in the field, such as `TTFT`.
    pub name: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// How it is worked out.
    pub formula: &'static str,
}
