//! TLS between the socket and the reader of replies, for servers at `https://` addresses.
//!
//! It reads and writes no socket: what was read goes in with its instant, and what was in it comes out with the same one. So the
//! kernel's stamps are those of the bytes on the wire, and a server at an `http://` address costs nothing more than a look at an
//! option that is empty. Handshakes are made with the connections, before the load begins.

#[cfg(feature = "tls")]
mod filter;
#[cfg(feature = "tls")]
mod trust;
#[cfg(feature = "tls")]
mod verify;
#[cfg(not(feature = "tls"))]
mod without;

#[cfg(feature = "tls")]
pub(super) use self::filter::Filter;
#[cfg(feature = "tls")]
pub(super) use self::trust::Trust;
#[cfg(not(feature = "tls"))]
pub(super) use self::without::{Filter, Trust};

#[cfg(feature = "tls")]
#[cfg(test)]
mod tests;
