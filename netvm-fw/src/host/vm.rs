//! Page frames: the page in each frame, and the life of a frame from active to free. An ordinary virtual
//! memory has to call the shadow table at four points. Each of them is one function here.
//!
//! ```text
//!            page-in: [map]          [deactivate]           [clean]
//!  free ----> paging in ----> active ----------> inactive ----------> cache ----> free
//!                               ^                   |  \                ^
//!                               +-- used again -----+   +-> paging out -+          [free] from anywhere
//! ```
//!
//! 1. *map*, after a page-in of an exported page: the NIC can find it.
//! 2. *deactivate* skips a page that the NIC has written to.
//! 3. *clean*: dirty -> back to active; unmap (in use -> back to active); **test again**, because the NIC may
//!    have written between the first test and the unmapping; write out if dirty.
//! 4. *free*: takes the page away for good, waiting for at most one DMA; then the dirty bit is reset.
//!
//! Inactive pages stay mapped. A frame's `dirty` collects what the table's tests said until the page has been
//! written out.

use std::collections::HashMap;

use super::HostWork;
use crate::ids::{Key, Ppn, Vpn};
use crate::shadow::{HostTable, Mapped, Unmap};

/// The state of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FrameState {
    /// It holds no page.
    Free,
    /// Its page is on the way in.
    PagingIn,
    /// In use.
    Active,
    /// Not used recently; still mapped.
    Inactive,
    /// Clean and not mapped: it can be reused at once, or become active again without I/O.
    Cache,
    /// Being written out; not mapped.
    PagingOut,
    /// Freed, while the NIC still uses it.
    Leaving,
}

/// The result of an attempt to deactivate a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deactivated {
    /// The page is inactive.
    Yes,
    /// It was used since the last test; it stays active.
    Used,
    /// The NIC has written to it; it stays active.
    Dirtied,
    /// The host holds it.
    Held,
}

/// The result of an attempt to clean a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cleaned {
    /// The page has been used, or is held: it is active again.
    Reactivated,
    /// The NIC has a lock on it, or a lease: active again.
    Locked,
    /// It is in the cache.
    Cached,
    /// It must be written out; then call [`Vm::paged_out`].
    MustFlush,
}

#[derive(Debug, Clone, Copy)]
struct Frame {
    vpn: u64,
    state: FrameState,
    dirty: bool,
    used: bool,
    /// The page was faulted on while it was being written out.
    wanted: bool,
    /// It is freed as soon as its I/O has ended.
    doomed: bool,
    holds: u32,
    previous: u32,
    next: u32,
}

/// The first and the last of a list of frames; 0 = none.
#[derive(Debug, Clone, Copy, Default)]
struct List {
    first: u32,
    last: u32,
    len: u32,
}

/// The frames of a host, with the host's side of the shadow table.
#[derive(Debug)]
pub struct Vm {
    table: HostTable,
    frames: Box<[Frame]>,
    free: List,
    active: List,
    inactive: List,
    cache: List,
    places: HashMap<Vpn, Ppn>,
    /// Number of held frames.
    held: u32,
}

impl Vm {
    /// All frames of the table, free.
    pub fn new(table: HostTable) -> Vm {
        let n = table.geometry().frames as usize;
        let none = Frame {
            vpn: 0,
            state: FrameState::Free,
            dirty: false,
            used: false,
            wanted: false,
            doomed: false,
            holds: 0,
            previous: 0,
            next: 0,
        };
        let mut vm = Vm {
            table,
            frames: vec![none; n].into(),
            free: List::default(),
            active: List::default(),
            inactive: List::default(),
            cache: List::default(),
            places: HashMap::new(),
            held: 0,
        };
        (0..n).for_each(|i| vm.append(Ppn::at(i), FrameState::Free));
        vm
    }

    /// The host's side of the shadow table.
    pub fn table(&self) -> &HostTable {
        &self.table
    }

    /// The frame of a page, in any state.
    pub fn place(&self, vpn: Vpn) -> Option<Ppn> {
        self.places.get(&vpn).copied()
    }

    /// A frame's state.
    pub fn state(&self, ppn: Ppn) -> FrameState {
        self.frames[ppn.index()].state
    }

    /// The page in a frame.
    pub fn page(&self, ppn: Ppn) -> Option<Vpn> {
        let vpn = self.frames[ppn.index()].vpn;
        (vpn != 0).then_some(Vpn(vpn))
    }

    /// Whether a page can be used at once.
    pub fn is_resident(&self, vpn: Vpn) -> bool {
        self.place(vpn)
            .is_some_and(|ppn| matches!(self.state(ppn), FrameState::Active | FrameState::Inactive))
    }

    /// Numbers of active, inactive, cached and free frames.
    pub fn lengths(&self) -> (u32, u32, u32, u32) {
        (self.active.len, self.inactive.len, self.cache.len, self.free.len)
    }

    /// Keeps a page in its frame until [`release`](Self::release).
    pub fn hold(&mut self, ppn: Ppn) {
        let holds = &mut self.frames[ppn.index()].holds;
        self.held += u32::from(*holds == 0);
        *holds += 1;
    }

    /// Ends one [`hold`](Self::hold).
    pub fn release(&mut self, vpn: Vpn) {
        if let Some(ppn) = self.place(vpn) {
            let holds = &mut self.frames[ppn.index()].holds;
            self.held -= u32::from(*holds == 1);
            *holds = holds.saturating_sub(1);
        }
    }

    /// Number of held frames, which cannot be cleaned.
    pub fn held(&self) -> u32 {
        self.held
    }

    /// The host itself uses a resident page.
    pub fn touch(&mut self, ppn: Ppn, write: bool) {
        let frame = &mut self.frames[ppn.index()];
        frame.used = true;
        frame.dirty |= write;
    }

    /// A resident page has not been used: it was brought in with its neighbour.
    pub fn unused(&mut self, ppn: Ppn) {
        self.frames[ppn.index()].used = false;
    }

    /// Whether a frame is known to differ from the backing store.
    pub fn is_dirty(&self, ppn: Ppn) -> bool {
        self.frames[ppn.index()].dirty
    }

    // ---- the four hooks

    /// Hook 1: lets the NIC find a page that is exported under `key`.
    pub fn map(&mut self, ppn: Ppn, key: Key, work: &mut Vec<HostWork>) -> Mapped {
        let vpn = Vpn(self.frames[ppn.index()].vpn);
        work.push(HostWork::Map);
        self.table.map(vpn, ppn, key)
    }

    /// Hook 2: active -> inactive.
    pub fn deactivate(&mut self, ppn: Ppn, work: &mut Vec<HostWork>) -> Deactivated {
        debug_assert_eq!(self.state(ppn), FrameState::Active);
        let result = if self.frames[ppn.index()].holds > 0 {
            Deactivated::Held
        } else if core::mem::take(&mut self.frames[ppn.index()].used) {
            Deactivated::Used
        } else if self.test_dirty(ppn, work) {
            Deactivated::Dirtied
        } else {
            Deactivated::Yes
        };
        self.unlink(ppn);
        self.append(ppn, if result == Deactivated::Yes { FrameState::Inactive } else { FrameState::Active });
        result
    }

    /// Hook 3: inactive -> cache, by way of the backing store if dirty.
    pub fn clean(&mut self, ppn: Ppn, work: &mut Vec<HostWork>) -> Cleaned {
        debug_assert_eq!(self.state(ppn), FrameState::Inactive);
        let i = ppn.index();
        let used = self.frames[i].holds > 0
            || core::mem::take(&mut self.frames[i].used)
            || self.test_dirty(ppn, work);
        if used {
            self.unlink(ppn);
            self.append(ppn, FrameState::Active);
            return Cleaned::Reactivated;
        }
        self.give_way(ppn, work)
    }

    /// The rest of hook 3, for a page that must leave even if it is used: active or inactive -> cache.
    pub fn give_way(&mut self, ppn: Ppn, work: &mut Vec<HostWork>) -> Cleaned {
        let i = ppn.index();
        self.unlink(ppn);
        let kept = if self.frames[i].holds > 0 {
            Some(Cleaned::Reactivated)
        } else {
            (self.unmap(ppn, work) == Unmap::Locked).then_some(Cleaned::Locked)
        };
        if let Some(kept) = kept {
            self.append(ppn, FrameState::Active);
            return kept;
        }
        self.test_dirty(ppn, work);
        if self.frames[i].dirty {
            self.frames[i].state = FrameState::PagingOut;
            return Cleaned::MustFlush;
        }
        self.append(ppn, FrameState::Cache);
        Cleaned::Cached
    }

    /// Hook 4: frees a page. If it returns `Locked`, call [`finish_free`](Self::finish_free) until it does
    /// not, which takes at most one DMA.
    pub fn free(&mut self, ppn: Ppn, work: &mut Vec<HostWork>) -> Unmap {
        let i = ppn.index();
        if matches!(self.state(ppn), FrameState::Active | FrameState::Inactive | FrameState::Cache) {
            self.unlink(ppn);
        }
        self.places.remove(&Vpn(self.frames[i].vpn));
        self.frames[i].state = FrameState::Leaving;
        self.finish_free(ppn, work)
    }

    /// Continues [`free`](Self::free).
    pub fn finish_free(&mut self, ppn: Ppn, work: &mut Vec<HostWork>) -> Unmap {
        let unmapped = self.withdraw(ppn, work);
        if unmapped == Unmap::Unmapped {
            self.table.test_and_clean(ppn);
            let frame = &mut self.frames[ppn.index()];
            frame.dirty = false;
            self.held -= u32::from(core::mem::take(&mut frame.holds) > 0);
            self.append(ppn, FrameState::Free);
        }
        unmapped
    }

    /// Takes a page away from the NIC permanently; it stays in its frame. If it returns `Locked`, call again
    /// after at most one DMA.
    pub fn withdraw(&mut self, ppn: Ppn, work: &mut Vec<HostWork>) -> Unmap {
        let result = self.table.free(ppn);
        work.push(if result == Unmap::Locked { HostWork::UnmapLocked } else { HostWork::Unmap });
        result
    }

    fn unmap(&mut self, ppn: Ppn, work: &mut Vec<HostWork>) -> Unmap {
        let result = self.table.unmap(ppn);
        work.push(if result == Unmap::Locked { HostWork::UnmapLocked } else { HostWork::Unmap });
        result
    }

    /// Whether the NIC wrote to a page since the last test; a yes is kept in the frame.
    fn test_dirty(&mut self, ppn: Ppn, work: &mut Vec<HostWork>) -> bool {
        let dirty = self.table.test_and_clean(ppn);
        work.push(HostWork::TestDirty(dirty));
        self.frames[ppn.index()].dirty |= dirty;
        dirty
    }

    // ---- the states around the hooks

    /// Allocates a frame for a page that is to be brought in: a free frame, else one from the cache, together
    /// with the page that was in it.
    pub fn allocate(&mut self, vpn: Vpn) -> Option<(Ppn, Option<Vpn>)> {
        let ppn = Ppn::new(if self.free.len > 0 { self.free.first } else { self.cache.first })?;
        let i = ppn.index();
        self.unlink(ppn);
        let evicted = self.page(ppn);
        if let Some(old) = evicted {
            self.places.remove(&old);
        }
        // The dirty bit of the frame's last page must not make the next one dirty.
        self.table.test_and_clean(ppn);
        self.frames[i] = Frame {
            vpn: vpn.0,
            state: FrameState::PagingIn,
            dirty: false,
            used: true,
            wanted: false,
            doomed: false,
            holds: 0,
            ..self.frames[i]
        };
        self.places.insert(vpn, ppn);
        Some((ppn, evicted))
    }

    /// A page has been brought in: active, not mapped yet.
    pub fn paged_in(&mut self, ppn: Ppn) {
        debug_assert_eq!(self.state(ppn), FrameState::PagingIn);
        self.append(ppn, FrameState::Active);
    }

    /// A page from the cache is active again; not mapped yet.
    pub fn reactivate(&mut self, ppn: Ppn) {
        debug_assert_eq!(self.state(ppn), FrameState::Cache);
        self.unlink(ppn);
        self.frames[ppn.index()].used = true;
        self.append(ppn, FrameState::Active);
    }

    /// A page was faulted on while it is being written out.
    pub fn want(&mut self, ppn: Ppn) {
        self.frames[ppn.index()].wanted = true;
    }

    /// Marks a page on its way in or out to be freed when it arrives.
    pub fn doom(&mut self, ppn: Ppn) {
        self.frames[ppn.index()].doomed = true;
    }

    /// Whether a page is marked so; removes the mark.
    pub fn take_doom(&mut self, ppn: Ppn) -> bool {
        core::mem::take(&mut self.frames[ppn.index()].doomed)
    }

    /// A page has been written out. Returns true if it is active again, because it was faulted on; it is not
    /// mapped yet.
    pub fn paged_out(&mut self, ppn: Ppn) -> bool {
        debug_assert_eq!(self.state(ppn), FrameState::PagingOut);
        let frame = &mut self.frames[ppn.index()];
        frame.dirty = false;
        let wanted = core::mem::take(&mut frame.wanted);
        self.append(ppn, if wanted { FrameState::Active } else { FrameState::Cache });
        wanted
    }

    /// A page could not be written out: it is active again and as dirty as before, and not mapped yet.
    pub fn page_out_failed(&mut self, ppn: Ppn) {
        debug_assert_eq!(self.state(ppn), FrameState::PagingOut);
        self.frames[ppn.index()].wanted = false;
        self.append(ppn, FrameState::Active);
    }

    /// An inactive page that cannot leave now becomes active again.
    pub fn keep(&mut self, ppn: Ppn) {
        debug_assert_eq!(self.state(ppn), FrameState::Inactive);
        self.unlink(ppn);
        self.append(ppn, FrameState::Active);
    }

    /// The active page that was examined least recently.
    pub fn oldest_active(&self) -> Option<Ppn> {
        Ppn::new(self.active.first)
    }

    /// The page that has been inactive for longest.
    pub fn oldest_inactive(&self) -> Option<Ppn> {
        Ppn::new(self.inactive.first)
    }

    fn list(&mut self, state: FrameState) -> Option<&mut List> {
        match state {
            FrameState::Free => Some(&mut self.free),
            FrameState::Active => Some(&mut self.active),
            FrameState::Inactive => Some(&mut self.inactive),
            FrameState::Cache => Some(&mut self.cache),
            FrameState::PagingIn | FrameState::PagingOut | FrameState::Leaving => None,
        }
    }

    fn append(&mut self, ppn: Ppn, state: FrameState) {
        let i = ppn.index();
        if state == FrameState::Free {
            self.frames[i].vpn = 0;
        }
        let list = self.list(state).expect("a state with a list");
        let last = core::mem::replace(&mut list.last, ppn.get());
        list.len += 1;
        if last == 0 {
            list.first = ppn.get();
        }
        let frame = &mut self.frames[i];
        (frame.state, frame.previous, frame.next) = (state, last, 0);
        if let Some(last) = Ppn::new(last) {
            self.frames[last.index()].next = ppn.get();
        }
    }

    fn unlink(&mut self, ppn: Ppn) {
        let Frame { state, previous, next, .. } = self.frames[ppn.index()];
        if let Some(p) = Ppn::new(previous) {
            self.frames[p.index()].next = next;
        }
        if let Some(n) = Ppn::new(next) {
            self.frames[n.index()].previous = previous;
        }
        let list = self.list(state).expect("a frame in a list");
        list.len -= 1;
        if previous == 0 {
            list.first = next;
        }
        if next == 0 {
            list.last = previous;
        }
    }
}
