//! What the end of an attempt means, and what to do about it.

/// Two sentences for people: what happened, and the next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Advice {
    /// What happened.
    pub what: &'static str,
    /// What to do; empty if nothing is to be done.
    pub next: &'static str,
}

/// The advice for an attempt that ended with this status, or with this word of the log.
pub fn advise(status: Option<u16>, error: Option<&str>) -> Advice {
    let (what, next) = match (error, status) {
        (Some("blocked"), _) => (
            "The name leads to an address that deliveries may not go to.",
            "Use an address that is reachable from the internet, or allow the network in the setting webhooks.allowed_networks.",
        ),
        (Some("dns"), _) => ("The host name does not resolve.", "Check the name in the URL, and the DNS records of its domain."),
        (Some("connect"), _) => {
            ("No connection could be made.", "Check that the server runs, listens on this port and lets this service through its firewall.")
        }
        (Some("tls"), _) => (
            "The certificate is not trusted, or the TLS handshake failed.",
            "Check that the certificate is valid for this name, has not expired and is sent with its intermediate certificates.",
        ),
        (Some("timeout"), _) => {
            ("There was no answer in time.", "Answer at once and work afterwards, or raise the timeout of the webhook.")
        }
        (Some("too_many_headers"), _) => ("The answer had more headers than are accepted.", "Answer with at most 100 headers."),
        (Some("too_slow" | "closed"), Some(200..=299)) => {
            ("The endpoint accepted it, but its answer was not complete.", "Send a short answer; 200 without a body is enough.")
        }
        // The status line counts, whatever became of the body.
        (Some("too_slow" | "closed"), Some(_)) => return advise(status, None),
        (Some("too_slow"), _) => ("The answer was not complete in time.", "Send a short answer; 200 without a body is enough."),
        (Some("closed"), _) => {
            ("The connection was closed before there was a whole answer.", "Look at the log of the server, or of the proxy before it.")
        }
        (Some("unsigned"), _) => (
            "Nothing was sent: the signing secret cannot be decrypted.",
            "The application key has changed. Rotate the secret of the webhook.",
        ),
        (Some("interrupted"), _) => ("The worker ended before the result was recorded.", "Nothing: the delivery is tried again by itself."),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::console::shell::Language;

    #[test]
    fn every_end_but_success_has_a_next_step() {
        for error in ["blocked", "dns", "connect", "tls", "timeout", "too_slow", "too_many_headers", "closed", "unsigned", "interrupted"] {
            assert!(!advise(None, Some(error)).next.is_empty(), "{error}");
        }
        for status in [301, 400, 401, 404, 405, 410, 413, 429, 500, 503] {
            assert!(!advise(Some(status), None).next.is_empty(), "{status}");
        }
        assert_eq!(advise(Some(204), None), Advice { what: "The endpoint accepted it.", next: "" });
    }

    #[test]
    fn advice_is_given_in_every_language() {
        let words = ["blocked", "dns", "connect", "tls", "timeout", "too_slow", "too_many_headers", "closed", "unsigned", "interrupted"];
        let statuses = [200, 301, 400, 401, 404, 405, 410, 413, 429, 500];
        let incomplete = advise(Some(200), Some("closed"));
        let all = words
            .iter()
            .map(|word| advise(None, Some(word)))
            .chain([incomplete])
            .chain(statuses.iter().map(|status| advise(Some(*status), None)));
        for text in all.flat_map(|Advice { what, next }| [what, next]).filter(|text| !text.is_empty()) {
            assert_ne!(Language::German.translate(text), text);
        }
    }

    #[test]
    fn an_incomplete_answer_is_told_by_its_status() {
        for error in ["too_slow", "closed"] {
            assert_eq!(advise(Some(200), Some(error)).what, "The endpoint accepted it, but its answer was not complete.");
            assert_eq!(advise(Some(503), Some(error)), advise(Some(503), None));
        }
        assert_eq!(advise(None, Some("closed")).what, "The connection was closed before there was a whole answer.");
    }
}
