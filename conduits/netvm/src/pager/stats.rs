//! The counters of a pager.

use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! stats {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// The counters of a pager.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        #[non_exhaustive]
        pub struct PagerStats {
            $($(#[$doc])* pub $name: u64,)*
        }

        /// The same counters as the paging thread counts them.
        #[derive(Debug, Default)]
        pub(super) struct PagerCounters {
            $(pub(super) $name: Count,)*
        }

        impl PagerCounters {
            pub(super) fn snapshot(&self) -> PagerStats {
                PagerStats { $($name: self.$name.get(),)* }
            }
        }
    };
}

stats! {
    /// Faults of programs on missing pages.
    faults,
    /// Stores of programs to clean pages.
    write_protect_faults,
    /// Faults that had ended when they were handled: another thread's fault had brought the page.
    late_faults,
    /// Pages brought in from the backing store.
    page_ins,
    /// Pages brought in that were zeros.
    zero_fills,
    /// Of both, pages that came with their neighbours.
    read_ahead,
    /// Of both, pages that the program had announced.
    announced,
    /// Pages whose contents in the backing store were given up, because the program overwrites them.
    forgotten,
    /// Pages that left because the program had said that it does not need them for a while.
    given_up,
    /// Reads of the backing store.
    reads,
    /// Pages written to the backing store.
    page_outs,
    /// Writes of the backing store.
    writes,
    /// Pages dropped: each was clean then, written out or never dirty.
    drops,
    /// Of these, pages that had not been written out since they came in.
    clean_drops,
    /// Faults and messages of the NIC that had to wait until a page had left.
    waits,
    /// Attempts to write out that found the backing store full.
    full,
    /// Pages held, for any purpose.
    holds,
    /// Pages pinned with the kernel.
    pins,
    /// Pages unpinned.
    unpins,
    /// Pages resident now.
    resident,
    /// Highest number of resident pages.
    most_resident,
    /// Pages in the backing store now.
    stored,
    /// Messages that waited in the bounce buffer for their page and were copied by the paging thread.
    bounced,
    /// Attempts to take a page away that found it in use by the NIC.
    locked,
}

/// A number that one thread counts and all may read.
#[derive(Debug, Default)]
pub(super) struct Count(AtomicU64);

impl Count {
    pub(super) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    pub(super) fn set(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }

    pub(super) fn add(&self, more: u64) {
        self.set(self.get() + more);
    }
}
