//! Jobs of many ranks: what they cost in time and memory.

use gasnet_sim::{Cluster, CostModel, Time, compute};

/// A number of bytes from a line of `/proc/self/status`.
fn status(name: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find(|line| line.starts_with(name)).unwrap();
    let number = line.split_whitespace().nth(1).unwrap();
    number.parse::<u64>().unwrap() * 1024
}

#[test]
fn ten_thousand_ranks_meet() {
    const RANKS: u32 = 10_000;
    let (began, before) = (std::time::Instant::now(), status("VmRSS") + status("VmPTE"));
    let report = Cluster::new(RANKS, CostModel::modern_ib())
        .segment(64 << 10)
        .stack(64 << 10)
        .run(|rank| {
            rank.barrier();
            compute(Time::us(1.0));
            rank.barrier();
            if rank.id().0 == 0 { status("VmRSS") + status("VmPTE") } else { u64::from(rank.id().0 == 1) }
        })
        .unwrap();
    let each = (report.results[0] - before) / u64::from(RANKS);
    let seconds = began.elapsed().as_secs_f64();
    println!("{RANKS} ranks: {seconds:.2} s, {each} bytes each, {} events", report.stats.events);
    assert_eq!(report.results[1..].iter().sum::<u64>(), 1);
    assert!(each <= 32 << 10, "{each} bytes of memory for a rank");
}
