//! Puts and gets that the system carries out between processes of a host, where all of memory is the segment
//! ([`SegmentCalls::attach_everything`](crate::SegmentCalls::attach_everything)): nobody can map such a
//! segment, and messages would need the target to poll.
//!
//! Whether the system allows it is found out at the start, neighbour by neighbour: each reads a word of the
//! other whose value it knows. The others, and neighbours that may not be read, are reached by messages.
#![expect(unsafe_code, reason = "copies between processes")]

use crate::{Rank, RankId};
use core::sync::atomic::{AtomicU64, Ordering};
use gasnet_sys::memory::{read_process, write_process};
use gasnet_sys::process::Pid;
use gasnet_wire::prim::fence;
use gasnet_wire::transfer::FarAccess;

/// A word that peers read to find out whether they may access this process, and whether it is this process
/// that they reach: a process id means another process in another namespace.
static PROBE: AtomicU64 = AtomicU64::new(0);

/// The processes that this one may copy from and to, by rank.
#[derive(Debug)]
pub(crate) struct Processes(Box<[Option<Pid>]>);

impl Processes {
    /// The data with which peers try to reach this process: its number, the address of [`PROBE`], and its
    /// value.
    pub(crate) fn own_probe() -> [u64; 3] {
        gasnet_sys::process::allow_access();
        let value = gasnet_sys::random();
        // Relaxed: ranks exchange this before they read it.
        PROBE.store(value, Ordering::Relaxed);
        [u64::from(std::process::id()), (&raw const PROBE).addr() as u64, value]
    }

    /// Tries the neighbours; the probes are in order of rank.
    pub(crate) fn meet(rank: &Rank, probes: &[[u64; 3]]) -> Processes {
        let reach = |(peer, &[pid, at, value]): (u32, &[u64; 3])| {
            let (mut copy, pid) = (0u64, pid as Pid);
            // A process id means something on its own host only.
            let near = rank.is_neighbour(RankId(peer)) && RankId(peer) != rank.id();
            // SAFETY: the word has as many bytes.
            let read = near
                && unsafe { read_process(pid, at as usize, (&raw mut copy).cast(), size_of::<u64>()) }
                    .is_ok();
            (read && copy == value).then_some(pid)
        };
        Processes((0..).zip(probes).map(reach).collect())
    }

    /// By rank.
    pub(crate) fn into_list(self) -> Box<[Option<Pid>]> {
        self.0
    }
}

impl Rank {
    /// The process of a rank, if this one may copy from and to it.
    #[inline]
    pub(crate) fn process(&self, peer: RankId) -> Option<Pid> {
        *self.processes.get()?.0.get(peer.0 as usize)?
    }

    /// Puts to a process. The data is in place on return.
    ///
    /// # Safety
    /// 1. `src` is valid for the transfer's length (owed by the caller). 2. The range is in the segment
    ///    (checked).
    pub(crate) unsafe fn process_put(&self, process: Pid, put: FarAccess, src: *const u8) {
        // SAFETY: (1); the target's program answers for its own memory, since it made all of it its segment
        // (2).
        if unsafe { write_process(process, self.there(put), src, put.len) }.is_err() {
            self.no_such_memory("put", put);
        }
        // ORDER: Release; pairs with whatever tells the target: the data comes before it.
        fence(Ordering::Release);
    }

    /// Gets from a process. The data is at `dst` on return.
    ///
    /// # Safety
    /// 1. `dst` is valid for the transfer's length (owed by the caller). 2. The range is in the segment
    ///    (checked).
    pub(crate) unsafe fn process_get(&self, process: Pid, get: FarAccess, dst: *mut u8) {
        // ORDER: Acquire; pairs with the Release of whatever told us that the data is there.
        fence(Ordering::Acquire);
        // SAFETY: (1).
        if unsafe { read_process(process, self.there(get), dst, get.len) }.is_err() {
            self.no_such_memory("get", get);
        }
    }

    /// The address of a transfer's bytes, for their owner.
    fn there(&self, far: FarAccess) -> usize {
        self.table().get(far.peer).map_or(0, |e| e.addr).wrapping_add(far.offset as usize)
    }

    #[cold]
    fn no_such_memory(&self, what: &str, far: FarAccess) -> ! {
        if self.wire.has_left(far.peer) {
            self.wire.fatal_started(what, far.peer);
        }
        self.fatal(&format!(
            "{what} of {} bytes at address {:#x} of rank {}: there is no such memory there",
            far.len,
            self.there(far),
            far.peer
        ))
    }
}
