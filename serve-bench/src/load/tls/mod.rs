//! TLS between the socket and the reader of replies, for servers at `https://` addresses.
//!
//! It reads and writes no socket: what was read goes in with its instant, and what was in it comes out with the same one. So the
//! kernel's stamps are those of the bytes on the wire, and a server at an `http://` address costs nothing more than a look at an
//! option that is empty. Handshakes are made with the connections, before the load begins.

mod filter;
#[cfg(test)]
mod tests;
mod trust;

pub(super) use self::filter::Filter;
pub(crate) use self::trust::Trust;
