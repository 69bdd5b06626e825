//! Until when the certificates of endpoints are valid.
//!
//! A response brings the certificate of its connection along. It is parsed once, however many deliveries the connection carries.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use hyper::Response;
use hyper_util::client::legacy;
use quick_cache::sync::Cache;
use rustls::CertificateError;
use x509_parser::parse_x509_certificate;

use crate::webhooks::sending::fault::causes;
use crate::webhooks::sending::stream::PeerCertificate;

/// Maximum number of certificates whose end is kept in memory; each takes one to two kilobytes.
const MAX_KEPT: usize = 2_000;

/// The ends of the certificates seen so far. Clones share them.
#[derive(Clone, Debug)]
pub struct Certificates(Arc<Cache<Arc<[u8]>, DateTime<Utc>>>);

impl Certificates {
    pub fn new() -> Self {
        Self(Arc::new(Cache::new(MAX_KEPT)))
    }

    /// The end of the certificate of the server that responded.
    pub fn end_of<B>(&self, response: &Response<B>) -> Option<DateTime<Utc>> {
        let PeerCertificate(certificate) = response.extensions().get()?;
        self.0.get(certificate).or_else(|| {
            let end = end_of(certificate)?;
            self.0.insert(Arc::clone(certificate), end);
            Some(end)
        })
    }
}

/// The end of a certificate in DER.
fn end_of(certificate: &[u8]) -> Option<DateTime<Utc>> {
    let (_, parsed) = parse_x509_certificate(certificate).ok()?;
    DateTime::from_timestamp(parsed.validity().not_after.timestamp(), 0)
}

/// The end of the certificate that a request was not sent for, because it has expired.
pub fn end_of_expired(error: &legacy::Error) -> Option<DateTime<Utc>> {
    causes(error).find_map(|cause| match cause.downcast_ref()? {
        rustls::Error::InvalidCertificate(CertificateError::ExpiredContext { not_after, .. }) => {
            DateTime::from_timestamp(not_after.as_secs().try_into().ok()?, 0)
        }
        _ => None,
    })
}
