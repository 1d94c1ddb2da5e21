//! Batches on their way out, payloads in place before them, and the counts of what is to be served.

use crate::Engine;
use crate::calls::{self, Answered};
use crate::outbox;
use crate::payload::{Ended, HeldRecord};
use crate::wire::{self, To};
use core::any::Any;
use gasnet::am::FIRST_CLIENT_HANDLER;
use gasnet::{Error, Rank, RankId};
use std::sync::atomic::Ordering;

/// The handler of batches that have answers in them: the last of the libraries'.
pub(crate) const BATCH: u8 = FIRST_CLIENT_HANDLER - 1;
/// The handler of batches that have none: nothing of them concerns the handler, so it does not look into
/// them.
pub(crate) const RECORDS: u8 = FIRST_CLIENT_HANDLER - 5;
/// The handler of a rank's message that it has served a number of the sender's bytes.
pub(crate) const SERVED: u8 = FIRST_CLIENT_HANDLER - 2;
/// The handler of offers of payloads, and that of the keys they are answered with.
pub(crate) const OFFER: u8 = FIRST_CLIENT_HANDLER - 3;
pub(crate) const GRANT: u8 = FIRST_CLIENT_HANDLER - 4;

impl Engine {
    /// The rank whose engine it is.
    pub fn rank(&self) -> &'static Rank {
        self.rank
    }

    /// The context that [`Engine::set_context`] has stored.
    pub fn context(&self) -> Option<&'static (dyn Any + Send + Sync)> {
        self.context.get().copied()
    }

    /// Goes on with records that wait for their payloads.
    pub(crate) fn advance_payloads(&self) -> usize {
        if !self.payloads.is_busy() {
            return 0;
        }
        let ended = self.payloads.advance(self.rank);
        let count = ended.len();
        for record in ended {
            match record {
                Ended::InPlace(held, keys) => {
                    self.outbox.append(held.to, &held.what, &keys, held.whole, &held.body);
                    self.flush_to(held.to);
                }
                Ended::Refused(held) => self.refused(&held),
            }
            self.has_served_one();
        }
        count
    }

    /// The other end has no memory for a record's payloads.
    #[cold]
    pub(crate) fn refused(&self, held: &HeldRecord) {
        let to = held.to;
        self.outbox.uncount(to, held.len());
        match held.what {
            To::Service { answer: Some(answer), .. } => {
                self.calls.complete(to, answer, calls::NO_ROOM, Answered::new(&[]));
                self.has_served_one();
            }
            To::Service { answer: None, .. } | To::Onward { .. } | To::From { .. } => {
                self.rank.fatal(&format!(
                    "rank {to} has no memory for the {} bytes of arguments of a function that was sent to it",
                    held.len()
                ));
            }
            To::Call { answer, .. } => {
                let what = To::Call { answer, outcome: calls::NO_ROOM };
                self.outbox.append(to, &what, &[], false, &[]);
                self.flush_to(to);
            }
        }
    }

    /// Sends what is queued for a rank.
    pub(crate) fn flush_to(&self, to: RankId) {
        if let Some(batch) = self.outbox.take(to) {
            self.send_batch(to, &batch);
            outbox::recycle(batch);
        }
    }

    pub(crate) fn count_message(&self) {
        if let Some([_, messages]) = &self.counts {
            // Relaxed: a count.
            messages.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn send_batch(&self, to: RankId, batch: &wire::AlignedBuffer) {
        self.count_message();
        let handler = if batch.has_answers() { BATCH } else { RECORDS };
        self.sent_or_fatal(self.rank.request_medium(to, handler, &[], batch.bytes()));
    }

    /// Sends everything that is queued.
    #[inline]
    pub fn flush(&self) {
        if self.outbox.is_dirty() {
            self.flush_all();
        }
    }

    pub(crate) fn flush_all(&self) {
        while let Some(to) = self.outbox.next_dirty() {
            self.flush_to(to);
        }
    }

    pub(crate) fn sent_or_fatal(&self, sent: Result<(), Error>) {
        if let Err(e) = sent {
            self.rank.fatal(&format!("remote calls: {e}"));
        }
    }

    #[cold]
    pub(crate) fn garbled(&self, from: RankId, why: &str) -> ! {
        self.rank.fatal(&format!("remote calls: rank {from} has sent {why}"));
    }

    /// Tells ranks what has been served of theirs.
    #[inline]
    pub(crate) fn tell_served(&self) {
        if self.outbox.owes() {
            self.outbox.tell_served(self.rank, SERVED);
        }
    }

    /// One record more that is to be served somewhere.
    #[inline]
    pub(crate) fn has_sent_one(&self) {
        self.sent.add(self.own.is_here(), 1);
    }

    /// One record less to be served.
    pub(crate) fn has_served_one(&self) {
        self.have_served(1);
    }

    /// Counts this many records as served. Records that their services have sent were counted before.
    #[inline]
    pub(crate) fn have_served(&self, records: u64) {
        self.served.add(self.own.is_here(), records);
    }
}
