//! The server over real sockets: bytes against vLLM's shapes written by hand, refusals, cancelling and pace.

mod client;
mod dialects;
mod formats;
mod load;
mod running;
