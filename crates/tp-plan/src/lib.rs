//! Which collectives an engine issues in one step of a tensor-parallel model: kind, count, bytes, and who does them.
//!
//! [`ModelFacts`] come from a Hugging Face `config.json` or from the models that are shipped; [`EngineFacts`] say how the
//! engine runs it; [`plan()`] joins them. The rules are those of vLLM 0.13 and SGLang 0.5.6 as read in their sources; each
//! rule names its source. This crate measures nothing and predicts no time.
#![forbid(unsafe_code)]

mod engine;
mod half;
mod log;
mod model;
mod plan;
mod step;
mod table;

pub use engine::{CustomAllReduce, Engine, EngineFacts, Execution, OffCause, Surroundings, Vendor};
pub use half::{HalfError, HalfModel, half, must_be_written};
pub use log::{Counted, EngineLog, Graphs, Library, Said, Warned};
pub use model::{Experts, ModelError, ModelFacts, WeightFormat, builtin_names, hub_id};
pub use plan::plan;
pub use step::{Costs, Parts, Rates, StepModel};
pub use table::table;
