//! The server over real sockets: bytes against vLLM's shapes written by hand, refusals, cancelling and pace.

mod client;
mod errors;
mod formats;
mod load;
mod running;
