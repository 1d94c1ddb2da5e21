//! Keeps accesses of memory that the program may take away apart from the reports that it did.
//!
//! The system reports that memory was unmapped when it is gone already, and lets the program go on as soon as
//! its report has been *read*. So the thread that reads reports shuts the gate before it reads, and opens it
//! when it has closed the regions concerned. An access is inside of the gate from its check to the end of its
//! copy. If the program has gone on, the report was read with the gate shut: accesses that began before are
//! over, and later ones find their region closed. Within the call of the program that takes the memory away
//! its pages may be missing already; a copy that the system carries out fails then, and nothing else happens.
//!
//! Whoever is inside waits for nothing: the thread that reads reports may wait for it while the program holds
//! any lock.

use gasnet_wire::prim::{AtomicU32, Ordering, fence};

fn pause() {
    #[cfg(loom)]
    loom::thread::yield_now();
    #[cfg(not(loom))]
    core::hint::spin_loop();
}

#[derive(Debug)]
pub(super) struct Gate {
    shut: AtomicU32,
    inside: AtomicU32,
}

impl Gate {
    pub(super) fn new() -> Gate {
        Gate { shut: AtomicU32::new(0), inside: AtomicU32::new(0) }
    }

    /// Begins an access, which ends with the guard.
    pub(super) fn enter(&self) -> Inside<'_> {
        loop {
            self.inside.fetch_add(1, Ordering::Relaxed);
            // ORDER: SeqCst; pairs with the fence in `shut`: we see the gate shut, or are seen inside.
            fence(Ordering::SeqCst);
            // ORDER: Acquire; pairs with Release in `open`: what was closed meanwhile.
            if self.shut.load(Ordering::Acquire) == 0 {
                return Inside(self);
            }
            self.leave();
            while self.shut.load(Ordering::Relaxed) != 0 {
                pause();
            }
        }
    }

    fn leave(&self) {
        // ORDER: Release; pairs with Acquire in `shut`: the access is over.
        self.inside.fetch_sub(1, Ordering::Release);
    }

    /// Lets nobody in, and waits until nobody is inside. For one thread.
    pub(super) fn shut(&self) {
        self.shut.store(1, Ordering::Relaxed);
        // ORDER: SeqCst; pairs with the fence in `enter`.
        fence(Ordering::SeqCst);
        // ORDER: Acquire; pairs with Release in `leave`.
        while self.inside.load(Ordering::Acquire) != 0 {
            pause();
        }
    }

    pub(super) fn open(&self) {
        // ORDER: Release; pairs with Acquire in `enter`.
        self.shut.store(0, Ordering::Release);
    }
}

/// Somebody is inside of the gate.
pub(super) struct Inside<'a>(&'a Gate);

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.0.leave();
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use crate::region::{Entry, Modes};
    use gasnet_wire::slots::Slot;
    use loom::sync::Arc;
    use loom::sync::atomic::AtomicU32 as Word;

    /// The program unmaps a region and uses the addresses for something else, which no access touches. The
    /// system: the call returns when its report has been read.
    #[test]
    fn loom_reg_08_what_is_mapped_next_is_not_written() {
        loom::model(|| {
            let all = Arc::new((Gate::new(), Entry::new()));
            let generation = all.1.open(core::ptr::null_mut(), 1, Modes::ALL, 5);
            // The memory at the address: 1 = the region, 2 = another object, which must not change.
            let (memory, returned) = (Arc::new(Word::new(1)), Arc::new(Word::new(0)));
            let nic = {
                let (all, memory) = (all.clone(), memory.clone());
                loom::thread::spawn(move || {
                    let _inside = all.0.enter();
                    if all.1.begin(generation).is_ok() {
                        memory.store(1, Ordering::Relaxed);
                        all.1.end();
                    }
                })
            };
            let monitor = {
                let (all, returned) = (all.clone(), returned.clone());
                loom::thread::spawn(move || {
                    all.0.shut();
                    // It reads the report: the kernel's own order brings this to the program.
                    returned.store(1, Ordering::Release);
                    all.1.close();
                    all.0.open();
                })
            };
            if returned.load(Ordering::Acquire) == 1 {
                memory.store(2, Ordering::Relaxed);
                nic.join().unwrap();
                assert_eq!(memory.load(Ordering::Relaxed), 2, "a write after the memory was taken away");
            } else {
                nic.join().unwrap();
            }
            monitor.join().unwrap();
            assert!(all.1.begin(generation).is_err());
        });
    }
}
