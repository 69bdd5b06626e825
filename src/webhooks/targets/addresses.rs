//! Which addresses a webhook may be sent to: the public internet and the networks that the deployment allows.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

const fn v4(a: u8, b: u8, c: u8, d: u8, prefix: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), prefix)
}

const fn v6(a: u16, b: u16, prefix: u8) -> Ipv6Net {
    Ipv6Net::new_assert(Ipv6Addr::new(a, b, 0, 0, 0, 0, 0, 0), prefix)
}

/// IPv4 ranges that are not the public internet.
const CLOSED_V4: [Ipv4Net; 16] = [
    v4(0, 0, 0, 0, 8),        // this network, the unspecified address
    v4(10, 0, 0, 0, 8),       // private
    v4(100, 64, 0, 0, 10),    // carrier-grade NAT
    v4(127, 0, 0, 0, 8),      // loopback
    v4(168, 63, 129, 16, 32), // host of a virtual machine in a large cloud
    v4(169, 254, 0, 0, 16),   // link-local, and the metadata service of most clouds
    v4(172, 16, 0, 0, 12),    // private
    v4(192, 0, 0, 0, 24),     // protocol assignments
    v4(192, 0, 2, 0, 24),     // documentation
    v4(192, 88, 99, 0, 24),   // 6to4 relays
    v4(192, 168, 0, 0, 16),   // private
    v4(198, 18, 0, 0, 15),    // benchmarking
    v4(198, 51, 100, 0, 24),  // documentation
    v4(203, 0, 113, 0, 24),   // documentation
    v4(224, 0, 0, 0, 4),      // multicast
    v4(240, 0, 0, 0, 4),      // reserved, and broadcast
];

/// The part of IPv6 that is allocated so far. Unique local, link-local, site-local, multicast, discard-only and IPv4-compatible
/// addresses lie outside.
const GLOBAL_V6: Ipv6Net = v6(0x2000, 0, 3);
/// Ranges within it that are not the public internet.
const CLOSED_V6: [Ipv6Net; 4] = [
    v6(0x2001, 0, 23),      // protocol assignments: Teredo, benchmarking, ORCHID
    v6(0x2001, 0x0db8, 32), // documentation
    v6(0x2002, 0, 16),      // 6to4, which can lead to any IPv4 address
    v6(0x3fff, 0, 20),      // documentation
];
/// The NAT64 prefix under which hosts without IPv4 reach IPv4 addresses.
const TRANSLATED_V4: Ipv6Net = v6(0x0064, 0xff9b, 96);

/// Decides which addresses may be connected to (decisions, section 7, Targets).
#[derive(Clone, Debug)]
pub(super) struct AddressPolicy {
    opened: Arc<[IpNet]>,
}

impl AddressPolicy {
    /// Allows the public internet and the `opened` networks.
    pub(super) fn new(opened: &[IpNet]) -> Self {
        Self { opened: opened.into() }
    }

    /// Whether `address` may be connected to, in any notation.
    pub(super) fn allows(&self, address: IpAddr) -> bool {
        let address = canonical(address);
        self.opened.iter().any(|network| network.contains(&address)) || is_public(address)
    }
}

/// Returns the IPv4 address that a mapped or translated IPv6 address stands for, or the address itself.
fn canonical(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) if TRANSLATED_V4.contains(&v6) => {
            let [.., a, b, c, d] = v6.octets();
            Ipv4Addr::new(a, b, c, d).into()
        }
        address => address,
    }
}

fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => !CLOSED_V4.iter().any(|network| network.contains(&v4)),
        IpAddr::V6(v6) => GLOBAL_V6.contains(&v6) && !CLOSED_V6.iter().any(|network| network.contains(&v6)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allows(opened: &[&str], address: &str) -> bool {
        let opened: Vec<IpNet> = opened.iter().map(|network| network.parse().unwrap()).collect();
        AddressPolicy::new(&opened).allows(address.parse().unwrap())
    }

    #[test]
    #[rustfmt::skip]
    fn nothing_but_the_public_internet_is_reached() {
        for address in [
            // IPv4: first, last and a middle address of every closed range
            "0.0.0.0", "0.255.255.255", "10.0.0.0", "10.255.255.255", "100.64.0.0", "100.100.100.200", "100.127.255.255", "127.0.0.1",
            "127.255.255.255", "168.63.129.16", "169.254.0.0", "169.254.169.254", "169.254.255.255", "172.16.0.0", "172.31.255.255",
            "192.0.0.0", "192.0.0.192", "192.0.0.255", "192.0.2.0", "192.0.2.255", "192.88.99.1", "192.168.0.0", "192.168.255.255",
            "198.18.0.0", "198.19.255.255", "198.51.100.0", "198.51.100.255", "203.0.113.0", "203.0.113.255", "224.0.0.1",
            "239.255.255.255", "240.0.0.0", "255.255.255.254", "255.255.255.255",
            // IPv6: unspecified, loopback, IPv4-compatible
            "::", "::1", "::8.8.8.8", "::7f00:1",
            // IPv4-mapped and translated addresses of closed ranges
            "::ffff:127.0.0.1", "::ffff:7f00:1", "::ffff:10.1.2.3", "::ffff:169.254.169.254", "::ffff:0:0", "64:ff9b::10.0.0.1",
            "64:ff9b::127.0.0.1", "64:ff9b::a9fe:a9fe", "64:ff9b::", "64:ff9b:1::8.8.8.8", "64:ff9b:1::1",
            // discard-only, Teredo, benchmarking, ORCHID, documentation, 6to4, segment routing
            "100::", "100::1", "2001::", "2001::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "2001:2::1", "2001:10::1", "2001:20::1",
            "2001:1ff:ffff::", "2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", "2002:0a00:0001::1", "2002:0808:0808::1",
            "3fff::1", "3fff:fff:ffff::", "5f00::1",
            // unique local (including the metadata service of a cloud), link-local, site-local, multicast, unallocated
            "fc00::", "fd00:ec2::254", "fdff::1", "fe80::", "fe80::1", "febf:ffff::1", "fec0::1", "feff::1", "ff02::1", "ff0e::1",
            "4000::1", "1fff::1",
        ] {
            assert!(!allows(&[], address), "{address}");
        }
    }

    #[test]
    #[rustfmt::skip]
    fn the_public_internet_is_reached_in_every_notation() {
        for address in [
            "1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0",
            "168.63.129.17", "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "191.255.255.255", "192.0.1.0", "192.0.3.0",
            "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0", "198.51.99.255", "198.51.101.0", "203.0.112.255",
            "203.0.114.0", "223.255.255.255", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2001:200::1", "2001:4860:4860::8888", "2001:db7::1",
            "2001:db9::1", "2003::1", "2606:4700:4700::1111", "2a00:1450:4001::1", "3ffe::1",
        ] {
            assert!(allows(&[], address), "{address}");
        }
    }

    #[test]
    fn an_opened_network_is_reached_and_its_neighbours_are_not() {
        let opened = ["127.0.0.0/8", "::1/128", "10.20.0.0/16", "fd12:3456::/32"];
        for address in ["127.0.0.1", "::ffff:127.0.0.1", "::1", "10.20.255.255", "64:ff9b::10.20.0.1", "fd12:3456::1"] {
            assert!(allows(&opened, address), "{address}");
        }
        for address in ["10.21.0.0", "::", "::2", "fd12:3457::1", "::ffff:10.19.255.255", "169.254.169.254"] {
            assert!(!allows(&opened, address), "{address}");
        }
    }
}
