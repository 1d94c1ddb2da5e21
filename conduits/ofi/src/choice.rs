//! Chooses the provider of a job, the same on all ranks, and the network of each rank.
//!
//! A provider is identified by libfabric's name for it, with its layers: `tcp;ofi_rxm`. Every rank lists the
//! providers that can do what the conduit needs; the first in the order of preference that all ranks have is
//! chosen.
//!
//! A provider over Internet addresses makes an offer for each address of the host. Not every one of them
//! leaves the host: the address of a bridge for containers (`docker0`) is the same on all hosts.
//! [`network`] prefers a subnet that all ranks have, and leaves out addresses that two hosts have.

use std::net::IpAddr;

/// The order of preference: networks first; providers for one host, or for tests, last.
const PREFERENCE: &[&str] = &[
    "cxi", "efa", "verbs", "ucx", "psm3", "psm2", "psm", "opx", "tcp", "net", "udp", "shm", "sm2", "lpp",
    "sockets",
];

/// Providers that do not leave the host.
const ONE_HOST: &[&str] = &["shm", "sm2", "lpp"];

/// The lowest layer's name.
fn base(name: &str) -> &str {
    name.split(';').next().unwrap_or(name)
}

/// A place for an endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Network {
    /// Libfabric's name of the device or interface.
    pub(crate) domain: String,
    /// Libfabric's name of what it is connected to: the subnet, of providers over Internet addresses.
    pub(crate) fabric: String,
    /// `None` if the provider has addresses of another kind.
    pub(crate) address: Option<IpAddr>,
}

/// An offer of libfabric: a provider on a network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Offer {
    pub(crate) provider: String,
    pub(crate) network: Network,
}

/// All offers of a rank, as it tells them to the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Offered {
    /// The first rank on the same host.
    pub(crate) host: u32,
    /// In libfabric's order.
    pub(crate) offers: Vec<Offer>,
}

impl Offered {
    /// A line for the host, and one for each offer; names have neither tabs nor ends of lines.
    pub(crate) fn encode(&self) -> String {
        let mut text = format!("{}\n", self.host);
        for Offer { provider, network: Network { domain, fabric, address } } in &self.offers {
            let address = address.map(|ip| ip.to_string()).unwrap_or_default();
            text += &format!("{provider}\t{domain}\t{fabric}\t{address}\n");
        }
        text
    }

    pub(crate) fn decode(text: &str) -> Offered {
        let mut lines = text.lines();
        let host = lines.next().and_then(|line| line.parse().ok()).unwrap_or(0);
        let offers = lines.filter_map(|line| {
            let mut words = line.split('\t').map(str::to_string);
            let (provider, domain, fabric) = (words.next()?, words.next()?, words.next()?);
            let address = words.next()?.parse().ok();
            Some(Offer { provider, network: Network { domain, fabric, address } })
        });
        Offered { host, offers: offers.collect() }
    }

    /// Names of the providers, each once.
    fn providers(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for offer in &self.offers {
            if !names.contains(&&offer.provider[..]) {
                names.push(&offer.provider);
            }
        }
        names
    }

    fn networks(&self, provider: &str) -> impl Iterator<Item = &Network> {
        self.offers.iter().filter(move |offer| offer.provider == provider).map(|offer| &offer.network)
    }
}

/// The network on which `rank` opens its endpoint of `provider`, which all ranks have; `Err` has the reason
/// why there is none.
pub(crate) fn network(have: &[Offered], provider: &str, rank: usize) -> Result<Network, String> {
    let mut all = have[rank].networks(provider);
    let Some(first) = all.next() else { return Err(format!("rank {rank} does not have it")) };
    let one_host = have.iter().all(|other| other.host == have[0].host);
    if one_host || first.address.is_none() {
        return Ok(first.clone());
    }
    leaving(have, provider, rank).ok_or_else(|| {
        let names = std::iter::once(first).chain(all).filter_map(|n| Some(format!("{} ({})", n.domain, n.address?)));
        format!(
            "rank {rank} has no address by which other hosts reach its host, only {}: bring up the interface between \
             the hosts, or choose one by GASNET_OFI_DOMAIN",
            names.collect::<Vec<_>>().join(", ")
        )
    })
}

/// The network by which a rank reaches the other hosts, as far as addresses tell. The same subnet on all
/// ranks, if there is one.
fn leaving(have: &[Offered], provider: &str, rank: usize) -> Option<Network> {
    let is_of_two_hosts = |ip: IpAddr| {
        let of: Vec<u32> = have
            .iter()
            .filter(|other| other.networks(provider).any(|n| n.address == Some(ip)))
            .map(|other| other.host)
            .collect();
        of.iter().any(|host| *host != of[0])
    };
    let leaves = |network: &&Network| match network.address {
        // An address of a link needs a scope, which differs from host to host.
        Some(IpAddr::V6(ip)) if ip.is_unicast_link_local() => false,
        Some(ip) => !ip.is_loopback(),
        None => false,
    };
    // Only those of this rank and of the first are looked up among all the others.
    let of = |rank: usize| {
        let mut found: Vec<&Network> = have[rank]
            .networks(provider)
            .filter(leaves)
            .filter(|n| !n.address.is_some_and(is_of_two_hosts))
            .collect();
        found.sort_by_key(|n| n.address.is_some_and(|ip| ip.is_ipv6()));
        found
    };
    let (mine, theirs) = (of(rank), of(0));
    let everywhere = |fabric: &str| {
        have.iter().all(|other| other.networks(provider).filter(leaves).any(|n| n.fabric == fabric))
    };
    let common = theirs.iter().find(|n| everywhere(&n.fabric)).map(|n| &n.fabric);
    let on_common = common.and_then(|fabric| mine.iter().find(|n| n.fabric == *fabric));
    on_common.or(mine.first()).map(|network| (*network).clone())
}

/// The position of a provider in the order; `None` for one that is not a network by itself.
fn place(name: &str) -> Option<usize> {
    let base = base(name);
    let known = PREFERENCE.iter().position(|p| *p == base);
    known.or_else(|| (!base.starts_with("ofi_") && !base.starts_with("off_")).then_some(PREFERENCE.len()))
}

/// Whether the user who asks for `wanted` means this provider.
pub(crate) fn is_meant(wanted: &str, name: &str) -> bool {
    wanted.eq_ignore_ascii_case(name) || wanted.eq_ignore_ascii_case(base(name))
}

/// Whether atomics must not even be tried: a fetching atomic over the layer rxd ends the process (libfabric
/// 1.17).
pub(crate) fn breaks_atomics(name: &str) -> bool {
    name.contains("ofi_rxd")
}

/// Chooses from the lists of all ranks; `Err` has the reason why there is none.
pub(crate) fn pick(have: &[Offered], wanted: Option<&str>, one_host: bool) -> Result<String, String> {
    let have: Vec<Vec<&str>> = have.iter().map(Offered::providers).collect();
    let of =
        |rank: usize| have[rank].iter().filter(|name| wanted.is_none_or(|wanted| is_meant(wanted, name)));
    let Some(first) = (0..have.len()).next() else { return Err("no ranks".to_string()) };
    if let Some(lacks) = (0..have.len()).find(|rank| of(*rank).next().is_none()) {
        let names = if have[lacks].is_empty() { "none".to_string() } else { have[lacks].join(", ") };
        return Err(match wanted {
            Some(wanted) => format!(
                "GASNET_OFI_PROVIDER={wanted}: rank {lacks} has no such provider that can send reliable datagrams; it has: {names} \
                 (fi_info -l lists what libfabric knows)"
            ),
            None => format!(
                "rank {lacks} has no provider that can send reliable datagrams (fi_info -t FI_EP_RDM shows what it has)"
            ),
        });
    }
    let mut common: Vec<&str> = of(first)
        .copied()
        .filter(|name| (0..have.len()).all(|rank| have[rank].contains(name)))
        .filter(|name| place(name).is_some() && (one_host || !ONE_HOST.contains(&base(name))))
        .collect();
    common.sort_by_key(|name| place(name));
    match common.first() {
        Some(name) => Ok((*name).to_string()),
        None => Err(match wanted {
            Some(wanted) if !one_host && ONE_HOST.contains(&wanted) => {
                format!("GASNET_OFI_PROVIDER={wanted}: it does not leave the host, and this job has several")
            }
            _ => "the ranks have no provider in common: fi_info -t FI_EP_RDM on each host shows what it has, and \
                  GASNET_OFI_PROVIDER chooses"
                .to_string(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(provider: &str, domain: &str, fabric: &str, address: &str) -> Offer {
        let address = address.parse().ok();
        let network = Network { domain: domain.to_string(), fabric: fabric.to_string(), address };
        Offer { provider: provider.to_string(), network }
    }

    fn names(names: &[&str]) -> Offered {
        Offered { host: 0, offers: names.iter().map(|name| offer(name, "", "", "")).collect() }
    }

    /// A rank with these interfaces and addresses, of subnets that the first two numbers name.
    fn rank(host: u32, interfaces: &[(&str, &str)]) -> Offered {
        let subnet = |ip: &str| ip.split(['.', ':']).take(2).collect::<Vec<_>>().join(".");
        let offers = interfaces.iter().map(|(name, ip)| offer("tcp", name, &subnet(ip), ip)).collect();
        Offered { host, offers }
    }

    fn chosen(have: &[Offered]) -> Vec<String> {
        (0..have.len()).map(|rank| network(have, "tcp", rank).unwrap().domain).collect()
    }

    #[test]
    fn networks_that_leave_the_host() {
        let bridge = ("docker0", "172.17.0.1");
        let two = [
            rank(0, &[bridge, ("lo", "127.0.0.1"), ("eth0", "10.0.0.1"), ("eth1", "10.1.0.1")]),
            rank(0, &[bridge, ("lo", "127.0.0.1"), ("eth0", "10.0.0.1"), ("eth1", "10.1.0.1")]),
            rank(2, &[bridge, ("eth1", "10.1.0.2"), ("lo", "127.0.0.1")]),
        ];
        assert_eq!(chosen(&two), ["eth1", "eth1", "eth1"]);
        // Through a router.
        let routed =
            [rank(0, &[bridge, ("a", "fd01::1"), ("b", "10.0.0.1")]), rank(1, &[bridge, ("c", "10.1.0.1")])];
        assert_eq!(chosen(&routed), ["b", "c"]);
        let text = network(&[rank(0, &[bridge]), rank(1, &[bridge])], "tcp", 1).unwrap_err();
        assert!(text.contains("rank 1 ") && text.contains("docker0 (172.17.0.1)"), "{text}");
        let six = [rank(0, &[("a", "fe80::1"), ("a", "fd00::1")]), rank(1, &[("b", "fd00::2")])];
        assert_eq!(network(&six, "tcp", 0).unwrap().address, "fd00::1".parse().ok());
        // On one host libfabric's order decides; and where addresses are of another kind.
        assert_eq!(chosen(&two[..2]), ["docker0", "docker0"]);
        let other =
            |host| Offered { host, offers: vec![offer("tcp", "ib0", "", ""), offer("tcp", "ib1", "", "")] };
        assert_eq!(chosen(&[other(0), other(1)]), ["ib0", "ib0"]);
    }

    #[test]
    fn what_ranks_tell_is_understood() {
        let said = rank(7, &[("eth0", "10.0.0.1"), ("eth0", "fd00::1"), ("ib0", "")]);
        assert_eq!(Offered::decode(&said.encode()), said);
        let none = Offered { host: 0, offers: Vec::new() };
        assert_eq!(Offered::decode(""), none);
        assert_eq!(Offered::decode("x\ny\tz"), none);
    }

    #[test]
    fn the_best_common_one() {
        let a = names(&["shm", "tcp;ofi_rxm", "udp;ofi_rxd", "verbs;ofi_rxm"]);
        let b = names(&["udp;ofi_rxd", "tcp;ofi_rxm", "sockets"]);
        assert_eq!(pick(&[a.clone(), b.clone()], None, false).unwrap(), "tcp;ofi_rxm");
        assert_eq!(pick(&[a.clone(), a.clone()], None, false).unwrap(), "verbs;ofi_rxm");
        assert_eq!(pick(&[a.clone(), b.clone()], Some("UDP"), false).unwrap(), "udp;ofi_rxd");
        assert_eq!(pick(&[a.clone(), b], Some("tcp;ofi_rxm"), true).unwrap(), "tcp;ofi_rxm");
        assert_eq!(pick(&[names(&["shm", "sockets"])], None, true).unwrap(), "shm");
        assert_eq!(pick(&[names(&["shm", "sockets"])], None, false).unwrap(), "sockets");
        assert_eq!(pick(&[names(&["next_year", "sockets"])], None, false).unwrap(), "sockets");
        assert_eq!(pick(&[names(&["next_year", "ofi_mrail"])], None, false).unwrap(), "next_year");
    }

    #[test]
    fn what_is_missing_is_said() {
        let (a, b) = (names(&["tcp;ofi_rxm"]), names(&["udp;ofi_rxd"]));
        assert!(pick(&[a.clone(), b.clone()], None, false).unwrap_err().contains("in common"));
        let text = pick(&[a.clone(), b], Some("tcp"), false).unwrap_err();
        assert!(text.contains("rank 1") && text.contains("udp;ofi_rxd"), "{text}");
        assert!(pick(&[a, names(&[])], None, false).unwrap_err().contains("rank 1"));
        let text = pick(&[names(&["shm"]), names(&["shm"])], Some("shm"), false).unwrap_err();
        assert!(text.contains("does not leave the host"), "{text}");
    }

    #[test]
    fn atomics_that_crash_are_left_alone() {
        assert!(breaks_atomics("udp;ofi_rxd") && !breaks_atomics("tcp;ofi_rxm"));
    }
}
