//! A doorbell: wakes a thread of another process that sleeps until messages come.
//!
//! Each rank that receives has a word in shared memory. A sender that has published a message *rings*. If the
//! receiver sleeps, a system call wakes it; otherwise ringing is a load, and also a fence if the receiver may
//! sleep at all. The receiver *lies down*, looks for messages once more, and only then sleeps, as long as the
//! word says so.
//!
//! **No lost wake-up.** The sender publishes, then reads the word; the sleeper changes the word, then looks
//! for messages; full fences are between. So the message is seen, or the sleeper is woken, or both.
//!
//! **A receiver that never sleeps** has no bell: its word stays [`NOBODY`], and ringing costs the senders a
//! load of a line that nobody writes. A bell is set up before the first message can come, so that every
//! sender sees it.
//!
//! One thread of a rank sleeps here at a time.
#![expect(unsafe_code, reason = "overlays words on a shared mapping")]

use super::map;
use crate::RankId;
use crate::conduit::OpenContext;
use crate::error::Error;
use crate::prim::{AtomicU32, Ordering, fence};
use std::time::Duration;

/// The doorbells of all ranks, for conduits without a descriptor whose receivers sleep at times. Those of
/// other hosts never hang.
pub struct Bells {
    me: usize,
    bells: &'static [Bell],
}

impl core::fmt::Debug for Bells {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Bells").field("me", &self.me).finish_non_exhaustive()
    }
}

impl Bells {
    /// Maps the bells at the start of the conduit's part of the host's shared memory.
    ///
    /// # Safety
    /// 1. Nothing else uses that memory, [`Bells::bytes`] from `cx.shm_offset` on (owed by the caller).
    ///
    /// # Errors
    /// The memory cannot be had.
    pub unsafe fn open(cx: &OpenContext<'_>) -> Result<Bells, Error> {
        map::grow(cx.shm, cx.shm_offset + Bells::bytes(cx.size) as u64)?;
        let at = map::map_shared(cx.shm, cx.shm_offset, Bells::bytes(cx.size))?;
        // SAFETY: just mapped, page-aligned, for as long as the process lives; bells are atomics, for which
        // any bytes are valid.
        let bells = unsafe { core::slice::from_raw_parts(at.cast::<Bell>(), cx.size as usize) };
        Ok(Bells { me: cx.rank.0 as usize, bells })
    }

    /// The memory they take, a multiple of the page size.
    pub fn bytes(ranks: u32) -> usize {
        (ranks as usize * size_of::<Bell>()).next_multiple_of(map::PAGE_BYTES)
    }

    /// A thread of this rank will call [`Bells::doze`]. Before any message can come.
    pub fn expect_sleeper(&self) {
        self.bells[self.me].hang();
    }

    /// For who has sent a message: wakes the receiver if it sleeps.
    #[inline]
    pub fn ring(&self, to: RankId) {
        self.bells[to.0 as usize].ring();
    }

    /// Sleeps until somebody rings, unless there is a message already, at most so long. Whether there may be
    /// one; `false`, at once, without [`Bells::expect_sleeper`]. One thread of the rank at a time.
    pub fn doze(&self, there_is_one: impl FnOnce() -> bool, longest: Duration) -> bool {
        let bell = &self.bells[self.me];
        bell.hangs() && bell.sleep(there_is_one, longest)
    }
}

/// The word, alone on its cache lines.
#[repr(C, align(128))]
pub(crate) struct Bell(AtomicU32);

/// As zero-filled memory says: nobody will ever sleep here.
const NOBODY: u32 = 0;
const AWAKE: u32 = 1;
const ASLEEP: u32 = 2;

impl Bell {
    /// From now on somebody may sleep here.
    pub(crate) fn hang(&self) {
        self.0.store(AWAKE, Ordering::Relaxed);
    }

    /// Whether somebody may sleep here.
    pub(crate) fn hangs(&self) -> bool {
        self.0.load(Ordering::Relaxed) != NOBODY
    }

    /// For who has published a message: wakes the receiver if it sleeps.
    #[inline]
    pub(crate) fn ring(&self) {
        if self.hangs() && self.must_wake() {
            self.wake();
        }
    }

    /// Whether the receiver is to be woken. One of the senders that meet here gets the task.
    fn must_wake(&self) -> bool {
        // ORDER: SeqCst; pairs with the fence in lie_down: we see that it sleeps, or it sees our message.
        fence(Ordering::SeqCst);
        self.0.load(Ordering::Relaxed) == ASLEEP && self.0.swap(AWAKE, Ordering::Relaxed) == ASLEEP
    }

    #[cold]
    fn wake(&self) {
        map::wake_sleepers(&self.0);
    }

    /// Says that we sleep. Comes before the last look for messages.
    fn lie_down(&self) {
        self.0.store(ASLEEP, Ordering::Relaxed);
        // ORDER: SeqCst; pairs with the fence in must_wake.
        fence(Ordering::SeqCst);
    }

    /// Sleeps until somebody rings, unless there is a message; at most so long. Whether it is for a message
    /// that the sleep ended.
    pub(crate) fn sleep(&self, there_is_one: impl FnOnce() -> bool, longest: Duration) -> bool {
        self.lie_down();
        let seen = there_is_one();
        if !seen {
            map::sleep_while(&self.0, ASLEEP, longest);
        }
        self.0.swap(AWAKE, Ordering::Relaxed) == AWAKE || seen
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use crate::shm::ring::{Producer, Slot};

    /// A sender publishes and rings while the receiver lies down and looks: it never sleeps on a message
    /// without being woken.
    #[test]
    fn loom_nobody_sleeps_on_a_message() {
        loom::model(|| {
            let ring = Slot::<u64>::leak_ring(2);
            let bell: &'static Bell = Box::leak(Box::new(Bell(AtomicU32::new(AWAKE))));
            // SAFETY: the only producer of a fresh ring.
            let mut p = unsafe { Producer::new(ring) };
            let sender = loom::thread::spawn(move || {
                p.push(|_| ());
                bell.must_wake()
            });
            bell.lie_down();
            let seen = ring.has_message();
            let woken = sender.join().unwrap();
            assert!(seen || woken, "it would sleep for ever");
            // Who is told to wake has changed the word, so that a sleep that begins after that ends at once.
            assert_eq!(woken, bell.0.load(Ordering::Relaxed) == AWAKE);
        });
    }

    /// Two senders: one of them wakes it, not both.
    #[test]
    fn loom_a_sleeper_is_woken_once() {
        loom::model(|| {
            let bell: &'static Bell = Box::leak(Box::new(Bell(AtomicU32::new(ASLEEP))));
            let other = loom::thread::spawn(move || bell.must_wake());
            let mine = bell.must_wake();
            assert!(mine ^ other.join().unwrap());
        });
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use core::sync::atomic::AtomicU64;
    use std::time::Instant;

    /// Numbers handed to a sleeper one by one, each after the last was taken: had one been slept on, the
    /// sleep would end by its time only.
    #[test]
    fn every_message_wakes_the_sleeper() {
        const ROUNDS: u64 = if cfg!(miri) { 20 } else { 20_000 };
        let (long, late) = (Duration::from_secs(100), Duration::from_secs(20));
        let (bell, sent, taken) = (Bell(AtomicU32::new(AWAKE)), AtomicU64::new(0), AtomicU64::new(0));
        std::thread::scope(|s| {
            s.spawn(|| {
                let mut have = 0;
                while have < ROUNDS {
                    bell.sleep(|| sent.load(Ordering::Relaxed) > have, long);
                    have = have.max(sent.load(Ordering::Relaxed));
                    taken.store(have, Ordering::Relaxed);
                }
            });
            for i in 1..=ROUNDS {
                // On a busy machine all of them take long, and one does not.
                let begun = Instant::now();
                sent.store(i, Ordering::Relaxed);
                bell.ring();
                while taken.load(Ordering::Relaxed) < i {
                    if begun.elapsed() > late {
                        // Let the sleeper go before this fails.
                        sent.store(ROUNDS, Ordering::Relaxed);
                        bell.ring();
                        panic!("slept on message {i}");
                    }
                    std::thread::yield_now();
                }
            }
        });
    }

    #[test]
    fn nobody_is_woken_where_no_bell_hangs() {
        let bell = Bell(AtomicU32::new(NOBODY));
        bell.ring();
        assert!(!bell.hangs());
        bell.hang();
        bell.ring();
        assert_eq!(bell.0.load(Ordering::Relaxed), AWAKE);
    }

    #[test]
    fn a_sleep_ends_by_its_time() {
        let bell = Bell(AtomicU32::new(AWAKE));
        let begun = Instant::now();
        assert!(!bell.sleep(|| false, Duration::from_millis(5)));
        assert!(begun.elapsed() >= Duration::from_millis(5));
        // A message that is there already: no sleep at all, and awake again.
        assert!(bell.sleep(|| true, Duration::from_secs(1000)));
        assert_eq!(bell.0.load(Ordering::Relaxed), AWAKE);
    }
}
