//! The state that the NICs of a host share in memory: a *desk* for every rank.
//!
//! **Sleep.** A NIC's thread without work writes into its desk that it sleeps, looks once more for work, and
//! sleeps on that word. A process that leaves work for it (a packet in its ring, a reply of its host) then
//! looks at the word. Both sides have a full fence between the two steps, so either the thread sees the work
//! or the other side sees that it sleeps.
//!
//! **Attendance.** A rank that polls does its NIC's work itself. This saves a change of threads for every
//! packet when there are few cores. The desk has the time of the rank's last poll. A thread that sleeps for a
//! *shift* (a limited time) is woken for new work only if that poll is not recent. The rank may stop polling
//! right after that look; then the thread finds the work at the end of its shift. So only the thread of a
//! rank that has polled recently is not woken. A thread that sleeps without limit is woken by its rank's next
//! poll, and by any work. Hence no work waits for longer than a shift. A rank that is about to sleep records
//! this ([`Desks::depart`]), and looks for work once more.
#![expect(unsafe_code, reason = "overlays typed atomics on shared memory")]

use crate::sys::map;
use gasnet_sys::futex;
use gasnet_sys::memory::Mapping;
use gasnet_wire::{Error, FrameGrid};
use netvm_fw::host::Segment;
use netvm_fw::{Key, PortId};
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use std::time::Duration;

/// The thread runs.
const AWAKE: u32 = 0;
/// It sleeps for a shift.
const SHIFT: u32 = 1;
/// It sleeps until somebody wakes it.
const DEEP: u32 = 2;

/// A rank that polled within this time, in nanoseconds, is expected to poll again.
const RECENT_POLL_NS: u64 = 50_000;
/// Longest sleep of a thread; correctness does not depend on it.
const MAX_SLEEP: Duration = Duration::from_secs(5);

/// The desk of one rank.
#[repr(C, align(128))]
struct Desk {
    asleep: AtomicU32,
    /// Time of the rank's last poll.
    polled: AtomicU64,
    /// Bytes of its segment, bytes behind it, and the key of both. Written before a barrier and read after
    /// it.
    segment: AtomicU64,
    extra: AtomicU64,
    key: AtomicU64,
}

/// The desks of a host.
pub(crate) struct Desks {
    mapping: Mapping,
    size: u32,
    me: u32,
    shift: Duration,
}

impl Desks {
    /// Bytes of the desks in the shared memory file, in whole pages.
    pub(crate) fn bytes(size: u32) -> u64 {
        (size as usize * size_of::<Desk>()).next_multiple_of(4096) as u64
    }

    /// Maps the desks of this host. `shift`: how long a thread sleeps whose rank polls.
    pub(crate) fn map(
        shm: BorrowedFd<'_>,
        offset: u64,
        size: u32,
        me: u32,
        shift: Duration,
    ) -> Result<Desks, Error> {
        let mapping = map(shm, offset, Desks::bytes(size) as usize)?;
        Ok(Desks { mapping, size, me, shift })
    }

    fn desk(&self, rank: u32) -> &Desk {
        assert!(rank < self.size, "rank {rank} of {}", self.size);
        // SAFETY: inside the mapping, which lives as long as `self`; atomics accept any bytes.
        unsafe { &*self.mapping.base().cast::<Desk>().add(rank as usize) }
    }

    /// Publishes what other ranks may reach. A barrier must follow.
    pub(crate) fn show(&self, export: &Segment, segment: u64) {
        self.note(self.me, export.key, segment, export.size - segment);
    }

    /// Records what a rank, of another host or this one, lets others reach. All callers record the same
    /// values.
    pub(crate) fn note(&self, rank: u32, key: Key, segment: u64, extra: u64) {
        let desk = self.desk(rank);
        desk.segment.store(segment, Ordering::Relaxed);
        desk.extra.store(extra, Ordering::Relaxed);
        // ORDER: Release; pairs with Acquire in `import`; the two lengths.
        desk.key.store(key.0, Ordering::Release);
    }

    /// The segment that a rank exports, and the bytes of it that are its GASNet segment. `None` before it
    /// has been published.
    pub(crate) fn import(&self, rank: u32, port: PortId) -> Option<(Segment, u64)> {
        let desk = self.desk(rank);
        // ORDER: Acquire; pairs with Release in `show`.
        let key = Key(desk.key.load(Ordering::Acquire));
        let segment = desk.segment.load(Ordering::Relaxed);
        let size = segment + desk.extra.load(Ordering::Relaxed);
        (size > 0 && key.0 != 0).then_some((Segment { port, name: 0, address: 0, size, key }, segment))
    }

    /// Records a poll of the rank.
    #[inline]
    pub(crate) fn attend(&self) {
        let desk = self.desk(self.me);
        desk.polled.store(FrameGrid::now(), Ordering::Relaxed);
        if desk.asleep.load(Ordering::Relaxed) == DEEP {
            self.rouse(self.me);
        }
    }

    /// How long a thread sleeps whose rank polls.
    pub(crate) fn shift(&self) -> Duration {
        self.shift
    }

    /// The rank is about to sleep: from now on new work for its NIC wakes the NIC's thread.
    pub(crate) fn depart(&self) {
        self.desk(self.me).polled.store(0, Ordering::Relaxed);
        // ORDER: SeqCst; pairs with the fence in `ring`: the other side sees that the rank sleeps, or the
        // rank finds the work.
        fence(Ordering::SeqCst);
    }

    /// Whether the rank polls often.
    pub(crate) fn attended(&self) -> bool {
        self.fresh(self.me, self.shift.as_nanos() as u64)
    }

    fn fresh(&self, rank: u32, within: u64) -> bool {
        FrameGrid::now().saturating_sub(self.desk(rank).polled.load(Ordering::Relaxed)) < within
    }

    /// Work was left for the NIC of a rank: wakes its thread unless the rank or the thread is expected to
    /// find the work soon. Returns whether it did.
    pub(crate) fn ring(&self, rank: u32) -> bool {
        // ORDER: SeqCst; pairs with the fence in `sleep`: the thread sees the work, or we see that it sleeps.
        fence(Ordering::SeqCst);
        match self.desk(rank).asleep.load(Ordering::Relaxed) {
            AWAKE => false,
            // The thread looks for work at the end of its shift.
            SHIFT if self.fresh(rank, RECENT_POLL_NS) => false,
            _ => self.rouse(rank),
        }
    }

    /// Wakes the thread of a rank's NIC.
    pub(crate) fn rouse(&self, rank: u32) -> bool {
        let word = &self.desk(rank).asleep;
        // Relaxed: the word publishes nothing; the work left for the thread has orderings of its own.
        let slept = word.swap(AWAKE, Ordering::Relaxed) != AWAKE;
        if slept {
            futex::wake_one(word);
        }
        slept
    }

    /// The thread of this rank's NIC sleeps, unless `work` does something or `stop` holds. `soon`: only for a
    /// short time.
    pub(crate) fn sleep(&self, soon: bool, mut work: impl FnMut() -> bool) {
        let (kind, time) = match self.attended() {
            _ if soon => (SHIFT, self.shift / 10),
            true => (SHIFT, self.shift),
            false => (DEEP, MAX_SLEEP),
        };
        let word = &self.desk(self.me).asleep;
        word.store(kind, Ordering::Relaxed);
        // ORDER: SeqCst; pairs with the fence in `ring`.
        fence(Ordering::SeqCst);
        if !work() {
            futex::sleep_while(word, kind, time);
        }
        word.store(AWAKE, Ordering::Relaxed);
    }

    /// Whether the thread of this rank's NIC sleeps until somebody wakes it.
    #[cfg(test)]
    pub(crate) fn sleeps_without_limit(&self) -> bool {
        self.desk(self.me).asleep.load(Ordering::Relaxed) == DEEP
    }

    /// Whether the thread of this rank's NIC runs, and so will see the work that was left before this call.
    #[inline]
    pub(crate) fn awake(&self) -> bool {
        // ORDER: SeqCst; pairs with the fence in `sleep`: the thread sees the work, or we see that it sleeps.
        fence(Ordering::SeqCst);
        self.desk(self.me).asleep.load(Ordering::Relaxed) == AWAKE
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::os::fd::{AsFd, OwnedFd};

    /// A memory file.
    pub(crate) fn memory() -> OwnedFd {
        gasnet_sys::fd::memory_file("desks").expect("a memory file")
    }

    /// A poll between the thread's look at the time of the last poll and its sleep did not see it sleep: such
    /// a poll must not keep others from waking the thread.
    #[test]
    fn work_wakes_a_thread_that_sleeps_without_limit() {
        let file = memory();
        let desks = Desks::map(file.as_fd(), 0, 2, 0, Duration::from_millis(1)).expect("memory");
        std::thread::scope(|scope| {
            scope.spawn(|| desks.sleep(false, || false));
            while !desks.sleeps_without_limit() {
                std::thread::yield_now();
            }
            desks.desk(0).polled.store(FrameGrid::now(), Ordering::Relaxed);
            assert!(desks.ring(0), "work was left for a thread that nobody else will wake");
        });
        assert!(desks.awake() && !desks.ring(0));
    }
}
