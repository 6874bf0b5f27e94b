//! Serving results: ours, vLLM's and SGLang's JSON and printed blocks, and flat summaries such as evalscope's; and what in them
//! contradicts what.

mod across;
mod aliases;
mod block;
mod checks;
mod conditions;
mod host;
mod impossible;
mod lists;
mod ours;
mod own_lists;
mod read;
mod result;
mod run;
mod samples;
mod summary;
mod throttle;
mod times;
mod tokens;
mod told;
mod twice;
mod vllm;

pub use across::across;
pub use aliases::accepted_keys;
pub use conditions::Conditions;
pub use host::Host;
pub use read::{read, read_all};
pub use result::{Asked, Finding, FindingKind, Latency, Said, ServeResult};
pub use run::{ServeFormat, ServeRun, Spread};
pub use samples::{Samples, samples};
pub use throttle::{Throttle, throttle};
pub use vllm::{VLLM_INVALID, VLLM_MADE_BY};
