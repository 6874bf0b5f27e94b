//! `tplens explain`: reads result files, explains, and writes text, JSON and one page. It measures nothing.

mod ablation;
mod args;
pub(crate) mod boxes;
mod case;
mod documents;
mod explained;
mod logs;
pub(crate) mod sources;
mod study;

pub(crate) use self::ablation::slope_of;
pub(crate) use self::args::ExplainArgs;
pub(crate) use self::case::{CaseArgs, EngineFlags, NO_OWN_ALL_REDUCE, NODE, PAIR};
pub(crate) use self::documents::{prediction, range};
pub(crate) use self::explained::{PAGE, run};
pub(crate) use self::sources::Sources;
pub(crate) use self::study::{OfSize, of_study};
