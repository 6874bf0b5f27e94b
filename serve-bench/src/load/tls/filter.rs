//! The TLS of one connection as a filter: bytes of the wire in, bytes of the reply out, and the other way round.

use std::io::{self, Read, Write};
use std::sync::Arc;

use rustls::{CertificateError, ClientConnection, Error};

use super::Trust;
use crate::load::clock::Arrival;

/// The TLS of one connection.
pub(in crate::load) struct Filter {
    tls: ClientConnection,
    /// What was decrypted and not yet taken; empty, and without memory, while a stream waits.
    plain: Vec<u8>,
    /// When the last of it came; there where `plain` is not empty.
    pub(in crate::load) arrival: Option<Arrival>,
    /// Whether nothing more can come than what can be taken: the server closed, or broke the rules. Many close the socket without a
    /// word of TLS, and whether a reply was whole is seen in the reply.
    pub(in crate::load) closed: bool,
}

impl Filter {
    /// A connection whose handshake has not begun.
    ///
    /// # Errors
    /// rustls refuses the settings.
    pub(in crate::load) fn begin(trust: &Trust) -> io::Result<Self> {
        let (config, name) = (Arc::clone(&trust.config), trust.name.clone());
        let mut tls = ClientConnection::new(config, name).map_err(|error| told(&error))?;
        // A prompt may be longer than what rustls keeps by itself; it is written at once.
        tls.set_buffer_limit(None);
        Ok(Self {
            tls,
            plain: Vec::new(),
            arrival: None,
            closed: false,
        })
    }

    /// Whether the handshake is not over.
    pub(in crate::load) fn is_shaking_hands(&self) -> bool {
        self.tls.is_handshaking()
    }

    /// What is to be written of the protocol's own.
    ///
    /// # Errors
    /// None in practice: it goes into memory.
    pub(in crate::load) fn outgoing(&mut self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        while self.tls.wants_write() {
            self.tls.write_tls(&mut bytes)?;
        }
        Ok(bytes)
    }

    /// A request as it is to be written.
    ///
    /// # Errors
    /// None in practice: it goes into memory.
    pub(in crate::load) fn encrypt(&mut self, parts: [&[u8]; 3]) -> io::Result<Vec<u8>> {
        for part in parts {
            self.tls.writer().write_all(part)?;
        }
        self.outgoing()
    }

    /// Takes what was read from the socket.
    ///
    /// # Errors
    /// Why the server is not believed, or what it did wrong; nothing more comes then.
    pub(in crate::load) fn decrypt(&mut self, bytes: &[u8], arrival: Arrival) -> io::Result<()> {
        let mut rest = bytes;
        while !rest.is_empty() {
            // None is taken where the server has said that it ends.
            if self.tls.read_tls(&mut rest)? == 0 {
                break;
            }
            let state = self.tls.process_new_packets().map_err(|error| {
                self.closed = true;
                told(&error)
            })?;
            let (there, more) = (self.plain.len(), state.plaintext_bytes_to_read());
            if more > 0 {
                self.plain.resize(there + more, 0);
                self.tls.reader().read_exact(&mut self.plain[there..])?;
                self.arrival = Some(arrival);
            }
            self.closed |= state.peer_has_closed();
        }
        Ok(())
    }

    /// Takes what was decrypted, with the instant of the read that completed it.
    pub(in crate::load) fn take(&mut self) -> Option<(Vec<u8>, Arrival)> {
        let arrival = self.arrival.take()?;
        Some((std::mem::take(&mut self.plain), arrival))
    }
}

/// What went wrong, and what to do about it.
fn told(error: &Error) -> io::Error {
    let why = match error {
        Error::InvalidCertificate(why) => {
            let why = match why {
                // Another CA may have the name of one that is trusted.
                CertificateError::UnknownIssuer | CertificateError::BadSignature => {
                    "nobody who is trusted here has signed it".to_owned()
                }
                other => other.to_string(),
            };
            format!(
                "the server's certificate is refused: {why}; name the PEM file of what is to be trusted with --ca-file, ask the server \
                 by its certificate's name, or leave it unchecked with --insecure"
            )
        }
        Error::InvalidMessage(_) => {
            "the server does not answer with TLS; is its address http:// and not https://?"
                .to_owned()
        }
        other => format!("TLS with the server failed: {other}"),
    };
    io::Error::new(io::ErrorKind::InvalidData, why)
}
