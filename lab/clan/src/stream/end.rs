//! One rank's end of a stream: what its two halves have in common. They may be in different threads, and take
//! no lock.

use super::owed::Owed;
use super::{
    ANSWER_WORD, PEER_WORD, PUBLISHED_WORD, SIZE_WORD, Shared, SlotState, TAKEN_WORD, far, is_gone, lock,
    reset, wait,
};
use crate::peer::Process;
use core::sync::atomic::{Ordering, fence};
use gasnet::{GlobalPtr, Rank, RankId};
use std::io;
use std::sync::{Arc, OnceLock};

/// This rank's end of a stream, which both halves share.
#[derive(Debug)]
pub(super) struct StreamEnd<'r> {
    pub(super) shared: Arc<Shared<'r>>,
    pub(super) peer: RankId,
    process: Option<Process>,
    /// Whether the peer's memory is not mapped here: messages carry bytes and words then.
    pub(super) is_far: bool,
    slot: u32,
    pub(super) mine: GlobalPtr<u64>,
    /// The peer's slot, once it has accepted.
    theirs: OnceLock<GlobalPtr<u64>>,
    /// News of the writer and the reader for a peer that has yet to accept.
    owed: [Owed; 2],
}

/// A word for the peer: which, the position that the last one had, and its value.
pub(super) type Word = (usize, u64, u64);

impl<'r> StreamEnd<'r> {
    pub(super) fn new(
        shared: &Arc<Shared<'r>>,
        peer: RankId,
        slot: u32,
        theirs: Option<GlobalPtr<u64>>,
    ) -> StreamEnd<'r> {
        let owed = [Owed::new(theirs.is_some()), Owed::new(theirs.is_some())];
        let theirs = theirs.map_or_else(OnceLock::new, OnceLock::from);
        let (shared, process, mine) = (shared.clone(), shared.process(peer), shared.slot(slot));
        let is_far = far::is_far(shared.rank, peer);
        // Before the peer knows of the slot.
        shared.rank.write(mine.add(PEER_WORD), u64::from(peer.0) + 1);
        shared.rank.write(mine.add(SIZE_WORD), shared.config.ring.into());
        StreamEnd { shared, peer, process, is_far, slot, mine, theirs, owed }
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
            return self.rank().atomics().load(at);
        }
        // A plain load costs less than an atomic operation.
        let value = self.rank().read(at);
        // ORDER: Acquire; pairs with Release in `AtomicCalls::store` and `far::set`: the bytes are there, or
        // have been taken.
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
        let theirs = self.shared.their_slot(self.peer, answer)?;
        if self.theirs.set(theirs).is_ok() {
            // Of two halves that have found it, this one.
            [PUBLISHED_WORD, TAKEN_WORD].into_iter().zip(&self.owed).for_each(|(which, owed)| {
                owed.pay(|start, word| {
                    // The last word of a writer comes after all its bytes.
                    let start = if which == PUBLISHED_WORD { word >> 1 } else { start };
                    self.set(theirs, (which, start, word));
                });
            });
        }
        Ok(Some(theirs))
    }

    fn set(&self, theirs: GlobalPtr<u64>, (word, start, value): Word) {
        if self.rank().has_departed(self.peer) {
            return;
        }
        if self.is_far {
            // The peer has just left: it need not know.
            drop(far::say(self.rank(), theirs, word, start, value));
        } else {
            self.rank().atomics().store(theirs.add(word), value);
        }
    }

    /// Tells the peer, now or when it has accepted.
    pub(super) fn say(&self, (which, start, word): Word) {
        if !self.owed[usize::from(which == TAKEN_WORD)].keep(word)
            && let Some(theirs) = self.theirs.get()
        {
            self.set(*theirs, (which, start, word));
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
        if self.is_gone() || self.rank().atomics().compare_swap(request, word, 0) == word {
            return true;
        }
        // It is about to answer.
        self.wait("the answer of a rank that accepts a stream", || self.load(ANSWER_WORD) != 0).is_err()
            || self.theirs().is_err()
    }
}

impl Drop for StreamEnd<'_> {
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
