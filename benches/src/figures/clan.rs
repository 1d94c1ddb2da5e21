//! Figures of the crates `gasnet-clan` and `gasnet-via`, each beside what it is made of, and of pages in the
//! memory of peers.

use super::{Env, NETVM, UDP, beside, floor, rank, time, us, words};
use crate::probe::{Better, Figure, Group, Probe, Program};
use pgas_bench::options::Options;

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

/// Messages of 4 and of 400 bytes there and back, by three ways, with the 95th percentile of each.
fn ladder(clan: &dyn Fn(&str) -> Probe) -> Vec<Group> {
    let line = |bytes: u32, name: &str, value: &'static str, floor: &'static [&'static str], bar| Figure {
        floor: (0, floor),
        ..us(Figure { bar, value: (0, value), ..time(&format!("{name}_{bytes}"), "us", 2, value, floor) })
    };
    [4, 400]
        .into_iter()
        .map(|bytes| Group {
            probes: vec![clan(&format!("ladder {bytes}"))],
            figures: vec![
                line(bytes, "store_p95", "store_p95", &["store"], "reported"),
                line(bytes, "stream_beside_store", "stream", &["store"], "ratio >= 1"),
                line(bytes, "stream_p95", "stream_p95", &["stream"], "reported"),
                line(bytes, "queue_beside_stream", "queue", &["stream"], "ratio >= 1"),
                line(bytes, "queue_p95", "queue_p95", &["queue"], "reported"),
            ],
            rounds: 0,
            note: None,
        })
        .collect()
}

/// The sender's time to send, events that a cookie does not have to wait for, RDMA writes, queues of many
/// virtual interfaces, and endpoints that are opened again.
fn one_sided(clan: &dyn Fn(&str) -> Probe) -> Vec<Group> {
    let within = |name: &str, value: (usize, &'static str), floor: (usize, &'static [&'static str]), bar| {
        Figure { value, floor, bar, ..us(time(name, "us", 2, value.1, floor.1)) }
    };
    let group = |probes: Vec<Probe>, figures| Group { probes, figures, rounds: 0, note: None };
    vec![
        group(
            vec![clan("transmit")],
            vec![
                within("transmit_request_256", (0, "request"), (0, &["copied"]), "reported"),
                within("transmit_in_place_256", (0, "in_place"), (0, &["copied"]), "reported"),
                Figure {
                    value: (0, "crossover"),
                    floor: (0, &["crossover_in_place"]),
                    bar: "reported",
                    ..time("transmit_crossover", "bytes", 2, "crossover", &["crossover_in_place"])
                },
            ],
        ),
        group(
            vec![clan("overtake 0"), clan("overtake 4194304")],
            vec![
                within("cookie_beside_4m_of_bulk", (1, "cookie"), (0, &["cookie"]), "reported"),
                within("credit_behind_4m_of_bulk", (1, "credit"), (0, &["credit"]), "reported"),
            ],
        ),
        group(
            vec![clan("active")],
            vec![Figure {
                better: Better::Higher,
                value: (0, "polled"),
                floor: (0, &["events"]),
                bar: "ratio >= 3",
                ..time("active_sources", "k/s", 2, "polled", &["events"])
            }],
        ),
        group(vec![clan("vi_write")], vec![within("vi_write_4k", (0, "write"), (0, &["put"]), "reported")]),
        group(
            vec![clan("vi_look")],
            vec![Figure {
                value: (0, "look_256"),
                floor: (0, &["look_1"]),
                bar: "ratio <= 1.2",
                ..time("vi_look_256", "ns", 2, "look_256", &["look_1"])
            }],
        ),
        group(
            vec![clan("endpoints")],
            vec![within("endpoint_warm", (0, "warm"), (0, &["cold"]), "ratio <= 0.5")],
        ),
    ]
}

/// The note on tables of the thesis.
const TABLES: &str = "endpoint_cold (made, a message each way, closed) stands beside Table 4.1 of Riddoch's thesis (115 us; a TCP socket 11 us), with a TCP socket of this \
                      machine as floor; vi_* beside Table 5.2 (0.07 to 0.83 us at 650 MHz), with a mutex as floor (there 0.26 us).";

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
    let mut groups = vec![
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
        round_trip("vi_rtt_unreliable", &[], "vi_rtt unreliable", "reported"),
        round_trip("vi_rtt_reception", &[], "vi_rtt reception", "reported"),
        beside(
            floor("calls", ""),
            clan(&[], "endpoints"),
            us(Figure { bar: "reported", ..time("endpoint_cold", "us", 2, "cold", &["socket"]) }),
        ),
        Group {
            probes: vec![floor("calls", ""), clan(&[], "vi_calls")],
            figures: ["post_send", "send_done", "post_receive", "receive_done", "receive_not_done"]
                .map(|key| Figure { bar: "reported", ..time(&format!("vi_{key}"), "ns", 2, key, &["mutex"]) })
                .into(),
            rounds: 0,
            note: Some(TABLES.into()),
        },
        Group {
            probes: vec![clan(PEERS, "pages"), floor("fault", "4096")],
            figures: vec![
                page("page_from_peer", "ratio <= 1.3", (0, &["read"])),
                page("page_from_peer_fault", "reported", (1, &["fault"])),
            ],
            rounds: 0,
            note: Some(BY_A_THREAD.into()),
        },
        Group {
            probes: vec![clan(NETVM, "region_put")],
            figures: vec![us(Figure {
                bar: "reported",
                ..time("region_put_netvm", "us", 2, "region", &["put"])
            })],
            rounds: 0,
            note: None,
        },
        Group {
            probes: vec![clan(&[], "stream_bw 32768 4096"), clan(&[], "stream_bw 32768 16384")],
            figures: vec![Figure {
                better: Better::Higher,
                bar: "ratio >= 0.95",
                ..time("stream_bw_half_ring", "GB/s", 2, "bw", &["bw"])
            }],
            rounds: 0,
            note: None,
        },
    ];
    let usual = |args: &str| clan(&[], args);
    groups.extend(ladder(&usual));
    groups.extend(one_sided(&usual));
    groups
}
