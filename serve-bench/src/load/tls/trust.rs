//! Whom a load believes to be its server: the certificates that the system trusts, those of a file, or anybody.

use std::path::Path;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, ring, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

/// Certificates that were named, and what checks against those that are trusted.
type Named = (
    Vec<CertificateDer<'static>>,
    Option<Arc<WebPkiServerVerifier>>,
);

/// How connections to one server are secured.
#[derive(Debug, Clone)]
pub(crate) struct Trust {
    /// The settings of a connection.
    pub(crate) config: Arc<ClientConfig>,
    /// Whom the certificate must be made out to.
    pub(crate) name: ServerName<'static>,
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

/// Takes what the roots have signed, and a certificate that was itself named; without roots any.
///
/// One that was named is taken although it says that it is a CA's, as those say that `openssl req -x509` makes: webpki refuses such
/// a certificate as a server's. Its host name is looked at, its dates are not.
#[derive(Debug)]
struct Verifier {
    /// `None` takes any certificate.
    roots: Option<Arc<WebPkiServerVerifier>>,
    /// Taken by themselves.
    named: Vec<CertificateDer<'static>>,
    /// What handshakes may be signed with.
    algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(roots) = &self.roots else {
            return Ok(ServerCertVerified::assertion());
        };
        if self.named.iter().any(|named| named == end_entity) {
            verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
            return Ok(ServerCertVerified::assertion());
        }
        roots.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, dss, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, dss, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
