//! The one versioned schema that every program writes: envelope, payloads, and the folder they live in.

mod collectives;
mod devices;
mod envelope;
mod folder;
mod links;
mod monitor;
mod peers;
mod points;
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
pub use links::{Links, LinksEvent, PairPath};
pub use monitor::{
    MONITOR_SCHEMA, MonitorCpu, MonitorDevice, MonitorEnd, MonitorGap, MonitorHeader, MonitorLate,
    MonitorLine, MonitorProcess, MonitorSample, MonitorValue, MonitorValues, NodeUse,
};
pub use peers::{KernelAccess, PeerProbe, PeerStep, PeerVerdict, StepOutcome};
pub use points::{
    Endpoint, LinkUse, NamedQuantity, Outcome, Placement, Point, Verification, judged, stream,
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
