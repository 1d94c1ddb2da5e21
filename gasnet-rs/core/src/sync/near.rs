//! A lock's line where all segments of the job are mapped here: each process watches the cell of the one
//! before it (after Craig, Landin and Hagersten).
//!
//! A *turn* is a process and how many times it has joined the line; the home word is the last turn. A
//! process's cell says how many of its turns are over. Who joins learns whose turn comes before its own, and
//! waits until that one is over.
//!
//! A line whose processes know the next one ([`super::lock`]) needs, between one holder and the next, that
//! the next has written itself into the holder's cell: three transfers of cache lines one after the other
//! when two processes take turns. Here the holder only says that it is done: one transfer. The waiting
//! process looks at another's memory, which costs nothing where that lies in its own cache, until it is
//! written; so only where a cell is memory here, for every rank. As there, each cell is watched by one
//! process at most, and first come is first served. A turn comes again after so many others of its process
//! that nobody remembers it.

use super::{Cells, EMPTY};
use crate::{GlobalPtr, Rank};

/// Number of bits of a turn that hold the count. The other bits hold the process.
const COUNT_BITS: u32 = 44;
/// The largest process number that fits in a turn.
const MAX_PROCESS: u64 = u64::MAX >> COUNT_BITS;

/// A process's turn after this one. A lock that is taken all the time gets through the numbers in some days.
fn next(turn: u64) -> u64 {
    let count = (1 << COUNT_BITS) - 1;
    turn & !count | (turn + 1) & count
}

/// A lock's words, seen from a process.
#[derive(Debug)]
pub(super) struct NearLine<'r> {
    rank: &'r Rank,
    last: GlobalPtr<u64>,
    cells: Cells,
    /// This process's last turn.
    turn: u64,
}

impl<'r> NearLine<'r> {
    /// Before any turn. `None`: these ranks need another line; all are told the same.
    pub(super) fn new(rank: &'r Rank, home: GlobalPtr<u64>, cells: Cells, me: u64) -> Option<NearLine<'r>> {
        let fits = u64::from(rank.size()) < MAX_PROCESS;
        (fits && rank.all_near() && rank.wire.nic_port().is_none()).then_some(NearLine {
            rank,
            last: home,
            cells,
            turn: me << COUNT_BITS,
        })
    }

    /// Whether this turn is over.
    fn is_over(&self, turn: u64) -> bool {
        turn == EMPTY || self.rank.atomics().load(self.cells.of(turn >> COUNT_BITS)) == turn
    }

    /// Takes the lock, waiting for its turn.
    pub(super) fn acquire(&mut self, what: &'static str) {
        self.turn = next(self.turn);
        let before = self.rank.atomics().swap(self.last, self.turn);
        self.rank.wait_until(what, || self.is_over(before));
    }

    /// Takes the lock if it is free.
    pub(super) fn try_acquire(&mut self) -> bool {
        let last = self.rank.atomics().load(self.last);
        // Nobody has joined since, if the word is still the same.
        if self.is_over(last) && self.rank.atomics().compare_swap(self.last, last, next(self.turn)) == last {
            self.turn = next(self.turn);
            return true;
        }
        // As in a loop: what others do here by messages has to get on.
        self.rank.poll();
        false
    }

    /// Says that this turn is over.
    pub(super) fn release(&mut self) {
        self.rank.atomics().store(self.cells.of(self.turn >> COUNT_BITS), self.turn);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{COUNT_BITS, MAX_PROCESS, next};
    use std::collections::HashSet;

    #[test]
    fn processes_fit() {
        assert_eq!(MAX_PROCESS, (1 << 20) - 1);
        assert_eq!((MAX_PROCESS << COUNT_BITS) >> COUNT_BITS, MAX_PROCESS);
    }

    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
    enum At {
        /// Has left the lock, or has not begun.
        Out,
        /// Behind this turn.
        Behind(u64),
        /// Tries, and has seen this turn as the last; or that it is over.
        Saw(u64),
        Over(u64),
        In,
    }

    #[derive(Clone, PartialEq, Eq, Hash, Debug)]
    struct State {
        last: u64,
        cells: Vec<u64>,
        /// Where each process is, its turns, and how often it has still to take the lock or try to.
        processes: Vec<(At, u64, u32)>,
        /// Turns in the order in which they joined, without those that had the lock.
        order: Vec<u64>,
    }

    impl State {
        fn is_over(&self, turn: u64) -> bool {
            turn == 0 || self.cells[(turn >> COUNT_BITS) as usize - 1] == turn
        }

        /// The possible next states of a process: each step touches one word of memory.
        fn steps(&self, i: usize) -> Vec<State> {
            let (at, turn, left) = self.processes[i];
            let mut s = self.clone();
            let go = |mut s: State, at| {
                s.processes[i].0 = at;
                s
            };
            let enter = |mut s: State, turn: u64| {
                assert_eq!(s.order.remove(0), turn, "first come, first served: {self:?}");
                s.processes[i].0 = At::In;
                assert_eq!(s.processes.iter().filter(|p| p.0 == At::In).count(), 1, "{self:?}");
                s
            };
            match at {
                At::Out if left == 0 => vec![],
                At::Out => {
                    s.processes[i].2 -= 1;
                    let tries = go(s.clone(), At::Saw(s.last));
                    s.processes[i].1 = next(turn);
                    s.order.push(next(turn));
                    let before = std::mem::replace(&mut s.last, next(turn));
                    vec![go(s, At::Behind(before)), tries]
                }
                At::Behind(before) if self.is_over(before) => vec![enter(s, turn)],
                At::Behind(_) => vec![],
                At::Saw(last) => {
                    let at = if self.is_over(last) { At::Over(last) } else { At::Out };
                    vec![go(s, at)]
                }
                At::Over(last) if self.last == last => {
                    s.last = next(turn);
                    s.processes[i].1 = next(turn);
                    s.order.push(next(turn));
                    vec![enter(s, next(turn))]
                }
                At::Over(_) => vec![go(s, At::Out)],
                At::In => {
                    s.cells[i] = turn;
                    vec![go(s, At::Out)]
                }
            }
        }
    }

    /// Every interleaving of processes that take the lock or try to: one inside at a time, in the order of
    /// joining, and nobody waits for ever.
    #[test]
    #[cfg_attr(miri, ignore = "explores many states, without unsafe code")]
    fn one_at_a_time_and_in_turn() {
        // From the beginning, and where counts begin again.
        for (processes, times, count) in [(2, 4, 0), (3, 2, 0), (4, 1, 0), (2, 4, (1 << COUNT_BITS) - 2)] {
            let first = State {
                last: 0,
                cells: vec![0; processes],
                processes: (1..=processes as u64)
                    .map(|me| (At::Out, me << COUNT_BITS | count, times))
                    .collect(),
                order: vec![],
            };
            let mut seen = HashSet::from([first.clone()]);
            let mut todo = vec![first];
            while let Some(s) = todo.pop() {
                let next: Vec<State> = (0..processes).flat_map(|i| s.steps(i)).collect();
                if next.is_empty() {
                    assert!(s.processes.iter().all(|p| p.0 == At::Out), "stuck: {s:?}");
                }
                todo.extend(next.into_iter().filter(|s| seen.insert(s.clone())));
            }
        }
    }
}
