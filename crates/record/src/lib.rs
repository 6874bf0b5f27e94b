//! The one versioned schema that every program writes: envelope, payloads, and the folder they live in; and what every number
//! of it needs: unit, quantity, sampling plan, metric, caveat, exit code.
//!
//! Nothing is measured here and no device is touched: one reader loads what any program wrote.

#![forbid(unsafe_code)]

pub mod calls;
pub mod caveat;
pub mod clock;
pub mod control;
pub mod exit;
pub mod metric;
pub mod near;
pub mod plan;
pub mod private;
pub mod quantity;
pub mod unit;

mod chosen;
mod collectives;
mod devices;
mod envelope;
mod error;
mod failure;
mod folder;
mod links;
mod monitor;
mod numa;
mod operations;
mod peers;
mod planned;
mod points;
mod provenance;
mod request_error;
mod schema;
mod serve;
mod serve_client;
mod serve_finding;
mod serve_load;
mod serve_server;
mod soft;
mod summary;
mod times;
mod unmeasured;

pub use chosen::{
    Channel, Choice, EngineRunFacts, LauncherFacts, LibraryFacts, TransportFacts, TransportReason,
};
pub use collectives::{CollectiveOutcome, CollectivePoint, Collectives, CollectivesEvent};
pub use devices::{BackendFacts, Busy, LinkDevice, LinkReading, Mig};
pub use envelope::{Growing, Header, Line, Payload, Record, Simulated, Status};
pub use error::RecordError;
pub use failure::{Failure, FailureKind};
pub use folder::{
    FolderError, JOURNAL_ROOM, Journal, ResultFolder, load, record_json, write_whole,
};
pub use links::{Links, LinksEvent, NvlinkReading, PairPath};
pub use monitor::{
    MONITOR_SCHEMA, MonitorCpu, MonitorDevice, MonitorEnd, MonitorGap, MonitorHeader, MonitorLate,
    MonitorLine, MonitorProcess, MonitorSample, MonitorValues, NodeUse,
};
pub use numa::{
    HostMemoryOutcome, HostMemoryPoint, NUMA_PROGRAM, Numa, NumaBinding, NumaEvent, NumaPoint,
};
pub use operations::{BufferPlacement, CallMode, CollectiveKind, ElementType};
pub use peers::{KernelAccess, PeerProbe, PeerStep, PeerVerdict, StepOutcome};
pub use planned::{CollectivePath, PlannedCollective, PlannedStep};
pub use points::{
    Endpoint, LOAD_ARITHMETIC, LOAD_MEMORY, LinkUse, NamedQuantity, Outcome, Placement, Point,
    Verification, judged, stream,
};
pub use provenance::{
    ALLOWED_ENVIRONMENT, Provenance, allowed_environment, is_listed, is_secret, redacted_arguments,
};
pub use request_error::RequestErrorKind;
pub use schema::SCHEMA;
pub use serve::{
    RequestError, Serve, ServeEvent, ServeLoad, ServeRequest, ServeSummary, ServeTarget, TokenCount,
};
pub use serve_client::{ServeClient, Stamps};
pub use serve_finding::{CacheEvidence, ServeFinding};
pub use serve_load::{Arrivals, Goals};
pub use serve_server::{
    ServeServer, ServerChange, ServerCounters, ServerMachine, ServerMean, ServerReading, ServerSum,
    ServerValues,
};

pub use folder::read_text;
pub use summary::failures;
pub use summary::summarise;
pub use times::is_bounded;
pub use unmeasured::Unmeasured;

pub use stats::Distribution;

#[cfg(test)]
mod tests;
