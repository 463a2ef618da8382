//! Classifies IP addresses as public or not. Every range that leads back to this machine or its
//! network, or nowhere, has its own variant. An IPv6 address that embeds an IPv4 address is refused
//! or judged by the embedded address.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

milepost_model::named_enum! {
    /// Why an address is not public. Messages show the name in parentheses.
    pub AddressRange {
        /// `0.0.0.0/8`, `::`.
        Unspecified = "unspecified",
        /// `127.0.0.0/8`, `::1`.
        Loopback = "loopback",
        /// `10/8`, `172.16/12`, `192.168/16`.
        Private = "private",
        /// `169.254/16`, `fe80::/10`; includes cloud providers' metadata services.
        LinkLocal = "link-local",
        /// `100.64/10`, carrier-grade NAT.
        Shared = "shared (CGNAT)",
        /// `fc00::/7`.
        UniqueLocal = "unique-local",
        /// `fec0::/10`.
        SiteLocal = "site-local",
        /// `224/4`, `ff00::/8`.
        Multicast = "multicast",
        /// `255.255.255.255`.
        Broadcast = "broadcast",
        /// `240/4`.
        Reserved = "reserved",
        /// `192.0.0/24`, `192.88.99/24`, `198.18/15`, `100::/64`, `2001::/23` and similar ranges.
        Special = "special-purpose",
        /// `192.0.2/24`, `198.51.100/24`, `203.0.113/24`, `2001:db8::/32`, `3fff::/20`.
        Documentation = "documentation",
        /// `64:ff9b::/96`, `64:ff9b:1::/48`.
        Nat64 = "NAT64",
        /// `2002::/16`.
        SixToFour = "6to4",
        /// `2001::/32`.
        Teredo = "Teredo",
        /// `::ffff:0:0/96`, `::/96` and related ranges.
        Mapped = "IPv4-in-IPv6",
        /// Outside `2000::/3`, the only range of public IPv6 addresses allocated so far.
        NotGlobal = "non-global",
    }
}

/// Why an address is not public; `None` if it is.
pub fn not_public(address: IpAddr) -> Option<AddressRange> {
    match address {
        IpAddr::V4(address) => not_public_v4(address),
        IpAddr::V6(address) => not_public_v6(address),
    }
}

fn not_public_v4(address: Ipv4Addr) -> Option<AddressRange> {
    let range = match address.octets() {
        [0, ..] => AddressRange::Unspecified,
        [127, ..] => AddressRange::Loopback,
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => AddressRange::Private,
        [169, 254, ..] => AddressRange::LinkLocal,
        [100, 64..=127, ..] => AddressRange::Shared,
        [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] => AddressRange::Documentation,
        // Protocol assignments, the old 6to4 relays, AS112, AMT and the benchmarking networks.
        [192, 0, 0, _]
        | [192, 88, 99, _]
        | [192, 31, 196, _]
        | [192, 52, 193, _]
        | [192, 175, 48, _]
        | [198, 18..=19, ..] => AddressRange::Special,
        [224..=239, ..] => AddressRange::Multicast,
        [255, 255, 255, 255] => AddressRange::Broadcast,
        [240..=255, ..] => AddressRange::Reserved,
        _ => return None,
    };
    Some(range)
}

fn not_public_v6(address: Ipv6Addr) -> Option<AddressRange> {
    let range = match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0] => AddressRange::Unspecified,
        [0, 0, 0, 0, 0, 0, 0, 1] => AddressRange::Loopback,
        // Mapped, translated (SIIT) and compatible addresses: the kernel connects to the IPv4
        // address inside. No server is reachable only this way, so all of them are refused
        // regardless of the IPv4 address.
        [0, 0, 0, 0, 0, 0xffff | 0, ..] | [0, 0, 0, 0, 0xffff, 0, ..] => {
            return embedded(address).or(Some(AddressRange::Mapped));
        }
        [0x64, 0xff9b, 0, 0, 0, 0, ..] | [0x64, 0xff9b, 1, ..] => AddressRange::Nat64,
        [0x2001, 0, ..] => AddressRange::Teredo,
        [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => AddressRange::Documentation,
        [0x100, 0, 0, ..] | [0x2001, 0x1..=0x1ff, ..] | [0x5f00, ..] => AddressRange::Special,
        [0x2002, ..] => AddressRange::SixToFour,
        [0xfc00..=0xfdff, ..] => AddressRange::UniqueLocal,
        [0xfe80..=0xfebf, ..] => AddressRange::LinkLocal,
        [0xfec0..=0xfeff, ..] => AddressRange::SiteLocal,
        [0xff00..=0xffff, ..] => AddressRange::Multicast,
        [0x2000..=0x3fff, ..] => return isatap(address),
        _ => AddressRange::NotGlobal,
    };
    Some(range)
}

/// Like [`not_public`], for an address returned by a DNS lookup. In IPv6-only networks the resolver
/// maps every IPv4 address into `64:ff9b::/96`, so such an address is judged by the IPv4 address
/// inside.
pub fn not_public_answer(address: IpAddr) -> Option<AddressRange> {
    match address {
        IpAddr::V6(v6) if matches!(v6.segments(), [0x64, 0xff9b, 0, 0, 0, 0, ..]) => embedded(v6),
        _ => not_public(address),
    }
}

/// Why the IPv4 address at the end of an IPv6 address is not public; `None` if it is.
fn embedded(address: Ipv6Addr) -> Option<AddressRange> {
    let [.., a, b, c, d] = address.octets();
    not_public_v4(Ipv4Addr::new(a, b, c, d))
}

/// Judges an ISATAP address, `…:0:5efe:a.b.c.d`, by the IPv4 address that it tunnels to.
fn isatap(address: Ipv6Addr) -> Option<AddressRange> {
    let segments = address.segments();
    let tunnel = matches!(segments[4], 0 | 0x200) && segments[5] == 0x5efe;
    if tunnel { embedded(address).map(|_| AddressRange::Mapped) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(addresses: &[&str], expected: Option<AddressRange>) {
        for address in addresses {
            let parsed = address.parse().expect("an address");
            assert_eq!(not_public(parsed), expected, "{address}");
        }
    }

    const PRIVATE: Option<AddressRange> = Some(AddressRange::Private);

    #[test]
    fn ranges_begin_and_end_where_they_should() {
        check(&["0.0.0.0", "0.255.255.255", "::"], Some(AddressRange::Unspecified));
        check(&["127.0.0.0", "127.255.255.255", "::1"], Some(AddressRange::Loopback));
        check(&["10.0.0.0", "10.255.255.255", "172.16.0.0", "172.31.255.255"], PRIVATE);
        check(&["192.168.0.0", "192.168.255.255"], PRIVATE);
        check(
            &["169.254.0.0", "169.254.255.255", "fe80::", "febf::1"],
            Some(AddressRange::LinkLocal),
        );
        check(&["100.64.0.0", "100.127.255.255"], Some(AddressRange::Shared));
        check(&["fc00::", "fdff:ffff::1"], Some(AddressRange::UniqueLocal));
        check(&["fec0::", "feff::1"], Some(AddressRange::SiteLocal));
        check(
            &["224.0.0.0", "239.255.255.255", "ff00::", "ffff::1"],
            Some(AddressRange::Multicast),
        );
        check(&["240.0.0.0", "255.255.255.254"], Some(AddressRange::Reserved));
        check(&["255.255.255.255"], Some(AddressRange::Broadcast));
        check(
            &["192.0.0.1", "198.18.0.0", "198.19.255.255", "100::1"],
            Some(AddressRange::Special),
        );
        check(&["192.0.2.1", "2001:db8::1", "3fff::1"], Some(AddressRange::Documentation));
        check(&["4000::1", "1::1", "fe00::1"], Some(AddressRange::NotGlobal));
    }

    #[test]
    fn neighbours_of_ranges_are_public() {
        check(&["1.0.0.0", "9.255.255.255", "11.0.0.0", "126.255.255.255", "128.0.0.0"], None);
        check(&["172.15.255.255", "172.32.0.0", "192.167.255.255", "192.169.0.0"], None);
        check(&["100.63.255.255", "100.128.0.0", "169.253.255.255", "169.255.0.0"], None);
        check(&["198.17.255.255", "198.20.0.0", "223.255.255.255", "192.0.1.1"], None);
        check(&["2606:4700::1111", "2001:200::1", "2003::1", "2001:4860:4860::8888"], None);
    }

    #[test]
    fn addresses_inside_addresses_are_judged() {
        check(
            &["::ffff:127.0.0.1", "::127.0.0.1", "::ffff:0:127.0.0.1"],
            Some(AddressRange::Loopback),
        );
        check(&["::ffff:8.8.8.8", "::8.8.8.8"], Some(AddressRange::Mapped));
        check(&["64:ff9b::10.0.0.1", "64:ff9b:1::8.8.8.8"], Some(AddressRange::Nat64));
        check(&["64:ff9b::8.8.8.8"], Some(AddressRange::Nat64));
        check(
            &["2002:7f00:1::", "2002:a00:1::1", "2002:808:808::1"],
            Some(AddressRange::SixToFour),
        );
        check(&["2001::1", "2001:0:808:808::"], Some(AddressRange::Teredo));
        check(&["2606:4700::5efe:10.0.0.1"], Some(AddressRange::Mapped));
    }

    proptest! {
        /// No range that the standard library classifies as local may count as public.
        #[test]
        fn what_the_library_calls_local_is_not_public(bits in any::<u32>()) {
            let v4 = Ipv4Addr::from_bits(bits);
            let local = v4.is_private() || v4.is_loopback() || v4.is_link_local()
                || v4.is_multicast() || v4.is_broadcast() || v4.is_unspecified()
                || v4.is_documentation();
            prop_assert!(!local || not_public_v4(v4).is_some());
            prop_assert!(not_public_v6(v4.to_ipv6_mapped()).is_some());
            let [a, b, c, d] = v4.octets();
            let pair = |high, low| u16::from_be_bytes([high, low]);
            let nat64 = Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, pair(a, b), pair(c, d));
            prop_assert_eq!(not_public(nat64.into()), Some(AddressRange::Nat64));
            prop_assert_eq!(not_public_answer(nat64.into()), not_public_v4(v4));
        }
    }
}
