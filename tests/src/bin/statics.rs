//! A program with a variable of its own, which each rank must have for itself; with `thread`,
//! somebody else than the rank's thread calls the runtime, and with `late` while that waits; with `yield`,
//! a rank waits for a word of its own memory in a loop that yields the processor.

use gasnet::{GlobalPtr, RankId};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

/// Number of messages that this rank has taken.
static TAKEN: AtomicU64 = AtomicU64::new(0);

fn main() {
    gasnet_conduits::run(|rank| {
        let how = std::env::args().nth(1).unwrap_or_default();
        rank.barrier();
        TAKEN.fetch_add(u64::from(rank.id().0) + 1, Ordering::Relaxed);
        rank.barrier();
        assert_eq!(TAKEN.load(Ordering::Relaxed), u64::from(rank.id().0) + 1, "it is another rank's, too");
        if how == "thread" {
            std::thread::scope(|threads| {
                threads.spawn(|| rank.read(GlobalPtr::<u64>::new(RankId(1), 0)));
            });
        }
        if how == "late" && rank.id().0 == 1 {
            std::thread::scope(|threads| {
                threads.spawn(|| {
                    (0..100_000_000_u32).for_each(|number| {
                        std::hint::black_box(number);
                    });
                    rank.read(GlobalPtr::<u64>::new(RankId(0), 0))
                });
                rank.wait_until("what nobody does", || false);
            });
        }
        if how == "yield" {
            let word = GlobalPtr::<u64>::new(RankId(1), 64);
            match rank.id().0 {
                0 => rank.write(word, 1),
                1 => {
                    while rank.read(word) == 0 {
                        std::thread::yield_now();
                    }
                }
                _ => {}
            }
        }
        let began = std::time::Instant::now();
        std::thread::sleep(std::time::Duration::from_millis(1500));
        let order: Vec<u32> = (0..20).map(|n| (n, n)).collect::<HashMap<u32, u32>>().into_keys().collect();
        if rank.id().0 == 0 {
            println!("after {:?}: {order:?}", began.elapsed());
        }
        rank.barrier();
    });
}
