//! The NIC's side: lock, translate, unlock, leases.

use std::sync::Arc;

use super::SharedTable;
use crate::ids::{Hash, Key, Ppn, Vpn};
use crate::prim::{Ordering, fence};

/// Why a page could not be locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockError {
    /// The page is not resident, not exported, pushed out of a full row, or being unmapped.
    Missing,
    /// The key does not match the page's.
    Refused,
}

/// A lock that stays until it is ended or broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Lease {
    /// The frame that holds the page.
    pub ppn: Ppn,
    /// The break count of the frame when the lease was made.
    pub breaks: u32,
}

#[derive(Debug, Clone, Copy, Default)]
struct FrameCounts {
    locks: u16,
    leases: u16,
    breaks: u32,
}

/// The NIC's side of a table.
#[derive(Debug)]
pub struct NicTable {
    shared: Arc<SharedTable>,
    counts: Box<[FrameCounts]>,
}

impl NicTable {
    pub(super) fn new(shared: Arc<SharedTable>) -> NicTable {
        let counts = vec![FrameCounts::default(); shared.geometry.frames as usize].into();
        NicTable { shared, counts }
    }

    /// Finds the frame of a page and locks it, if the key is right. Each success needs an
    /// [`unlock`](Self::unlock) or [`unlock_dirty`](Self::unlock_dirty).
    #[inline]
    pub fn lock(&mut self, vpn: Vpn, hash: Hash, key: Key) -> Result<Ppn, LockError> {
        let ppn = self.find(vpn, hash).ok_or(LockError::Missing)?;
        // The lock keeps the page in the frame, so this is the page's key.
        if self.shared.key[ppn.index()].load(Ordering::Relaxed) != key.0 {
            self.unlock(ppn);
            return Err(LockError::Refused);
        }
        Ok(ppn)
    }

    #[inline]
    fn find(&mut self, vpn: Vpn, hash: Hash) -> Option<Ppn> {
        // 0 means "no page" in the frame map, and may come from a peer.
        if vpn.0 == 0 {
            return None;
        }
        for slot in 0..self.shared.geometry.depth as usize {
            // ORDER: Acquire; pairs with Release in HostTable::map; whoever finds the entry finds the frame
            // map filled.
            let ppn = Ppn::new(self.shared.row(hash)[slot].load(Ordering::Acquire))?;
            if self.try_frame(ppn, vpn) {
                return Some(ppn);
            }
        }
        None
    }

    /// Locks a frame if it holds this page.
    #[inline]
    fn try_frame(&mut self, ppn: Ppn, vpn: Vpn) -> bool {
        let i = ppn.index();
        let page = &self.shared.page[i];
        // ORDER: Acquire; pairs with Release in HostTable::map; key and contents of the frame.
        if page.load(Ordering::Acquire) != vpn.0 {
            return false;
        }
        let counts = &mut self.counts[i];
        if counts.locks == 0 && counts.leases == 0 {
            // ORDER: Release; pairs with Acquire in HostTable::locked: the word has other frames' bits too,
            // and this store hides the clearing of those bits from a host that reads it instead.
            self.shared.lock.set(i, true, Ordering::Release);
            // ORDER: SeqCst; pairs with the fence in HostTable::withdraw: one of us sees the other's store.
            fence(Ordering::SeqCst);
            // ORDER: Acquire; pairs with Release in HostTable::map, in case the frame was unmapped and mapped
            // in between.
            if page.load(Ordering::Acquire) != vpn.0 {
                // ORDER: Release; pairs with Acquire in HostTable::locked, as in `give`.
                self.shared.lock.set(i, false, Ordering::Release);
                return false;
            }
        }
        counts.locks += 1;
        true
    }

    /// Ends a lock after reading the frame.
    #[inline]
    pub fn unlock(&mut self, ppn: Ppn) {
        let counts = &mut self.counts[ppn.index()];
        counts.locks -= 1;
        self.clear_if_free(ppn);
    }

    /// Ends a lock after writing to the frame.
    #[inline]
    pub fn unlock_dirty(&mut self, ppn: Ppn) {
        let i = ppn.index();
        let host = self.shared.host_dirty.get(i, Ordering::Relaxed);
        self.shared.nic_dirty.set(i, host, Ordering::Relaxed);
        self.unlock(ppn);
    }

    #[inline]
    fn clear_if_free(&mut self, ppn: Ppn) {
        let i = ppn.index();
        if self.counts[i].locks == 0 && self.counts[i].leases == 0 {
            // ORDER: Release; pairs with Acquire in HostTable::locked; our reads and writes of the frame, and
            // the dirty mark.
            self.shared.lock.set(i, false, Ordering::Release);
        }
    }

    /// Locks a page until the lease ends. Each lease must be [ended](Self::end_lease), unless it was broken.
    pub fn lease(&mut self, vpn: Vpn, hash: Hash, key: Key) -> Result<Lease, LockError> {
        let ppn = self.lock(vpn, hash, key)?;
        let counts = &mut self.counts[ppn.index()];
        counts.locks -= 1;
        counts.leases += 1;
        Ok(Lease { ppn, breaks: counts.breaks })
    }

    /// Locks the frame of a lease for one operation, without a search or a handshake. `Missing`: the lease
    /// was broken.
    #[inline]
    pub fn lock_leased(&mut self, lease: Lease, vpn: Vpn, key: Key) -> Result<Ppn, LockError> {
        let i = lease.ppn.index();
        let counts = self.counts.get_mut(i).ok_or(LockError::Missing)?;
        // Frame, break count and page may come from a peer: a lease that was never given must not be
        // accepted.
        let held = counts.leases > 0 && counts.breaks == lease.breaks && vpn.0 != 0;
        if !held || self.shared.page[i].load(Ordering::Relaxed) != vpn.0 {
            return Err(LockError::Missing);
        }
        if self.shared.key[i].load(Ordering::Relaxed) != key.0 {
            return Err(LockError::Refused);
        }
        counts.locks += 1;
        Ok(lease.ppn)
    }

    /// Ends a lease. Returns false if it had been broken.
    pub fn end_lease(&mut self, lease: Lease) -> bool {
        let Some(counts) = self.counts.get_mut(lease.ppn.index()) else { return false };
        if counts.leases == 0 || counts.breaks != lease.breaks {
            return false;
        }
        counts.leases -= 1;
        self.clear_if_free(lease.ppn);
        true
    }

    /// Ends all leases of a frame; operations under way finish first, as for any lock. Returns how many.
    pub fn break_leases(&mut self, ppn: Ppn) -> u32 {
        let counts = &mut self.counts[ppn.index()];
        let broken = counts.leases;
        counts.leases = 0;
        if broken > 0 {
            counts.breaks = counts.breaks.wrapping_add(1);
            self.clear_if_free(ppn);
        }
        u32::from(broken)
    }

    /// Present locks of a frame: (operations, leases).
    pub fn count(&self, ppn: Ppn) -> (u32, u32) {
        let counts = self.counts[ppn.index()];
        (u32::from(counts.locks), u32::from(counts.leases))
    }
}
