//! Program memory under the NIC: regions of this rank, for the firmware.
//!
//! The core keeps the regions and checks each access; the NIC's thread, or whoever runs the NIC, carries it
//! out. The rank's own segment is not accessed so: its pages come and go, and a thread that runs the NIC must
//! not wait for one.

use firehose::Change;
use firehose_live::{Listener, MappingWatcher};
use gasnet_sys::memory::read_process;
use gasnet_wire::RegionError;
use gasnet_wire::conduit::regions::{RegionPlace, ServedRegions};
use netvm_fw::PAGE;
use netvm_fw::region::{Refusal, RegionMemory, RegionName};
use std::num::NonZeroU32;
use std::ops::Range;
use std::sync::Arc;

/// The rank's regions.
pub(crate) struct ExportedRegions(pub(crate) Arc<dyn ServedRegions>);

fn place(name: RegionName, at: u64) -> RegionPlace {
    RegionPlace { number: name.number, secret: name.secret, at }
}

fn refusal(why: RegionError) -> Refusal {
    NonZeroU32::new(why.code()).map_or(Refusal::UNKNOWN, Refusal)
}

/// The error that a peer's NIC has sent.
pub(crate) fn reason(why: Refusal) -> RegionError {
    RegionError::from_code(why.0.get()).unwrap_or(RegionError::Revoked)
}

impl RegionMemory for ExportedRegions {
    fn write(&self, to: RegionName, at: u64, bytes: &[u8]) -> Result<(), Refusal> {
        self.0.write(place(to, at), bytes).map_err(refusal)
    }

    fn read(&self, from: RegionName, at: u64, into: &mut [u8]) -> Result<(), Refusal> {
        self.0.read(place(from, at), into).map_err(refusal)
    }
}

/// Tells the core of memory that was unmapped while it was exported.
struct Reports(Arc<dyn ServedRegions>);

impl Listener for Reports {
    fn begin(&self) {
        self.0.hold_back();
    }

    fn tell(&self, change: Change) {
        match change {
            Change::Unmapped { addr, len } | Change::Moved { addr, len } => {
                self.0.taken_away(addr as usize, len as usize);
            }
            // Pages that were given up are there again when they are used.
            Change::Removed { .. } | Change::Forked | Change::Child | Change::All => {}
        }
    }

    fn end(&self) {
        self.0.go_on();
    }
}

/// Exported memory that the program may unmap.
pub(crate) struct Watched {
    watcher: MappingWatcher,
    /// Ranges of pages that do not overlap, and how many regions are in each.
    ranges: Vec<(Range<u64>, u32)>,
}

impl Watched {
    /// `None` if the system reports no unmapping, or does not copy within a process.
    pub(crate) fn new(regions: Arc<dyn ServedRegions>) -> Option<Watched> {
        let (probe, mut copy) = (5u8, 0u8);
        let process = std::process::id() as gasnet_sys::process::Pid;
        #[expect(unsafe_code, reason = "has the system copy a byte")]
        // SAFETY: `copy` has the byte.
        unsafe { read_process(process, (&raw const probe).addr(), &raw mut copy, 1) }.ok()?;
        let watcher = MappingWatcher::start(Arc::new(Reports(regions))).ok()?;
        Some(Watched { watcher, ranges: Vec::new() })
    }

    fn pages(at: usize, len: usize) -> Range<u64> {
        let page = u64::from(PAGE);
        let end = (at as u64).saturating_add(len.max(1) as u64);
        at as u64 / page * page..end.div_ceil(page).saturating_mul(page)
    }

    /// Watches the pages of a region; whether they can be watched.
    pub(crate) fn add(&mut self, at: usize, len: usize) -> bool {
        let mut pages = Watched::pages(at, len);
        if self.watcher.register(pages.start, pages.end - pages.start).is_err() {
            return false;
        }
        let mut regions = 1;
        self.ranges.retain(|(other, n)| {
            let apart = other.end <= pages.start || pages.end <= other.start;
            if !apart {
                pages = pages.start.min(other.start)..pages.end.max(other.end);
                regions += n;
            }
            apart
        });
        self.ranges.push((pages, regions));
        true
    }

    /// A region has ended. Pages are watched until the last region of their range ends.
    pub(crate) fn remove(&mut self, at: usize, len: usize) {
        let pages = Watched::pages(at, len);
        let of = self.ranges.iter().position(|(r, _)| r.start <= pages.start && pages.end <= r.end);
        if let Some(i) = of {
            self.ranges[i].1 -= 1;
            if self.ranges[i].1 == 0 {
                let (range, _) = self.ranges.swap_remove(i);
                self.watcher.unregister(range.start, range.end - range.start);
            }
        }
    }
}
