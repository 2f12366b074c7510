//! TLS of a probe's connections: which bytes of the stream carry the answer.

use std::io::{Read, Write};
use std::net::IpAddr;
use std::sync::Arc;

use delaylab_proto::Failure;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    ClientConfig, ClientConnection, ConfigBuilder, DigitallySignedStruct, Error, RootCertStore,
    SignatureScheme, WantsVerifier,
};

use crate::protocol::measuring::Probe;

/// The length of the header of a record (RFC 8446, section 5.1), and the offset of the length that it states.
const RECORD_HEADER: usize = 5;
const RECORD_LENGTH: usize = 3;

/// The settings of all connections of a probe by HTTPS.
#[derive(Clone, Debug)]
pub(crate) struct TlsSettings {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

/// One connection.
#[derive(Debug)]
pub(crate) struct Tls {
    connection: ClientConnection,
    /// The bytes of a record that has not come whole yet.
    record: Vec<u8>,
}

/// The data of one record, after decryption.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Decrypted {
    /// The place of the record's first byte within the bytes that were given to [`Tls::read`]; less than 0 if the
    /// record began before.
    pub at: i64,
    pub data: Vec<u8>,
}

impl TlsSettings {
    /// Return the settings that a probe asks for; fail if the certificates that it trusts cannot be read.
    pub(crate) fn of(request: &Probe, to: IpAddr) -> Result<Self, Failure> {
        let refuse = |why: String| Failure::new("read the request `probe`", why);
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(|error| refuse(error.to_string()))?;
        let mut config = match &request.asked().trusted {
            Some(certificates) => {
                let named: Vec<_> = CertificateDer::pem_slice_iter(certificates.as_bytes())
                    .collect::<Result<_, _>>()
                    .map_err(|error| refuse(format!("trusted: {error}")))?;
                let mut roots = RootCertStore::empty();
                // The store of a system may have some that are too old to be read.
                roots.add_parsable_certificates(named.iter().cloned());
                let by_authority =
                    WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider)
                        .build()
                        .map_err(|error| refuse(format!("trusted: {error}")))?;
                verified_by(builder, Trusting { by_authority, named })
            }
            None => verified_by(builder, Unchecked(provider)),
        };
        // Each handshake is a whole one.
        config.resumption = rustls::client::Resumption::disabled();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        let name = match request.asked().host.as_str() {
            "" => ServerName::IpAddress(to.into()),
            host => ServerName::try_from(host.to_owned())
                .map_err(|_| refuse(format!("{host} is no name of a server")))?,
        };
        Ok(Self { config: Arc::new(config), name })
    }

    /// Begin a connection.
    pub(crate) fn connect(&self) -> Result<Tls, String> {
        let connection = ClientConnection::new(self.config.clone(), self.name.clone());
        Ok(Tls { connection: connection.map_err(|error| error.to_string())?, record: Vec::new() })
    }
}

impl Tls {
    /// Return true until both sides have agreed on keys.
    pub(crate) fn is_handshaking(&self) -> bool {
        self.connection.is_handshaking()
    }

    /// Take the bytes to send now, such as those of the handshake.
    pub(crate) fn unsent(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        while self.connection.wants_write() {
            if self.connection.write_tls(&mut bytes).is_err() {
                break;
            }
        }
        bytes
    }

    /// Return the bytes to send for this request.
    pub(crate) fn encrypt(&mut self, request: &[u8]) -> Result<Vec<u8>, String> {
        self.connection.writer().write_all(request).map_err(|error| error.to_string())?;
        Ok(self.unsent())
    }

    /// Tell the server that no request follows (`close_notify`); return the bytes to send.
    pub(crate) fn end(&mut self) -> Vec<u8> {
        self.connection.send_close_notify();
        self.unsent()
    }

    /// Read bytes of the stream, and pass the data of each record that is whole by now to `take`. Fail with the
    /// reason if the server does not keep to the protocol, or its certificate is refused.
    pub(crate) fn read(
        &mut self,
        mut bytes: &[u8],
        mut take: impl FnMut(Decrypted),
    ) -> Result<(), String> {
        let mut at = -(self.record.len() as i64);
        while !bytes.is_empty() {
            let wanted = self.wanted();
            let (some, rest) = bytes.split_at((wanted - self.record.len()).min(bytes.len()));
            self.record.extend_from_slice(some);
            bytes = rest;
            if self.record.len() < self.wanted() {
                continue;
            }
            let length = self.record.len() as i64;
            let data = self.decrypt()?;
            if !data.is_empty() {
                take(Decrypted { at, data });
            }
            at += length;
        }
        Ok(())
    }

    /// Return how many bytes the current record has, as far as it is known.
    fn wanted(&self) -> usize {
        match self.record.get(RECORD_LENGTH..RECORD_HEADER) {
            Some(length) => RECORD_HEADER + usize::from(u16::from_be_bytes([length[0], length[1]])),
            None => RECORD_HEADER,
        }
    }

    /// Return the data of the record, which is whole.
    fn decrypt(&mut self) -> Result<Vec<u8>, String> {
        let record = std::mem::take(&mut self.record);
        let mut rest = &record[..];
        let mut data = Vec::new();
        while !rest.is_empty() {
            self.connection.read_tls(&mut rest).map_err(|error| error.to_string())?;
            let state = self.connection.process_new_packets().map_err(|error| said(&error))?;
            let mut part = vec![0; state.plaintext_bytes_to_read()];
            self.connection.reader().read_exact(&mut part).map_err(|error| error.to_string())?;
            data.extend(part);
        }
        Ok(data)
    }
}

fn verified_by(
    builder: ConfigBuilder<ClientConfig, WantsVerifier>,
    verifier: impl ServerCertVerifier + 'static,
) -> ClientConfig {
    let builder = builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier));
    builder.with_no_client_auth()
}

/// Return an error of TLS in words.
fn said(error: &Error) -> String {
    match error {
        Error::InvalidCertificate(why) => format!("the certificate is refused: {why}"),
        Error::InvalidMessage(_) => "the server does not speak TLS".into(),
        Error::AlertReceived(alert) => format!("the server ends TLS: {alert:?}"),
        other => other.to_string(),
    }
}

/// A verifier that accepts what an authority vouches for, and a certificate that is itself trusted, as one that signs
/// itself is.
#[derive(Debug)]
struct Trusting {
    by_authority: Arc<WebPkiServerVerifier>,
    named: Vec<CertificateDer<'static>>,
}

impl ServerCertVerifier for Trusting {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verified =
            self.by_authority.verify_server_cert(certificate, intermediates, name, ocsp, now);
        match verified {
            Err(_) if self.named.contains(certificate) => {
                verify_server_name(&ParsedCertificate::try_from(certificate)?, name)?;
                Ok(ServerCertVerified::assertion())
            }
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.by_authority.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.by_authority.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.by_authority.supported_verify_schemes()
    }
}

/// A verifier that accepts any certificate, but checks that the server has its key.
#[derive(Debug)]
struct Unchecked(Arc<CryptoProvider>);

impl ServerCertVerifier for Unchecked {
    fn verify_server_cert(
        &self,
        _certificate: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(
            message,
            certificate,
            signed,
            &self.0.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(
            message,
            certificate,
            signed,
            &self.0.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
