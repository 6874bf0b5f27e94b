//! The one versioned schema that every program writes: envelope, payloads, and the folder they live in.

mod devices;
mod envelope;
mod folder;
mod links;
mod provenance;

pub use devices::{BackendFacts, Busy, LinkDevice, LinkReading, Mig};
pub use envelope::{Header, Line, Payload, Record, RecordError, SCHEMA, Simulated, Status};
pub use folder::{FolderError, Journal, ResultFolder, load, write_whole};
pub use links::{
    Endpoint, LinkUse, Links, LinksEvent, NamedQuantity, Outcome, PairPath, PeerProbe, PeerStep,
    PeerVerdict, Placement, Point, StepOutcome, Verification,
};
pub use provenance::{ALLOWED_ENVIRONMENT, Provenance, allowed_environment, redacted_arguments};

#[cfg(test)]
mod tests;
