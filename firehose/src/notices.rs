//! A queue of changed mappings, from the monitor thread to the users of registrations.
//!
//! The kernel lets a program continue after `munmap` as soon as the monitor has *read* the event, before it
//! has handled it. Another thread may map the same addresses again and use them in between. So the monitor
//! sets `busy` before it reads, and clears it after it has written down what it read. A user of registrations
//! first waits until `busy` is clear, and then reads what was written. If the change came before the use, by
//! any path, then so did the store to `busy`, and the user sees either `busy` or what was written.
//!
//! The monitor's side takes no lock, allocates nothing and waits for nobody: the thread that waits for the
//! event to be read may hold the allocator's lock. [`Change::All`] replaces what does not fit.

use crate::registrar::{Change, Notifier, PinError};
use crate::sync::{AtomicBool, AtomicU64, Mutex, Ordering, pause};

/// Number of changes that fit.
const NOTICE_SLOTS: usize = if cfg!(loom) { 2 } else { 256 };

#[derive(Debug)]
struct NoticeSlot {
    kind: AtomicU64,
    addr: AtomicU64,
    len: AtomicU64,
}

/// The queue between one monitor and any number of users.
#[derive(Debug)]
pub struct Notices {
    busy: AtomicBool,
    overflow: AtomicBool,
    /// Number of changes written, and taken.
    written: AtomicU64,
    taken: AtomicU64,
    slots: Vec<NoticeSlot>,
    /// Only one user takes at a time.
    users: Mutex<()>,
}

impl Default for Notices {
    fn default() -> Notices {
        let slot = || NoticeSlot { kind: AtomicU64::new(0), addr: AtomicU64::new(0), len: AtomicU64::new(0) };
        let mut slots = Vec::new();
        slots.resize_with(NOTICE_SLOTS, slot);
        Notices {
            busy: AtomicBool::new(false),
            overflow: AtomicBool::new(false),
            written: AtomicU64::new(0),
            taken: AtomicU64::new(0),
            slots,
            users: Mutex::new(()),
        }
    }
}

impl Notices {
    /// The monitor is about to read events.
    pub fn begin(&self) {
        // ORDER: Release, with the Acquire in `changes`; the kernel's own ordering between the read of an
        // event and the return of the call that caused it carries it to the user.
        self.busy.store(true, Ordering::Release);
    }

    /// The monitor has read an event.
    pub fn tell(&self, change: Change) {
        let at = self.written.load(Ordering::Relaxed);
        // ORDER: Acquire, with the Release in `changes`: the slot was read before it is written again.
        if at - self.taken.load(Ordering::Acquire) >= NOTICE_SLOTS as u64 {
            self.overflow.store(true, Ordering::Relaxed);
            return;
        }
        let (kind, addr, len) = match change {
            Change::Unmapped { addr, len } => (0, addr, len),
            Change::Moved { addr, len } => (1, addr, len),
            Change::Removed { addr, len } => (2, addr, len),
            Change::Forked => (3, 0, 0),
            Change::Child => (4, 0, 0),
            Change::All => (5, 0, 0),
        };
        let slot = &self.slots[at as usize % NOTICE_SLOTS];
        slot.kind.store(kind, Ordering::Relaxed);
        slot.addr.store(addr, Ordering::Relaxed);
        slot.len.store(len, Ordering::Relaxed);
        // ORDER: Release, with the Acquire in `changes`: the slot is written.
        self.written.store(at + 1, Ordering::Release);
    }

    /// The monitor has written down all it read.
    pub fn end(&self) {
        // ORDER: Release, with the Acquire in `changes`: a user who sees it clear sees what was written.
        self.busy.store(false, Ordering::Release);
    }

    /// Returns what has been written.
    #[inline]
    pub fn changes(&self, each: &mut dyn FnMut(Change)) {
        // ORDER: Acquire, with the Release in `begin` and `end`.
        while self.busy.load(Ordering::Acquire) {
            pause();
        }
        // ORDER: Acquire, with the Release in `tell`.
        let written = self.written.load(Ordering::Acquire);
        if written == self.taken.load(Ordering::Relaxed) && !self.overflow.load(Ordering::Relaxed) {
            return;
        }
        self.take(written, each);
    }

    #[cold]
    fn take(&self, written: u64, each: &mut dyn FnMut(Change)) {
        let _turn = self.users.lock().unwrap_or_else(|e| e.into_inner());
        let mut at = self.taken.load(Ordering::Relaxed);
        while at < written {
            let slot = &self.slots[at as usize % NOTICE_SLOTS];
            let (addr, len) = (slot.addr.load(Ordering::Relaxed), slot.len.load(Ordering::Relaxed));
            each(match slot.kind.load(Ordering::Relaxed) {
                0 => Change::Unmapped { addr, len },
                1 => Change::Moved { addr, len },
                2 => Change::Removed { addr, len },
                3 => Change::Forked,
                4 => Change::Child,
                _ => Change::All,
            });
            at += 1;
            // ORDER: Release, with the Acquire in `tell`.
            self.taken.store(at, Ordering::Release);
        }
        if self.overflow.swap(false, Ordering::Relaxed) {
            each(Change::All);
        }
    }
}

/// For memory whose mappings never change, and for tests that tell of changes themselves.
impl Notifier for Notices {
    fn watch(&self, _: u64, _: u64) -> Result<(), PinError> {
        Ok(())
    }

    fn changes(&self, each: &mut dyn FnMut(Change)) {
        Notices::changes(self, each);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn hands_over_in_order_and_says_when_it_lost_count() {
        let notices = Notices::default();
        let taken = |notices: &Notices| {
            let mut taken = Vec::new();
            notices.changes(&mut |change| taken.push(change));
            taken
        };
        let change = |addr| Change::Unmapped { addr, len: 1 };
        for round in 0..5 {
            for addr in 0..NOTICE_SLOTS as u64 / 2 {
                notices.tell(change(addr + round));
            }
            assert_eq!(
                taken(&notices),
                (0..NOTICE_SLOTS as u64 / 2).map(|addr| change(addr + round)).collect::<Vec<_>>()
            );
        }
        for addr in 0..NOTICE_SLOTS as u64 + 3 {
            notices.tell(change(addr));
        }
        let all = taken(&notices);
        assert_eq!((all.len(), all.last()), (NOTICE_SLOTS + 1, Some(&Change::All)));
        assert_eq!(taken(&notices), []);
        let kinds = [
            Change::Moved { addr: 1, len: 2 },
            Change::Removed { addr: 3, len: 4 },
            Change::Forked,
            Change::Child,
        ];
        kinds.into_iter().for_each(|change| notices.tell(change));
        assert_eq!(taken(&notices), kinds);
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use loom::sync::Arc;

    use super::*;

    /// The kernel: an event waits until it is read; then the call that caused it returns.
    #[derive(Default)]
    struct Kernel {
        event: Mutex<(bool, bool)>,
    }

    #[test]
    fn loom_a_use_after_a_change_knows_of_it() {
        loom::model(|| {
            let notices = Arc::new(Notices::default());
            let kernel = Arc::new(Kernel::default());
            let monitor = {
                let (notices, kernel) = (Arc::clone(&notices), Arc::clone(&kernel));
                loom::thread::spawn(move || {
                    // Reads in any case, whether the poll found an event or not.
                    for _ in 0..2 {
                        notices.begin();
                        let read = {
                            let mut event = kernel.event.lock().expect("no panic");
                            let ready = event.0 && !event.1;
                            event.1 |= ready;
                            ready
                        };
                        if read {
                            notices.tell(Change::Unmapped { addr: 7, len: 1 });
                        }
                        notices.end();
                    }
                })
            };
            kernel.event.lock().expect("no panic").0 = true;
            let returned = kernel.event.lock().expect("no panic").1;
            // If the call has returned, a use must know of the change.
            let mut seen = false;
            notices.changes(&mut |change| seen |= change == Change::Unmapped { addr: 7, len: 1 });
            assert!(seen || !returned, "used an old registration");
            monitor.join().expect("no panic");
        });
    }
}
