//! A small certificate authority, so that webhooks use HTTPS on a developer's machine too.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use chrono::{DateTime, TimeDelta, Utc};
use rcgen::{
    BasicConstraints, CertificateParams, CidrSubnet, DistinguishedName, DnType, ExtendedKeyUsagePurpose, GeneralSubtree, IsCa, Issuer,
    KeyPair, KeyUsagePurpose, NameConstraints, date_time_ymd,
};

use super::data_dir::open_data_dir;
use super::workspace::replace;

#[cfg(test)]
mod tests;

/// The validity of an issued certificate. Apple's verifier accepts at most 825 days, browsers at most 398.
pub const VALIDITY: TimeDelta = TimeDelta::days(365);
/// How far the clock of a verifying client may be behind.
const CLOCK_DIFFERENCE: TimeDelta = TimeDelta::days(1);

/// The certificate authority of one data directory. Trusting it is harmless, because it is restricted to loopback and `.test` names.
#[derive(Debug)]
pub struct Authority {
    certificate_path: PathBuf,
    certificate_pem: String,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate with its private key, as TLS servers need them.
#[derive(Clone)]
pub struct IssuedCertificate {
    /// The certificate, followed by that of the authority.
    pub chain_pem: String,
    /// The private key in PKCS#8. Never written to a file.
    pub key_pem: String,
}

/// The reason why the authority or a certificate is not available.
#[derive(Debug, thiserror::Error)]
pub enum AuthorityError {
    /// A file could not be read or written.
    #[error("could not use the file {} of the certificate authority", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A file has unexpected contents, or a name cannot be part of a certificate.
    #[error("the certificate authority failed while {doing}")]
    Certificate {
        /// What completes the message "failed while …".
        doing: &'static str,
        /// The error of the library.
        source: rcgen::Error,
    },
}

impl Authority {
    /// Opens the authority whose `authority.pem` and `authority.key` (mode 0600) are in `data_dir`, or creates it. Several
    /// processes may do so at the same time and get the same authority.
    ///
    /// # Errors
    /// Returns an [`AuthorityError`] if a file can be neither read nor created.
    pub fn open(data_dir: &Path) -> Result<Self, AuthorityError> {
        let data_dir = open_data_dir(data_dir).map_err(refused(data_dir))?;
        let certificate_path = data_dir.join("authority.pem");
        let key = open_key(&data_dir.join("authority.key"), &certificate_path)?;
        let certificate_pem = fs::read_to_string(&certificate_path).map_err(refused(&certificate_path))?;
        // These parameters and the key contain all that an issuer needs to know of its own certificate.
        let issuer = Issuer::new(parameters(), key);
        Ok(Self { certificate_path, certificate_pem, issuer })
    }

    /// The file of the certificate, for clients that should trust this authority.
    #[must_use]
    pub fn certificate_path(&self) -> &Path {
        &self.certificate_path
    }

    /// Issues a certificate for a server with these names and addresses, with a new key, valid for a year from `now`.
    ///
    /// # Errors
    /// Returns an [`AuthorityError`] if a name is neither a host name nor an address.
    pub fn issue(&self, names: &[&str], now: DateTime<Utc>) -> Result<IssuedCertificate, AuthorityError> {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        let mut parameters = CertificateParams::new(names).map_err(failed("reading the host names"))?;
        parameters.distinguished_name = named("Portico development server");
        parameters.not_before = SystemTime::from(now - CLOCK_DIFFERENCE).into();
        parameters.not_after = SystemTime::from(now + VALIDITY).into();
        parameters.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        parameters.use_authority_key_identifier_extension = true;

        let key = KeyPair::generate().map_err(failed("generating a server's key"))?;
        let certificate = parameters.signed_by(&key, &self.issuer).map_err(failed("signing a certificate"))?;
        Ok(IssuedCertificate { chain_pem: certificate.pem() + &self.certificate_pem, key_pem: key.serialize_pem() })
    }
}

/// The contents of the authority's certificate, the same at every start.
fn parameters() -> CertificateParams {
    let mut parameters = CertificateParams::default();
    parameters.distinguished_name = named("Portico development authority");
    parameters.not_before = date_time_ymd(2025, 1, 1);
    parameters.not_after = date_time_ymd(2049, 12, 31);
    parameters.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    parameters.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    parameters.name_constraints = Some(NameConstraints {
        permitted_subtrees: vec![
            GeneralSubtree::DnsName("localhost".to_owned()),
            GeneralSubtree::DnsName("test".to_owned()),
            GeneralSubtree::IpAddress(CidrSubnet::from_v4_prefix([127, 0, 0, 0], 8)),
            GeneralSubtree::IpAddress(CidrSubnet::from_v6_prefix([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1], 128)),
        ],
        excluded_subtrees: Vec::new(),
    });
    parameters
}

/// The authority's key. If the file is missing or empty, a new key and a matching certificate are created.
fn open_key(path: &Path, certificate_path: &Path) -> Result<KeyPair, AuthorityError> {
    let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path).map_err(refused(path))?;
    // If two processes start at the same time, the second one waits here and then finds the key of the first.
    file.lock().map_err(refused(path))?;
    let mut pem = String::new();
    file.read_to_string(&mut pem).map_err(refused(path))?;
    if pem.is_empty() {
        let key = KeyPair::generate().map_err(failed("generating its key"))?;
        write_certificate(certificate_path, &key)?;
        file.write_all(key.serialize_pem().as_bytes()).and_then(|()| file.sync_all()).map_err(refused(path))?;
        return Ok(key);
    }
    let key = KeyPair::from_pem(&pem).map_err(failed("reading its key"))?;
    if !certificate_path.exists() {
        write_certificate(certificate_path, &key)?;
    }
    Ok(key)
}

/// Replaces the certificate atomically: a concurrent reader reads either the old or the new one.
fn write_certificate(path: &Path, key: &KeyPair) -> Result<(), AuthorityError> {
    let certificate = parameters().self_signed(key).map_err(failed("signing its own certificate"))?;
    replace(path, &certificate.pem(), 0o644).map_err(refused(path))
}

fn named(name: &str) -> DistinguishedName {
    let mut distinguished = DistinguishedName::new();
    distinguished.push(DnType::CommonName, name);
    distinguished
}

fn failed(doing: &'static str) -> impl FnOnce(rcgen::Error) -> AuthorityError {
    move |source| AuthorityError::Certificate { doing, source }
}

fn refused(path: &Path) -> impl FnOnce(io::Error) -> AuthorityError {
    let path = path.to_owned();
    move |source| AuthorityError::File { path, source }
}
