//! The one versioned schema that every program writes: envelope, payloads, and the folder they live in.

mod collectives;
mod devices;
mod envelope;
mod folder;
mod links;
mod provenance;
mod serve;
mod soft;
mod summary;

pub use collectives::{
    CallMode, CollectiveKind, CollectiveOutcome, CollectivePath, CollectivePoint, Collectives,
    CollectivesEvent, ElementType, LibraryFacts, PlannedCollective, PlannedStep,
};
pub use devices::{BackendFacts, Busy, LinkDevice, LinkReading, Mig};
pub use envelope::{
    Growing, Header, Line, Payload, Record, RecordError, SCHEMA, Simulated, Status,
};
pub use folder::{FolderError, Journal, ResultFolder, load, write_whole};
pub use links::{
    Endpoint, LinkUse, Links, LinksEvent, NamedQuantity, Outcome, PairPath, PeerProbe, PeerStep,
    PeerVerdict, Placement, Point, StepOutcome, Verification,
};
pub use provenance::{ALLOWED_ENVIRONMENT, Provenance, allowed_environment, redacted_arguments};
pub use serve::{
    RequestError, RequestErrorKind, Serve, ServeEvent, ServeLoad, ServeRequest, ServeSummary,
    ServeTarget, TokenCount,
};

pub(crate) use folder::read_bounded;
pub(crate) use summary::failures;
pub use summary::summarise;

pub use crate::stats::Distribution;

#[cfg(test)]
mod tests;
