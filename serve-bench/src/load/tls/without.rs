//! What stands in the place of TLS in a build without it: nothing can be made of these types, and https:// is refused.

use std::convert::Infallible;
use std::io;
use std::path::Path;

use crate::load::connection::Arrival;

/// How connections to a server would be secured.
#[derive(Debug, Clone)]
pub(in crate::load) struct Trust(Infallible);

impl Trust {
    /// Refuses.
    ///
    /// # Errors
    /// Always, in words.
    pub(in crate::load) fn of(
        _host: &str,
        _ca_file: Option<&Path>,
        _insecure: bool,
    ) -> Result<Self, String> {
        Err(
            "--base-url: this build knows no https, because it was made without the feature tls; build it with that, or ask the \
             server's plain port"
                .to_owned(),
        )
    }
}

/// The TLS of a connection.
pub(in crate::load) struct Filter(Infallible);

impl Filter {
    pub(in crate::load) fn begin(trust: &Trust) -> io::Result<Self> {
        match trust.0 {}
    }

    pub(in crate::load) fn is_shaking_hands(&self) -> bool {
        match self.0 {}
    }

    pub(in crate::load) fn outgoing(&mut self) -> io::Result<Vec<u8>> {
        match self.0 {}
    }

    pub(in crate::load) fn encrypt(&mut self, _parts: [&[u8]; 3]) -> io::Result<Vec<u8>> {
        match self.0 {}
    }

    pub(in crate::load) fn decrypt(&mut self, _bytes: &[u8], _arrival: Arrival) -> io::Result<()> {
        match self.0 {}
    }

    pub(in crate::load) fn close(&mut self) {
        match self.0 {}
    }

    pub(in crate::load) fn is_closed(&self) -> bool {
        match self.0 {}
    }

    pub(in crate::load) fn has_plain(&self) -> bool {
        match self.0 {}
    }

    pub(in crate::load) fn take(&mut self) -> Option<(Vec<u8>, Arrival)> {
        match self.0 {}
    }
}
