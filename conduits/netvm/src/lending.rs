//! The port of a rank's pager, and the memory that it lends ([`crate::pager::store::peers`]).
//!
//! A pager has a port of its own at its NIC, with windows of its own. Trays and lent memory are behind the
//! rank's segment. Trays are in the same export; each batch has one, as its key changes:
//!
//! ```text
//! segment (paged) | board, slots, mail | trays ] batch ] batch ] ...
//! ```
//!
//! Pages are transfers of that port; messages between stores are messages from NIC to host (port 0). The
//! paging thread gives commands and never waits: what the queue has no room for is in a list. The NIC's
//! reports wake it ([`PagerPort::posted`]).

use crate::pager::StoreBell;
use crate::pager::store::peers::{Offering, Share, TRAY_PAGES, Terms};
use crate::region::ExportedMemory;
use gasnet_sys::mutex::lock;
use netvm_fw::host::Segment;
use netvm_fw::port::{PortMemory, Post};
use netvm_fw::wire::Head;
use netvm_fw::{PAGE, PortId};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock};

/// The pager's port.
pub(crate) const PAGER_PORT: PortId = PortId(2);
/// Trays of a rank.
pub(crate) const TRAYS: usize = 32;
pub(crate) const TRAY_BYTES: u64 = TRAY_PAGES as u64 * PAGE as u64;

/// The memory that a rank borrows and lends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct LendingPlan {
    pub(crate) share: Share,
    /// Bytes that it lends, whole batches.
    pub(crate) donate: u64,
}

impl LendingPlan {
    /// Whether it takes part.
    pub(crate) fn is_used(&self) -> bool {
        self.share.borrow > 0 || self.donate > 0
    }

    /// Bytes of exported memory for it.
    pub(crate) fn bytes(&self) -> u64 {
        if self.is_used() { TRAYS as u64 * TRAY_BYTES + self.donate } else { 0 }
    }
}

/// The memory behind the segment that is for pagers.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) region: ExportedMemory,
    pub(crate) export: Segment,
    /// Offset of the trays.
    pub(crate) trays: u64,
}

/// The pager's port, as its NIC and its host see it.
#[derive(Debug)]
pub(crate) struct PagerPort {
    pub(crate) memory: Arc<PortMemory>,
    pub(crate) terms: Arc<Terms>,
    pub(crate) bell: OnceLock<StoreBell>,
    pub(crate) opened: OnceLock<Opened>,
    /// Messages that the store has not handled.
    inbox: Mutex<VecDeque<(Head, Vec<u8>)>>,
}

impl PagerPort {
    pub(crate) fn new() -> PagerPort {
        PagerPort {
            memory: Arc::new(PortMemory::new(1, 1)),
            terms: Arc::default(),
            bell: OnceLock::new(),
            opened: OnceLock::new(),
            inbox: Mutex::default(),
        }
    }

    /// The NIC writes to the port's memory.
    pub(crate) fn posted(&self, post: Post) {
        self.memory.apply(post);
        self.ring();
    }

    /// A message to the host. On the paging thread.
    pub(crate) fn told(&self, head: Head, bytes: Vec<u8>) {
        lock(&self.inbox).push_back((head, bytes));
        self.ring();
    }

    /// The next message.
    pub(crate) fn take(&self) -> Option<(Head, Vec<u8>)> {
        lock(&self.inbox).pop_front()
    }

    /// Wakes the paging thread.
    pub(crate) fn ring(&self) {
        if let Some(bell) = self.bell.get() {
            bell.ring();
        }
    }

    /// The memory is there: it is offered to the other ranks. Before the NIC runs.
    pub(crate) fn open(
        &self,
        plan: LendingPlan,
        (export, keys): (Segment, &[u64]),
        region: ExportedMemory,
        me: u32,
        size: u32,
    ) {
        let trays = export.size - TRAYS as u64 * TRAY_BYTES;
        if self.opened.set(Opened { region, export, trays }).is_ok() && plan.donate > 0 {
            let to = (0..size).filter(|&rank| rank != me).collect();
            self.terms.offer(Offering { at: export.size, keys: keys.to_vec(), to });
            self.ring();
        }
    }
}
