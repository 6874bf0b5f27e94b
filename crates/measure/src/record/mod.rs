//! The one versioned schema that every program writes: envelope, payloads, and the folder they live in.

mod envelope;
mod folder;
mod links;
mod provenance;

pub use envelope::{Header, Line, Payload, Record, RecordError, SCHEMA, Simulated, Status};
pub use folder::{FolderError, Journal, ResultFolder, load, write_whole};
pub use links::{
    BackendFacts, Busy, Endpoint, LinkDevice, LinkReading, LinkUse, Links, LinksEvent, Mig,
    NamedQuantity, Outcome, PairPath, PeerProbe, PeerStep, PeerVerdict, Placement, Point,
    StepOutcome, Verification,
};
pub use provenance::{ALLOWED_ENVIRONMENT, Provenance, allowed_environment, redacted_arguments};

#[cfg(test)]
mod tests;
