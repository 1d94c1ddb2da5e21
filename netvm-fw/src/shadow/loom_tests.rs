//! Every interleaving of the two sides, as far as loom goes.

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;

use super::*;
use crate::ids::{Key, PortId, Ppn, Vpn};

fn small(frames: u32) -> (HostTable, NicTable) {
    table(Geometry { frames, rows: 1, depth: 2 }, 1)
}

fn page(n: u64) -> Vpn {
    Vpn::new(PortId(1), n)
}

/// The word that a DMA touches, by relaxed accesses, so that only the protocol can order them.
fn cell() -> Arc<AtomicU32> {
    Arc::new(AtomicU32::new(0))
}

/// The host takes a page away and uses the frame for something else, while the NIC writes to it: never both;
/// one, the other and neither do happen.
#[test]
fn loom_item_03_unmap_and_lock_exclude_each_other() {
    static SEEN: std::sync::Mutex<std::collections::BTreeSet<(bool, bool)>> =
        std::sync::Mutex::new(std::collections::BTreeSet::new());
    loom::model(|| {
        let (mut host, mut nic) = small(1);
        host.map(page(1), Ppn::at(0), Key(7));
        let frame = cell();
        let other = frame.clone();
        let t = thread::spawn(move || {
            if let Ok(ppn) = nic.lock(page(1), page(1).hash(), Key(7)) {
                assert_eq!(other.load(Ordering::Relaxed), 0, "the host has the frame");
                other.store(1, Ordering::Relaxed);
                assert_eq!(other.load(Ordering::Relaxed), 1, "the host has the frame");
                nic.unlock_dirty(ppn);
                return true;
            }
            false
        });
        let mut dirty = host.test_and_clean(Ppn::at(0));
        let unmapped = host.unmap(Ppn::at(0)) == Unmap::Unmapped;
        if unmapped {
            dirty |= host.test_and_clean(Ppn::at(0));
            let seen = frame.load(Ordering::Relaxed);
            assert_eq!(dirty, seen == 1, "what the NIC wrote is seen, and known to be dirty");
            frame.store(2, Ordering::Relaxed);
        }
        let locked = t.join().unwrap();
        if unmapped {
            assert_eq!(frame.load(Ordering::Relaxed), 2);
        }
        SEEN.lock().unwrap().insert((unmapped, locked));
    });
    // Both "succeed" when one comes after the other, which the frame's value tells apart.
    assert_eq!(SEEN.lock().unwrap().len(), 4);
}

/// Freeing waits for the one operation that may be under way, and for no other.
#[test]
fn loom_free_waits_for_the_lock() {
    loom::model(|| {
        let (mut host, mut nic) = small(1);
        host.map(page(1), Ppn::at(0), Key(7));
        let frame = cell();
        let other = frame.clone();
        let t = thread::spawn(move || {
            for _ in 0..2 {
                if let Ok(ppn) = nic.lock(page(1), page(1).hash(), Key(7)) {
                    assert_eq!(other.load(Ordering::Relaxed), 0, "the host has the frame");
                    nic.unlock(ppn);
                }
            }
        });
        while host.free(Ppn::at(0)) == Unmap::Locked {
            thread::yield_now();
        }
        frame.store(2, Ordering::Relaxed);
        t.join().unwrap();
    });
}

/// The lock bits of two frames share a word: clearing one and setting the other must not hide what the first
/// published.
#[test]
fn loom_neighbours_in_a_word() {
    loom::model(|| {
        let (mut host, mut nic) = small(2);
        host.map(page(1), Ppn::at(0), Key(7));
        host.map(page(2), Ppn::at(1), Key(7));
        let frame = cell();
        let other = frame.clone();
        let t = thread::spawn(move || {
            if let Ok(ppn) = nic.lock(page(1), page(1).hash(), Key(7)) {
                other.store(1, Ordering::Relaxed);
                nic.unlock_dirty(ppn);
            }
            if let Ok(ppn) = nic.lock(page(2), page(2).hash(), Key(7)) {
                nic.unlock(ppn);
            }
        });
        if host.unmap(Ppn::at(0)) == Unmap::Unmapped {
            let dirty = host.test_and_clean(Ppn::at(0));
            assert_eq!(dirty, frame.load(Ordering::Relaxed) == 1);
        }
        t.join().unwrap();
    });
}

/// A NIC that finds a page finds its key and its contents.
#[test]
fn loom_item_05_map_publishes_the_frame() {
    loom::model(|| {
        let (mut host, mut nic) = small(1);
        let frame = cell();
        let other = frame.clone();
        let t = thread::spawn(move || match nic.lock(page(1), page(1).hash(), Key(7)) {
            Ok(ppn) => {
                assert_eq!(other.load(Ordering::Relaxed), 5);
                nic.unlock(ppn);
            }
            Err(why) => assert_eq!(why, LockError::Missing, "never with half a mapping"),
        });
        frame.store(5, Ordering::Relaxed);
        host.map(page(1), Ppn::at(0), Key(7));
        t.join().unwrap();
    });
}

/// A frame that changes its page under the NIC's eyes: the NIC gets the page it asked for, or none.
#[test]
fn loom_reuse_of_a_frame() {
    loom::model(|| {
        let (mut host, mut nic) = small(1);
        let frame = cell();
        frame.store(1, Ordering::Relaxed);
        host.map(page(1), Ppn::at(0), Key(7));
        let other = frame.clone();
        let t = thread::spawn(move || {
            for n in [1, 2] {
                if let Ok(ppn) = nic.lock(page(n), page(n).hash(), Key(6 + n)) {
                    assert_eq!(u64::from(other.load(Ordering::Relaxed)), n);
                    nic.unlock(ppn);
                }
            }
        });
        if host.unmap(Ppn::at(0)) == Unmap::Unmapped {
            frame.store(2, Ordering::Relaxed);
            host.map(page(2), Ppn::at(0), Key(8));
        }
        t.join().unwrap();
    });
}

/// The cleaner's whole order, with a NIC that writes at any time: what it wrote is in what the cleaner copies
/// out, or it is not lost because the page stays.
#[test]
fn loom_item_07_cleaner_loses_no_write() {
    loom::model(|| {
        let (mut host, mut nic) = small(1);
        host.map(page(1), Ppn::at(0), Key(7));
        let frame = cell();
        let other = frame.clone();
        let t = thread::spawn(move || {
            let mut wrote = 0;
            for value in 1..=2 {
                if let Ok(ppn) = nic.lock(page(1), page(1).hash(), Key(7)) {
                    other.store(value, Ordering::Relaxed);
                    wrote = value;
                    nic.unlock_dirty(ppn);
                }
            }
            wrote
        });
        // Two passes, as two looks of the cleaner; the answer of each test is kept.
        let mut dirty = false;
        let mut copied = None;
        for _ in 0..2 {
            dirty |= host.test_and_clean(Ppn::at(0));
            if host.unmap(Ppn::at(0)) == Unmap::Unmapped {
                dirty |= host.test_and_clean(Ppn::at(0));
                copied = Some(if dirty { frame.load(Ordering::Relaxed) } else { 0 });
                break;
            }
        }
        let wrote = t.join().unwrap();
        if let Some(copied) = copied {
            assert_eq!(copied, wrote, "the backing store has what the NIC wrote last");
        }
    });
}

/// A lease keeps the frame until it is broken; using it needs no handshake.
#[test]
fn loom_leases() {
    loom::model(|| {
        let (mut host, mut nic) = small(1);
        host.map(page(1), Ppn::at(0), Key(7));
        let lease = nic.lease(page(1), page(1).hash(), Key(7)).unwrap();
        let frame = cell();
        let other = frame.clone();
        let t = thread::spawn(move || {
            if let Ok(ppn) = nic.lock_leased(lease, page(1), Key(7)) {
                assert_eq!(other.load(Ordering::Relaxed), 0, "the host has the frame");
                nic.unlock(ppn);
            }
            nic.break_leases(Ppn::at(0));
            assert_eq!(nic.lock_leased(lease, page(1), Key(7)), Err(LockError::Missing));
        });
        while host.free(Ppn::at(0)) == Unmap::Locked {
            thread::yield_now();
        }
        frame.store(2, Ordering::Relaxed);
        t.join().unwrap();
    });
}

/// Plain data that both sides keep about a frame beside the table are protected by the lock. The host's
/// notes from before the mapping belong to the NIC while it holds the lock, and the NIC's notes belong to
/// the host once it has unmapped the page. (The pager uses this for the page that a frame stands for, and
/// for its write protection.)
#[test]
fn loom_notes_about_a_frame_follow_its_lock() {
    loom::model(|| {
        let (mut host, mut nic) = small(1);
        let (holds, writable) = (cell(), cell());
        holds.store(1, Ordering::Relaxed);
        host.map(page(1), Ppn::at(0), Key(7));
        let notes = (holds.clone(), writable.clone());
        let t = thread::spawn(move || {
            for (vpn, n) in [(page(1), 1), (page(2), 2)] {
                if let Ok(ppn) = nic.lock(vpn, vpn.hash(), Key(7)) {
                    assert_eq!(notes.0.load(Ordering::Relaxed), n, "the page that the lock is for");
                    notes.1.store(1, Ordering::Relaxed);
                    nic.unlock_dirty(ppn);
                }
            }
        });
        if host.unmap(Ppn::at(0)) == Unmap::Unmapped {
            let dirty = host.test_and_clean(Ppn::at(0));
            assert!(dirty || writable.load(Ordering::Relaxed) == 0, "what can be stored to is dirty");
            writable.store(0, Ordering::Relaxed);
            holds.store(2, Ordering::Relaxed);
            host.map(page(2), Ppn::at(0), Key(7));
        }
        t.join().unwrap();
    });
}
