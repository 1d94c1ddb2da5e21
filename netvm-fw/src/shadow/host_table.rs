//! The host's side: map, unmap, test for dirt.

use std::sync::Arc;

use super::{Geometry, SharedTable};
use crate::ids::{Key, Ppn, Vpn};
use crate::prim::{Ordering, fence};

/// The effect of mapping a page on others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mapped {
    /// None.
    Alone,
    /// The row was full: this frame, still resident, is no longer found. Its next use bounces, which maps it
    /// again.
    PushedOut(Ppn),
}

/// The result of an attempt to unmap a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unmap {
    /// The NIC cannot find the page any more, and does not use the frame.
    Unmapped,
    /// The NIC uses the frame.
    Locked,
}

/// The host's side of a table.
#[derive(Debug)]
pub struct HostTable {
    shared: Arc<SharedTable>,
    /// For frames that are being freed, the page that they had.
    leaving: Box<[u64]>,
    random: u64,
}

impl HostTable {
    pub(super) fn new(shared: Arc<SharedTable>, seed: u64) -> HostTable {
        let leaving = vec![0; shared.geometry.frames as usize].into();
        HostTable { shared, leaving, random: seed | 1 }
    }

    /// Size and shape.
    pub fn geometry(&self) -> Geometry {
        self.shared.geometry
    }

    /// The page that a frame is mapped for.
    pub fn page(&self, ppn: Ppn) -> Option<Vpn> {
        let page = self.shared.page[ppn.index()].load(Ordering::Relaxed);
        (page != 0).then_some(Vpn(page))
    }

    /// Lets the NIC find a page in a frame. The frame's contents must be complete before. A page that a full
    /// row pushed out is mapped again by the same call.
    ///
    /// # Panics
    /// The frame is mapped for another page, or its last page was taken away for good and is in use still.
    pub fn map(&mut self, vpn: Vpn, ppn: Ppn, key: Key) -> Mapped {
        let i = ppn.index();
        assert!(self.leaving[i] == 0 || self.finish(ppn) == Unmap::Unmapped, "frame {} is in use", ppn.get());
        match self.page(ppn) {
            None => {
                self.shared.key[i].store(key.0, Ordering::Relaxed);
                // ORDER: Release; pairs with Acquire in NicTable::try_frame; the key, and the frame's
                // contents.
                self.shared.page[i].store(vpn.0, Ordering::Release);
            }
            Some(page) => assert_eq!(page, vpn, "frame {} is mapped for another page", ppn.get()),
        }
        let row = self.shared.row(vpn.hash());
        let mut slot = 0;
        while slot < row.len() {
            let entry = row[slot].load(Ordering::Relaxed);
            if entry == ppn.get() {
                return Mapped::Alone;
            }
            if entry == 0 {
                break;
            }
            slot += 1;
        }
        let pushed_out = if slot == row.len() {
            // Not `fastrand`: published figures of the simulator depend on these draws.
            self.random ^= self.random << 13;
            self.random ^= self.random >> 7;
            self.random ^= self.random << 17;
            slot = ((self.random >> 32) as usize) % row.len();
            Ppn::new(row[slot].load(Ordering::Relaxed))
        } else {
            None
        };
        // ORDER: Release; pairs with Acquire in NicTable::find; the frame map is filled before the entry is
        // found.
        row[slot].store(ppn.get(), Ordering::Release);
        pushed_out.map_or(Mapped::Alone, Mapped::PushedOut)
    }

    /// Removes the page from the frame map, so that the NIC can no longer lock it; present locks stay.
    fn withdraw(&mut self, ppn: Ppn) {
        self.shared.page[ppn.index()].store(0, Ordering::Relaxed);
        // ORDER: SeqCst; pairs with the fence in NicTable::try_frame: one of us sees the other's store.
        fence(Ordering::SeqCst);
    }

    /// Whether the NIC uses a frame, or has declared that it wants to.
    pub fn locked(&self, ppn: Ppn) -> bool {
        // ORDER: Acquire; pairs with Release in NicTable::clear_if_free; what the NIC wrote, and its dirty
        // mark.
        self.shared.lock.get(ppn.index(), Ordering::Acquire)
    }

    /// Takes a page away from the NIC, unless it is in use. A frame that is not mapped counts as unmapped.
    pub fn unmap(&mut self, ppn: Ppn) -> Unmap {
        let Some(vpn) = self.page(ppn) else { return self.finish(ppn) };
        self.withdraw(ppn);
        if self.locked(ppn) {
            // ORDER: Release; pairs with Acquire in NicTable::try_frame, as in `map`.
            self.shared.page[ppn.index()].store(vpn.0, Ordering::Release);
            return Unmap::Locked;
        }
        self.remove_entry(vpn, ppn);
        Unmap::Unmapped
    }

    /// Takes a page away from the NIC permanently. If it returns `Locked`, the NIC can no longer lock the
    /// page but still uses it: call again, and after at most one DMA it returns `Unmapped` (if there are
    /// leases, [break them](super::NicTable::break_leases)).
    pub fn free(&mut self, ppn: Ppn) -> Unmap {
        let i = ppn.index();
        if let Some(vpn) = self.page(ppn) {
            self.withdraw(ppn);
            self.leaving[i] = vpn.0;
        }
        self.finish(ppn)
    }

    /// Whether a page that was taken away permanently is still in use.
    pub fn is_leaving(&self, ppn: Ppn) -> bool {
        self.leaving[ppn.index()] != 0 && self.locked(ppn)
    }

    fn finish(&mut self, ppn: Ppn) -> Unmap {
        if self.locked(ppn) {
            return Unmap::Locked;
        }
        let vpn = core::mem::take(&mut self.leaving[ppn.index()]);
        if vpn != 0 {
            self.remove_entry(Vpn(vpn), ppn);
        }
        Unmap::Unmapped
    }

    /// Closes the gap with the row's last entry. A NIC that scans meanwhile may miss the one that moves: it
    /// bounces.
    fn remove_entry(&mut self, vpn: Vpn, ppn: Ppn) {
        let row = self.shared.row(vpn.hash());
        let load = |slot: usize| row[slot].load(Ordering::Relaxed);
        let len = (0..row.len()).find(|&slot| load(slot) == 0).unwrap_or(row.len());
        if let Some(slot) = (0..len).find(|&slot| load(slot) == ppn.get()) {
            // ORDER: Release; pairs with Acquire in NicTable::find; the frame map of the entry that moves.
            row[slot].store(load(len - 1), Ordering::Release);
            row[len - 1].store(0, Ordering::Relaxed);
        }
    }

    /// Whether the NIC has written to a frame since the last call; marks it clean. The caller must remember a
    /// yes until the page has been written out.
    pub fn test_and_clean(&mut self, ppn: Ppn) -> bool {
        let i = ppn.index();
        let nic = self.shared.nic_dirty.get(i, Ordering::Relaxed);
        let dirty = self.shared.host_dirty.get(i, Ordering::Relaxed) == nic;
        if dirty {
            self.shared.host_dirty.set(i, !nic, Ordering::Relaxed);
        }
        dirty
    }

    /// Entries in the rows now, and rows that hold at least one.
    pub fn occupancy(&self) -> (usize, usize) {
        let depth = self.shared.geometry.depth as usize;
        let filled = |row: &[_]| {
            row.iter().filter(|e: &&crate::prim::AtomicU32| e.load(Ordering::Relaxed) != 0).count()
        };
        self.shared
            .rows
            .chunks(depth)
            .map(filled)
            .fold((0, 0), |(n, rows), f| (n + f, rows + usize::from(f > 0)))
    }
}
