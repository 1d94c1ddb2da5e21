//! Tables: memory that the members of a team on one host share, for operations on small blocks.
//!
//! A table is a [`CentralBarrier`] and two *areas* that phases use in turn. In a phase every member writes
//! its bytes to its part of the area and arrives. The last to arrive may write a result, and then all read. A
//! member that enters the next phase uses the other area. No member reaches the phase after that before all
//! have arrived in the next one, and they arrive there after they have read. So two areas are enough.
//!
//! A host has [`TABLE_COUNT`] tables, and a bitmap of those in use. The first belongs to the team of all
//! ranks. The leader of another team takes one, and the last member that gives the team up returns it. A team
//! that gets none uses messages.
#![expect(unsafe_code, reason = "overlays tables on a shared mapping")]

use gasnet_wire::barrier::central::{CentralBarrier, WITH_ARRIVALS, WITH_PHASE};
use gasnet_wire::prim::{AtomicU32, AtomicU64, Ordering};

/// Number of tables of a host: one for each bit of the bitmap.
const TABLE_COUNT: usize = 64;
/// Bytes of an area.
pub(crate) const AREA_BYTES: usize = 4096;
/// Bytes of a result.
pub(crate) const RESULT_BYTES: usize = 1024;

/// Number of bits of the count of members.
const MEMBER_COUNT_BITS: u32 = 12;
/// Number of bits of the description of what members take part in.
const PART_BITS: u32 = 40;
/// Largest number of members of a team with a table.
pub(crate) const MAX_MEMBERS: usize = (1 << MEMBER_COUNT_BITS) - 1;

const _: () = assert!(2 * MEMBER_COUNT_BITS + PART_BITS <= 64);

/// The state of an operation as a member finds it on arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// Other members have not arrived.
    Early,
    /// All have arrived: the caller has to [publish](Table::publish).
    Last,
    /// The members that arrived before take part in another operation: its short word.
    Others(u32),
}

/// Shared memory of one team.
#[repr(C, align(128))]
pub(crate) struct Table {
    barrier: CentralBarrier,
    /// Number of members that have not given the team up.
    users: AtomicU32,
    results: [Bytes<RESULT_BYTES>; 2],
    areas: [Bytes<AREA_BYTES>; 2],
}

/// Bytes that processes write and read in turns.
#[repr(C, align(128))]
struct Bytes<const N: usize>(core::cell::UnsafeCell<[u8; N]>);

// SAFETY: reached by address only; the protocol of phases keeps writers and readers apart.
unsafe impl<const N: usize> Sync for Bytes<N> {}

/// All tables of a host: the bitmap, then the tables.
#[repr(C, align(128))]
pub(crate) struct Tables {
    taken: AtomicU64,
    tables: [Table; TABLE_COUNT],
}

impl Tables {
    /// Bytes of all tables.
    pub(crate) const BYTES: usize = size_of::<Tables>();

    /// Tables in memory that was zero when the job began.
    ///
    /// # Safety
    /// 1. `at` is valid for [`Tables::BYTES`] as long as the process lives, aligned to a page, used by this
    ///    type only (owed by the caller).
    pub(crate) unsafe fn at(at: *mut u8) -> &'static Tables {
        // SAFETY: (1); atomics and bytes are valid whatever the memory holds.
        unsafe { &*at.cast::<Tables>() }
    }

    /// A table. The first is that of all ranks; it is never given back.
    pub(crate) fn get(&self, index: usize) -> Option<&Table> {
        self.tables.get(index)
    }

    /// Takes a table for a new team of so many members.
    pub(crate) fn take(&self, members: u32) -> Option<usize> {
        let mut taken = self.taken.load(Ordering::Relaxed);
        loop {
            let free = (!(taken | 1)).trailing_zeros() as usize;
            if free == TABLE_COUNT {
                return None;
            }
            // ORDER: Acquire; pairs with Release in `give_back`: the members that had it before are done with
            // it.
            match self.taken.compare_exchange(taken, taken | 1 << free, Ordering::Acquire, Ordering::Relaxed)
            {
                Ok(_) => {
                    // The other members learn it by messages.
                    self.tables[free].users.store(members, Ordering::Relaxed);
                    self.tables[free].barrier.restart();
                    return Some(free);
                }
                Err(now) => taken = now,
            }
        }
    }

    /// A member has given its team up.
    pub(crate) fn give_back(&self, index: usize) {
        // ORDER: AcqRel; pairs with itself in the other members: the last one comes after all have read.
        if self.tables[index].users.fetch_sub(1, Ordering::AcqRel) == 1 {
            // ORDER: Release; pairs with Acquire in `take`.
            self.taken.fetch_and(!(1 << index), Ordering::Release);
        }
    }
}

impl Table {
    /// The area of a phase for `bytes` bytes, at most [`AREA_BYTES`]. A short area is next to the word at
    /// which members arrive.
    #[inline]
    pub(crate) fn area(&self, phase: u32, bytes: usize) -> *mut u8 {
        match bytes {
            ..=WITH_ARRIVALS => self.barrier.with_arrivals(phase),
            _ => self.areas[phase as usize & 1].0.get().cast(),
        }
    }

    /// The result of a phase of so many bytes, at most [`RESULT_BYTES`]; likewise.
    #[inline]
    pub(crate) fn result(&self, phase: u32, bytes: usize) -> *mut u8 {
        match bytes {
            ..=WITH_PHASE => self.barrier.with_phase(phase),
            _ => self.results[phase as usize & 1].0.get().cast(),
        }
    }

    /// This member's bytes are in the area. `part` says in what it takes part: a short word of the operation,
    /// and above it, in up to [`PART_BITS`] - 32 bits, the operation's number and step.
    ///
    /// The lowest bits of a word count the members; the sum of their parts is above. Each member that arrives
    /// compares the sum of those before it with as many times its own part. If all find it equal, all parts
    /// are equal.
    #[inline]
    pub(crate) fn arrive(&self, phase: u32, members: u32, part: u64) -> Arrival {
        let before = self.barrier.count_in(phase, part << MEMBER_COUNT_BITS | 1);
        let count = before & ((1 << MEMBER_COUNT_BITS) - 1);
        if before >> MEMBER_COUNT_BITS != count * part {
            return Arrival::Others((before >> MEMBER_COUNT_BITS).checked_div(count).unwrap_or(0) as u32);
        }
        if count as u32 != members - 1 {
            return Arrival::Early;
        }
        self.barrier.count_again(phase);
        Arrival::Last
    }

    /// Announces the result.
    #[inline]
    pub(crate) fn publish(&self, phase: u32) {
        self.barrier.publish(phase, 0);
    }

    /// Whether the result of the phase is there.
    #[inline]
    pub(crate) fn done(&self, phase: u32) -> bool {
        self.barrier.done(phase).is_some()
    }
}
