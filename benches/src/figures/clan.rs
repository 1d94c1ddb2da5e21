//! Figures of the crates `gasnet-clan` and `gasnet-via`, each beside what it is made of, and of pages in the
//! memory of peers.

use super::{Env, NETVM, UDP, beside, floor, rank, time, us, words};
use crate::options::Options;
use crate::probe::{Better, Figure, Group, Probe, Program};

/// Rank 0 has memory for an eighth of its pages, and rank 1 lends it room for all.
const PEERS: Env = &[
    ("GASNET_CONDUIT", "netvm"),
    ("GASNET_MAX_SEGSIZE", "16M"),
    ("GASNET_NETVM_MEMORY", "2M"),
    ("GASNET_NETVM_BACKING", "peers:64M"),
    ("GASNET_NETVM_DONATE", "64M"),
];

/// A ring for networks on which a chunk takes its time: in bytes.
const LARGE_RING: &str = "1048576";

/// Why a stream is slower than a put on one host.
const CROSSES: &str = "The put copies from and to the cache of one processor. A stream's bytes are copied twice, and \
                       cross to the other processor: `stream_bw_ring` is beside a bare ring that does the same.";
/// Why a page from a peer is slower than a read of it.
const BY_A_THREAD: &str = "A read does not leave its thread. A missing page is put in place by another thread, which \
                           the kernel wakes: `page_from_peer_fault` is beside that alone, without a network.";

/// All of them.
pub fn all(_: &Options) -> Vec<Group> {
    let clan = |env, args: &str| Probe { program: Program::Clan, args: words(args), ranks: 2, env };
    let over = |env, args: &str| Probe { env, ..rank(2, args) };
    let round_trip = |name: &str, env, args: &str, bar| {
        let figure = us(Figure { bar, ..time(name, "us", 2, "rtt", &["rtt"]) });
        beside(over(env, "am_short"), clan(env, args), figure)
    };
    let bandwidth = |name: &str, env, args: &str, bar| {
        let figure = Figure { better: Better::Higher, bar, ..time(name, "GB/s", 2, "bw", &["bw"]) };
        beside(over(env, "put_1m"), clan(env, args), figure)
    };
    let large = format!("stream_bw {LARGE_RING}");
    let beside_ring = |name: &str, ring: &str, args: &str| {
        let figure =
            Figure { better: Better::Higher, bar: "reported", ..time(name, "GB/s", 2, "bw", &["bw"]) };
        beside(floor("ring", ring), clan(&[], args), figure)
    };
    let page = |name: &str, bar, (of, key): (usize, &'static [&'static str])| {
        us(Figure { value: (0, "page"), floor: (of, key), bar, ..time(name, "us", 2, "page", key) })
    };
    vec![
        round_trip("stream_rtt", &[], "stream_rtt", "ratio <= 1.3"),
        round_trip("stream_rtt_udp", UDP, "stream_rtt", "ratio <= 1.3"),
        Group { note: Some(CROSSES.into()), ..bandwidth("stream_bw", &[], "stream_bw", "ratio >= 0.8") },
        bandwidth("stream_bw_large", &[], &large, "reported"),
        beside_ring("stream_bw_ring", "32768 16384", "stream_bw 32768"),
        beside_ring("stream_bw_ring_large", "1048576 524288", &large),
        bandwidth("stream_bw_udp", UDP, "stream_bw", "reported"),
        bandwidth("stream_bw_udp_large", UDP, &large, "ratio >= 0.8"),
        beside(
            floor("wake", ""),
            clan(&[], "upcall_rtt"),
            us(Figure { bar: "reported", ..time("upcall_rtt", "us", 2, "wake", &["rtt"]) }),
        ),
        round_trip("vi_rtt", &[], "vi_rtt", "reported"),
        round_trip("vi_rtt_udp", UDP, "vi_rtt", "reported"),
        round_trip("vi_rtt_netvm", NETVM, "vi_rtt", "ratio <= 1.5"),
        Group {
            probes: vec![clan(PEERS, "pages"), floor("fault", "4096")],
            figures: vec![
                page("page_from_peer", "ratio <= 1.3", (0, &["read"])),
                page("page_from_peer_fault", "reported", (1, &["fault"])),
            ],
            rounds: 0,
            note: Some(BY_A_THREAD.into()),
        },
    ]
}
