//! The segment's memory: the pager, as the NIC's host half and as the keeper of pages for the registration
//! modes.

use crate::carrier::NicCarrier;
use crate::engine::{Card, HostHalf, PORT};
use crate::lending::{LendingPlan, PagerPort};
use crate::modes::{Held, Holder};
use crate::pager::store::peers::Lent;
use crate::pager::{Calls, Hold, HoldError, Notice, PagedMemory, Pager, PagerConfig, PagerError, PagerStats};
use crate::region::ExportedMemory;
use firehose::PinError;
use gasnet_sys::mutex::lock;
use gasnet_wire::{Advice, Error};
use netvm_fw::host::Segment;
use netvm_fw::nic::Interrupt;
use netvm_fw::shadow::NicTable;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Time for which pages wait for room in a full backing store.
const FULL_STORE_LIMIT: Duration = Duration::from_secs(10);

/// A rank's paged segment.
pub(crate) struct Backing {
    pager: Pager,
    recalled: Arc<Recalls>,
    /// The port of a pager with peers.
    lending: Option<Arc<PagerPort>>,
}

/// Pages whose leases were taken back, and that the strategy has not been told of yet.
#[derive(Default)]
struct Recalls {
    pages: Mutex<Vec<u64>>,
    some: AtomicBool,
}

/// The configuration of a segment.
pub(crate) struct SegmentPlan {
    pub(crate) rank: u32,
    pub(crate) size: u32,
    /// Bytes of the segment, and of the memory behind it.
    pub(crate) segment: u64,
    pub(crate) behind: u64,
    /// Bytes of the segment that may be resident.
    pub(crate) budget: u64,
    /// The directory of the backing store, and whether it was chosen.
    pub(crate) folder: PathBuf,
    pub(crate) chosen: bool,
    /// Memory of peers, and for peers.
    pub(crate) lending: LendingPlan,
}

impl Backing {
    /// Makes the segment, and the NIC's side of its table.
    pub(crate) fn new(plan: SegmentPlan, card: &Arc<Card>) -> Result<(Backing, NicTable), Error> {
        let mut config = PagerConfig::new(plan.segment, plan.budget, plan.folder);
        let page = u64::from(netvm_fw::PAGE);
        (config.extra, config.port) = (plan.behind.next_multiple_of(page) + plan.lending.bytes(), PORT);
        config.patience = FULL_STORE_LIMIT;
        config.or_memory = !plan.chosen;
        let folder = config.backing.clone();
        config.lent = plan.lending.donate;
        let who = format!("gasnet: rank {} of {}: netvm: ", plan.rank, plan.size);
        let nic = Arc::downgrade(card);
        let (fatal_who, mut told) = (who.clone(), false);
        let recalled = Arc::new(Recalls::default());
        let (recalls, teller) = (recalled.clone(), nic.clone());
        let inbox = card.pager.clone();
        let calls = Calls {
            recalled: Box::new(move |page| {
                lock(&recalls.pages).push(page);
                // ORDER: Release; pairs with Acquire in `recalled`.
                recalls.some.store(true, Ordering::Release);
                if let Some(card) = teller.upgrade() {
                    card.tell();
                }
            }),
            reply: Box::new(move |reply| {
                if let Some(card) = nic.upgrade() {
                    card.reply(reply);
                }
            }),
            notice: Box::new(move |notice| match notice {
                Notice::Full { dir, stored } if !told => {
                    told = true;
                    let dir = dir.display();
                    gasnet_sys::stdio::say(&format!(
                        "{who}the backing store in {dir} is full ({stored} bytes in it): waiting for room\n"
                    ));
                }
                _ => {}
            }),
            fatal: Box::new(move |error: &PagerError| {
                gasnet_sys::stdio::say(&format!("{fatal_who}{error}\n"));
                gasnet_sys::process::exit_now(1);
            }),
            message: Box::new(move |head, bytes| inbox.told(head, bytes)),
            ..Calls::default()
        };
        let lending = plan.lending.is_used().then(|| card.pager.clone());
        let started = match &lending {
            None => Pager::start(config, calls),
            Some(port) => Pager::start_over(config, calls, plan.lending.share, port.terms.clone(), |bell| {
                NicCarrier::new(port, card, plan.rank, bell)
            }),
        };
        let (pager, table) = started.map_err(|e| Error::job(format!("netvm: {e}")))?;
        if plan.rank == 0 && !pager.serves_system_calls() && pager.budget() < plan.segment {
            gasnet_sys::stdio::say(
                "gasnet: warning: netvm: system calls fail on pages that are not in memory, because this process has no \
                 permission to handle page faults of the kernel\n",
            );
        }
        if plan.rank == 0 && pager.is_in_memory() && pager.budget() < plan.segment {
            gasnet_sys::stdio::say(&format!(
                "gasnet: warning: netvm: no file can be made in {}, so pages for which there is no room stay in memory; \
                 GASNET_NETVM_BACKING names another directory\n",
                folder.display()
            ));
        }
        let backing = Backing { pager, recalled, lending };
        if let Some(port) = &backing.lending {
            let exports = (backing.export(), backing.pager.lent_keys());
            port.open(plan.lending, exports, backing.region(), plan.rank, plan.size);
        }
        Ok((backing, table))
    }

    /// The rank leaves: it takes back what it lent, and gives back what it borrowed. Returns how many batches
    /// are missing, or `None` if that is over.
    pub(crate) fn leave(&self) -> Option<u64> {
        let port = self.lending.as_ref()?;
        if port.terms.leave() {
            port.ring();
        }
        (!port.terms.is_over()).then(|| port.terms.lent())
    }

    /// The rank waits no longer for what it lent.
    pub(crate) fn give_up(&self) {
        if let Some(port) = &self.lending {
            port.terms.give_up();
            port.ring();
        }
    }

    /// Counters of peers' memory.
    pub(crate) fn lending(&self) -> Lent {
        self.lending.as_ref().map_or_else(Lent::default, |port| port.terms.counts())
    }

    /// All exported memory but what is lent.
    #[expect(unsafe_code, reason = "vouches for the pager's mapping")]
    pub(crate) fn region(&self) -> ExportedMemory {
        // SAFETY: the pager keeps its export mapped as long as it lives, which is as long as the conduit.
        unsafe { ExportedMemory::new(self.pager.base(), self.pager.export().size) }
    }

    pub(crate) fn export(&self) -> Segment {
        self.pager.export()
    }

    pub(crate) fn memory(&self) -> Arc<PagedMemory> {
        self.pager.memory()
    }

    /// Passes advice on the segment to its pager.
    pub(crate) fn advise(&self, range: Range<u64>, advice: Advice) {
        self.pager.advise(range, advice);
    }

    pub(crate) fn stats(&self) -> PagerStats {
        self.pager.stats()
    }

    /// Bytes that may be resident.
    pub(crate) fn budget(&self) -> u64 {
        self.pager.budget()
    }

    /// Bytes that can be held at the same time.
    pub(crate) fn holdable(&self) -> u64 {
        self.pager.holdable() * u64::from(netvm_fw::PAGE)
    }
}

fn kind(pin: bool) -> Hold {
    if pin { Hold::Pin } else { Hold::Stay }
}

impl Holder for Backing {
    fn hold(&self, pages: Range<u64>, pin: bool, done: Held) {
        let done = |result: Result<(), HoldError>| {
            done(result.map_err(|e| match e {
                HoldError::Budget { .. } => PinError::Limit,
                HoldError::Pin(error) => PinError::System(error),
                _ => PinError::Unmapped,
            }));
        };
        self.pager.hold_later(pages, kind(pin), true, Box::new(done));
    }

    fn flush(&self) {
        self.pager.flush();
    }

    fn release(&self, pages: Range<u64>, pin: bool) {
        self.pager.release(pages, kind(pin));
    }

    fn recalled(&self) -> Vec<u64> {
        // ORDER: Acquire; pairs with Release where pages are added. The mark is cleared before the pages are
        // taken, so none is left behind.
        if self.recalled.some.load(Ordering::Relaxed) && self.recalled.some.swap(false, Ordering::Acquire) {
            return core::mem::take(&mut *lock(&self.recalled.pages));
        }
        Vec::new()
    }
}

impl HostHalf for Backing {
    fn interrupt(&self, interrupt: Interrupt) {
        self.pager.interrupt(interrupt);
    }

    fn flush(&self) {
        self.pager.flush();
    }
}
