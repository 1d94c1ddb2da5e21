//! The transfers by message that this rank has under way: it keeps all that messages then need not say.
//!
//! A request for a put, a get or an atomic operation names a *transfer*: its number in a table, its
//! generation, and a piece of it. The answer brings that name back and nothing else. Where data goes, how
//! much of it may come, and who may send it, is in the table.
//!
//! **What is guaranteed.** An answer counts if its transfer is under way and of that generation, the piece is
//! one of its pieces and was not answered before, it comes from the rank that was asked, and it is of the
//! kind that was asked for; data have exactly the piece's length. Everything else ends the job. So an answer
//! that is forged, repeated, late or corrupted finishes and writes nothing, unless it equals in all of this
//! the answer that is awaited. Then it stands for that one: it may bring other bytes, to where that one would
//! have brought them, and from the one rank that could have sent them anyway. The real answer comes second
//! then, and ends the job.
//!
//! **Pieces.** A transfer has up to [`MAX_PIECES`]; longer ones are several transfers. One word holds the
//! generation and a bit for each piece that was answered, so one compare-and-swap decides. Whoever sets a
//! piece's bit copies its data, and counts the piece as done afterwards. Until all are done, the transfer
//! stays: nobody who has claimed a piece can lose it.

use crate::RankId;
use crate::prim::{AtomicPtr, AtomicU32, AtomicU64, Ordering};
use crate::slots::{Slot, Slots};

/// Largest number of pieces of a transfer.
pub const MAX_PIECES: u32 = 32;
/// Bits of a transfer's number: what a piece's number leaves of 32.
const NUMBER_BITS: u32 = 32 - MAX_PIECES.trailing_zeros();
/// The word of a transfer that is over: all pieces answered.
const NO_PIECE_LEFT: u64 = u32::MAX as u64;

/// A put, get or atomic operation that is to be started.
#[derive(Clone, Copy)]
pub struct FarAccess {
    /// The op it counts in.
    pub op: u32,
    /// Whose memory it accesses.
    pub peer: RankId,
    /// Where, in that rank's segment.
    pub offset: u64,
    /// Bytes.
    pub len: usize,
    /// Whether it is refused where it would have to wait for room. A long one that has begun goes on.
    pub immediate: bool,
}

/// Contents of the answer to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Answer {
    /// Nothing.
    Done,
    /// The bytes of a get.
    Data,
    /// The old value of a word of 32 bits.
    Half,
    /// The old value of a word of 64 bits.
    Value,
    /// The bytes of a get of many pieces of memory.
    Pieces,
    /// Nothing, in place of another answer: it was not done.
    Refusal,
}

/// A transfer; see the module.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// Who answers.
    pub peer: RankId,
    /// The op that is finished with it.
    pub op: u32,
    /// Contents of the answers.
    pub answer: Answer,
    /// Where data goes.
    pub at: *mut u8,
    /// Bytes that come.
    pub len: usize,
    /// Bytes of a piece, but for the last one.
    pub step: usize,
    /// From 1 on.
    pub pieces: u32,
}

impl Plan {
    /// One piece, whose answer brings no bytes.
    #[inline]
    pub fn message(peer: RankId, op: u32, answer: Answer) -> Plan {
        Plan { peer, op, answer, at: core::ptr::null_mut(), len: 0, step: 0, pieces: 1 }
    }
}

/// A transfer's name: its number, with room for that of a piece, and its generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Name {
    number: u32,
    generation: u32,
}

impl Name {
    /// The name of a piece, as messages carry it.
    #[inline]
    pub fn piece(self, piece: u32) -> [u32; 2] {
        [self.number | piece << NUMBER_BITS, self.generation]
    }
}

/// Generations of different transfers are far apart, so that a wrong bit in a number does not name another
/// transfer under way.
fn spread(number: u32) -> u32 {
    number.wrapping_mul(0x9e37_79b1)
}

/// A piece whose answer has come, to be dealt with and given to [`Transfers::done`].
#[derive(Debug)]
pub struct AnsweredPiece {
    number: u32,
    /// The op that it counts in.
    pub op: u32,
    /// Where its data goes: all of it, where the answer brings as much as was asked for.
    pub at: *mut u8,
    /// Bytes of it.
    pub len: usize,
}

/// An entry of the table.
#[derive(Debug)]
struct Transfer {
    /// High half: generation; low half: a bit for each piece that cannot be answered (any more).
    word: AtomicU64,
    /// Pieces that are not done.
    left: AtomicU32,
    op: AtomicU32,
    peer: AtomicU32,
    answer: AtomicU32,
    at: AtomicPtr<u8>,
    len: AtomicU64,
    step: AtomicU64,
    next: AtomicU32,
}

impl Slot for Transfer {
    fn new() -> Transfer {
        Transfer {
            word: AtomicU64::new(NO_PIECE_LEFT),
            left: AtomicU32::new(0),
            op: AtomicU32::new(0),
            peer: AtomicU32::new(0),
            answer: AtomicU32::new(0),
            at: AtomicPtr::new(core::ptr::null_mut()),
            len: AtomicU64::new(0),
            step: AtomicU64::new(0),
            next: AtomicU32::new(0),
        }
    }
    fn next(&self) -> &AtomicU32 {
        &self.next
    }
}

impl Transfer {
    fn start(&self, plan: &Plan) -> u32 {
        self.left.store(plan.pieces, Ordering::Relaxed);
        self.op.store(plan.op, Ordering::Relaxed);
        self.peer.store(plan.peer.0, Ordering::Relaxed);
        self.answer.store(plan.answer as u32, Ordering::Relaxed);
        self.at.store(plan.at, Ordering::Relaxed);
        self.len.store(plan.len as u64, Ordering::Relaxed);
        self.step.store(plan.step as u64, Ordering::Relaxed);
        // Relaxed: nobody else changes the word of a transfer that is over.
        let generation = self.word.load(Ordering::Relaxed) >> 32;
        let none = NO_PIECE_LEFT.checked_shl(plan.pieces).unwrap_or(0) & NO_PIECE_LEFT;
        // ORDER: Release; pairs with Acquire in claim: the plan.
        self.word.store(generation << 32 | none, Ordering::Release);
        generation as u32
    }

    /// Marks a piece as answered, if it may be.
    fn claim(&self, generation: u32, piece: u32) -> Result<(), &'static str> {
        let bit = 1 << piece;
        let mut word = self.word.load(Ordering::Relaxed);
        loop {
            if (word >> 32) as u32 != generation {
                return Err("that is over, or never was");
            }
            if word & bit != 0 {
                return Err("that is over, or was answered already");
            }
            // ORDER: Acquire; pairs with Release in start.
            match self.word.compare_exchange(word, word | bit, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return Ok(()),
                Err(now) => word = now,
            }
        }
    }

    /// One piece less; whether it was the last one, with which the transfer is over.
    fn done(&self) -> bool {
        // ORDER: Acquire, AcqRel; pair with the AcqRel of other threads: the data of all pieces is there for
        // whoever is last, who finishes the op. Where one piece is left it is this one.
        if self.left.load(Ordering::Acquire) != 1 && self.left.fetch_sub(1, Ordering::AcqRel) != 1 {
            return false;
        }
        // Relaxed, both: all pieces are claimed, so nobody changes the word. Giving the entry back hands it
        // on.
        let generation = (self.word.load(Ordering::Relaxed) >> 32).wrapping_add(1);
        self.word.store(generation << 32 | NO_PIECE_LEFT, Ordering::Relaxed);
        true
    }
}

/// All transfers of a rank.
#[derive(Debug)]
pub struct Transfers(Slots<Transfer>);

impl Transfers {
    pub(crate) fn new() -> Transfers {
        Transfers(Slots::new(NUMBER_BITS))
    }

    /// Enters a transfer; `None` when the table is full, with more than a hundred million under way.
    #[inline]
    pub fn start(&self, plan: &Plan) -> Option<Name> {
        debug_assert!((1..=MAX_PIECES).contains(&plan.pieces));
        let (number, transfer) = self.0.take()?;
        Some(Name { number, generation: transfer.start(plan).wrapping_add(spread(number)) })
    }

    /// Takes back a transfer of which nothing was sent.
    pub fn cancel(&self, name: Name) {
        let Some(transfer) = self.0.get(name.number) else { return };
        // Relaxed, both: nobody was told the name. Giving the entry back hands it on.
        let generation = (transfer.word.load(Ordering::Relaxed) >> 32).wrapping_add(1);
        transfer.word.store(generation << 32 | NO_PIECE_LEFT, Ordering::Relaxed);
        self.0.give_back(name.number);
    }

    /// A rank with which something is under way, and how many pieces, of those that `which` says. For
    /// reports: others go on meanwhile.
    pub(crate) fn outstanding(&self, which: impl Fn(&RankId) -> bool) -> Option<(RankId, u32)> {
        let under_way = |number: u32| {
            let transfer = self.0.get(number)?;
            // ORDER: Acquire; pairs with Release in start: the peer is that of the pieces.
            let pieces = (transfer.word.load(Ordering::Acquire) as u32).count_zeros();
            (pieces > 0).then(|| (RankId(transfer.peer.load(Ordering::Relaxed)), pieces))
        };
        let (rank, first) = (0..self.0.taken()).filter_map(under_way).find(|(rank, _)| which(rank))?;
        let all = (0..self.0.taken()).filter_map(under_way).filter(|(r, _)| *r == rank).map(|(_, n)| n).sum();
        Some((rank, first.max(all)))
    }

    /// Takes in the answer to a piece, `len` bytes of data with it. The error says what is wrong with what
    /// was answered.
    #[inline]
    pub fn answered(
        &self,
        name: [u32; 2],
        from: RankId,
        answer: Answer,
        len: usize,
    ) -> Result<AnsweredPiece, &'static str> {
        let (number, piece) = (name[0] & ((1 << NUMBER_BITS) - 1), name[0] >> NUMBER_BITS);
        let transfer = self.0.get(number).ok_or("that never was")?;
        transfer.claim(name[1].wrapping_sub(spread(number)), piece)?;
        // Relaxed, all: since the claim, and until the piece is done, nobody changes them.
        if transfer.peer.load(Ordering::Relaxed) != from.0 {
            return Err("that another rank was asked for");
        }
        let asked = transfer.answer.load(Ordering::Relaxed);
        let refused = answer == Answer::Refusal;
        if asked != answer as u32 && !refused {
            return Err("that asked for something else");
        }
        let (all, step) = (transfer.len.load(Ordering::Relaxed), transfer.step.load(Ordering::Relaxed));
        let start = u64::from(piece) * step;
        let expected = if refused { 0 } else { all.saturating_sub(start).min(step) as usize };
        if len != expected {
            return Err("with another number of bytes than was asked for");
        }
        let at = transfer.at.load(Ordering::Relaxed).wrapping_add(start as usize);
        Ok(AnsweredPiece { number, op: transfer.op.load(Ordering::Relaxed), at, len })
    }

    /// A piece has been dealt with: the op that is finished with it, if all are.
    #[inline]
    pub fn done(&self, piece: &AnsweredPiece) -> Option<u32> {
        let over = self.0.get(piece.number).is_some_and(Transfer::done);
        over.then(|| {
            self.0.give_back(piece.number);
            piece.op
        })
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const PEER: RankId = RankId(3);

    fn plan(answer: Answer, len: usize, step: usize, pieces: u32) -> Plan {
        Plan { peer: PEER, op: 9, answer, at: 0x1000 as *mut u8, len, step, pieces }
    }

    #[test]
    fn every_piece_is_answered_once() {
        let all = Transfers::new();
        let name = all.start(&plan(Answer::Data, 250, 100, 3)).unwrap();
        let answered = |piece, len| all.answered(name.piece(piece), PEER, Answer::Data, len);
        assert_eq!(answered(3, 0).unwrap_err(), "that is over, or was answered already");
        for (piece, at, len) in [(2, 0x10c8, 50), (0, 0x1000, 100), (1, 0x1064, 100)] {
            let taken = answered(piece, len).unwrap();
            assert_eq!((taken.at as usize, taken.len, taken.op), (at, len, 9));
            assert!(answered(piece, len).is_err(), "a second time");
            assert_eq!(all.done(&taken), (piece == 1).then_some(9));
        }
        assert_eq!(answered(0, 100).unwrap_err(), "that is over, or never was");
    }

    #[test]
    fn what_is_under_way_is_known_by_rank() {
        let all = Transfers::new();
        let any = |all: &Transfers| all.outstanding(|_| true);
        assert_eq!(any(&all), None);
        let name = all.start(&plan(Answer::Data, 250, 100, 3)).unwrap();
        let other = all.start(&Plan { peer: RankId(4), ..plan(Answer::Data, 8, 8, 1) }).unwrap();
        assert_eq!(all.outstanding(|r| *r == RankId(4)), Some((RankId(4), 1)));
        for (piece, left) in [(0, 3), (1, 2), (2, 1)] {
            assert_eq!(any(&all), Some((PEER, left)));
            let len = if piece == 2 { 50 } else { 100 };
            let taken = all.answered(name.piece(piece), PEER, Answer::Data, len).unwrap();
            all.done(&taken);
        }
        assert_eq!(all.outstanding(|r| *r == PEER), None);
        all.done(&all.answered(other.piece(0), RankId(4), Answer::Data, 8).unwrap());
        assert_eq!(any(&all), None);
    }

    #[test]
    fn all_pieces_that_fit_in_a_word() {
        let all = Transfers::new();
        let name = all.start(&plan(Answer::Done, 0, 0, MAX_PIECES)).unwrap();
        for piece in 0..MAX_PIECES {
            let taken = all.answered(name.piece(piece), PEER, Answer::Done, 0).unwrap();
            assert_eq!(all.done(&taken).is_some(), piece == MAX_PIECES - 1);
        }
    }

    /// Whatever is not exactly what was asked for is refused.
    #[test]
    fn nothing_else_is_an_answer() {
        let fresh = || {
            let all = Transfers::new();
            let name = all.start(&plan(Answer::Data, 8, 8, 1)).unwrap();
            (all, name.piece(0))
        };
        let (all, name) = fresh();
        assert!(all.answered(name, PEER, Answer::Data, 8).is_ok());
        for (from, answer, len) in [
            (RankId(2), Answer::Data, 8),
            (PEER, Answer::Done, 8),
            (PEER, Answer::Half, 8),
            (PEER, Answer::Value, 8),
            (PEER, Answer::Pieces, 8),
            (PEER, Answer::Data, 7),
            (PEER, Answer::Data, 9),
        ] {
            let (all, name) = fresh();
            assert!(all.answered(name, from, answer, len).is_err(), "{from} {answer:?} {len}");
        }
        for bit in 0..64 {
            let (all, mut name) = fresh();
            name[bit / 32] ^= 1 << (bit % 32);
            assert!(all.answered(name, PEER, Answer::Data, 8).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn an_entry_used_again_knows_no_old_names() {
        let all = Transfers::new();
        let mut old = Vec::new();
        for _ in 0..100 {
            let name = all.start(&plan(Answer::Done, 0, 0, 1)).unwrap().piece(0);
            assert!(old.iter().all(|o| all.answered(*o, PEER, Answer::Done, 0).is_err()));
            assert_eq!(all.done(&all.answered(name, PEER, Answer::Done, 0).unwrap()), Some(9));
            old.push(name);
        }
        assert_eq!(all.0.taken(), 1);
    }

    #[test]
    fn a_cancelled_transfer_is_over() {
        let all = Transfers::new();
        let name = all.start(&plan(Answer::Data, 250, 100, 3)).unwrap();
        all.cancel(name);
        assert_eq!(all.outstanding(|_| true), None);
        assert!(all.answered(name.piece(0), PEER, Answer::Data, 100).is_err());
        let again = all.start(&plan(Answer::Done, 0, 0, 1)).unwrap();
        assert_eq!(again.number, name.number);
        assert_eq!(all.done(&all.answered(again.piece(0), PEER, Answer::Done, 0).unwrap()), Some(9));
    }

    #[test]
    fn of_many_threads_one_takes_an_answer() {
        let all = Transfers::new();
        for _ in 0..if cfg!(miri) { 10 } else { 1000 } {
            let name = all.start(&plan(Answer::Done, 0, 0, 2)).unwrap();
            let finished: usize = std::thread::scope(|s| {
                let threads: Vec<_> = (0..4)
                    .map(|i| {
                        let all = &all;
                        s.spawn(move || {
                            let taken = all.answered(name.piece(i % 2), PEER, Answer::Done, 0);
                            taken.is_ok_and(|piece| all.done(&piece).is_some())
                        })
                    })
                    .collect();
                threads.into_iter().map(|t| usize::from(t.join().unwrap())).sum()
            });
            assert_eq!(finished, 1);
        }
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use crate::prim::UnsafeCell;
    use loom::sync::Arc;

    struct Shared(Transfer, [UnsafeCell<u8>; 2]);
    // SAFETY: for the test: loom tells who accesses a cell out of turn.
    #[expect(unsafe_code, reason = "loom looks at the cells")]
    unsafe impl Sync for Shared {}
    // SAFETY: as above.
    #[expect(unsafe_code, reason = "loom looks at the cells")]
    unsafe impl Send for Shared {}

    /// Two pieces on two threads, one of them answered twice: one thread finds the transfer over, and sees
    /// the data of both.
    #[test]
    fn loom_a_transfer_is_over_once() {
        loom::model(|| {
            let shared = Arc::new(Shared(Transfer::new(), [UnsafeCell::new(0), UnsafeCell::new(0)]));
            let peer = RankId(1);
            let at = core::ptr::null_mut();
            let plan = Plan { peer, op: 0, answer: Answer::Done, at, len: 0, step: 0, pieces: 2 };
            let generation = shared.0.start(&plan);
            let take = move |s: &Shared, piece: u32| {
                if s.0.claim(generation, piece).is_err() {
                    return 0;
                }
                // SAFETY: claimed by this thread alone.
                #[expect(unsafe_code, reason = "loom looks at the cells")]
                s.1[piece as usize].with_mut(|p| unsafe { *p = 1 });
                if !s.0.done() {
                    return 0;
                }
                // SAFETY: both are done.
                #[expect(unsafe_code, reason = "loom looks at the cells")]
                s.1.iter().for_each(|cell| cell.with(|p| assert_eq!(unsafe { *p }, 1)));
                1
            };
            let other = shared.clone();
            let thread = loom::thread::spawn(move || take(&other, 0) + take(&other, 1));
            let here = take(&shared, 1);
            assert_eq!(here + thread.join().unwrap(), 1);
        });
    }
}
