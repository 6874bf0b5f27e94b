//! The number of the schema that records have.

/// The schema's number; it grows only when an older reader would misunderstand a newer record.
/// 2: the reason of a failure has a kind.
pub const SCHEMA: u32 = 2;
