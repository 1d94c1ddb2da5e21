//! News of a half of a stream for a peer whose slot is not known yet.
//!
//! The half *keeps* its last word here until the peer is known; from then on it tells the peer itself.
//! Whoever finds the peer, which may be the other half, *pays*: it tells the peer the word that is kept, and
//! ends the keeping only if that was the last. So the peer hears each half's words in their order.
//!
//! ```text
//!   half:   0 --keep--> word --keep--> word ...          KNOWN: tells the peer itself
//!   payer:  tells the word, then word --> KNOWN, unless there is another word: again
//! ```

#[cfg(not(loom))]
use core::sync::atomic::{AtomicU64, Ordering};
#[cfg(loom)]
use loom::sync::atomic::{AtomicU64, Ordering};

const NOTHING: u64 = 0;
/// Of no word: its position would be beyond all.
const KNOWN: u64 = u64::MAX;

/// The word that is kept.
#[derive(Debug)]
pub(super) struct Owed(AtomicU64);

impl Owed {
    pub(super) fn new(known: bool) -> Owed {
        Owed(AtomicU64::new(if known { KNOWN } else { NOTHING }))
    }

    /// Keeps a word, in the place of earlier ones. False: the peer is known.
    pub(super) fn keep(&self, word: u64) -> bool {
        let next = |kept: u64| (kept != KNOWN).then_some(word);
        // ORDER: Acquire; pairs with Release in `pay`: the peer's slot, and what it was told. Release; pairs
        // with Acquire in `pay`: what the word says is so.
        self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, next).is_ok()
    }

    /// Tells what is kept: `tell` gets the position that the peer was told last, and a word. One thread does
    /// so, once.
    pub(super) fn pay(&self, mut tell: impl FnMut(u64, u64)) {
        let mut told = 0;
        // ORDER: Acquire; pairs with Release in `keep`.
        let mut kept = self.0.load(Ordering::Acquire);
        loop {
            if kept != NOTHING {
                tell(told, kept);
                told = kept >> 1;
            }
            // ORDER: Release; pairs with Acquire in `keep`: the half tells what comes after this.
            match self.0.compare_exchange(kept, KNOWN, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return,
                Err(newer) => kept = newer,
            }
        }
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use loom::sync::Arc;

    /// A half says words while another thread finds the peer: the peer hears them in order, the last one
    /// last.
    #[test]
    fn loom_clan_20_a_peer_hears_the_last_word_last() {
        loom::model(|| {
            let shared = Arc::new((Owed::new(false), AtomicU64::new(0)));
            let payer = shared.clone();
            let finds = loom::thread::spawn(move || {
                let (owed, heard) = &*payer;
                owed.pay(|_, word| heard.store(word, Ordering::Relaxed));
            });
            let (owed, heard) = &*shared;
            for word in [2, 4] {
                if !owed.keep(word) {
                    heard.store(word, Ordering::Relaxed);
                }
            }
            finds.join().unwrap();
            assert_eq!(heard.load(Ordering::Relaxed), 4);
        });
    }
}
