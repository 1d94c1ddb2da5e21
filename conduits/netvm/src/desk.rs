//! What the NICs of a host see of each other, in shared memory: a *desk* for every rank.
//!
//! **Sleep.** A NIC's thread that has nothing to do writes into its desk that it sleeps, looks once more for work, and sleeps on
//! that word. Whoever leaves work for it (a packet in its ring, a reply of its host) then looks at the word: a full fence stands
//! between the two steps on both sides, so either the thread sees the work or the other side sees the sleeper.
//!
//! **Attendance.** A rank that polls does its NIC's work itself, which saves a change of threads for every packet where cores are
//! short. Its desk says when it last did, and who leaves work for a thread that sleeps for a *shift* wakes it only if that is a while
//! ago. The rank may stop polling right after that look, so only such a thread is left alone: the thread of a rank that has polled lately
//! sleeps for a shift at most, and one that sleeps without limit is woken by its rank's next poll, and by any work. Nothing waits for longer
//! than a shift. A rank that is about to sleep says so ([`Desks::depart`]), and looks for work once more.
#![expect(unsafe_code, reason = "overlays typed atomics on shared memory")]

use crate::sys::{self, Mapping};
use gasnet::{Error, FrameGrid};
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

/// A rank that polled within this time is expected to poll again.
const FRESH: u64 = 50_000;
/// Longest sleep there is: nothing depends on it.
const LONG: Duration = Duration::from_secs(5);

/// One rank's place.
#[repr(C, align(128))]
struct Desk {
    asleep: AtomicU32,
    /// When the rank last polled.
    polled: AtomicU64,
    /// Bytes of its segment, bytes behind it, and the key of both. Written before a barrier, read after it.
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
    /// Bytes in the shared memory file, whole pages.
    pub(crate) fn bytes(size: u32) -> u64 {
        (size as usize * size_of::<Desk>()).next_multiple_of(4096) as u64
    }

    /// Those of this host. `shift`: how long a thread sleeps whose rank polls.
    pub(crate) fn map(
        shm: BorrowedFd<'_>,
        offset: u64,
        size: u32,
        me: u32,
        shift: Duration,
    ) -> Result<Desks, Error> {
        let mapping = Mapping::shared(shm, offset, Desks::bytes(size) as usize)?;
        Ok(Desks { mapping, size, me, shift })
    }

    fn desk(&self, rank: u32) -> &Desk {
        assert!(rank < self.size, "rank {rank} of {}", self.size);
        // SAFETY: inside the mapping, which lives as long as `self`; atomics accept any bytes.
        unsafe { &*self.mapping.base().cast::<Desk>().add(rank as usize) }
    }

    /// Shows the others what they may reach. A barrier must follow.
    pub(crate) fn show(&self, export: &Segment, segment: u64) {
        self.note(self.me, export.key, segment, export.size - segment);
    }

    /// Notes what a rank lets others reach: of another host, or this one. All who note something note the same.
    pub(crate) fn note(&self, rank: u32, key: Key, segment: u64, extra: u64) {
        let desk = self.desk(rank);
        desk.segment.store(segment, Ordering::Relaxed);
        desk.extra.store(extra, Ordering::Relaxed);
        // ORDER: Release; pairs with Acquire in `import`; the two lengths.
        desk.key.store(key.0, Ordering::Release);
    }

    /// What a rank lets others reach, and how much of it is its segment. `None` before it has shown it.
    pub(crate) fn import(&self, rank: u32, port: PortId) -> Option<(Segment, u64)> {
        let desk = self.desk(rank);
        // ORDER: Acquire; pairs with Release in `show`.
        let key = Key(desk.key.load(Ordering::Acquire));
        let segment = desk.segment.load(Ordering::Relaxed);
        let size = segment + desk.extra.load(Ordering::Relaxed);
        (size > 0 && key.0 != 0).then_some((Segment { port, name: 0, address: 0, size, key }, segment))
    }

    /// The rank polls.
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

    /// The rank is about to sleep: from now on who leaves work for its NIC wakes the NIC's thread.
    pub(crate) fn depart(&self) {
        self.desk(self.me).polled.store(0, Ordering::Relaxed);
        // ORDER: SeqCst; pairs with the fence in `ring`: who leaves work sees that the rank sleeps, or the rank finds the work.
        fence(Ordering::SeqCst);
    }

    /// Whether the rank polls often.
    pub(crate) fn attended(&self) -> bool {
        self.fresh(self.me, self.shift.as_nanos() as u64)
    }

    fn fresh(&self, rank: u32, within: u64) -> bool {
        FrameGrid::now().saturating_sub(self.desk(rank).polled.load(Ordering::Relaxed)) < within
    }

    /// Work was left for the NIC of a rank: wakes its thread if nobody else can be expected to see to it. True: it did.
    pub(crate) fn ring(&self, rank: u32) -> bool {
        // ORDER: SeqCst; pairs with the fence in `sleep`: the thread sees the work, or we see that it sleeps.
        fence(Ordering::SeqCst);
        match self.desk(rank).asleep.load(Ordering::Relaxed) {
            AWAKE => false,
            // It looks by itself at the end of its shift.
            SHIFT if self.fresh(rank, FRESH) => false,
            _ => self.rouse(rank),
        }
    }

    /// Wakes the thread of a rank's NIC.
    pub(crate) fn rouse(&self, rank: u32) -> bool {
        let word = &self.desk(rank).asleep;
        // Relaxed: the word hands over nothing; what was left for the thread has orders of its own.
        let slept = word.swap(AWAKE, Ordering::Relaxed) != AWAKE;
        if slept {
            sys::wake(word);
        }
        slept
    }

    /// The thread of this rank's NIC sleeps, unless `work` does something or `stop` holds. `soon`: for a short time only.
    pub(crate) fn sleep(&self, soon: bool, mut work: impl FnMut() -> bool) {
        let (kind, time) = match self.attended() {
            _ if soon => (SHIFT, self.shift / 10),
            true => (SHIFT, self.shift),
            false => (DEEP, LONG),
        };
        let word = &self.desk(self.me).asleep;
        word.store(kind, Ordering::Relaxed);
        // ORDER: SeqCst; pairs with the fence in `ring`.
        fence(Ordering::SeqCst);
        if !work() {
            sys::sleep_on(word, kind, time);
        }
        word.store(AWAKE, Ordering::Relaxed);
    }

    /// Whether the thread of this rank's NIC sleeps until somebody wakes it.
    #[cfg(test)]
    pub(crate) fn sleeps_without_limit(&self) -> bool {
        self.desk(self.me).asleep.load(Ordering::Relaxed) == DEEP
    }

    /// Whether the thread of this rank's NIC runs, and so will see the work that was left for it before this call.
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
    use std::os::fd::{AsFd, FromRawFd, OwnedFd};

    /// A memory file.
    pub(crate) fn memory() -> OwnedFd {
        // SAFETY: a plain call; the descriptor it returns is ours.
        unsafe {
            let fd = libc::memfd_create(c"desks".as_ptr(), libc::MFD_CLOEXEC);
            assert!(fd >= 0, "a memory file");
            OwnedFd::from_raw_fd(fd)
        }
    }

    /// A poll that came between the thread's look at the time of the last one and its sleep did not see it sleep: nobody may take that
    /// poll for a promise that somebody will look soon.
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
