//! A record that a thread has in hand: one that has come to a thread that waits in the engine, and serves it
//! as soon as its poll is over.
//!
//! Most calls come to a rank that waits. Its thread polls, finds the message, and nobody else could serve
//! the record earlier. So the handler leaves the record to the thread it runs on, and not in the inbox, which
//! all threads share. It holds one record of few bytes; others that come by the same poll go to the inbox.
//!
//! In the simulated cluster one thread runs all ranks, so a record in hand names its engine.

use crate::counts::OwnThread;
use crate::wire::Small;
use core::cell::Cell;
use gasnet::RankId;
use gasnet_wire::context;

thread_local! {
    /// Whose record the thread has in hand, if it has one.
    static OF: Cell<Option<OwnThread>> = const { Cell::new(None) };
    static RECORD: Cell<(RankId, Small)> = const { Cell::new((RankId(0), Small::NONE)) };
}

/// Handler: gives the record into the hand of the thread, if it is one that waits and has none. Whether it
/// did.
#[inline]
pub(crate) fn give(of: OwnThread, from: RankId, record: Small) -> bool {
    if !context::waiting() || context::serving() || OF.get().is_some() {
        return false;
    }
    RECORD.set((from, record));
    OF.set(Some(of));
    true
}

/// Whether the thread has a record of that engine in hand.
#[inline]
pub(crate) fn has(of: OwnThread) -> bool {
    OF.get() == Some(of)
}

/// Takes it.
#[inline]
pub(crate) fn take(of: OwnThread) -> Option<(RankId, Small)> {
    if !has(of) {
        return None;
    }
    OF.set(None);
    Some(RECORD.get())
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn one_record_is_in_the_hand_of_a_thread_that_waits() {
        let (other, own) = (OwnThread::here(), OwnThread::here());
        let give = || give(own, RankId(3), Small::NONE);
        assert!(!give(), "it does not wait");
        context::set_waiting(true);
        context::set_serving(true);
        assert!(!give(), "it runs a service");
        context::set_serving(false);
        assert!(give() && !give(), "one");
        assert!(!has(other) && take(other).is_none());
        assert!(has(own));
        assert_eq!(take(own).map(|(from, _)| from), Some(RankId(3)));
        assert!(!has(own) && take(own).is_none());
        context::set_waiting(false);
    }
}
