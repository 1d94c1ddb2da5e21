//! The neighbourhood: the ranks of one host and the memory they share.
//!
//! Two memory files. The *control* file holds, in this order: the [header](HostHeader) with the barrier of
//! start-up, a [block](RankBlock) and a [station](Station) per rank, the [fates](deaths::Fate) of all ranks
//! of the job if they may die, the board of the [meeting](crate::meeting), the links of every neighbourhood's
//! [grid](grid::Grid), and from there on what the conduit wants. The *segment* file holds the segment of the
//! host's i-th rank at `i * stride`; it is sparse, so only touched pages cost.
#![expect(unsafe_code, reason = "overlays typed atomics on a shared mapping")]

pub(crate) mod bell;
pub mod deaths;
pub(crate) mod frames;
pub(crate) mod grid;
pub(crate) mod link;
pub mod map;
pub(crate) mod ring;

use crate::barrier::central::CentralBarrier;
use crate::boot::HostFile;
use crate::error::Error;
use crate::prim::{AtomicU64, Ordering};
use crate::wait::Station;
use std::os::fd::AsFd;

/// Makes sure that a host's file has this many bytes for it.
pub fn grow(file: &HostFile, bytes: u64) -> Result<(), Error> {
    match file.room {
        None => map::grow(file.file()?.as_fd(), bytes),
        Some(room) if bytes <= room => Ok(()),
        Some(room) => Err(Error::job(format!("a host of this job has {room} bytes of memory, not {bytes}"))),
    }
}

/// Start of the control file.
#[repr(C, align(128))]
pub(crate) struct HostHeader {
    pub(crate) start: CentralBarrier,
    /// A mark of the last error that a rank began to print, and of the last one that was printed.
    pub(crate) saying: AtomicU64,
    pub(crate) said: AtomicU64,
    /// The processors on which the ranks of the host may run, together. A bound rank knows its own only, and
    /// all must agree whether ranks outnumber processors.
    processors: [AtomicU64; map::SET_WORDS],
    pub(crate) left: Left,
}

/// How many ranks are not there any more, on a line of its own: who sends looks at it.
#[repr(C, align(128))]
pub(crate) struct Left {
    /// Those that have left, and those that have died.
    pub(crate) count: AtomicU64,
    /// If ranks may die: the number of worlds that the job had before this one, plus 1, and a bit that says
    /// whether the dead are replaced; else 0.
    pub(crate) world: AtomicU64,
    /// Those that have died.
    pub(crate) deaths: AtomicU64,
}

/// The words of a rank that the other ranks of its host read.
#[repr(C, align(128))]
pub(crate) struct RankBlock {
    /// The barrier of the neighbourhood that this rank leads.
    pub(crate) barrier: CentralBarrier,
    /// The contribution of that neighbourhood to the barrier among leaders, once all of it has arrived;
    /// else 0.
    pub(crate) gathered: AtomicU64,
    /// When it left, in milliseconds of the host's clock; 0 while it is there.
    pub(crate) left_at: AtomicU64,
}

/// The control file, mapped.
pub(crate) struct Host {
    /// Address and length.
    pub(crate) mapping: (usize, usize),
    pub(crate) header: &'static HostHeader,
    pub(crate) ranks: &'static [RankBlock],
    pub(crate) stations: &'static [Station],
}

impl Host {
    /// Tells the others where this rank may run. A barrier makes it known.
    pub(crate) fn tell_processors(&self) {
        for (word, bits) in self.header.processors.iter().zip(map::processors()) {
            if bits != 0 {
                word.fetch_or(bits, Ordering::Relaxed);
            }
        }
    }

    /// Processors on which the ranks of the host may run, together.
    pub(crate) fn processors(&self) -> [u64; map::SET_WORDS] {
        core::array::from_fn(|w| self.header.processors[w].load(Ordering::Relaxed))
    }

    /// Bytes of header and blocks: where the grid starts.
    pub(crate) fn bytes(size: u32) -> u64 {
        let each = size_of::<RankBlock>() + size_of::<Station>();
        (size_of::<HostHeader>() + size as usize * each).next_multiple_of(map::PAGE_BYTES) as u64
    }

    pub(crate) fn map(shm: &HostFile, size: u32) -> Result<Host, Error> {
        let len = Host::bytes(size);
        grow(shm, len)?;
        let base = map::map_shared(shm.file()?.as_fd(), shm.at, len as usize)?;
        // SAFETY: the mapping has this length and lives as long as the process.
        Ok(unsafe { Host::at(base, size) })
    }

    /// # Safety
    /// 1. `base` is a mapping of a control file with [`Host::bytes`] bytes that lives as long as what is
    ///    returned is used (owed by the caller).
    unsafe fn at(base: *mut u8, size: u32) -> Host {
        let n = size as usize;
        let blocks = size_of::<HostHeader>();
        let stations = blocks + n * size_of::<RankBlock>();
        // SAFETY: the three types are made of atomics, valid for any bytes, and their sizes are multiples of
        // the alignment they share; the mapping is long enough (1) and page-aligned.
        unsafe {
            Host {
                mapping: (base as usize, Host::bytes(size) as usize),
                header: &*base.cast::<HostHeader>(),
                ranks: core::slice::from_raw_parts(base.add(blocks).cast::<RankBlock>(), n),
                stations: core::slice::from_raw_parts(base.add(stations).cast::<Station>(), n),
            }
        }
    }
}
