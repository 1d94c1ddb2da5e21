//! The udp conduit, on one host without neighbourhood and between two that lose packets.

use super::{Env, UDP, beside, floor, rank, time, us};
use crate::probe::{Better, Figure, Group, Probe, Program};
use pgas_bench::options::Options;

/// With payloads authenticated.
const UDP_FULL: Env =
    &[("GASNET_CONDUIT", "udp"), ("GASNET_NEIGHBORHOOD", "off"), ("GASNET_UDP_AUTH", "full")];

fn over(env: Env, ranks: u32, args: &str) -> Probe {
    Probe { env, ..rank(ranks, args) }
}

/// Figures of the udp conduit on one host, without neighbourhood.
pub fn all(options: &Options) -> Vec<Group> {
    let waits: &[_] = &["spin", "yield", "block", "stages"];
    let mut groups = vec![
        beside(
            floor("udp_pingpong", "96"),
            over(UDP, 2, "am_short alone"),
            us(Figure { bar: "ratio <= 1.15", ..time("udp_am_short_rtt", "us", 2, "rtt", waits) }),
        ),
        beside(
            floor("udp_pingpong", "4176"),
            over(UDP, 2, "am_medium alone"),
            us(Figure { bar: "reported", ..time("udp_am_medium_4k_rtt", "us", 2, "rtt", waits) }),
        ),
        beside(
            floor("udp_pingpong", "96"),
            over(UDP, 2, "am_reqreq alone"),
            us(Figure { bar: "ratio <= 1.25", ..time("udp_am_reqreq", "us", 2, "rtt", waits) }),
        ),
        beside(
            floor("udp_pairs", "4 96"),
            over(UDP, 4, "am_short alone"),
            us(Figure { bar: "reported", ..time("udp_am_short_rtt_crowded_4", "us", 4, "rtt", &["yield"]) }),
        ),
        beside(
            floor("udp_pairs", "4 96"),
            over(UDP, 4, "am_reqreq alone"),
            us(Figure { bar: "reported", ..time("udp_am_reqreq_crowded_4", "us", 4, "rtt", &["yield"]) }),
        ),
        beside(
            floor("udp_pairs", "4 4176"),
            over(UDP, 4, "am_medium alone"),
            us(Figure { bar: "reported", ..time("udp_am_medium_4k_crowded_4", "us", 4, "rtt", &["yield"]) }),
        ),
        incast(),
        beside(
            floor("udp_pingpong", "80"),
            over(UDP, 2, "put_8 alone"),
            us(Figure { bar: "reported", ..time("udp_put_8_rtt", "us", 2, "put8", waits) }),
        ),
        beside(
            floor("udp_barrier", "8"),
            over(UDP, 8, "barrier alone"),
            us(Figure { bar: "ratio <= 2", ..time("udp_barrier_8", "us", 8, "barrier", &["sum"]) }),
        ),
    ];
    for (name, env, bar) in
        [("udp_put_4m", UDP, "ratio >= 0.8, value >= 4.4"), ("udp_put_4m_full", UDP_FULL, "ratio >= 0.5")]
    {
        let sizes: &[_] = &["single", "ethernet", "jumbo", "sixteen"];
        groups.push(beside(
            floor("udp_stream", "4"),
            over(env, 2, "put_4m"),
            Figure { better: Better::Higher, bar, ..time(name, "GB/s", 2, "bw", sizes) },
        ));
    }
    let many = if options.quick { 16 } else { 64 };
    groups.push(Group {
        rounds: 3,
        ..beside(
            floor("start", &format!("{many} 1")),
            over(UDP, many, "first_barrier"),
            Figure { bar: "< 2 s", ..time(&format!("udp_start{many}"), "s", many, "wall", &["wall"]) },
        )
    });
    groups
}

/// Sixteen ranks put to one at once, beside one that does.
fn incast() -> Group {
    Group {
        probes: vec![floor("tcp_incast", "16"), over(UDP, 17, "incast")],
        figures: vec![
            Figure {
                better: Better::Higher,
                bar: "reported",
                ..time("incast_16", "GB/s", 17, "all", &["all"])
            },
            Figure {
                better: Better::Higher,
                bar: "ratio >= 0.5",
                floor: (1, &["one"]),
                ..time("incast_16_beside_one", "GB/s", 17, "all", &[])
            },
        ],
        rounds: 0,
        note: None,
    }
}

/// Puts over udp between two hosts (network namespaces), beside a TCP stream under the same losses.
pub fn with_losses(_: &Options) -> Vec<Group> {
    let losses =
        [("0", 0, "reported"), ("0.1", 10, "reported"), ("1", 100, "ratio >= 0.7"), ("3", 300, "reported")];
    let tcp = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control").unwrap_or_default();
    let group = |(percent, loss, bar): (&str, u32, &'static str)| Group {
        probes: vec![
            Probe { program: Program::FloorBetween("tcp_stream", loss), ..floor("", "") },
            Probe { program: Program::RustBetween(loss), env: UDP, ..rank(2, "puts_4m") },
        ],
        figures: vec![Figure {
            better: Better::Higher,
            bar,
            ..time(&format!("udp_put_4m_loss_{percent}%"), "GB/s", 2, "bw", &["default", "cubic"])
        }],
        rounds: 0,
        note: (loss == 0).then(|| format!("floor: TCP, the better of {} and cubic", tcp.trim())),
    };
    losses.map(group).into()
}
