//! Records what a rank gets from the others, so that [`crate::replay`] can run that rank again, alone.
//!
//! A rank of one thread is a function of what its polls deliver, of whether there is room for what it sends,
//! and of what exchanges at its start give. All of that passes a conduit or an [`Exchange`], if no memory is
//! shared with anybody. So a recorded rank is told that it is alone on its host ([`Recorder::begin`]): it has
//! no neighbours, its control block and its segment are files of its own, and what ranks of the host exchange
//! goes through the launcher. Only the network below knows the true host. It is wrapped in a [`Recorded`],
//! which hides the network's one-sided operations: puts, gets and atomic operations then arrive as frames.
//!
//! What depends on the time is switched off above ([`Config::repeatable`]). The steps of waits decide
//! nothing, and their looks at clocks are no part of the recording: in a replay they do not happen
//! ([`Conduit::idle`]).
//!
//! A recording keeps the bytes that a rank gets ([`Kept::Frames`]), or only who came when ([`Kept::Order`]):
//! then the ranks of the job have to run again together, and [`crate::follow`] lets each of them meet its
//! messages in the recorded order.
//!
//! # Invariants
//! 1. What the rank learns is on the tape before the rank learns it.
//! 2. No lock is held while a frame is delivered.
#![expect(unsafe_code, reason = "a conduit promises the core that its slots and frames are memory")]

use crate::fingerprint::{hash_of_frame, hash_of_program};
use crate::inputs;
use crate::tape::{Counts, TapeLabel, TapeWriter};
use gasnet_sys::clock::{seen, unseen};
use gasnet_wire::am::MAX_ARGUMENTS;
use gasnet_wire::boot::{Exchange, HostFile, Overseer, ToMonitor};
use gasnet_wire::conduit::{Channel, Conduit, Frame, Meanwhile, OpenContext, RawSlot};
use gasnet_wire::{Boot, Config, Error, Gathered, RankId};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What a recording keeps of the messages that a rank gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// Their bytes: the rank can run again alone.
    Frames,
    /// Their order: all ranks can run again together.
    Order,
}

/// The file of a rank in the folder of a recording.
pub fn file_of(folder: &Path, kept: Kept, rank: u32) -> PathBuf {
    let name = match kept {
        Kept::Frames => "frames",
        Kept::Order => "order",
    };
    folder.join(format!("{name}.{rank}"))
}

/// Names of the facts at the beginning of a recording.
pub(crate) mod fact {
    /// The words of the command, each with a zero behind it.
    pub(crate) const ARGUMENTS: &str = "arguments";
    /// The variables of the environment, likewise.
    pub(crate) const ENVIRONMENT: &str = "environment";
    pub(crate) const DIRECTORY: &str = "directory";
    pub(crate) const PROGRAM: &str = "program";
    /// Bytes of the largest segment (u64).
    pub(crate) const MAX_SEGMENT: &str = "max_segment";
    pub(crate) const CONDUIT: &str = "conduit";
    /// Whether a poll of requests delivers replies (a byte).
    pub(crate) const POLLS_BOTH: &str = "polls_both";
    /// The largest frames: of each rank whose limits are not those of the rank before it the rank (u64), and
    /// the limit for each number of arguments (u64).
    pub(crate) const LIMITS: &str = "limits";
}

/// Numbers of arguments that a frame can have.
pub(crate) const ARGUMENT_COUNTS: usize = MAX_ARGUMENTS + 1;

/// The tape of a rank.
#[derive(Debug)]
struct Tape {
    rank: u32,
    kept: Kept,
    writer: Mutex<TapeWriter>,
    /// Those of the writer; the thread below counts.
    counts: Counts,
    /// The thread that calls the conduit: the address of its [`MARK`], or 0 before the first call.
    thread: AtomicUsize,
}

thread_local! {
    /// Its address tells threads apart.
    static MARK: u8 = const { 0 };
}

impl Tape {
    fn new(rank: u32, kept: Kept, writer: TapeWriter) -> Tape {
        let counts = writer.counts().clone();
        Tape { rank, kept, writer: Mutex::new(writer), counts, thread: AtomicUsize::new(0) }
    }

    fn write(&self) -> MutexGuard<'_, TapeWriter> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Refuses a second thread, whose steps would not be ordered with those of the first.
    #[inline]
    fn check_thread(&self) -> Result<(), Error> {
        let me = MARK.with(|mark| core::ptr::from_ref(mark).addr());
        // Relaxed, here and below: a thread compares the word with its own address only.
        if self.thread.load(Ordering::Relaxed) == me {
            return Ok(());
        }
        match self.thread.compare_exchange(0, me, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => Ok(()),
            Err(_) => Err(Error::job(
                "a second thread of the program communicates, and --record takes ranks that do so from one thread only",
            )),
        }
    }

    /// Says once that the tape is full.
    #[cold]
    fn say_stopped(&self, why: &std::io::Error) {
        gasnet_wire::last_words::say(&format!(
            "gasnet: warning: rank {}: its recording ends here, and the job goes on: {why}",
            self.rank
        ));
    }

    #[inline]
    fn check(&self, mut writer: MutexGuard<'_, TapeWriter>) {
        if let Some(why) = writer.stopped() {
            drop(writer);
            self.say_stopped(&why);
        }
    }
}

/// The host of a rank as it is, which the rank is not told.
pub(crate) struct TrueHost {
    shm: HostFile,
    host: Vec<u32>,
    exchange: Arc<dyn Exchange>,
}

impl core::fmt::Debug for TrueHost {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("TrueHost").field("host", &self.host).finish_non_exhaustive()
    }
}

/// Changes what a rank is told, so that it takes itself for alone on its host. `exchange` is between all
/// ranks, if `boot` has none. `max_segment` is in bytes.
pub(crate) fn tell_alone(
    boot: &mut Boot,
    exchange: Option<Box<dyn Exchange>>,
    config: Config,
    max_segment: u64,
) -> Result<(Config, TrueHost), Error> {
    let exchange: Arc<dyn Exchange> = match boot.exchange.take().or(exchange) {
        Some(exchange) => exchange.into(),
        None if boot.size == 1 => Arc::new(Nobody),
        None => return Err(Error::job(NOT_THIS_LAUNCHER)),
    };
    let file = |name| {
        let file = gasnet_sys::fd::memory_file(name).map(HostFile::from);
        file.map_err(|e| Error::job(format!("--record: {name}: {e}")))
    };
    boot.segments = file("gasnet-segments")?;
    let shm = core::mem::replace(&mut boot.shm, file("gasnet-shm")?);
    let host = core::mem::replace(&mut boot.host_ranks, vec![boot.rank]);
    let sharers = Some(host.len() as u32);
    let config = alone_in(Config { max_segment: Some(max_segment), sharers, ..config });
    Ok((config, TrueHost { shm, host, exchange }))
}

impl TrueHost {
    pub(crate) fn exchange(&self) -> Arc<dyn Exchange> {
        self.exchange.clone()
    }

    /// Opens the network by `open`.
    pub(crate) fn open(
        &self,
        cx: &OpenContext<'_>,
        open: impl FnOnce(&OpenContext<'_>) -> Result<Option<Box<dyn Conduit>>, Error>,
    ) -> Result<Box<dyn Conduit>, Error> {
        let shm = self.shm.file()?;
        let host = OpenContext {
            shm: shm.as_fd(),
            shm_offset: self.shm.at,
            host: &self.host,
            exchange: &*self.exchange,
            ..*cx
        };
        unseen(|| open(&host))?
            .ok_or_else(|| Error::job("--record: this network gives the ranks of a job nothing to record"))
    }
}

/// The largest segment of a rank of this job.
pub(crate) fn max_segment(boot: &Boot, config: &Config) -> u64 {
    let share = gasnet_sys::limits::physical_memory() / boot.host_ranks.len().max(1) as u64;
    config.max_segment.unwrap_or(share)
}

/// Records a rank.
#[derive(Debug)]
pub struct Recorder {
    tape: Arc<Tape>,
    host: TrueHost,
}

impl Recorder {
    /// Begins the recording of a rank in a folder, which it makes. `exchange` is between all ranks. Returns
    /// what the rank is to be told in place of `boot` and `config`.
    ///
    /// # Errors
    /// The file cannot be written, or the launcher gives no exchange.
    pub fn begin(
        folder: &Path,
        kept: Kept,
        mut boot: Boot,
        exchange: Option<Box<dyn Exchange>>,
        config: Config,
    ) -> Result<(Boot, Config, Recorder), Error> {
        let path = file_of(folder, kept, boot.rank);
        let failed = |e: std::io::Error| Error::job(format!("--record: {}: {e}", path.display()));
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
        let build = hash_of_program(Path::new("/proc/self/exe")).map_err(failed)?;
        let label = TapeLabel { build, job: boot.job_id, rank: boot.rank, size: boot.size };
        let mut writer = TapeWriter::create(&path, &label).map_err(failed)?;
        // What cannot be read a replay does without.
        let whole = |path: &str| std::fs::read(path).unwrap_or_default();
        writer.fact(fact::ARGUMENTS, &whole("/proc/self/cmdline"));
        writer.fact(fact::ENVIRONMENT, &whole("/proc/self/environ"));
        writer.fact(fact::DIRECTORY, std::env::current_dir().unwrap_or_default().as_os_str().as_bytes());
        writer.fact(fact::PROGRAM, std::env::current_exe().unwrap_or_default().as_os_str().as_bytes());
        let max_segment = max_segment(&boot, &config);
        writer.fact(fact::MAX_SEGMENT, &max_segment.to_le_bytes());
        let tape = Arc::new(Tape::new(boot.rank, kept, writer));
        inputs::listen(Box::new(Clock(tape.clone())));
        let (config, host) = tell_alone(&mut boot, exchange, config, max_segment)?;
        boot.exchange = Some(Box::new(RecordedExchange { inner: host.exchange(), tape: tape.clone() }));
        boot.overseer = Some(Box::new(End(tape.clone())));
        Ok((boot, config, Recorder { tape, host }))
    }

    /// Opens the network of the true host by `open`, and wraps it.
    ///
    /// # Errors
    /// Those of `open`, or there is no network.
    pub fn open(
        &self,
        cx: &OpenContext<'_>,
        open: impl FnOnce(&OpenContext<'_>) -> Result<Option<Box<dyn Conduit>>, Error>,
    ) -> Result<Option<Box<dyn Conduit>>, Error> {
        let inner = self.host.open(cx, open)?;
        let mut writer = self.tape.write();
        writer.fact(fact::CONDUIT, inner.name().as_bytes());
        writer.fact(fact::POLLS_BOTH, &[u8::from(inner.polls_both())]);
        let mut limits = Vec::new();
        let mut before = None;
        for rank in (0..cx.size).filter(|rank| *rank != cx.rank.0) {
            let all = limits_of(&*inner, rank);
            if before != Some(all) {
                limits.push(u64::from(rank));
                limits.extend(all);
            }
            before = Some(all);
        }
        let limits: Vec<u8> = limits.iter().flat_map(|n| n.to_le_bytes()).collect();
        writer.fact(fact::LIMITS, &limits);
        drop(writer);
        Ok(Some(Box::new(Recorded { inner, tape: self.tape.clone(), reserved: NOBODY.into() })))
    }
}

/// The largest frames to a rank, by number of arguments.
pub(crate) fn limits_of(conduit: &dyn Conduit, rank: u32) -> [u64; ARGUMENT_COUNTS] {
    core::array::from_fn(|n| conduit.limits(RankId(rank), n).max_frame as u64)
}

/// Records what clocks show to the program.
struct Clock(Arc<Tape>);

impl inputs::Looks for Clock {
    fn look(&self, clock: u8, now: u64) -> u64 {
        self.0.write().clock(clock, now);
        now
    }
}

/// The settings of a rank that is recorded or replayed.
pub(crate) fn alone_in(config: Config) -> Config {
    Config { neighborhood: 1, progress_thread: false, repeatable: true, ..config }
}

const NOT_THIS_LAUNCHER: &str = "--record: ranks can be recorded that gasnetrun has started";

/// The exchange of a job of one rank.
pub(crate) struct Nobody;

impl Exchange for Nobody {
    fn all_gather(&self, mine: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
        Ok(vec![mine.to_vec()])
    }
}

/// An exchange whose results are recorded.
struct RecordedExchange {
    inner: Arc<dyn Exchange>,
    tape: Arc<Tape>,
}

impl Exchange for RecordedExchange {
    fn all_gather(&self, mine: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
        Ok(self.all_gather_shared(mine)?.parts().map(<[u8]>::to_vec).collect())
    }

    fn all_gather_shared(&self, mine: &[u8]) -> Result<Arc<Gathered>, Error> {
        let said = unseen(|| self.inner.all_gather_shared(mine))?;
        // Where all ranks run again they meet again.
        if self.tape.kept == Kept::Frames {
            let mut writer = self.tape.write();
            writer.exchange(said.parts());
            self.tape.check(writer);
        }
        Ok(said)
    }
}

/// Hears how the rank ends.
struct End(Arc<Tape>);

impl Overseer for End {
    fn hear(&self, said: &ToMonitor) {
        let (ToMonitor::Done(status)
        | ToMonitor::Leaves(status)
        | ToMonitor::GlobalExit(status)
        | ToMonitor::Abort(status, _)) = said
        else {
            return;
        };
        // A signal handler that ends the rank may have interrupted whoever has the lock.
        if let Ok(mut writer) = self.0.writer.try_lock() {
            writer.ended(*status);
        }
    }
}

/// A conduit whose deliveries and answers are recorded.
struct Recorded {
    inner: Box<dyn Conduit>,
    tape: Arc<Tape>,
    /// For whom the slot is that was reserved last: twice the rank, and the channel; or [`NOBODY`].
    reserved: AtomicU64,
}

/// No slot is reserved.
const NOBODY: u64 = u64::MAX;

impl Recorded {
    fn sent(&self, to: RankId, channel: Channel, frame: &[u8]) {
        if self.tape.kept == Kept::Order {
            return;
        }
        let hash = hash_of_frame(frame);
        let mut writer = self.tape.write();
        writer.sent(channel, to.0, frame.len(), hash);
        self.tape.check(writer);
    }

    /// Whether there was room for a frame.
    fn had_room(&self, to: RankId, channel: Channel, len: usize, room: bool) {
        match (self.tape.kept, room) {
            (Kept::Frames, true) => {}
            (Kept::Frames, false) => self.tape.write().full(channel, to.0, len),
            (Kept::Order, true) => self.tape.counts.room(),
            (Kept::Order, false) => self.tape.write().full_after(),
        }
    }
}

#[deny(clippy::missing_trait_methods)]
// SAFETY: slots and frames are those of the inner conduit.
unsafe impl Conduit for Recorded {
    messages_only!();

    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn limits(&self, to: RankId, nargs: usize) -> gasnet_wire::conduit::Limits {
        self.inner.limits(to, nargs)
    }

    fn reserve(
        &self,
        to: RankId,
        channel: Channel,
        len: usize,
        immediate: bool,
    ) -> Result<Option<RawSlot>, Error> {
        self.tape.check_thread()?;
        let slot = unseen(|| self.inner.reserve(to, channel, len, immediate))?;
        if slot.is_some() {
            // Relaxed, here and below: only the thread of the tape uses it.
            self.reserved.store(u64::from(to.0) << 1 | channel as u64, Ordering::Relaxed);
        }
        self.had_room(to, channel, len, slot.is_some());
        Ok(slot)
    }

    unsafe fn commit(&self, slot: RawSlot) {
        let reserved = self.reserved.load(Ordering::Relaxed);
        if reserved != NOBODY {
            self.reserved.store(NOBODY, Ordering::Relaxed);
            let channel = if reserved & 1 == 0 { Channel::Request } else { Channel::Reply };
            // SAFETY: (1), so the bytes of the slot are filled in.
            let frame = unsafe { core::slice::from_raw_parts(slot.buf.as_ptr(), slot.len) };
            self.sent(RankId((reserved >> 1) as u32), channel, frame);
        }
        // SAFETY: owed by the caller.
        unseen(|| unsafe { self.inner.commit(slot) });
    }

    unsafe fn cancel(&self, slot: RawSlot) {
        self.reserved.store(NOBODY, Ordering::Relaxed);
        if self.tape.kept == Kept::Frames {
            self.tape.write().cancelled();
        }
        // SAFETY: owed by the caller.
        unseen(|| unsafe { self.inner.cancel(slot) });
    }

    fn send(&self, to: RankId, channel: Channel, frame: &[u8], immediate: bool) -> Result<bool, Error> {
        self.tape.check_thread()?;
        let sent = unseen(|| self.inner.send(to, channel, frame, immediate))?;
        self.had_room(to, channel, frame.len(), sent);
        if sent {
            self.sent(to, channel, frame);
        }
        Ok(sent)
    }

    fn poll(&self, channel: Channel, budget: usize, deliver: &mut dyn FnMut(Frame)) -> Result<usize, Error> {
        self.tape.check_thread()?;
        let mut delivered = false;
        let mut taken = |frame: Frame| {
            delivered = true;
            // SAFETY: a frame's bytes are valid during its delivery.
            let bytes = unsafe { core::slice::from_raw_parts(frame.data, frame.len) };
            match self.tape.kept {
                Kept::Frames => self.tape.write().frame(frame.channel, frame.from.0, bytes),
                Kept::Order => self.tape.write().came(frame.channel, frame.from.0, bytes),
            }
            seen(|| deliver(frame));
        };
        let done = unseen(|| self.inner.poll(channel, budget, &mut taken))?;
        if delivered || done > 0 {
            let mut writer = self.tape.write();
            writer.poll_ends(done as u64);
            self.tape.check(writer);
        } else {
            self.tape.counts.idle_poll();
        }
        Ok(done)
    }

    fn polls_both(&self) -> bool {
        self.inner.polls_both()
    }

    fn attach(&self, segment: &gasnet_wire::conduit::SegmentDesc) -> Result<(), Error> {
        unseen(|| self.inner.attach(segment))
    }

    fn advise(&self, offset: u64, len: u64, advice: gasnet_wire::conduit::Advice) {
        self.inner.advise(offset, len, advice);
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.inner.descriptor()
    }

    fn doze(&self, longest: Duration) -> bool {
        self.inner.doze(longest)
    }

    fn idle(&self, what: &'static str, meanwhile: Meanwhile) -> bool {
        unseen(|| self.inner.idle(what, meanwhile))
    }

    fn close(&self) {
        unseen(|| self.inner.close());
    }

    fn left_for(&self, rank: RankId) -> Option<Duration> {
        let gone = unseen(|| self.inner.left_for(rank))?;
        self.tape.write().left(rank.0);
        Some(gone)
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        self.inner.counters()
    }
}
