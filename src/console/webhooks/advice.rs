//! What the end of an attempt means, and what to do about it.

use crate::webhooks::{Fault, TlsReason};

/// What to do about a handshake that failed for an unknown reason.
const HANDSHAKE_FAILED: &str =
    "Check that the certificate is valid for this name, has not expired and is sent with its intermediate certificates.";
/// What to do about headers that could not be read.
const SEND_FEW_HEADERS: &str = "Answer with at most 100 short headers, each in a line of its own.";

/// Two sentences for people: what happened, and the next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Advice {
    /// What happened.
    pub what: &'static str,
    /// What to do; empty if nothing is to be done.
    pub next: &'static str,
}

/// The advice for an attempt that ended with this status, or with this word of the log and its reason.
pub fn advise(status: Option<u16>, error: Option<&str>, reason: Option<&str>) -> Advice {
    let ended = error.and_then(Fault::sentence).unwrap_or_default();
    let (what, next) = match (error, status) {
        (Some("blocked"), _) => {
            (ended, "Use an address that is reachable from the internet, or allow the network in the setting webhooks.allowed_networks.")
        }
        (Some("dns"), _) => (ended, "Check the name in the URL, and the DNS records of its domain."),
        (Some("connect"), _) => (ended, "Check that the server runs, listens on this port and lets this service through its firewall."),
        (Some("tls"), _) => advise_on_tls(reason).unwrap_or((ended, HANDSHAKE_FAILED)),
        (Some("timeout"), _) => (ended, "Answer at once and work afterwards, or raise the timeout of the webhook."),
        (Some("too_slow" | "closed"), Some(200..=299)) => {
            ("The endpoint accepted it, but its answer was not complete.", "Send a short answer; 200 without a body is enough.")
        }
        (Some("too_many_headers" | "bad_headers"), Some(200..=299)) => {
            ("The endpoint accepted it, but the headers of its answer could not be read.", SEND_FEW_HEADERS)
        }
        // The status line counts, whatever became of the rest.
        (Some("too_slow" | "closed" | "too_many_headers" | "bad_headers"), Some(_)) => return advise(status, None, None),
        (Some("too_many_headers" | "bad_headers"), _) => (ended, SEND_FEW_HEADERS),
        (Some("too_slow"), _) => (ended, "Send a short answer; 200 without a body is enough."),
        (Some("closed"), _) => (ended, "Look at the log of the server, or of the proxy before it."),
        (Some("unsigned"), _) => (ended, "The application key has changed. Rotate the secret of the webhook."),
        (Some("interrupted"), _) => (ended, "Nothing: the delivery is tried again by itself."),
        (_, Some(200..=299)) => ("The endpoint accepted it.", ""),
        (_, Some(300..=399)) => {
            ("The endpoint redirects, and redirects are not followed.", "Use the final address as the URL of the webhook.")
        }
        (_, Some(401 | 403)) => (
            "The endpoint refused the request.",
            "Check the verification of signatures there: does it use the secret of this webhook and the bytes of the body as they came?",
        ),
        (_, Some(404)) => ("The endpoint does not exist.", "Check the path of the URL."),
        (_, Some(405)) => ("The endpoint does not accept POST.", "Let it accept POST requests."),
        (_, Some(410)) => ("The endpoint is gone, so the webhook was disabled.", "Enable it again if that was a mistake."),
        (_, Some(413)) => ("The event is too large for the endpoint.", "Let it accept bodies of 256 KiB."),
        (_, Some(429)) => ("The endpoint wants fewer requests.", "Set a rate limit for the webhook."),
        (_, Some(500..=599)) => ("The endpoint failed.", "Look at its log at this time; the delivery is tried again by itself."),
        (_, Some(_)) => ("The endpoint did not accept it.", "Answer with a status from 200 to 299."),
        (_, None) => ("The attempt has not ended.", ""),
    };
    Advice { what, next }
}

/// What happened, and the next step, when TLS failed for this reason; `None` if it is unknown.
fn advise_on_tls(reason: Option<&str>) -> Option<(&'static str, &'static str)> {
    let reason = reason?.parse::<TlsReason>().ok()?;
    let next = match reason {
        TlsReason::CertificateExpired => "Renew the certificate, and let the server load the new one.",
        TlsReason::CertificateNotYetValid => "Use a certificate that is valid now.",
        TlsReason::WrongName => "Use a certificate for the name in the URL, or the name of the certificate in the URL.",
        TlsReason::UnknownAuthority => {
            "Let the server send its intermediate certificates, or name the authority in the setting webhooks.extra_root_certificates."
        }
        TlsReason::CertificateRevoked | TlsReason::CertificateInvalid => {
            return Some(("The certificate is not valid.", "Replace the certificate, and let the server load the new one."));
        }
        TlsReason::ClientCertificate => "Let the server accept requests to this address without one, and verify their signatures.",
        TlsReason::ProtocolTooOld => "Let the server speak TLS 1.2 or 1.3.",
        TlsReason::NotTls => "Check the port in the URL: it must be that of HTTPS.",
        TlsReason::Timeout => {
            return Some((
                "The TLS handshake did not end in time.",
                "Check whether the server, or the proxy before it, has too much to do.",
            ));
        }
        TlsReason::Other => return None,
    };
    Some((reason.sentence(), next))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::console::shell::Language;

    const ERRORS: [&str; 11] =
        ["blocked", "dns", "connect", "tls", "timeout", "too_slow", "too_many_headers", "bad_headers", "closed", "unsigned", "interrupted"];

    #[test]
    fn every_end_but_success_has_a_next_step() {
        for error in ERRORS {
            assert!(!advise(None, Some(error), None).next.is_empty(), "{error}");
        }
        for status in [301, 400, 401, 404, 405, 410, 413, 429, 500, 503] {
            assert!(!advise(Some(status), None, None).next.is_empty(), "{status}");
        }
        assert_eq!(advise(Some(204), None, None), Advice { what: "The endpoint accepted it.", next: "" });
    }

    #[test]
    fn advice_is_given_in_every_language() {
        let statuses = [200, 301, 400, 401, 404, 405, 410, 413, 429, 500];
        let incomplete = ["closed", "bad_headers"].map(|error| advise(Some(200), Some(error), None));
        let all = ERRORS
            .iter()
            .map(|error| advise(None, Some(error), None))
            .chain(TlsReason::ALL.iter().map(|reason| advise(None, Some("tls"), Some(reason.as_str()))))
            .chain(incomplete)
            .chain(statuses.iter().map(|status| advise(Some(*status), None, None)));
        for text in all.flat_map(|Advice { what, next }| [what, next]).filter(|text| !text.is_empty()) {
            assert_ne!(Language::German.translate(text), text);
        }
    }

    #[test]
    fn an_incomplete_answer_is_told_by_its_status() {
        for error in ["too_slow", "closed"] {
            assert_eq!(advise(Some(200), Some(error), None).what, "The endpoint accepted it, but its answer was not complete.");
        }
        for error in ["too_many_headers", "bad_headers"] {
            let told = advise(Some(200), Some(error), None).what;
            assert_eq!(told, "The endpoint accepted it, but the headers of its answer could not be read.");
        }
        for error in ["too_slow", "closed", "too_many_headers", "bad_headers"] {
            assert_eq!(advise(Some(503), Some(error), None), advise(Some(503), None, None));
        }
        assert_eq!(advise(None, Some("closed"), None).what, "The connection was closed before there was a whole answer.");
    }

    #[test]
    fn a_failure_of_tls_is_told_by_its_reason() {
        let told: BTreeSet<_> = TlsReason::ALL.iter().map(|reason| advise(None, Some("tls"), Some(reason.as_str())).what).collect();
        assert_eq!(told.len(), TlsReason::ALL.len() - 1, "one sentence for two of them: {told:?}");
        assert_eq!(advise(None, Some("tls"), Some("something_newer")), advise(None, Some("tls"), None));
    }
}
