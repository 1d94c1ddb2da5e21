//! Loops of the program that wait: `do while (x[1] == 0)`, and the same with atomics, queries and attempts.
//! Each call that reads a value is a look, and looks that find the same again and again become the steps of a
//! wait ([`gasnet::Spins`]).

use crate::image::Image;
use gasnet::{RankId, Spins};
use std::cell::RefCell;
use std::sync::atomic::Ordering::Relaxed;

/// Looks at memory between two polls.
const LOOKS_PER_POLL: u32 = 256;

thread_local! {
    /// What this thread may be reading in a loop.
    static SPINS: RefCell<Spins> = const { RefCell::new(Spins::new()) };
}

impl Image {
    /// Notes that the program has looked at memory without a message, and polls from time to time: it may
    /// wait for what only a handler changes.
    #[inline]
    pub fn count_look(&self) {
        let looks = self.looks.load(Relaxed).wrapping_add(1);
        self.looks.store(looks, Relaxed);
        if looks.is_multiple_of(LOOKS_PER_POLL) {
            self.poll();
        }
    }

    #[cold]
    fn poll(&self) {
        self.rank.poll();
    }

    /// A look begins.
    #[inline]
    pub fn begin_look(&self) {
        SPINS.with_borrow_mut(|spins| spins.begin(1));
    }

    /// A look has found a value at an offset of an image's segment.
    #[inline]
    pub fn looked_at(&self, rank: RankId, offset: u64, value: u64) {
        // Odd constants, so that neighbouring places and values make different keys.
        let place = (offset ^ u64::from(rank.0) << 48).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let key = place ^ value.wrapping_mul(0xff51_afd7_ed55_8ccd).rotate_left(31);
        SPINS.with_borrow_mut(|spins| self.rank.waits().looked(spins, key, None));
        // A loop over several places finds another key each time, and never waits.
        self.count_look();
    }
}
