//! Finds out which addresses of the hosts reach each other, before a rank gives itself one.
//!
//! An address may be one that another host has too (each has a `docker0`), belong to a network that the other
//! hosts are not in, or be behind a firewall. So the first rank of each host offers all addresses of the
//! host. It asks other hosts from each of its own addresses at each of theirs, by datagrams of two sizes, and
//! answers what it is asked. All ranks learn what each host found, and choose the same addresses from it:
//!
//! ```text
//! offers    (exchange of all ranks)    a secret and the addresses of each host
//! trial     question: for whom (its secret), from whom, between which addresses
//!           answer:   the same with the secret of the host that has asked
//! findings  (exchange of all ranks)    what was heard, and what was answered
//! ```
//! A datagram for an address that this host has too comes back to this host, which sees another's secret in
//! it and drops it. If there are many hosts, each tries those before and after it.

use crate::settings::Ports;
use crate::socket::{self, LEAST_DATAGRAM_BYTES, MIN_DATAGRAM_BYTES};
use gasnet_sys::mutex::lock;
use gasnet_sys::poll::PollSet;
use gasnet_wire::Error;
use gasnet_wire::boot::Exchange;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Most addresses of a host that are tried.
const MAX_ADDRESSES: usize = 6;
/// Hosts on each side of a host that it tries.
const REACH: usize = 8;
/// Longest time of a trial in which some host does not answer.
const LONGEST: Duration = Duration::from_secs(5);
/// Time between questions: at first, and later.
const SHORT_PAUSE: Duration = Duration::from_millis(5);
const LONG_PAUSE: Duration = Duration::from_millis(40);
/// Once every host has answered, other addresses have this much longer, and large datagrams as well.
const LINGER: Duration = Duration::from_millis(50);
const LINGER_FOR_LARGE: Duration = Duration::from_millis(400);

const QUESTION: [u8; 8] = *b"gasnet?1";
const ANSWER: [u8; 8] = *b"gasnet!1";
const SECRET_BYTES: usize = 16;
/// Magic, secret, host u32, address of the host that asks u8, of the other u8.
const TRIAL_BYTES: usize = 8 + SECRET_BYTES + 6;
/// The sizes of datagrams, small and large.
const SIZES: [usize; 2] = [LEAST_DATAGRAM_BYTES, MIN_DATAGRAM_BYTES];

/// The addresses that a host offers, and its secret. The first rank of a host makes the offer.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Offer {
    secret: [u8; SECRET_BYTES],
    addresses: Vec<SocketAddr>,
}

impl Offer {
    fn encode(&self) -> Vec<u8> {
        let mut out = self.secret.to_vec();
        for address in &self.addresses {
            let (family, ip) = match address.ip() {
                IpAddr::V4(ip) => (4, ip.to_ipv6_mapped().octets()),
                IpAddr::V6(ip) => (6, ip.octets()),
            };
            out.push(family);
            out.extend(ip);
            out.extend(address.port().to_le_bytes());
        }
        out
    }

    fn decode(bytes: &[u8]) -> Option<Offer> {
        let (secret, rest) = bytes.split_first_chunk()?;
        let (entries, []) = rest.as_chunks::<19>() else { return None };
        let address = |entry: &[u8; 19]| {
            let ip = Ipv6Addr::from(<[u8; 16]>::try_from(&entry[1..17]).ok()?);
            let ip = match entry[0] {
                4 => IpAddr::from(Ipv4Addr::from(<[u8; 4]>::try_from(&ip.octets()[12..]).ok()?)),
                6 => IpAddr::from(ip),
                _ => return None,
            };
            Some(SocketAddr::new(ip, u16::from_le_bytes([entry[17], entry[18]])))
        };
        let addresses = entries.iter().map(address).collect::<Option<Vec<_>>>()?;
        (!addresses.is_empty() && addresses.len() <= MAX_ADDRESSES)
            .then_some(Offer { secret: *secret, addresses })
    }
}

/// A question or an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Datagram {
    question: bool,
    /// Of the host that it is for.
    secret: [u8; SECRET_BYTES],
    /// Who sent it.
    host: u32,
    /// Numbers of the addresses: of the host that has asked, and of the other.
    asker: u8,
    other: u8,
}

impl Datagram {
    fn encode(&self, size: usize) -> Vec<u8> {
        let mut out = vec![0; size];
        out[..8].copy_from_slice(if self.question { &QUESTION } else { &ANSWER });
        out[8..24].copy_from_slice(&self.secret);
        out[24..28].copy_from_slice(&self.host.to_le_bytes());
        (out[28], out[29]) = (self.asker, self.other);
        out
    }

    fn decode(bytes: &[u8]) -> Option<Datagram> {
        let bytes: &[u8; TRIAL_BYTES] = bytes.first_chunk()?;
        let question = match *bytes.first_chunk()? {
            QUESTION => true,
            ANSWER => false,
            _ => return None,
        };
        Some(Datagram {
            question,
            secret: bytes[8..24].try_into().ok()?,
            host: u32::from_le_bytes(bytes[24..28].try_into().ok()?),
            asker: bytes[28],
            other: bytes[29],
        })
    }
}

/// The path between two hosts: another host, the number of an own address, and of one of the other's.
type Path = (u32, u8, u8);

/// Results for a path: a question arrived; an answer to a small datagram arrived; an answer to a large one.
const HEARD: u8 = 1;
const SMALL: u8 = 2;
const LARGE: u8 = 4;

/// The results of a host.
type Findings = BTreeMap<Path, u8>;

fn encode_findings(findings: &Findings) -> Vec<u8> {
    let entry = |(&(host, own, other), &what): (&Path, &u8)| {
        let [a, b, c, d] = host.to_le_bytes();
        [a, b, c, d, own, other, what]
    };
    findings.iter().flat_map(entry).collect()
}

fn decode_findings(bytes: &[u8]) -> Option<Findings> {
    let (entries, []) = bytes.as_chunks::<7>() else { return None };
    let entry =
        |&[a, b, c, d, own, other, what]: &[u8; 7]| ((u32::from_le_bytes([a, b, c, d]), own, other), what);
    Some(entries.iter().map(entry).collect())
}

/// The hosts, of so many, that a host tries.
fn partners(host: usize, hosts: usize) -> impl Iterator<Item = usize> {
    let reach = move |by: usize| [(host + by) % hosts, (host + hosts - by) % hosts];
    let near: std::collections::BTreeSet<usize> = (1..=REACH.min(hosts / 2)).flat_map(reach).collect();
    near.into_iter().filter(move |other| *other != host)
}

/// The offers and findings of all hosts.
struct Outcome<'a> {
    offers: &'a [Offer],
    findings: &'a [Findings],
    /// The first rank of each.
    ranks: &'a [u32],
}

impl Outcome<'_> {
    /// The results of both hosts for the path between two of their addresses.
    fn path(&self, (one, a): (usize, usize), (other, b): (usize, usize)) -> u8 {
        let of = |host: usize, path: Path| self.findings[host].get(&path).copied().unwrap_or(0);
        of(one, (other as u32, a as u8, b as u8)) | of(other, (one as u32, b as u8, a as u8))
    }

    /// The addresses of a host, in order of preference: no other host has those that come first.
    fn preferred(&self, host: usize) -> Vec<usize> {
        let ip = |of: usize, i: usize| self.offers[of].addresses[i].ip();
        let others = |i: usize| {
            let has = |other: usize| self.offers[other].addresses.iter().any(|a| a.ip() == ip(host, i));
            partners(host, self.offers.len()).any(has)
        };
        let mut order: Vec<usize> = (0..self.offers[host].addresses.len()).collect();
        order.sort_by_key(|&i| (others(i), i));
        order
    }

    /// The number of the address of each host, and the bytes of datagrams that pass everywhere.
    fn choose(&self) -> Option<(Vec<usize>, usize)> {
        let hosts = self.offers.len();
        for first in self.preferred(0) {
            let (mut picks, mut least) = (vec![first], MIN_DATAGRAM_BYTES);
            for host in 1..hosts {
                let fits = |&mine: &usize| {
                    let earlier = partners(host, hosts).filter(|other| *other < host);
                    let mut paths = earlier.map(|other| self.path((host, mine), (other, picks[other])));
                    paths.try_fold(LARGE, |all, path| match path & (SMALL | LARGE) {
                        0 => None,
                        known => Some(all & known),
                    })
                };
                let found = self.preferred(host).into_iter().find_map(|mine| Some((mine, fits(&mine)?)));
                let Some((mine, large)) = found else { break };
                picks.push(mine);
                if large & LARGE == 0 {
                    least = LEAST_DATAGRAM_BYTES;
                }
            }
            if picks.len() == hosts {
                return Some((picks, least));
            }
        }
        None
    }

    /// Why there is no choice.
    fn problem(&self) -> String {
        let hosts = self.offers.len();
        let host = |host: usize| {
            let all: Vec<String> = self.offers[host].addresses.iter().map(|a| a.ip().to_string()).collect();
            format!("the host of rank {} ({})", self.ranks[host], all.join(", "))
        };
        let known = |one: usize, other: usize| {
            let all = |a| (0..self.offers[other].addresses.len()).map(move |b| (a, b));
            let paths = (0..self.offers[one].addresses.len()).flat_map(all);
            paths.fold(0, |known, (a, b)| known | self.path((one, a), (other, b)))
        };
        let hears = |one: usize, from: usize| {
            self.findings[one].iter().any(|(path, what)| path.0 == from as u32 && what & HEARD != 0)
        };
        let pairs = (0..hosts).flat_map(|one| partners(one, hosts).map(move |other| (one, other)));
        let apart = pairs
            .filter(|(one, other)| one < other)
            .find(|(one, other)| known(*one, *other) & (SMALL | LARGE) == 0);
        let Some((one, other)) = apart else {
            return "udp: hosts reach each other, but each at other addresses: name a network that connects all of them, by an interface or \
                    the address of each host, with GASNET_UDP_INTERFACE"
                .into();
        };
        let what = match (hears(one, other), hears(other, one)) {
            (true, false) => {
                format!("no datagram of {} reaches {}, but those back arrive", host(one), host(other))
            }
            (false, true) => {
                format!("no datagram of {} reaches {}, but those back arrive", host(other), host(one))
            }
            _ => format!("no datagram passes between {} and {}", host(one), host(other)),
        };
        format!(
            "udp: {what}. If a firewall drops them, let UDP pass to the ports that ranks have ({}), or name ports that pass with \
             GASNET_UDP_PORTS=LOW-HIGH; if the hosts are connected by another address or interface, name it with GASNET_UDP_INTERFACE",
            socket::system_ports()
        )
    }
}

/// The part of the first rank of a host.
struct Leader {
    host: u32,
    offers: Vec<Offer>,
    sockets: Vec<UdpSocket>,
    findings: Mutex<Findings>,
    over: AtomicBool,
}

impl Leader {
    fn know(&self, path: Path, what: u8) {
        *lock(&self.findings).entry(path).or_default() |= what;
    }

    /// Answers, and enters answers, until the trial is over: other hosts may still ask when this one has
    /// heard enough.
    fn listen(&self) {
        let mut bytes = vec![0; MIN_DATAGRAM_BYTES + 1];
        // Relaxed: only the time of the end depends on it.
        while !self.over.load(Relaxed) {
            let mut fds = PollSet::default();
            self.sockets.iter().for_each(|socket| fds.add_input(socket.as_fd()));
            let Ok(_) = fds.wait(Some(Duration::from_millis(10))) else { return };
            for (number, socket) in self.sockets.iter().enumerate() {
                while let Ok((len, from)) = socket.recv_from(&mut bytes) {
                    self.take(number as u8, socket, &bytes[..len], from);
                }
            }
        }
    }

    fn take(&self, number: u8, socket: &UdpSocket, bytes: &[u8], from: SocketAddr) {
        let Some(datagram) = Datagram::decode(bytes) else { return };
        let sender = self.offers.get(datagram.host as usize).filter(|_| datagram.host != self.host);
        let Some(sender) = sender.filter(|_| datagram.secret == self.offers[self.host as usize].secret)
        else {
            return;
        };
        let (own, other) = if datagram.question {
            (datagram.other, datagram.asker)
        } else {
            (datagram.asker, datagram.other)
        };
        // The sender's address may be translated on the way, but not between hosts of a job.
        if own != number || sender.addresses.get(other as usize) != Some(&from) {
            return;
        }
        let path = (datagram.host, own, other);
        if datagram.question {
            self.know(path, HEARD);
            let answer = Datagram { question: false, secret: sender.secret, host: self.host, ..datagram };
            // An answer that is lost is asked for again.
            let _ = socket.send_to(&answer.encode(bytes.len()), from);
        } else {
            self.know(path, if bytes.len() == MIN_DATAGRAM_BYTES { LARGE } else { SMALL });
        }
    }

    /// The paths to try.
    fn paths(&self) -> Vec<Path> {
        let own = &self.offers[self.host as usize].addresses;
        let to = |host: usize| {
            let theirs = &self.offers[host].addresses;
            let pairs = (0..own.len()).flat_map(move |a| (0..theirs.len()).map(move |b| (a, b)));
            let alike = pairs.filter(move |(a, b)| own[*a].is_ipv4() == theirs[*b].is_ipv4());
            alike.map(move |(a, b)| (host as u32, a as u8, b as u8))
        };
        partners(self.host as usize, self.offers.len()).flat_map(to).collect()
    }

    /// Asks until every host has answered, or for as long as that may take.
    fn ask(&self, longest: Duration) {
        let (begun, paths) = (Instant::now(), self.paths());
        let hosts: std::collections::BTreeSet<u32> = paths.iter().map(|path| path.0).collect();
        let (mut rounds, mut satisfied) = (0u32, None::<Instant>);
        loop {
            let known = lock(&self.findings).clone();
            let of = |path: &Path| known.get(path).copied().unwrap_or(0);
            let open: Vec<&Path> = paths.iter().filter(|path| of(path) & LARGE == 0).collect();
            let reached = |size: u8| {
                hosts.iter().all(|host| known.iter().any(|(path, what)| path.0 == *host && what & size != 0))
            };
            if reached(SMALL | LARGE) {
                satisfied.get_or_insert_with(Instant::now);
            }
            let linger = if reached(LARGE) { LINGER } else { LINGER_FOR_LARGE };
            let done = open.is_empty()
                || satisfied.is_some_and(|at| at.elapsed() > linger)
                || begun.elapsed() > longest;
            if done {
                return;
            }
            for &&(host, own, other) in &open {
                let offer = &self.offers[host as usize];
                let question =
                    Datagram { question: true, secret: offer.secret, host: self.host, asker: own, other };
                for size in SIZES {
                    // An address that this one cannot reach is one that does not answer.
                    let _ = self.sockets[own as usize]
                        .send_to(&question.encode(size), offer.addresses[other as usize]);
                }
            }
            rounds += 1;
            self.rest(if rounds < 4 { SHORT_PAUSE } else { LONG_PAUSE }, &paths);
        }
    }

    /// Lets time pass, unless all paths are known to be good.
    fn rest(&self, pause: Duration, paths: &[Path]) {
        let until = Instant::now() + pause;
        while Instant::now() < until {
            std::thread::sleep(Duration::from_micros(200));
            let known = lock(&self.findings);
            if paths.iter().all(|path| known.get(path).is_some_and(|what| what & LARGE != 0)) {
                return;
            }
        }
    }
}

/// The result of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Chosen {
    /// The address of this host.
    pub(crate) address: IpAddr,
    /// Bytes of datagrams that pass between all hosts.
    pub(crate) least: usize,
}

/// Tries the `candidates` of this host; `first` is its first rank, which is the only one that has to know
/// them.
///
/// # Collective
/// Over all ranks.
///
/// # Errors
/// Hosts do not reach each other, or a socket cannot be made.
pub(crate) fn hold(
    exchange: &dyn Exchange,
    (rank, first): (u32, u32),
    candidates: &[IpAddr],
    ports: Option<Ports>,
    patience: Duration,
) -> Result<Chosen, Error> {
    let versions = || {
        Error::job(
            "udp: the ranks have different versions of the protocol: install the same version on all hosts",
        )
    };
    let mut sockets = Vec::new();
    let mut own = Vec::new();
    if rank == first {
        let mut secret = [0; SECRET_BYTES];
        gasnet_sys::fill_with_secret(&mut secret);
        for ip in candidates.iter().take(MAX_ADDRESSES) {
            let socket = socket::bind(*ip, ports)?;
            socket::probing(&socket)?;
            sockets.push(socket);
        }
        let addresses = sockets.iter().map(UdpSocket::local_addr).collect::<std::io::Result<_>>();
        let addresses = addresses.map_err(|e| Error::Conduit(format!("udp: no address: {e}")))?;
        own = Offer { secret, addresses }.encode();
    }
    let offers = exchange.all_gather(&own)?;
    let ranks: Vec<u32> = (0..offers.len() as u32).filter(|r| !offers[*r as usize].is_empty()).collect();
    let offers = ranks.iter().map(|r| Offer::decode(&offers[*r as usize])).collect::<Option<Vec<_>>>();
    let offers = offers.ok_or_else(versions)?;
    let host = ranks.iter().position(|r| *r == first).ok_or_else(versions)?;
    let findings = if rank == first {
        let leader = Arc::new(Leader {
            host: host as u32,
            offers: offers.clone(),
            sockets,
            findings: Mutex::default(),
            over: AtomicBool::new(false),
        });
        let listener = leader.clone();
        let thread = std::thread::Builder::new().name("gasnet-trial".into()).stack_size(256 << 10);
        let listener = gasnet_sys::thread::spawn_without_signals(thread, move || listener.listen())
            .map_err(|e| Error::Conduit(format!("udp: cannot start a thread: {e}")))?;
        let _listening = Listening(leader.clone(), Some(listener));
        leader.ask(if patience.is_zero() { LONGEST } else { LONGEST.min(patience) });
        let found = lock(&leader.findings).clone();
        exchange.all_gather(&encode_findings(&found))?
    } else {
        exchange.all_gather(&[])?
    };
    let findings = ranks.iter().map(|r| decode_findings(&findings[*r as usize])).collect::<Option<Vec<_>>>();
    let findings = findings.ok_or_else(versions)?;
    let outcome = Outcome { offers: &offers, findings: &findings, ranks: &ranks };
    let (picks, least) = outcome.choose().ok_or_else(|| Error::Conduit(outcome.problem()))?;
    Ok(Chosen { address: offers[host].addresses[picks[host]].ip(), least })
}

/// The thread that answers, which ends with this: also where the exchange unwinds, since a rank has died.
struct Listening(Arc<Leader>, Option<JoinHandle<()>>);

impl Drop for Listening {
    fn drop(&mut self) {
        self.0.over.store(true, Relaxed);
        // A thread that panicked has reported it.
        let _ = self.1.take().map(JoinHandle::join);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Hosts with these addresses, of which those pass that `passes` names: `LARGE`, `SMALL` or 0 for a path
    /// from a host's address to another's.
    fn hosts(
        addresses: &[&[&str]],
        passes: impl Fn((usize, usize), (usize, usize)) -> u8,
    ) -> Result<(Vec<usize>, usize), String> {
        let all = addresses.len();
        let socket = |ip: &&str| SocketAddr::new(ip.parse().unwrap(), 7);
        let offers: Vec<Offer> = addresses
            .iter()
            .map(|ips| Offer { secret: [0; 16], addresses: ips.iter().map(socket).collect() })
            .collect();
        let mut findings = vec![Findings::new(); all];
        for (one, other) in (0..all).flat_map(|one| partners(one, all).map(move |other| (one, other))) {
            for (a, b) in
                (0..addresses[one].len()).flat_map(|a| (0..addresses[other].len()).map(move |b| (a, b)))
            {
                let (there, back) = (passes((one, a), (other, b)), passes((other, b), (one, a)));
                let path = (other as u32, a as u8, b as u8);
                if back > 0 {
                    *findings[one].entry(path).or_default() |= HEARD;
                }
                let both = there.min(back);
                if both > 0 {
                    *findings[one].entry(path).or_default() |= both;
                }
            }
        }
        let ranks: Vec<u32> = (0..all as u32).collect();
        let outcome = Outcome { offers: &offers, findings: &findings, ranks: &ranks };
        outcome.choose().ok_or_else(|| outcome.problem())
    }

    #[test]
    fn an_address_that_others_have_too_is_not_chosen() {
        let two: &[&[&str]] = &[&["172.17.0.1", "10.0.0.1"], &["172.17.0.1", "10.0.0.2"]];
        let chosen = hosts(two, |(_, a), (_, b)| LARGE * u8::from(a == 1 && b == 1));
        assert_eq!(chosen, Ok((vec![1, 1], MIN_DATAGRAM_BYTES)));
        // Not even if it works, as between two names of one host.
        assert_eq!(hosts(two, |_, _| LARGE), Ok((vec![1, 1], MIN_DATAGRAM_BYTES)));
        // Unless there is nothing else.
        assert_eq!(
            hosts(&[&["10.0.0.1"], &["10.0.0.1"]], |_, _| LARGE),
            Ok((vec![0, 0], MIN_DATAGRAM_BYTES))
        );
    }

    #[test]
    fn all_hosts_have_one_network_in_common() {
        // The first two have a network of their own.
        let three: &[&[&str]] = &[&["10.1.0.1", "10.2.0.1"], &["10.1.0.2", "10.2.0.2"], &["10.2.0.3"]];
        let net = |host: usize, i: usize| if host == 2 { 1 } else { i };
        let passes = |(one, a): (usize, usize), (other, b): (usize, usize)| {
            LARGE * u8::from(net(one, a) == net(other, b))
        };
        assert_eq!(hosts(three, passes), Ok((vec![1, 1, 0], MIN_DATAGRAM_BYTES)));
        // Each pair has a network, and all have none.
        let two_of_three = |(one, a): (usize, usize), (other, b): (usize, usize)| {
            let net = |host: usize, i: usize| [[0, 1], [0, 2], [1, 2]][host][i];
            LARGE * u8::from(net(one, a) == net(other, b))
        };
        let three: &[&[&str]] =
            &[&["10.0.0.1", "10.1.0.1"], &["10.0.0.2", "10.2.0.2"], &["10.1.0.3", "10.2.0.3"]];
        let why = hosts(three, two_of_three).unwrap_err();
        assert!(why.contains("each at other addresses") && why.contains("GASNET_UDP_INTERFACE"), "{why}");
    }

    #[test]
    fn a_narrow_path_makes_all_datagrams_small() {
        let chosen = hosts(&[&["10.0.0.1"], &["10.0.0.2"], &["10.0.0.3"]], |(one, _), (other, _)| {
            if one + other == 3 { SMALL } else { LARGE }
        });
        assert_eq!(chosen, Ok((vec![0; 3], LEAST_DATAGRAM_BYTES)));
    }

    #[test]
    fn a_way_that_is_cut_is_named() {
        let three: &[&[&str]] = &[&["10.0.0.1"], &["10.0.0.2"], &["10.0.0.3"]];
        let why = hosts(three, |(one, _), (other, _)| LARGE * u8::from((one, other) != (2, 1))).unwrap_err();
        let way = "no datagram of the host of rank 2 (10.0.0.3) reaches the host of rank 1 (10.0.0.2), but those back";
        assert!(why.contains(way) && why.contains("GASNET_UDP_PORTS"), "{why}");
        let why = hosts(three, |(one, _), (other, _)| LARGE * u8::from(one + other != 3)).unwrap_err();
        assert!(why.contains("no datagram passes between the host of rank 1 (10.0.0.2) and"), "{why}");
    }

    #[test]
    fn partners_know_each_other() {
        for all in 1..40 {
            for one in 0..all {
                let of: Vec<usize> = partners(one, all).collect();
                assert!(
                    of.len() == (all - 1).min(2 * REACH) && of.iter().all(|o| *o != one && *o < all),
                    "{of:?}"
                );
                assert!(of.iter().all(|other| partners(*other, all).any(|back| back == one)));
            }
        }
    }

    proptest! {
        #[test]
        fn what_is_said_survives(
            secret: [u8; 16],
            ips in proptest::collection::vec((any::<[u8; 16]>(), any::<bool>(), any::<u16>()), 1..=MAX_ADDRESSES),
            entries in proptest::collection::btree_map((any::<u32>(), any::<u8>(), any::<u8>()), any::<u8>(), 0..50),
            question: bool, host: u32, asker: u8, other: u8,
        ) {
            let address = |(ip, v6, port): &([u8; 16], bool, u16)| {
                let ip = if *v6 { IpAddr::from(*ip) } else { IpAddr::from([ip[0], ip[1], ip[2], ip[3]]) };
                SocketAddr::new(ip, *port)
            };
            let offer = Offer { secret, addresses: ips.iter().map(address).collect() };
            prop_assert_eq!(Offer::decode(&offer.encode()), Some(offer));
            prop_assert_eq!(decode_findings(&encode_findings(&entries)), Some(entries));
            let datagram = Datagram { question, secret, host, asker, other };
            prop_assert_eq!(Datagram::decode(&datagram.encode(LEAST_DATAGRAM_BYTES)), Some(datagram));
        }

        #[test]
        fn any_bytes_are_taken(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            if let Some(offer) = Offer::decode(&bytes) {
                prop_assert_eq!(Offer::decode(&offer.encode()), Some(offer));
            }
            if let Some(findings) = decode_findings(&bytes) {
                prop_assert!(encode_findings(&findings).len() <= bytes.len());
            }
            if let Some(datagram) = Datagram::decode(&bytes) {
                prop_assert_eq!(Datagram::decode(&datagram.encode(bytes.len())), Some(datagram));
            }
        }
    }
}
