//! One rank's end of a stream: what its two halves have in common. They may be in different threads, and take
//! no lock.

use super::{
    ANSWER_WORD, PEER_WORD, PUBLISHED_WORD, SIZE_WORD, Shared, SlotState, TAKEN_WORD, far, is_gone, lock,
    reset, wait,
};
use crate::peer::Process;
use core::sync::atomic::{AtomicU64, Ordering, fence};
use gasnet::{GlobalPtr, Rank, RankId};
use std::io;
use std::sync::{Arc, OnceLock};

/// This rank's end of a stream, which both halves share.
#[derive(Debug)]
pub(super) struct End<'r> {
    pub(super) shared: Arc<Shared<'r>>,
    pub(super) peer: RankId,
    process: Option<Process>,
    /// Whether the peer's memory is not mapped here: messages carry bytes and words then.
    pub(super) is_far: bool,
    slot: u32,
    pub(super) mine: GlobalPtr<u64>,
    /// The peer's slot, once it has accepted.
    theirs: OnceLock<GlobalPtr<u64>>,
    /// The last words of the two halves, for a peer that has yet to accept; 0: none.
    owed: [AtomicU64; 2],
}

/// A word for the peer: which, the position that the last one had, and its value.
pub(super) type Word = (usize, u64, u64);

impl<'r> End<'r> {
    pub(super) fn new(
        shared: &Arc<Shared<'r>>,
        peer: RankId,
        slot: u32,
        theirs: Option<GlobalPtr<u64>>,
    ) -> End<'r> {
        let theirs = theirs.map_or_else(OnceLock::new, OnceLock::from);
        let (shared, process, mine) = (shared.clone(), shared.process(peer), shared.slot(slot));
        let is_far = far::is_far(shared.rank, peer);
        // Before the peer knows of the slot.
        shared.rank.write(mine.add(PEER_WORD), u64::from(peer.0) + 1);
        shared.rank.write(mine.add(SIZE_WORD), shared.config.ring.into());
        End { shared, peer, process, is_far, slot, mine, theirs, owed: [const { AtomicU64::new(0) }; 2] }
    }

    pub(super) fn rank(&self) -> &'r Rank {
        self.shared.rank
    }

    pub(super) fn chunk(&self) -> usize {
        self.shared.config.chunk as usize
    }

    fn is_gone(&self) -> bool {
        is_gone(self.rank(), self.peer, self.process)
    }

    /// An own word that the peer writes.
    pub(super) fn load(&self, word: usize) -> u64 {
        let at = self.mine.add(word);
        if word == ANSWER_WORD {
            return self.rank().load_word(at);
        }
        // A plain load costs less than an atomic operation.
        let value = self.rank().read(at);
        // ORDER: Acquire; pairs with Release in `Rank::set_word` and `far::set`: the bytes are there, or have
        // been taken.
        fence(Ordering::Acquire);
        value
    }

    /// The peer's slot, once it has accepted.
    pub(super) fn theirs(&self) -> io::Result<Option<GlobalPtr<u64>>> {
        if let Some(theirs) = self.theirs.get() {
            return Ok(Some(*theirs));
        }
        let answer = self.load(ANSWER_WORD);
        if answer == 0 {
            return Ok(None);
        }
        let found = self.shared.their_slot(self.peer, answer)?;
        let theirs = *self.theirs.get_or_init(|| found);
        self.pay(theirs);
        Ok(Some(theirs))
    }

    /// Tells the peer, whose slot has just become known, what it is owed. Both halves may do so: each word is
    /// told once.
    fn pay(&self, theirs: GlobalPtr<u64>) {
        // ORDER: SeqCst; pairs with the fence in `say`: this side sees what is owed, or the other half sees
        // the slot.
        fence(Ordering::SeqCst);
        for (which, owed) in [PUBLISHED_WORD, TAKEN_WORD].into_iter().zip(&self.owed) {
            let word = owed.swap(0, Ordering::Relaxed);
            if word != 0 {
                // Before it nothing was said.
                self.set(theirs, (which, 0, word));
            }
        }
    }

    fn set(&self, theirs: GlobalPtr<u64>, (word, start, value): Word) {
        if self.rank().has_departed(self.peer) {
            return;
        }
        if self.is_far {
            // The peer has just left: it need not know.
            drop(far::say(self.rank(), theirs, word, start, value));
        } else {
            self.rank().set_word(theirs.add(word), value);
        }
    }

    /// Tells the peer; the last word of a half also if it has yet to accept: then it is told when it has.
    pub(super) fn say(&self, word: Word) {
        if let Some(theirs) = self.theirs.get() {
            return self.set(*theirs, word);
        }
        let (which, _, value) = word;
        self.owed[usize::from(which == TAKEN_WORD)].store(value, Ordering::Relaxed);
        // ORDER: SeqCst; pairs with the fence in `pay`.
        fence(Ordering::SeqCst);
        if let Some(theirs) = self.theirs.get() {
            self.pay(*theirs);
        }
    }

    /// Waits for a condition.
    pub(super) fn wait(&self, what: &'static str, condition: impl FnMut() -> bool) -> io::Result<()> {
        match wait(self.rank(), what, condition, || self.is_gone()) {
            true => Ok(()),
            false => Err(reset(self.peer)),
        }
    }

    /// Takes the request back, if the peer has not accepted. True: it will never know of it.
    fn withdraw(&self) -> bool {
        let request = self.shared.request(self.rank().id(), self.peer);
        let word = u64::from(self.slot) + 1;
        if self.is_gone() || self.rank().compare_swap(request, word, 0) == word {
            return true;
        }
        // It is about to answer.
        self.wait("the answer of a rank that accepts a stream", || self.load(ANSWER_WORD) != 0).is_err()
            || self.theirs().is_err()
    }
}

impl Drop for End<'_> {
    fn drop(&mut self) {
        // A panic ends the job, which must not wait for peers first.
        if std::thread::panicking() {
            return;
        }
        let unknown = matches!(self.theirs(), Ok(None)) && self.withdraw();
        let mut pool = lock(&self.shared.pool);
        let asked = &mut pool.asked[self.peer.0 as usize];
        *asked = asked.filter(|slot| *slot != self.slot);
        pool.slots[self.slot as usize] = if unknown { SlotState::Free } else { SlotState::Ended(self.peer) };
    }
}
