//! Why TLS with an endpoint failed, as far as it tells.

use std::io;

use rustls::{AlertDescription, CertificateError, InvalidMessage, OtherError, PeerIncompatible};

crate::text_enum! {
    /// Why TLS with an endpoint failed. The attempt log shows these words beside the error `tls`.
    pub enum TlsReason {
        /// The certificate has expired.
        CertificateExpired = "certificate_expired",
        /// The certificate is not valid yet.
        CertificateNotYetValid = "certificate_not_yet_valid",
        /// The certificate is for other names.
        WrongName = "wrong_name",
        /// No trusted authority has signed the certificate, or the intermediate certificates were not sent. Self-signed certificates are such.
        UnknownAuthority = "unknown_authority",
        /// The certificate was revoked.
        CertificateRevoked = "certificate_revoked",
        /// The certificate is not valid for another reason.
        CertificateInvalid = "certificate_invalid",
        /// The endpoint wants a certificate of its client.
        ClientCertificate = "client_certificate",
        /// The endpoint speaks only versions of TLS that are not safe any more.
        ProtocolTooOld = "protocol_too_old",
        /// The endpoint does not speak TLS.
        NotTls = "not_tls",
        /// The handshake did not end in time.
        Timeout = "timeout",
        /// Another reason.
        Other = "other",
    }
}

impl TlsReason {
    /// What ended TLS; `None` if the connection ended below it. `wants_certificate` says whether the endpoint has asked for a certificate
    /// of its client.
    pub fn of(error: &io::Error, wants_certificate: bool) -> Option<Self> {
        let error = error.get_ref()?.downcast_ref()?;
        Some(Self::of_tls(error, wants_certificate))
    }

    /// The reason that this error of TLS tells.
    pub fn of_tls(error: &rustls::Error, wants_certificate: bool) -> Self {
        match error {
            rustls::Error::InvalidCertificate(error) => Self::of_certificate(error),
            rustls::Error::AlertReceived(alert) => Self::of_alert(*alert, wants_certificate),
            rustls::Error::PeerIncompatible(
                PeerIncompatible::ServerDoesNotSupportTls12Or13 | PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig,
            ) => Self::ProtocolTooOld,
            rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType) => Self::NotTls,
            _ => Self::Other,
        }
    }

    fn of_certificate(error: &CertificateError) -> Self {
        match error {
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => Self::CertificateExpired,
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => Self::CertificateNotYetValid,
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => Self::WrongName,
            // Of an authority with the name of a trusted one, the signature does not fit the key: one that was made anew, or a self-signed
            // certificate whose name is common.
            CertificateError::UnknownIssuer
            | CertificateError::BadSignature
            | CertificateError::UnsupportedSignatureAlgorithmForPublicKeyContext { .. } => Self::UnknownAuthority,
            CertificateError::Revoked => Self::CertificateRevoked,
            CertificateError::Other(error) if is_self_signed(error) => Self::UnknownAuthority,
            _ => Self::CertificateInvalid,
        }
    }

    /// The reason that an alert of the endpoint tells. TLS 1.3 has an alert of its own for a missing client certificate; older servers use the
    /// others for it.
    fn of_alert(alert: AlertDescription, wants_certificate: bool) -> Self {
        match alert {
            AlertDescription::CertificateRequired => Self::ClientCertificate,
            AlertDescription::HandshakeFailure
            | AlertDescription::NoCertificate
            | AlertDescription::BadCertificate
            | AlertDescription::UnsupportedCertificate
            | AlertDescription::CertificateUnknown
            | AlertDescription::UnknownCA
            | AlertDescription::AccessDenied
                if wants_certificate =>
            {
                Self::ClientCertificate
            }
            AlertDescription::ProtocolVersion => Self::ProtocolTooOld,
            _ => Self::Other,
        }
    }

    /// The reason in a sentence.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::CertificateExpired => "The certificate has expired.",
            Self::CertificateNotYetValid => "The certificate is not valid yet.",
            Self::WrongName => "The certificate is for another name.",
            Self::UnknownAuthority => {
                "The certificate is from an authority that is not trusted, or its intermediate certificates are missing."
            }
            Self::CertificateRevoked => "The certificate was revoked.",
            Self::CertificateInvalid => "The certificate is not valid.",
            Self::ClientCertificate => "The endpoint wants a client certificate, and there is none.",
            Self::ProtocolTooOld => "The endpoint speaks only versions of TLS before 1.2.",
            Self::NotTls => "The endpoint does not speak TLS.",
            Self::Timeout => "The handshake did not end within five seconds.",
            Self::Other => "The handshake failed.",
        }
    }
}

/// Whether a server presents the certificate of an authority as its own. `openssl req -x509` makes such self-signed certificates.
fn is_self_signed(error: &OtherError) -> bool {
    matches!(error.0.downcast_ref(), Some(webpki::Error::CaUsedAsEndEntity))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_self_signed_certificate_is_from_an_unknown_authority() {
        for (error, reason) in [
            (webpki::Error::CaUsedAsEndEntity, TlsReason::UnknownAuthority),
            (webpki::Error::UnsupportedCertVersion, TlsReason::CertificateInvalid),
        ] {
            let error = CertificateError::Other(OtherError(Arc::new(error)));
            assert_eq!(TlsReason::of_tls(&rustls::Error::InvalidCertificate(error), false), reason);
        }
    }

    #[test]
    fn an_authority_that_has_only_the_name_of_a_trusted_one_is_unknown() {
        let kind_of_key = CertificateError::UnsupportedSignatureAlgorithmForPublicKeyContext {
            signature_algorithm_id: vec![],
            public_key_algorithm_id: vec![],
        };
        for error in [CertificateError::BadSignature, kind_of_key] {
            assert_eq!(TlsReason::of_tls(&rustls::Error::InvalidCertificate(error), false), TlsReason::UnknownAuthority);
        }
    }

    #[test]
    fn an_endpoint_that_wants_a_client_certificate_says_so_in_one_of_several_words() {
        for (alert, wanted, not_wanted) in [
            (AlertDescription::CertificateRequired, TlsReason::ClientCertificate, TlsReason::ClientCertificate),
            (AlertDescription::HandshakeFailure, TlsReason::ClientCertificate, TlsReason::Other),
            (AlertDescription::BadCertificate, TlsReason::ClientCertificate, TlsReason::Other),
            (AlertDescription::ProtocolVersion, TlsReason::ProtocolTooOld, TlsReason::ProtocolTooOld),
            (AlertDescription::InternalError, TlsReason::Other, TlsReason::Other),
        ] {
            let error = rustls::Error::AlertReceived(alert);
            assert_eq!((TlsReason::of_tls(&error, true), TlsReason::of_tls(&error, false)), (wanted, not_wanted), "{alert:?}");
        }
    }

    #[test]
    fn only_what_ended_tls_itself_has_a_reason() {
        let of_tls = io::Error::new(io::ErrorKind::InvalidData, rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer));
        assert_eq!(TlsReason::of(&of_tls, false), Some(TlsReason::UnknownAuthority));
        assert_eq!(TlsReason::of(&io::ErrorKind::ConnectionReset.into(), true), None);
    }

    #[test]
    fn every_reason_has_a_sentence_of_its_own() {
        let sentences: std::collections::BTreeSet<_> = TlsReason::ALL.iter().map(|reason| reason.sentence()).collect();
        assert_eq!(sentences.len(), TlsReason::ALL.len());
    }
}
