//! The name of a span: in the header `traceparent` (W3C Trace Context), and in the bytes that are kept with an event.

use axum::http::{HeaderMap, HeaderValue};
use opentelemetry::trace::{SpanId, TraceId};

use crate::kernel::traces::TRACEPARENT;

/// The length of `00-<32 hex digits>-<16 hex digits>-<2 hex digits>`. Later versions may have more behind a further hyphen.
const HEADER_LEN: usize = 55;
/// The flag that the caller records its part of the trace.
const RECORDED: u8 = 1;

/// A span and its trace, which are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceContext {
    pub(super) trace: TraceId,
    pub(super) span: SpanId,
}

/// What a caller says of its own span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallersContext {
    pub context: TraceContext,
    /// Whether the caller records it.
    pub is_recorded: bool,
}

impl TraceContext {
    /// Reads the header of a caller. Whatever is not exactly as the standard has it counts as absent, and so do several headers.
    pub(super) fn of_caller(headers: &HeaderMap) -> Option<CallersContext> {
        let mut values = headers.get_all(TRACEPARENT).iter();
        let (Some(value), None) = (values.next(), values.next()) else { return None };
        read(value.to_str().ok()?)
    }

    /// The value of the header. Only what is recorded is passed on.
    pub fn header_value(self) -> HeaderValue {
        HeaderValue::try_from(self.to_string()).expect("hex digits and hyphens are a valid header value")
    }

    /// The form that is kept with an event: 16 bytes of the trace, 8 of the span.
    pub fn to_bytes(self) -> Vec<u8> {
        [self.trace.to_bytes().as_slice(), &self.span.to_bytes()].concat()
    }

    /// Reads [`Self::to_bytes`].
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (trace, span) = bytes.split_first_chunk()?;
        let (trace, span) = (TraceId::from_bytes(*trace), SpanId::from_bytes(span.try_into().ok()?));
        (trace != TraceId::INVALID && span != SpanId::INVALID).then_some(Self { trace, span })
    }

    /// The id of the trace, as log lines have it.
    pub fn trace_id(self) -> String {
        self.trace.to_string()
    }
}

impl std::fmt::Display for TraceContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "00-{}-{}-{RECORDED:02x}", self.trace, self.span)
    }
}

fn read(text: &str) -> Option<CallersContext> {
    let (known, further) = text.split_at_checked(HEADER_LEN)?;
    let mut parts = known.split('-');
    let (version, trace, span, flags) = (digits(parts.next()?, 2)?, digits(parts.next()?, 32)?, digits(parts.next()?, 16)?, parts.next()?);
    let ends_there = if version == "00" { further.is_empty() } else { version != "ff" && (further.is_empty() || further.starts_with('-')) };
    let flags = u8::from_str_radix(digits(flags, 2)?, 16).ok()?;
    let (trace, span) = (TraceId::from_hex(trace).ok()?, SpanId::from_hex(span).ok()?);
    let is_valid = ends_there && trace != TraceId::INVALID && span != SpanId::INVALID;
    is_valid.then_some(CallersContext { context: TraceContext { trace, span }, is_recorded: flags & RECORDED != 0 })
}

/// The text, if it is so many lower-case hex digits.
fn digits(text: &str, number: usize) -> Option<&str> {
    (text.len() == number && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn a_header_is_read_as_it_is_written_and_so_are_the_bytes() {
        let CallersContext { context, is_recorded } = read(HEADER).unwrap();
        assert_eq!((context.to_string().as_str(), is_recorded), (HEADER, true));
        assert_eq!(context.to_bytes().len(), 24);
        assert_eq!(TraceContext::from_bytes(&context.to_bytes()), Some(context));
        assert!(!read(&HEADER.replace("-01", "-00")).unwrap().is_recorded);
    }

    #[test]
    fn a_later_version_is_read_up_to_what_is_known() {
        assert!(read(&HEADER.replacen("00", "cc", 1)).is_some());
        assert!(read(&format!("{}-what", HEADER.replacen("00", "cc", 1))).is_some());
        for unreadable in [HEADER.replacen("00", "ff", 1), format!("{}.what", HEADER.replacen("00", "cc", 1)), format!("{HEADER}-what")] {
            assert_eq!(read(&unreadable), None, "{unreadable}");
        }
    }

    #[test]
    fn what_is_not_as_the_standard_has_it_counts_as_absent() {
        let zeros = |digits: &str| HEADER.replace(digits, &"0".repeat(digits.len()));
        let texts = ["".to_owned(), HEADER[..54].to_owned(), HEADER.to_uppercase(), HEADER.replace('-', "_"), HEADER.replace("-01", "-0g")];
        for text in texts.into_iter().chain([zeros("4bf92f3577b34da6a3ce929d0e0e4736"), zeros("00f067aa0ba902b7"), "ä".repeat(40)]) {
            assert_eq!(read(&text), None, "{text}");
        }
        let mut headers = HeaderMap::new();
        for _ in 0..2 {
            headers.append(TRACEPARENT, HeaderValue::from_static(HEADER));
        }
        assert_eq!(TraceContext::of_caller(&headers), None);
        for bytes in [&[0; 24][..], &[1; 23], &[1; 25], &[]] {
            assert_eq!(TraceContext::from_bytes(bytes), None);
        }
    }
}
