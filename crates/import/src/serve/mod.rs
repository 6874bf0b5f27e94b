//! Serving results: ours, vLLM's and SGLang's JSON and printed blocks, and flat summaries such as evalscope's; and what in them
//! contradicts what.

mod block;
mod checks;
mod conditions;
mod finding;
mod flat;
mod host;
mod keys;
mod latency;
mod lists;
mod numbers;
mod ours;
mod read;
mod result;
mod throttle;

pub use checks::across;
pub use conditions::Conditions;
pub use finding::Finding;
pub use flat::{VLLM_INVALID, VLLM_MADE_BY};
pub use host::Host;
pub use keys::accepted_keys;
pub use latency::Latency;
pub use read::{read, read_all, read_one};
pub use result::{Asked, Said, ServeFormat, ServeResult, ServeRun, Spread};
pub use throttle::{Throttle, throttle};
