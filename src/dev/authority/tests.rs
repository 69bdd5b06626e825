//! Tests of issued certificates with a TLS client's verifier.

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, RootCertStore};

use super::*;
use crate::dev::temporary::TemporaryDirectory;

/// The result of a client that trusts only this authority, for a server that presents `issued` under `name`.
fn verify(authority: &Authority, issued: &IssuedCertificate, name: &str, at: DateTime<Utc>) -> Result<(), rustls::Error> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(authority.certificate_path()).unwrap()).unwrap();
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::new(default_provider()));
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(issued.chain_pem.as_bytes()).map(Result::unwrap).collect();
    let at = UnixTime::since_unix_epoch(SystemTime::from(at).duration_since(SystemTime::UNIX_EPOCH).unwrap());
    let name = ServerName::try_from(name.to_owned()).unwrap();
    verifier.build().unwrap().verify_server_cert(&chain[0], &chain[1..], &name, &[], at).map(drop)
}

fn noon() -> DateTime<Utc> {
    "2026-06-01T12:00:00Z".parse().unwrap()
}

#[test]
fn the_authority_is_the_same_after_a_restart() {
    let directory = TemporaryDirectory::make("portico-authority").unwrap();
    let first = Authority::open(directory.path()).unwrap();
    let issued = first.issue(&["localhost", "127.0.0.1", "::1"], noon()).unwrap();
    let second = Authority::open(directory.path()).unwrap();
    for name in ["localhost", "127.0.0.1", "::1"] {
        verify(&second, &issued, name, noon()).unwrap();
    }
    assert!(verify(&second, &issued, "shop.test", noon()).is_err());
    assert!(verify(&second, &issued, "localhost", noon() + TimeDelta::days(366)).is_err());
}

#[test]
fn a_leaked_key_cannot_issue_for_public_names() {
    let directory = TemporaryDirectory::make("portico-authority").unwrap();
    let authority = Authority::open(directory.path()).unwrap();
    let issued = authority.issue(&["bank.example", "192.0.2.1"], noon()).unwrap();
    for name in ["bank.example", "192.0.2.1"] {
        let refusal = verify(&authority, &issued, name, noon());
        assert!(matches!(refusal, Err(rustls::Error::InvalidCertificate(CertificateError::Other(_)))), "{refusal:?}");
    }
}

#[test]
fn only_the_owner_reads_the_key_and_a_lost_file_is_made_again() {
    let directory = TemporaryDirectory::make("portico-authority").unwrap();
    let key_path = directory.path().join("authority.key");
    for lost in ["authority.pem", "authority.key"] {
        let _ = fs::remove_file(directory.path().join(lost));
        let authority = Authority::open(directory.path()).unwrap();
        assert_eq!(fs::metadata(&key_path).unwrap().permissions().mode() & 0o777, 0o600);
        verify(&authority, &authority.issue(&["localhost"], noon()).unwrap(), "localhost", noon()).unwrap();
    }
}
