//! Ring: a token travels round all ranks as active messages; each rank adds its number to it.
//!
//! Shows: registering a handler, requests, waiting for what a handler does.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use gasnet::{Handler, RankId};
use gasnet_examples::core::{passed, sizes, sure, wrong};

const TOKEN: u8 = 200;

/// Tokens that arrived here, and the value of the latest.
static ARRIVED: AtomicU64 = AtomicU64::new(0);
static VALUE: AtomicU64 = AtomicU64::new(0);

fn main() {
    gasnet_conduits::run(|rank| {
        let Some([rounds]) = sizes(rank, [("ROUNDS", 1000, 1..=100_000_000)]) else { return };
        // A handler may not block or send requests: it notes what came, and the program goes on.
        let note = Handler::new(|_token, message| {
            VALUE.store(u64::from(message.args[0]) | u64::from(message.args[1]) << 32, Relaxed);
            ARRIVED.fetch_add(1, Relaxed);
        });
        sure(rank, rank.register(TOKEN, note));
        rank.barrier(); // everybody is ready

        let (me, size) = (u64::from(rank.id().0), u64::from(rank.size()));
        let right = RankId(((me + 1) % size) as u32);
        let start = Instant::now();
        for round in 1..=rounds {
            // Rank 0 starts each round; the others pass on what they get.
            if me != 0 {
                rank.wait_until("the token", || ARRIVED.load(Relaxed) == round);
            }
            let value = VALUE.load(Relaxed) + me;
            sure(rank, rank.request_short(right, TOKEN, &[value as u32, (value >> 32) as u32]));
            if me == 0 {
                rank.wait_until("the token", || ARRIVED.load(Relaxed) == round);
            }
        }
        let elapsed = start.elapsed();

        // Every rank has been visited once a round, in order.
        let ranks_below: u64 = (0..me).sum();
        let all: u64 = (0..size).sum();
        let expected = if me == 0 { rounds * all } else { (rounds - 1) * all + ranks_below };
        let found = VALUE.load(Relaxed);
        if found != expected {
            wrong(rank, &format!("the token is {found}, expected {expected}"));
        }
        if me == 0 {
            let hop = elapsed.as_secs_f64() * 1e6 / (rounds * size) as f64;
            println!("core_ring: {rounds} rounds of {size} ranks, {hop:.2} us a hop");
        }
        passed(rank);
    });
}
