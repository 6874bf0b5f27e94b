//! TLS before a server that plays scripts, and certificates for it.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, SupportedProtocolVersion};

use crate::load::mock::Mock;

/// Who signs certificates.
pub(super) struct Authority {
    certificate: rcgen::Certificate,
    key: Vec<u8>,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate and its key.
pub(super) struct Leaf {
    certificate: CertificateDer<'static>,
    key: Vec<u8>,
}

impl Authority {
    /// One that is nobody's host.
    pub(super) fn new() -> Self {
        Self::of("authority")
    }

    /// One that is a host itself.
    pub(super) fn of(host: &str) -> Self {
        let mut parameters = parameters(host, "an authority");
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let certificate = parameters.self_signed(&key).unwrap();
        Self {
            certificate,
            key: key.serialize_der(),
            issuer: Issuer::new(parameters, key),
        }
    }

    /// Its own certificate as PEM.
    pub(super) fn pem(&self) -> String {
        self.certificate.pem()
    }

    /// Its own certificate as a server's.
    pub(super) fn itself(&self) -> Leaf {
        Leaf {
            certificate: self.certificate.der().clone(),
            key: self.key.clone(),
        }
    }

    /// A certificate for a host.
    pub(super) fn leaf(&self, host: &str) -> Leaf {
        self.sign(&parameters(host, "a server"))
    }

    /// A certificate for a host until a year begins.
    pub(super) fn leaf_until(&self, host: &str, year: i32) -> Leaf {
        let mut parameters = parameters(host, "a server");
        parameters.not_after = date_time_ymd(year, 1, 1);
        self.sign(&parameters)
    }

    fn sign(&self, parameters: &CertificateParams) -> Leaf {
        let key = KeyPair::generate().unwrap();
        let certificate = parameters.signed_by(&key, &self.issuer).unwrap();
        Leaf {
            certificate: certificate.der().clone(),
            key: key.serialize_der(),
        }
    }
}

fn parameters(host: &str, name: &str) -> CertificateParams {
    let mut parameters = CertificateParams::new([host.to_owned()]).unwrap();
    parameters.distinguished_name.push(DnType::CommonName, name);
    parameters
}

/// How a server with this certificate shakes hands.
pub(super) fn server(leaf: &Leaf, version: &'static SupportedProtocolVersion) -> Arc<ServerConfig> {
    let key = PrivateKeyDer::try_from(leaf.key.clone()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[version])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![leaf.certificate.clone()], key)
        .unwrap();
    Arc::new(config)
}

/// TLS before a server; it ends with the test's process.
pub(super) struct Front {
    pub(super) url: String,
}

impl Front {
    /// One with the same certificate for all.
    pub(super) fn start(mock: &Mock, config: Arc<ServerConfig>) -> Self {
        Self::choosing(mock, move |_| Arc::clone(&config))
    }

    /// One that chooses its certificate by the number of the connection, from 0.
    pub(super) fn choosing(
        mock: &Mock,
        choose: impl Fn(usize) -> Arc<ServerConfig> + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("https://{}", listener.local_addr().unwrap());
        let behind = mock.url.trim_start_matches("http://").to_owned();
        std::thread::spawn(move || {
            for (number, client) in listener.incoming().enumerate() {
                let (client, config) = (client.unwrap(), choose(number));
                let behind = TcpStream::connect(&behind).unwrap();
                // A client that goes away ends its threads, not the test.
                std::thread::spawn(move || drop(carry(client, behind, config)));
            }
        });
        Self { url }
    }
}

/// Carries bytes between a client and a server until one of them closes.
fn carry(
    mut client: TcpStream,
    mut behind: TcpStream,
    config: Arc<ServerConfig>,
) -> std::io::Result<()> {
    client.set_nodelay(true)?;
    behind.set_nodelay(true)?;
    let mut tls = ServerConnection::new(config).unwrap();
    tls.set_buffer_limit(None);
    let tls = Arc::new(Mutex::new(tls));
    let back = {
        let (tls, mut client, mut behind) =
            (Arc::clone(&tls), client.try_clone()?, behind.try_clone()?);
        std::thread::spawn(move || {
            let mut bytes = vec![0; 64 << 10];
            loop {
                let read = behind.read(&mut bytes)?;
                let mut tls = tls.lock().unwrap();
                match read {
                    0 => tls.send_close_notify(),
                    read => tls.writer().write_all(&bytes[..read])?,
                }
                flush(&mut tls, &mut client)?;
                if read == 0 {
                    return client.shutdown(Shutdown::Both);
                }
            }
        })
    };
    let mut bytes = vec![0; 64 << 10];
    let carried = loop {
        let read = client.read(&mut bytes)?;
        if read == 0 {
            break Ok(());
        }
        let mut rest = &bytes[..read];
        let mut plain = Vec::new();
        let mut tls = tls.lock().unwrap();
        let mut failed = false;
        while !rest.is_empty() && !failed && tls.read_tls(&mut rest)? > 0 {
            failed = tls.process_new_packets().is_err();
            // That nothing is there yet is no failure.
            drop(tls.reader().read_to_end(&mut plain));
        }
        flush(&mut tls, &mut client)?;
        drop(tls);
        if failed {
            break Ok(());
        }
        behind.write_all(&plain)?;
    };
    client.shutdown(Shutdown::Both)?;
    behind.shutdown(Shutdown::Both)?;
    drop(back.join());
    carried
}

fn flush(tls: &mut ServerConnection, client: &mut TcpStream) -> std::io::Result<()> {
    while tls.wants_write() {
        tls.write_tls(client)?;
    }
    Ok(())
}
