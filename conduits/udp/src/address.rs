//! The address of a rank: chooses it, and tells the others, with a share of the job's key.

use crate::auth::KEY_SHARE_BYTES;
use gasnet_sys::network::{Interface, interfaces};
use gasnet_wire::Error;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The data that ranks exchange before the first datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RankAddress {
    pub(crate) address: SocketAddr,
    pub(crate) incarnation: u64,
    pub(crate) share: [u8; KEY_SHARE_BYTES],
    /// Bytes that its socket can hold.
    pub(crate) room: u64,
    /// Bytes of its window, which must be the same on all ranks, and whether payloads are authenticated.
    pub(crate) window: u64,
    pub(crate) full: bool,
    /// A port at which its system refuses all datagrams.
    pub(crate) refusing: u16,
    /// A port at which its keeper says that it runs.
    pub(crate) answering: u16,
}

/// Version u8, family u8, full u8, zero u8, port u16, refusing port u16, address 16 bytes, incarnation u64,
/// room u64, window u64, answering port u16, zero u16 and u32, share.
const RANK_ADDRESS_BYTES: usize = 56 + KEY_SHARE_BYTES;
const RANK_ADDRESS_VERSION: u8 = 3;

impl RankAddress {
    pub(crate) fn encode(&self) -> [u8; RANK_ADDRESS_BYTES] {
        let mut out = [0; RANK_ADDRESS_BYTES];
        out[0] = RANK_ADDRESS_VERSION;
        out[2] = u8::from(self.full);
        out[4..6].copy_from_slice(&self.address.port().to_le_bytes());
        out[6..8].copy_from_slice(&self.refusing.to_le_bytes());
        match self.address.ip() {
            IpAddr::V4(ip) => {
                out[1] = 4;
                out[8..12].copy_from_slice(&ip.octets());
            }
            IpAddr::V6(ip) => {
                out[1] = 6;
                out[8..24].copy_from_slice(&ip.octets());
            }
        }
        out[24..32].copy_from_slice(&self.incarnation.to_le_bytes());
        out[32..40].copy_from_slice(&self.room.to_le_bytes());
        out[40..48].copy_from_slice(&self.window.to_le_bytes());
        out[48..50].copy_from_slice(&self.answering.to_le_bytes());
        out[56..].copy_from_slice(&self.share);
        out
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<RankAddress> {
        let bytes: &[u8; RANK_ADDRESS_BYTES] = bytes.try_into().ok()?;
        let word = |at: usize| Some(u64::from_le_bytes(bytes[at..at + 8].try_into().ok()?));
        let ip = match bytes[1] {
            4 => IpAddr::V4(Ipv4Addr::new(bytes[8], bytes[9], bytes[10], bytes[11])),
            6 => IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(&bytes[8..24]).ok()?)),
            _ => return None,
        };
        let zeros = bytes[3] == 0 && bytes[50..56] == [0; 6];
        (bytes[0] == RANK_ADDRESS_VERSION && bytes[2] < 2 && zeros).then_some(RankAddress {
            address: SocketAddr::new(ip, u16::from_le_bytes([bytes[4], bytes[5]])),
            incarnation: word(24)?,
            room: word(32)?,
            window: word(40)?,
            full: bytes[2] == 1,
            refusing: u16::from_le_bytes([bytes[6], bytes[7]]),
            answering: u16::from_le_bytes([bytes[48], bytes[49]]),
            share: bytes[56..].try_into().ok()?,
        })
    }
}

/// The addresses that this host may use, the first one first: the requested one (an address, or the name of
/// an interface); else the loop-back address if all ranks are on this host; else those of all interfaces that
/// leave the host.
pub(crate) fn candidates(wanted: Option<&str>, one_host: bool) -> Result<Vec<IpAddr>, Error> {
    pick(wanted, one_host, &interfaces())
}

fn pick(wanted: Option<&str>, one_host: bool, all: &[Interface]) -> Result<Vec<IpAddr>, Error> {
    // Addresses that need no scope; IPv4 first.
    let usable = |i: &&Interface| match i.address {
        IpAddr::V4(_) => true,
        IpAddr::V6(ip) => !ip.is_unicast_link_local(),
    };
    let those = |filter: &dyn Fn(&Interface) -> bool| {
        let mut found: Vec<&Interface> = all.iter().filter(usable).filter(|i| filter(i)).collect();
        found.sort_by_key(|i| i.address.is_ipv6());
        let found: Vec<IpAddr> = found.into_iter().map(|i| i.address).collect();
        (!found.is_empty()).then_some(found)
    };
    let names = || {
        let names: Vec<String> = all.iter().map(|i| format!("{} ({})", i.name, i.address)).collect();
        if names.is_empty() { "none".into() } else { names.join(", ") }
    };
    match wanted {
        Some(text) => match text.parse::<IpAddr>() {
            Ok(ip) => Ok(vec![ip]),
            Err(_) => those(&|i| i.name == text).ok_or_else(|| {
                Error::Conduit(format!(
                    "udp: GASNET_UDP_INTERFACE={text}: this is neither an address nor an interface that is up; available: {}",
                    names()
                ))
            }),
        },
        // A host may have no IPv4 at all.
        None if one_host => {
            let usual = IpAddr::V4(Ipv4Addr::LOCALHOST);
            let has_usual = all.iter().any(|i| i.address == usual);
            Ok(those(&|i| i.loopback).filter(|_| !has_usual).unwrap_or_else(|| vec![usual]))
        }
        None => those(&|i| !i.loopback).ok_or_else(|| {
            Error::Conduit(format!(
                "udp: no interface connects this host to others (available: {}): set GASNET_UDP_INTERFACE",
                names()
            ))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn cards_survive(v6: bool, ip: [u8; 16], port: u16, incarnation: u64, share: [u8; 16], room: u64, window: u64, full: bool, ports: (u16, u16)) {
            let four = [ip[0], ip[1], ip[2], ip[3]];
            let ip = if v6 { IpAddr::from(ip) } else { IpAddr::from(four) };
            let card = RankAddress { address: SocketAddr::new(ip, port), incarnation, share, room, window, full, refusing: ports.0, answering: ports.1 };
            prop_assert_eq!(RankAddress::decode(&card.encode()), Some(card));
        }

        #[test]
        fn any_bytes_are_handled(mut bytes in proptest::collection::vec(any::<u8>(), 0..100), fix: bool) {
            if fix {
                bytes.resize(RANK_ADDRESS_BYTES, 1);
                (bytes[0], bytes[1], bytes[2]) = (RANK_ADDRESS_VERSION, 2 + bytes[1] % 6, bytes[2] % 3);
                bytes[3] = 0;
                bytes[50..56].fill(0);
            }
            if let Some(card) = RankAddress::decode(&bytes) {
                prop_assert_eq!(RankAddress::decode(&card.encode()), Some(card));
            }
        }
    }

    #[test]
    fn addresses_are_chosen() {
        let i = |name: &str, ip: &str, loopback| Interface {
            name: name.into(),
            address: ip.parse().unwrap(),
            loopback,
        };
        let all = [
            i("lo", "127.0.0.1", true),
            i("eth0", "fe80::1", false),
            i("eth0", "fd00::1", false),
            i("eth1", "10.0.0.1", false),
        ];
        let ip = |wanted, one_host| pick(wanted, one_host, &all).map(|ips| format!("{ips:?}"));
        assert_eq!(ip(None, true).unwrap(), "[127.0.0.1]");
        assert_eq!(ip(None, false).unwrap(), "[10.0.0.1, fd00::1]");
        assert_eq!(ip(Some("eth0"), false).unwrap(), "[fd00::1]");
        assert_eq!(ip(Some("::1"), false).unwrap(), "[::1]");
        let problem = ip(Some("eth7"), false).unwrap_err().to_string();
        assert!(problem.contains("eth1 (10.0.0.1)"), "{problem}");
        assert!(pick(None, false, &all[..2]).is_err());
        let six = [i("lo", "::1", true), i("eth0", "fd00::1", false)];
        for (all, expected) in [(&six[..], "::1"), (&all[2..], "127.0.0.1"), (&[], "127.0.0.1")] {
            assert_eq!(pick(None, true, all).unwrap()[0].to_string(), expected);
        }
    }
}
