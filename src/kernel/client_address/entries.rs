//! What a header says about the clients of a request: one entry for each proxy, as `X-Forwarded-For` and `Forwarded` (RFC 7239) have them.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// The entries of a line of `X-Forwarded-For`, from left to right.
pub(super) fn of_x_forwarded_for(line: &str) -> Vec<Option<IpAddr>> {
    line.split(',').map(|entry| address(entry.trim())).collect()
}

/// The entries of a line of `Forwarded`, from left to right: `for=192.0.2.60;proto=http, for="[2001:db8::1]:4711"`. An entry that names
/// no client, or hides it (`for=unknown`, `for=_hidden`), is one that cannot be read.
pub(super) fn of_forwarded(line: &str) -> Vec<Option<IpAddr>> {
    split_outside_quotes(line, ',').map(client).collect()
}

fn client(element: &str) -> Option<IpAddr> {
    let mut pairs = split_outside_quotes(element, ';').filter_map(|pair| pair.trim().split_once('='));
    let (_, value) = pairs.find(|(name, _)| name.eq_ignore_ascii_case("for"))?;
    match value.strip_prefix('"') {
        // No address has a character that would be escaped.
        Some(quoted) => address(quoted.strip_suffix('"')?),
        None => address(value),
    }
}

/// Splits a header where `separator` is no part of a quoted text.
fn split_outside_quotes(text: &str, separator: char) -> impl Iterator<Item = &str> {
    let (mut quoted, mut escaped) = (false, false);
    text.split(move |c| {
        let ends = c == separator && !quoted;
        if c == '"' && !escaped {
            quoted = !quoted;
        }
        escaped = quoted && c == '\\' && !escaped;
        ends
    })
}

/// An address, with or without a port: `192.0.2.60`, `192.0.2.60:4711`, `2001:db8::1`, `[2001:db8::1]`, `[2001:db8::1]:4711`.
fn address(text: &str) -> Option<IpAddr> {
    let bracketed = || text.strip_prefix('[')?.strip_suffix(']')?.parse::<Ipv6Addr>().ok();
    let alone = text.parse().ok().or_else(|| bracketed().map(IpAddr::V6));
    alone.or_else(|| text.parse::<SocketAddr>().ok().map(|with_port| with_port.ip()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(entries: Vec<Option<IpAddr>>) -> Vec<String> {
        entries.into_iter().map(|entry| entry.map_or_else(|| "-".to_owned(), |address| address.to_string())).collect()
    }

    #[test]
    fn an_address_may_have_a_port() {
        let line = "203.0.113.9, 203.0.113.9:51234,[2001:db8::1]:443 , [2001:db8::2], 2001:db8::3";
        assert_eq!(shown(of_x_forwarded_for(line)), ["203.0.113.9", "203.0.113.9", "2001:db8::1", "2001:db8::2", "2001:db8::3"]);
        for unreadable in
            ["", "unknown", "203.0.113.9:", "203.0.113.9:port", "203.0.113.9:99999", "[203.0.113.9]", "[2001:db8::1", "shop.test"]
        {
            assert_eq!(shown(of_x_forwarded_for(unreadable)), ["-"], "{unreadable}");
        }
    }

    #[test]
    fn forwarded_is_read_as_its_rfc_says() {
        for (line, clients) in [
            ("for=192.0.2.60;proto=http;by=203.0.113.43", &["192.0.2.60"][..]),
            ("For=\"[2001:db8:cafe::17]:4711\"", &["2001:db8:cafe::17"]),
            ("for=192.0.2.43, for=198.51.100.17", &["192.0.2.43", "198.51.100.17"]),
            ("for=\"192.0.2.43:47011\"", &["192.0.2.43"]),
            ("by=203.0.113.43;for=192.0.2.60", &["192.0.2.60"]),
            ("host=\"a,b;for=10.0.0.1\\\"\";for=192.0.2.60", &["192.0.2.60"]),
            ("for=unknown, for=_hidden, proto=https, for=\"192.0.2.60", &["-", "-", "-", "-"]),
        ] {
            assert_eq!(shown(of_forwarded(line)), clients, "{line}");
        }
    }
}
