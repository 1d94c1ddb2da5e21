//! The split-phase barrier: names, consensus, and traffic between notify and wait.

use crate::support::{Cx, Rng};
use gasnet::GlobalPtr;
use gasnet::barrier::{ANONYMOUS, Consensus, MISMATCH, Outcome};

/// The names and flags that a rank passes to notify and to wait.
#[derive(Debug, Clone, Copy)]
struct Says {
    id: i32,
    flags: u32,
    wait_id: i32,
    wait_flags: u32,
}

/// Random, but mostly in agreement.
fn says(rng: &mut Rng, name: i32) -> Says {
    let mut one = || match rng.below(12) {
        0..6 => (name, 0),
        6..10 => (name.wrapping_add(99), ANONYMOUS),
        10 => (name.wrapping_add(1), 0),
        _ => (name, MISMATCH),
    };
    let (id, flags) = one();
    let (wait_id, wait_flags) = one();
    Says { id, flags, wait_id, wait_flags: wait_flags & ANONYMOUS }
}

/// Random names in random places: every rank can compute what all said, and so how each phase must end.
pub fn consensus(cx: &Cx) {
    assert!(cx.rank.split_barrier().result().is_some(), "a barrier has been");
    let mut names = cx.rng_of("names", 0);
    let mut rngs: Vec<Rng> = (0..cx.size()).map(|r| cx.rng_of("says", r)).collect();
    for phase in 0..if cx.quick { 50 } else { 400 } {
        let name = *names.pick(&[0, 7, -1, i32::MIN, i32::MAX, phase]);
        // Every other phase in agreement, for a mix of outcomes at any number of ranks.
        let all: Vec<Says> = rngs.iter_mut().map(|r| says(r, name)).collect();
        let all: Vec<Says> = match phase % 3 {
            0 => all,
            1 => all.iter().map(|s| Says { id: name, flags: s.flags & ANONYMOUS, ..*s }).collect(),
            _ => all.iter().map(|s| Says { flags: ANONYMOUS, ..*s }).collect(),
        };
        let want = expected(&all);
        let mine = all[cx.me() as usize];
        cx.rank.split_barrier().notify(mine.id, mine.flags);
        assert_eq!(cx.rank.split_barrier().result(), None, "between notify and wait");
        let outcome = if phase % 2 == 0 {
            cx.rank.split_barrier().wait(mine.wait_id, mine.wait_flags)
        } else {
            loop {
                if let Some(o) = cx.rank.split_barrier().try_wait(mine.wait_id, mine.wait_flags) {
                    break o;
                }
                std::thread::yield_now();
            }
        };
        let agrees = match want {
            Consensus::Anonymous => true,
            Consensus::Named(n) => mine.wait_flags == ANONYMOUS || mine.wait_id == n,
            Consensus::Mismatch => false,
        };
        let want_outcome = if agrees { Outcome::Agreed } else { Outcome::Mismatched };
        assert_eq!(
            (cx.rank.split_barrier().result(), outcome),
            (Some(want), want_outcome),
            "phase {phase}: {all:?}"
        );
    }
}

fn expected(all: &[Says]) -> Consensus {
    if all.iter().any(|s| s.flags & MISMATCH != 0) {
        return Consensus::Mismatch;
    }
    let named: Vec<i32> = all.iter().filter(|s| s.flags & ANONYMOUS == 0).map(|s| s.id).collect();
    match named.first() {
        None => Consensus::Anonymous,
        Some(n) if named.iter().all(|m| m == n) => Consensus::Named(*n),
        Some(_) => Consensus::Mismatch,
    }
}

/// Data written before a notify are visible after the wait. A fast rank cannot enter the next phase of a
/// slow one. Transfers and messages proceed between notify and wait.
pub fn split_phase(cx: &Cx) {
    let r = cx.rank;
    let n = u64::from(cx.size());
    let cells = cx.take_zeroed(16 * n);
    let noise = cx.take_zeroed(4096);
    let mut rng = cx.rng("split");
    for phase in 1..=if cx.quick { 60u64 } else { 500 } {
        let mine = cells + 8 * (u64::from(cx.me()) * 2 + phase % 2);
        let to = cx.right(1 + (phase % n) as u32);
        r.write(GlobalPtr::new(to, mine), phase);
        r.split_barrier().notify(phase as i32, 0);
        for _ in 0..rng.below(4) {
            let far = cx.right(rng.below(n as usize) as u32);
            r.atomics().fetch_add(GlobalPtr::new(far, noise), 1);
            r.poll();
        }
        assert_eq!(r.split_barrier().wait(phase as i32, 0), Outcome::Agreed);
        // Who wrote to us in this phase: the rank `1 + phase % n` places to the left.
        let from = (u64::from(cx.me()) + 2 * n - 1 - phase % n) % n;
        let cell = GlobalPtr::<u64>::new(r.id(), cells + 8 * (from * 2 + phase % 2));
        assert_eq!(r.read(cell), phase, "what rank {from} wrote before the barrier");
    }
}
