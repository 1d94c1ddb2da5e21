//! A segment larger than the memory it is allowed.
//!
//! A [`Pager`] owns a rank's segment: an anonymous mapping of any size, of which at most a *budget* is
//! resident. The rest is in a backing store. A page is brought in when it is used: by the program (the kernel
//! reports its faults through `userfaultfd`), by the NIC (which finds that the shadow table does not have it,
//! and bounces the message), or by a [`Pager::hold`].
//!
//! ```text
//! program      faults, also in system calls ----------------+
//! NIC thread   Interrupt: bounced, source missing ------+   |          +--- segment: put, protect, drop
//!              <-- reply: placed, restart, resume --+   |   |          |
//!              DMA through PagedMemory, under locks |   v   v          |
//! anybody      hold, release -------------------> paging thread  ------+--- backing store: slots of a nameless file
//!                                                  netvm_fw::host
//!                                                  (page states, four hooks, cleaner, exports, shadow table)
//! ```
//!
//! **A page leaves** in this way: the host removes it from the shadow table, unless the NIC has it locked,
//! and tests whether the NIC has written to it. A dirty page is *write-protected*, copied to the backing
//! store, and clean from then on. When it is chosen later it is *dropped*. A store of the program at any
//! moment either comes before the protection and is copied, or faults and waits: none is lost. A page that
//! was not stored to since it came in is dropped without I/O.
//!
//! **Threads.** One paging thread decides everything. It touches no page of the segment that is not present,
//! waits for nobody, and takes no lock of the program's. Its callbacks ([`Calls`]) must follow the same
//! rules.
//!
//! **Limits.**
//! - Children of a fork do not have the segment: an access there ends the child with `SIGSEGV`.
//! - The kernel's own DMA to user memory (`O_DIRECT` files, registered buffers) needs pages that stay
//!   resident: [hold](Pager::hold) them.
//! - `madvise(MADV_DONTNEED)` by the program turns a page into zeros, as elsewhere. Unmapping or moving parts
//!   of the segment is an error that is not detected.
//! - Without the right to serve the kernel's faults ([`Pager::serves_system_calls`]), system calls fail with
//!   `EFAULT` on pages that are out of memory.

pub mod costs;
mod engine;
mod error;
mod kernel;
mod memory;
mod mending;
mod queue;
mod stats;
pub(crate) mod store;
mod stream;

#[cfg(test)]
mod crowd;
#[cfg(test)]
mod tests;

use gasnet_sys::poll::PollSet;
use gasnet_sys::signals::SignalSet;
use std::io;
use std::ops::Range;
use std::os::fd::BorrowedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::thread::JoinHandle;
use std::time::Duration;

use firehose_live::uffd::{Feature, Uffd};
use gasnet_wire::Advice;
use netvm_fw::PortId;
use netvm_fw::host::{Host, HostConfig, KeySource, Segment};
use netvm_fw::nic::{HostReply, Interrupt};
use netvm_fw::shadow::{Geometry, NicTable, table};
use netvm_fw::wire::Head;

pub use error::{HoldError, Notice, PagerError};
pub use memory::PagedMemory;
pub use queue::{Hold, HoldDone};
pub use stats::PagerStats;

use engine::PagerEngine;
use kernel::Kernel;
use queue::{Command, Plan, Queue};
use stats::PagerCounters;
use store::peers::{BATCH_BYTES, Carrier, PeerStore, Share, Terms};
use store::{FileStore, PAGE_BYTES, Store};

/// Settings of a pager.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PagerConfig {
    /// Bytes of the segment; rounded up to whole pages.
    pub segment: u64,
    /// Bytes of ordinary memory behind the segment: always resident, not in the budget, in the same export.
    pub extra: u64,
    /// Of these, bytes at the end that are lent to peers in batches. Each batch is an export of its own.
    pub(crate) lent: u64,
    /// Bytes of the segment that may be resident at a time.
    pub budget: u64,
    /// A directory for the backing file. It should not be on a file system in memory.
    pub backing: PathBuf,
    /// Keep pages in memory that is not in the budget, if no file can be made there.
    pub or_memory: bool,
    /// The port that exports the segment.
    pub port: PortId,
    /// Pages to read ahead of sequential faults.
    pub read_ahead: u32,
    /// How long pages may wait for room in a full backing store.
    pub patience: Duration,
}

impl PagerConfig {
    /// The smallest budget of a segment that does not fit in it.
    pub const MIN_BUDGET: u64 = 64 * PAGE_BYTES;

    /// A segment with a budget and a directory, and default values for the rest.
    pub fn new(segment: u64, budget: u64, backing: impl Into<PathBuf>) -> PagerConfig {
        PagerConfig {
            segment,
            extra: 0,
            lent: 0,
            budget,
            backing: backing.into(),
            or_memory: false,
            port: PortId(1),
            read_ahead: 16,
            patience: Duration::from_secs(30),
        }
    }
}

/// The callbacks of the paging thread. None of them may block, touch the segment, wait for another thread, or
/// take a lock that a thread may hold while it touches the segment: put the data in a queue.
#[expect(missing_debug_implementations, reason = "closures")]
pub struct Calls {
    /// A reply of the host to its NIC, in order.
    pub reply: Box<dyn FnMut(HostReply) + Send>,
    /// A message for the port, or for the host. Answer: [`Pager::consumed`].
    pub message: Box<dyn FnMut(Head, Vec<u8>) + Send>,
    /// The port has notices.
    pub wake: Box<dyn FnMut(PortId) + Send>,
    /// The NIC's leases of this page have ended, because its frame is wanted.
    pub recalled: Box<dyn FnMut(u64) + Send>,
    /// A message to the user.
    pub notice: Box<dyn FnMut(Notice) + Send>,
    /// The pager cannot go on. Programs would wait for ever, so this should end the job; if it returns, the
    /// process is aborted.
    pub fatal: Box<dyn FnMut(&PagerError) + Send>,
}

impl Default for Calls {
    /// Does nothing, and reports fatal errors.
    fn default() -> Calls {
        Calls {
            reply: Box::new(|_| {}),
            message: Box::new(|_, _| {}),
            wake: Box::new(|_| {}),
            recalled: Box::new(|_| {}),
            notice: Box::new(|_| {}),
            fatal: Box::new(|error| gasnet_sys::stdio::say(&format!("{error}\n"))),
        }
    }
}

/// A rank's segment, and the thread that pages it.
#[derive(Debug)]
pub struct Pager {
    memory: Arc<PagedMemory>,
    queue: Arc<Queue>,
    counts: Arc<PagerCounters>,
    export: Segment,
    lent: Vec<u64>,
    len: u64,
    budget: u64,
    holdable: u64,
    direct: bool,
    in_memory: bool,
    thread: Option<JoinHandle<()>>,
    process: u32,
}

impl Pager {
    /// Maps a segment, exports it, and starts to page it. The returned table is the NIC's side of the shadow
    /// table, for the thread that runs the NIC.
    ///
    /// # Errors
    /// The budget is too small, the kernel lacks something or does not allow it, or there is no backing
    /// store.
    pub fn start(config: PagerConfig, calls: Calls) -> Result<(Pager, NicTable), PagerError> {
        Pager::start_with(config, calls, true, |file, _| Box::new(file))
    }

    /// [`start`](Self::start) with memory of peers before the file, which a carrier reaches.
    pub(crate) fn start_over<C: Carrier + 'static>(
        config: PagerConfig,
        calls: Calls,
        share: Share,
        terms: Arc<Terms>,
        carrier: impl FnOnce(StoreBell) -> C,
    ) -> Result<(Pager, NicTable), PagerError> {
        let pages = config.segment.div_ceil(PAGE_BYTES);
        Pager::start_with(config, calls, true, |file, queue| {
            Box::new(PeerStore::new(file, pages, carrier(StoreBell(queue)), share, terms))
        })
    }

    /// `store`: makes the backing store, around a file; it may wake the thread by the queue.
    fn start_with(
        config: PagerConfig,
        mut calls: Calls,
        protects: bool,
        store: impl FnOnce(FileStore, Arc<Queue>) -> Box<dyn Store>,
    ) -> Result<(Pager, NicTable), PagerError> {
        let paged = config.segment.div_ceil(PAGE_BYTES);
        if config.budget / PAGE_BYTES < paged && config.budget < PagerConfig::MIN_BUDGET {
            let minimum = PagerConfig::MIN_BUDGET.min(paged * PAGE_BYTES);
            return Err(PagerError::Budget { budget: config.budget, minimum });
        }
        let uffd = Uffd::open(Feature::WRITE_PROTECT).map_err(PagerError::NoUserfaultfd)?;
        let backing = |error| PagerError::Backing { dir: config.backing.clone(), error };
        let file = match FileStore::new(&config.backing, paged) {
            Err(_) if config.or_memory => FileStore::in_memory(paged),
            file => file,
        };
        let file = file.map_err(backing)?;
        let queue = Arc::new(Queue::new().map_err(PagerError::Thread)?);
        let store = store(file, queue.clone());
        let (direct, in_memory) = (store.file().is_direct(), store.file().is_in_memory());
        let mut fatal = Box::new(|_: &PagerError| {}) as Box<dyn FnMut(&PagerError) + Send>;
        std::mem::swap(&mut fatal, &mut calls.fatal);
        let (mut engine, export, nic_table) = engine(&config, calls, queue.clone(), Box::new(uffd), store)?;
        engine.protects = protects;
        engine.keep_extra()?;
        let (memory, counts, holdable) = (engine.memory.clone(), engine.counts.clone(), engine.holdable);
        let lent = engine.lent.iter().map(|batch| batch.key.0).collect();
        let thread = std::thread::Builder::new()
            .name("netvm-pager".to_string())
            .spawn(move || run(engine, fatal))
            .map_err(PagerError::Thread)?;
        let pager = Pager {
            memory,
            queue,
            counts,
            export,
            lent,
            len: config.segment,
            budget: allowed(&config) * PAGE_BYTES,
            holdable,
            direct,
            in_memory,
            thread: Some(thread),
            process: std::process::id(),
        };
        Ok((pager, nic_table))
    }

    /// The segment's first byte. The mapping ends when the pager and its [memory](Pager::memory) have been
    /// dropped.
    pub fn base(&self) -> NonNull<u8> {
        self.memory.base()
    }

    /// Bytes of the segment.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there is no segment.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes of the segment that may be resident.
    pub fn budget(&self) -> u64 {
        self.budget
    }

    /// The export of the segment and the memory behind it: name 0, addresses from 0.
    pub fn export(&self) -> Segment {
        self.export
    }

    /// The first key of each batch of lent memory.
    pub(crate) fn lent_keys(&self) -> &[u64] {
        &self.lent
    }

    /// The NIC's access to the segment.
    pub fn memory(&self) -> Arc<PagedMemory> {
        self.memory.clone()
    }

    /// Whether system calls can use pages that are out of memory. If not they fail with `EFAULT`.
    pub fn serves_system_calls(&self) -> bool {
        self.memory.kernel().serves_system_calls()
    }

    /// Whether the backing store bypasses the page cache.
    pub fn is_direct(&self) -> bool {
        self.direct
    }

    /// Whether the backing file is memory, since none could be made in its directory.
    pub(crate) fn is_in_memory(&self) -> bool {
        self.in_memory
    }

    /// Handles an interrupt of the NIC; [`flush`](Self::flush) must follow. The answers come by
    /// [`Calls::reply`].
    pub fn interrupt(&self, interrupt: Interrupt) {
        // When the pager has ended, so has the NIC's work.
        let _ = self.queue.push_later(Command::Interrupt(interrupt));
    }

    /// Wakes the paging thread if it was asked for something that cannot wait.
    pub fn flush(&self) {
        self.queue.flush();
    }

    /// The receiver has finished with a message that came by [`Calls::message`].
    pub fn consumed(&self, head: Head) {
        let _ = self.queue.push(Command::Consumed(head));
    }

    /// Pages that can be held at the same time; the others keep faults going.
    pub fn holdable(&self) -> u64 {
        self.holdable
    }

    /// Brings pages in and keeps them until they are [released](Pager::release) as often. They count in the
    /// budget. If too many pages are held, `wait` waits until others are released; without it that is an
    /// error. `done` is called on the paging thread, under the rules of [`Calls`].
    pub fn hold(&self, pages: Range<u64>, kind: Hold, wait: bool, done: HoldDone) {
        self.hold_later(pages, kind, wait, done);
        self.flush();
    }

    /// [`hold`](Self::hold) without waking the thread; [`flush`](Self::flush) must follow.
    pub fn hold_later(&self, pages: Range<u64>, kind: Hold, wait: bool, done: HoldDone) {
        let command = Command::Hold { pages, kind, wait, done };
        if let Err(Command::Hold { done, .. }) = self.queue.push_later(command) {
            done(Err(HoldError::Ended));
        }
    }

    /// Ends a hold, at the latest with the next request to the paging thread.
    pub fn release(&self, pages: Range<u64>, kind: Hold) {
        let _ = self.queue.push_later(Command::Release { pages, kind });
    }

    /// Takes advice on a range of bytes of the segment, which it must be inside of.
    ///
    /// - *Coming*: all its pages are fetched at once, whatever the read-ahead, as far as frames can be freed
    ///   for them; at most half of the pages that can be [held](Self::holdable).
    /// - *Overwrite*: the same, and pages that are wholly in the range are not read: those that are out of
    ///   memory come as zeros (Linux gives no page without filling it), those in memory stay as they are.
    ///   Returns when the contents have been given up, so that what is written afterwards stays.
    /// - *Leaving*: pages that are wholly in the range are written out if they are dirty; their frames can
    ///   then be reused.
    ///
    /// In a child of a fork or after a crash, pages under `Overwrite` show old contents or zeros.
    pub fn advise(&self, range: Range<u64>, advice: Advice) {
        let inside = range.start.min(self.len)..range.end.min(self.len);
        if inside.is_empty() {
            return;
        }
        let pages = inside.start / PAGE_BYTES..inside.end.div_ceil(PAGE_BYTES);
        // The rest of the last page belongs to nobody.
        let end = if inside.end == self.len { pages.end } else { inside.end / PAGE_BYTES };
        let whole = inside.start.div_ceil(PAGE_BYTES)..end;
        let (done, wait) = sync_channel(1);
        let asked = self.queue.push(Command::Advise(Plan { pages, whole, advice, done }));
        if asked.is_ok() && advice == Advice::Overwrite {
            // An error: the pager has ended.
            let _ = wait.recv();
        }
    }

    /// The counters.
    pub fn stats(&self) -> PagerStats {
        self.counts.snapshot()
    }
}

impl Drop for Pager {
    fn drop(&mut self) {
        // A child of a fork has no paging thread.
        if self.process != std::process::id() {
            return;
        }
        let _ = self.queue.push(Command::Stop);
        if let Some(thread) = self.thread.take() {
            // The thread does not panic: it aborts.
            let _ = thread.join();
        }
    }
}

/// Wakes the paging thread for its store.
#[derive(Debug, Clone)]
pub(crate) struct StoreBell(Arc<Queue>);

impl StoreBell {
    /// Something of the store may have finished.
    pub(crate) fn ring(&self) {
        // When the pager has ended, nobody waits for it.
        let _ = self.0.push(Command::Stored);
    }

    /// The store has handled a message that came by [`Calls::message`].
    pub(crate) fn consumed(&self, head: Head) {
        let _ = self.0.push(Command::Consumed(head));
    }
}

/// Pages of a segment of `paged` pages that can be held at the same time, if `budget` pages may be resident.
/// Some are set aside to keep faults going: the host's reserve, and the pages that it writes out together.
pub fn holdable(paged: u64, budget: u64) -> u64 {
    if budget >= paged { paged } else { budget - (budget / 8).clamp(32, 256) }
}

/// Pages of the segment that may be resident.
fn allowed(config: &PagerConfig) -> u64 {
    (config.budget / PAGE_BYTES).min(config.segment.div_ceil(PAGE_BYTES))
}

/// A number for keys, which takes nothing from those that a recorded rank draws.
fn secret() -> u64 {
    let mut bytes = [0; 8];
    gasnet_sys::fill_with_secret(&mut bytes);
    u64::from_ne_bytes(bytes)
}

/// Maps a segment, and makes what pages it: the engine, the export, and the NIC's side of the shadow table.
fn engine(
    config: &PagerConfig,
    calls: Calls,
    queue: Arc<Queue>,
    kernel: Box<dyn Kernel>,
    store: Box<dyn Store>,
) -> Result<(PagerEngine, Segment, NicTable), PagerError> {
    let paged = config.segment.div_ceil(PAGE_BYTES);
    // An export has at least one page.
    let extra = config.extra.div_ceil(PAGE_BYTES).max(u64::from(paged == 0));
    let (allowed, budget) = (allowed(config), config.budget / PAGE_BYTES);
    let mut host_config = HostConfig::new(allowed as u32);
    host_config.batch = (allowed / 8).clamp(1, 32) as u32;
    host_config.counts_flushing = store.is_slow();
    // Pages that fit as a whole never leave: there are always more free frames than the host wants.
    let slack = if budget >= paged { u64::from(host_config.spare + host_config.batch) + 1 } else { 0 };
    let frames = (allowed + extra + slack) as u32;
    let memory = Arc::new(PagedMemory::map(kernel, paged * PAGE_BYTES, extra * PAGE_BYTES, frames)?);
    let (host_table, nic_table) = table(Geometry::new(frames), secret());
    let mut host = Host::new(host_config, host_table, KeySource::drawn(secret));
    let export = |host: &mut Host, name, address, size| {
        host.export(config.port, name, address, size, &mut Vec::new()).expect("whole pages, each once")
    };
    let end = (paged + extra) * PAGE_BYTES - config.lent;
    let all = export(&mut host, 0, 0, end);
    let lent = (0..config.lent / BATCH_BYTES)
        .map(|batch| export(&mut host, 1 + batch, end + batch * BATCH_BYTES, BATCH_BYTES))
        .collect();
    let mut engine = PagerEngine::new(
        host,
        memory,
        store,
        queue,
        calls,
        config.port,
        holdable(paged, budget),
        config.read_ahead.min((allowed / 16) as u32),
        config.patience,
    );
    engine.lent = lent;
    Ok((engine, all, nic_table))
}

/// The thread's main function.
fn run(mut engine: PagerEngine, mut fatal: Box<dyn FnMut(&PagerError) + Send>) {
    // Handlers of the program may touch the segment, which this thread must not do. And a file that grows too
    // large must be an error here, not a signal.
    SignalSet::all().block();
    let queue = engine.queue.clone();
    let error = match catch_unwind(AssertUnwindSafe(|| engine.run())) {
        Ok(Ok(())) => {
            for command in queue.close() {
                if let Command::Hold { done, .. } = command {
                    done(Err(HoldError::Ended));
                }
            }
            return;
        }
        Ok(Err(error)) => error,
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| text.to_string()));
            PagerError::Panicked(text.unwrap_or_default())
        }
    };
    fatal(&error);
    std::process::abort();
}

/// Waits until descriptors are readable, or for some time.
fn wait(fds: [BorrowedFd<'_>; 2], timeout: Option<Duration>) -> io::Result<[bool; 2]> {
    let mut set = PollSet::default();
    fds.into_iter().for_each(|fd| set.add_input(fd));
    let ready = set.wait(timeout)?;
    Ok([0, 1].map(|entry| ready.has(entry)))
}
