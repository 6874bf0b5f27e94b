//! Whom a load believes to be its server: the certificates that the system trusts, those of a file, or anybody.

use std::path::Path;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};

use super::verify::Verifier;

/// Certificates that were named, and what checks against those that are trusted.
type Named = (
    Vec<CertificateDer<'static>>,
    Option<Arc<WebPkiServerVerifier>>,
);

/// How connections to one server are secured.
#[derive(Debug, Clone)]
pub(crate) struct Trust {
    pub(super) config: Arc<ClientConfig>,
    /// Whom the certificate must be made out to.
    pub(super) name: ServerName<'static>,
}

impl Trust {
    /// Trusts the certificates of a file or of the system for this host, or whatever the server shows.
    ///
    /// # Errors
    /// In words: a file that cannot be read or holds no certificate, or a system without any.
    pub(crate) fn of(host: &str, ca_file: Option<&Path>, insecure: bool) -> Result<Self, String> {
        let name = ServerName::try_from(host.to_owned()).map_err(|_| {
            "the host of an https:// address is no name that a certificate can have".to_owned()
        })?;
        let provider = Arc::new(ring::default_provider());
        let (named, roots) = match ca_file {
            Some(file) => of_file(file, &provider)?,
            None if insecure => Default::default(),
            None => (Vec::new(), Some(of_system(&provider)?)),
        };
        let verifier = Verifier {
            roots: roots.filter(|_| !insecure),
            named,
            algorithms: provider.signature_verification_algorithms,
        };
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| format!("TLS cannot be set up: {error}"))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth();
        // The reader knows no other; a server that prefers HTTP/2 is told so.
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self {
            config: Arc::new(config),
            name,
        })
    }

    /// The settings of a connection.
    pub(crate) fn config(&self) -> Arc<ClientConfig> {
        Arc::clone(&self.config)
    }

    /// Whom the certificate must be made out to.
    pub(crate) fn name(&self) -> ServerName<'static> {
        self.name.clone()
    }
}

/// The certificates of a file, and what checks against them.
fn of_file(file: &Path, provider: &Arc<CryptoProvider>) -> Result<Named, String> {
    let wrong = |why: String| format!("--ca-file: {}: {why}", file.display());
    let pem = bounded::read(file, bounded::SETTINGS).map_err(|error| wrong(error.to_string()))?;
    let named = CertificateDer::pem_slice_iter(&pem).collect::<Result<Vec<_>, _>>();
    let named = named.map_err(|error| wrong(format!("it is no PEM file: {error}")))?;
    let roots = verifier(&named, provider)
        .map_err(|why| wrong(format!("it holds no certificate that can be used: {why}")))?;
    Ok((named, Some(roots)))
}

fn of_system(provider: &Arc<CryptoProvider>) -> Result<Arc<WebPkiServerVerifier>, String> {
    let found = rustls_native_certs::load_native_certs();
    verifier(&found.certs, provider).map_err(|why| {
        let why = found
            .errors
            .first()
            .map_or(why, |error| format!("{error:#}"));
        format!(
            "the system has no certificates to check an https server with ({why}); install its ca-certificates, or name a PEM file \
             with --ca-file"
        )
    })
}

/// Checks against those of the certificates that can be understood.
fn verifier(
    roots: &[CertificateDer<'static>],
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<WebPkiServerVerifier>, String> {
    let mut store = RootCertStore::empty();
    store.add_parsable_certificates(roots.iter().cloned());
    WebPkiServerVerifier::builder_with_provider(Arc::new(store), Arc::clone(provider))
        .build()
        .map_err(|error| error.to_string())
}
