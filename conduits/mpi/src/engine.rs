//! Frames as MPI messages. See the crate's documentation for the protocol.
#![expect(unsafe_code, reason = "gives out buffers as slots and frames")]

use crate::calls::{self, MPI_Comm, MPI_Request};
use crate::head::{CREDITS, MessageHead, NUDGE, SHORTENED, put_in_second_word, without_second_word};
use crate::threads;
use crate::window::{self, MAX_OPERATION_BYTES, Window};
use gasnet_wire::conduit::credit::{Account, Terms};
use gasnet_wire::conduit::{
    Channel, Completion, Conduit, Frame, FrameLine, MIN_FRAME, OpenContext, RawSlot, RemoteAddr, Rma,
    SegmentDesc,
};
use gasnet_wire::{Bells, Error, RankId, Turn, Turns};
use std::collections::VecDeque;
use std::ffi::{c_int, c_void};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Bytes of one credit.
const CREDIT_BYTES: usize = 64;
/// Most bytes under way on one channel to one peer: 256 KiB. A frame counts at least as a page, because it
/// occupies a receive.
const TERMS: Terms =
    Terms { window: (256 << 10) / CREDIT_BYTES as u32, least: (4 << 10) / CREDIT_BYTES as u32 };
/// Receives to keep posted; the number may fall to half of that for a while.
const POSTED_RECEIVES: usize = 64;
/// Most frames of a channel that are being sent.
const MAX_OUTGOING_FRAMES: usize = 64;
/// Most messages taken in one poll.
const MAX_MESSAGES_PER_POLL: usize = 16;
/// Tests of the oldest receive in one look, when earlier looks found nothing: testing again at once is
/// quicker than another turn of the runtime.
const TESTS_PER_LOOK: u32 = 4;
/// Empty looks after which all receives are tested, not only the oldest.
const EMPTY_LOOKS_BEFORE_FULL_TEST: u32 = 1024;
/// Longest sleep of a progress thread. A put that cannot be announced (by a peer on another host, or inside
/// MPI) waits no longer than this.
const MAX_SLEEP: Duration = Duration::from_millis(1);
/// Longest sleep during `SHORT_SLEEPS_AFTER_RING` after a ring: what the ring announced may take more than
/// one call of MPI.
const MAX_SLEEP_AFTER_RING: Duration = Duration::from_micros(20);
const SHORT_SLEEPS_AFTER_RING: Duration = Duration::from_micros(100);
/// How long a leaving rank waits for the others. It is longer than they need to notice and report that they
/// wait for it in vain.
const LEAVING_TIMEOUT: Duration = Duration::from_secs(12);
/// Time that launchers get to forward a rank's last message.
const FORWARDING_TIME: Duration = Duration::from_millis(200);
/// Bytes that every MPI sends eagerly, whether or not the target is in a call.
const EAGER_BYTES: usize = 256;
/// Bytes of the largest frame.
const MAX_FRAME_BYTES: usize = MIN_FRAME;

/// Bytes of a message's head.
const HEAD_BYTES: usize = 8;
/// Offset of the frame, which begins on a cache line; the head ends there.
const FRAME_OFFSET_BYTES: usize = 64;

/// The head's fields are large enough.
const _: () = assert!(TERMS.window < 1 << 16 && MAX_FRAME_BYTES < 1 << 24);

/// A message that is sent eagerly.
#[repr(C, align(64))]
struct Small([u8; EAGER_BYTES]);

#[repr(C, align(64))]
struct Buffer([u8; FRAME_OFFSET_BYTES + MAX_FRAME_BYTES]);

impl Buffer {
    /// A buffer that is never freed. Buffers start at different offsets in a page. Short messages use only
    /// the start of a buffer, and equal offsets would compete for the same lines of a cache.
    fn new() -> NonNull<Buffer> {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let shift = MADE.fetch_add(3, Relaxed) % 64 * 64;
        let lines = vec![FrameLine([0; 64]); size_of::<Buffer>() / 64 + 64];
        // It is never freed.
        NonNull::from(&mut Vec::leak(lines)[shift / 64]).cast()
    }
}

fn head(buffer: NonNull<Buffer>) -> *mut u8 {
    // SAFETY: inside the buffer.
    unsafe { buffer.as_ptr().cast::<u8>().add(FRAME_OFFSET_BYTES - HEAD_BYTES) }
}

fn frame(buffer: NonNull<Buffer>) -> NonNull<u8> {
    // SAFETY: inside the buffer.
    unsafe { buffer.cast::<u8>().add(FRAME_OFFSET_BYTES) }
}

/// The number of credits that a frame of `len` bytes costs.
fn cost(len: usize) -> u32 {
    TERMS.cost((HEAD_BYTES + len).div_ceil(CREDIT_BYTES))
}

/// A buffer and its persistent receive request.
type Receive = (MPI_Request, NonNull<Buffer>);

/// All receives: posted, or with a frame.
struct Inbox {
    comm: MPI_Comm,
    /// Posted receives, the oldest first.
    posted: VecDeque<Receive>,
    /// Receives that can be posted again when there is nothing better to do.
    idle: Vec<Receive>,
    /// Empty looks since the last message.
    vain: u32,
}

impl Inbox {
    fn new(comm: MPI_Comm) -> Result<Inbox, Error> {
        let mut inbox = Inbox { comm, posted: VecDeque::new(), idle: Vec::new(), vain: 0 };
        inbox.keep_up(true)?;
        Ok(inbox)
    }

    /// Posts idle receives if there is `time`, and otherwise only if few are posted. Makes more receives if
    /// all hold frames that nobody has polled for yet; credits bound their number.
    fn keep_up(&mut self, time: bool) -> Result<(), Error> {
        while self.posted.len() < if time { POSTED_RECEIVES } else { POSTED_RECEIVES / 2 } {
            let mut receive = match self.idle.pop() {
                Some(receive) => receive,
                None => {
                    let buffer = Buffer::new();
                    // SAFETY: while the receive is posted it owns the buffer.
                    (
                        unsafe { calls::receive(head(buffer), HEAD_BYTES + MAX_FRAME_BYTES, self.comm) }?,
                        buffer,
                    )
                }
            };
            calls::post(&mut receive.0)?;
            self.posted.push_back(receive);
        }
        Ok(())
    }

    /// The next message, if one has come, and its sender. MPI matches messages to receives in the order in
    /// which those were posted. So testing the oldest is enough, unless that is matched to a large message
    /// whose sender is busy elsewhere.
    #[inline(always)]
    fn next(&mut self) -> Result<Option<(u32, Receive)>, Error> {
        let Some(oldest) = self.posted.front_mut() else { return Ok(None) };
        for _ in 0..=self.vain.min(TESTS_PER_LOOK - 1) {
            if let Some(from) = calls::test_receive(&mut oldest.0)? {
                self.vain = 0;
                return Ok(self.posted.pop_front().map(|receive| (from, receive)));
            }
        }
        self.vain = self.vain.wrapping_add(1);
        if self.vain.is_multiple_of(EMPTY_LOOKS_BEFORE_FULL_TEST) { self.any() } else { Ok(None) }
    }

    /// A message in any receive other than the oldest.
    #[cold]
    fn any(&mut self) -> Result<Option<(u32, Receive)>, Error> {
        for i in 1..self.posted.len() {
            if let Some(from) = calls::test_receive(&mut self.posted[i].0)? {
                return Ok(self.posted.remove(i).map(|receive| (from, receive)));
            }
        }
        Ok(None)
    }
}

/// Frames of one channel that are being sent.
#[derive(Default)]
struct Outbox {
    /// Active sends, the oldest first.
    leaving: VecDeque<(MPI_Request, NonNull<Buffer>)>,
    free: Vec<NonNull<Buffer>>,
    made: usize,
}

impl Outbox {
    /// Takes back the buffers of complete sends.
    fn reap(&mut self) -> Result<(), Error> {
        while let Some((request, buffer)) = self.leaving.front_mut() {
            if !calls::test(request)? {
                break;
            }
            self.free.push(*buffer);
            self.leaving.pop_front();
        }
        Ok(())
    }

    /// A buffer for a frame, if another may be used.
    fn buffer(&mut self) -> Result<Option<NonNull<Buffer>>, Error> {
        if self.free.is_empty() {
            self.reap()?;
        }
        if let Some(buffer) = self.free.pop() {
            return Ok(Some(buffer));
        }
        if self.made == MAX_OUTGOING_FRAMES {
            return Ok(None);
        }
        self.made += 1;
        Ok(Some(Buffer::new()))
    }

    /// Sends the contents of a buffer. With `waits` it uses `MPI_Send`, which may wait until the network has
    /// room, in some networks until the target is in MPI; it takes less time than the send that does not
    /// wait.
    fn send(
        &mut self,
        buffer: NonNull<Buffer>,
        words: MessageHead,
        to: u32,
        comm: MPI_Comm,
        waits: bool,
    ) -> Result<(), Error> {
        let (at, len) = (head(buffer), HEAD_BYTES + words.len);
        // SAFETY: the HEAD bytes of a buffer that nobody else uses.
        unsafe { at.cast::<u64>().write_unaligned(words.word()) };
        if len <= EAGER_BYTES && waits {
            // SAFETY: bytes of a buffer.
            unsafe { calls::send_small(at, len, to as i32, comm) }?;
            self.free.push(buffer);
            return Ok(());
        }
        // SAFETY: the send owns the buffer until it is complete.
        let request = unsafe { calls::send(at, len, to as i32, comm) }?;
        self.leaving.push_back((request, buffer));
        Ok(())
    }
}

/// A frame that has arrived and is not handled yet.
struct Ready {
    from: u32,
    receive: Receive,
    len: usize,
}

/// The state for calls of MPI; one thread at a time uses it.
struct MpiEngine {
    comm: MPI_Comm,
    inbox: Inbox,
    /// Sends by channel.
    outboxes: [Outbox; 2],
    /// Frames by channel that have arrived and were not polled for yet.
    ready: [VecDeque<Ready>; 2],
    accounts: Vec<Account>,
    /// Messages since the last empty look. The answer to a request comes alone; behind a second message there
    /// may be more.
    streak: u32,
    /// A peer's puts wait for this rank to call MPI more often.
    nudged: bool,
    window: Option<Window>,
    /// The attribute that reports MPI_Finalize.
    ending: Option<c_int>,
}

// SAFETY: only the engine uses the buffers, and MPI was initialised for several threads or is called under
// the engine's lock.
unsafe impl Send for MpiEngine {}

impl MpiEngine {
    /// The next frame of this channel, or a reply. `again`: this is not the first request of a poll; MPI is
    /// then asked only if more than one message came recently. This function and the functions it calls are
    /// on the path of every message: inlined into one another, they pass values in registers.
    #[inline(always)]
    fn next(&mut self, channel: Channel, again: bool) -> Result<Option<(Channel, Ready)>, Error> {
        let mut which = [Channel::Reply, channel].into_iter();
        if let Some(channel) = which.find(|channel| !self.ready[*channel as usize].is_empty()) {
            return Ok(self.ready[channel as usize].pop_front().map(|ready| (channel, ready)));
        }
        if again && self.streak <= 1 {
            return Ok(None);
        }
        for _ in 0..MAX_MESSAGES_PER_POLL {
            let Some((from, receive)) = self.inbox.next()? else {
                self.streak = 0;
                return self.in_vain().map(|()| None);
            };
            self.streak = self.streak.saturating_add(1);
            let came = self.take(from, receive)?;
            if self.inbox.posted.len() < POSTED_RECEIVES / 2 {
                self.inbox.keep_up(false)?;
            }
            match came {
                Some((Channel::Request, ready)) if channel == Channel::Reply => {
                    self.ready[Channel::Request as usize].push_back(ready);
                }
                Some(came) => return Ok(Some(came)),
                None => {}
            }
        }
        Ok(None)
    }

    /// Whether a frame has arrived.
    #[cold]
    fn look(&mut self) -> Result<bool, Error> {
        let asked = if self.ready[Channel::Request as usize].is_empty() {
            self.next(Channel::Request, false)?
        } else {
            None
        };
        if let Some((channel, ready)) = asked {
            self.ready[channel as usize].push_front(ready);
        }
        Ok(self.ready.iter().any(|ready| !ready.is_empty()))
    }

    /// No message came: does the work that can wait.
    #[inline(never)]
    fn in_vain(&mut self) -> Result<(), Error> {
        for outbox in &mut self.outboxes {
            if !outbox.leaving.is_empty() {
                outbox.reap()?;
            }
        }
        self.inbox.keep_up(true)
    }

    /// Handles a message; returns its frame if it has one.
    #[inline(always)]
    fn take(&mut self, from: u32, receive: Receive) -> Result<Option<(Channel, Ready)>, Error> {
        // SAFETY: the receive is complete, so the head is there.
        let MessageHead { credits, what, len } =
            MessageHead::read(unsafe { head(receive.1).cast::<u64>().read_unaligned() });
        let account = self.accounts.get_mut(from as usize);
        if !account.is_some_and(|account| account.returned(credits, TERMS)) {
            return Err(too_many_credits(from));
        }
        if what & SHORTENED != 0 {
            // SAFETY: a frame of `len` bytes fits into the buffer, and only its second word is missing.
            unsafe { put_in_second_word(frame(receive.1).as_ptr(), len) };
        }
        let channel = match what & !SHORTENED {
            0 => Channel::Request,
            1 => Channel::Reply,
            _ => {
                self.nudged |= what == NUDGE;
                self.inbox.idle.push(receive);
                return Ok(None);
            }
        };
        Ok(Some((channel, Ready { from, receive, len })))
    }

    /// A frame has been handled: its credits go back to its sender.
    #[inline(always)]
    fn handled(&mut self, channel: Channel, frame: Ready) -> Result<(), Error> {
        self.inbox.idle.push(frame.receive);
        let account = &mut self.accounts[frame.from as usize];
        account.handled(channel, cost(frame.len));
        if account.is_due(TERMS) { self.return_credits(frame.from) } else { Ok(()) }
    }

    #[inline(never)]
    fn return_credits(&mut self, to: u32) -> Result<(), Error> {
        let word = MessageHead { credits: self.accounts[to as usize].settle(), what: CREDITS, len: 0 }.word();
        calls::send_word(word, to as i32, self.comm)
    }

    /// Completes what is under way, together with all other ranks; returns whether they arrived within
    /// `patience`. MPI can only be finalised by all together.
    fn shut(mut self, patience: Duration) -> bool {
        let since = Instant::now();
        for outbox in &mut self.outboxes {
            while !outbox.leaving.is_empty() && since.elapsed() < patience && outbox.reap().is_ok() {
                std::thread::yield_now();
            }
        }
        let all = calls::meet(self.comm, patience);
        if all {
            self.inbox.posted.iter_mut().for_each(|(request, _)| calls::cancel(request, true));
            let ready = self.ready.iter_mut().flatten().map(|ready| &mut ready.receive);
            ready.chain(&mut self.inbox.idle).for_each(|(request, _)| calls::cancel(request, false));
            if let Some(window) = self.window.take() {
                window.close();
            }
        }
        all
    }
}

/// The engine, until it is shut: by the rank when it leaves, or because the program has called MPI_Finalize.
type Shared = Turns<Option<MpiEngine>>;

struct Mpi {
    engine: Arc<Shared>,
    /// This rank, and the number of ranks.
    place: (u32, u32),
    /// Whether this conduit initialised MPI.
    own: bool,
    /// Whether puts and gets use MPI's windows: these work as MPI specifies and, with progress threads,
    /// without the target's help.
    native: bool,
    /// Puts and gets under way.
    ops: AtomicUsize,
    /// Puts and gets started so far.
    transfers: AtomicU64,
    /// Doorbells that wake sleeping progress threads, if all ranks are on one host.
    bells: Option<Bells>,
    /// When the bell of this rank was last rung.
    rung: Turns<Option<Instant>>,
}

/// Opens the conduit unless shared memory reaches all ranks.
pub(crate) fn open(cx: &OpenContext<'_>) -> Result<Option<Box<dyn Conduit>>, Error> {
    if cx.neighbours.len() == cx.size as usize {
        return Ok(None);
    }
    let before = calls::initialised()?;
    let own = before.is_none();
    match before {
        None => calls::initialise(threads::wanted(cx.threading))?,
        Some((level, main)) => {
            let judged = threads::judge(level, cx.threading, cx.config.progress_thread, main);
            let warning = judged.map_err(|why| Error::job(format!("mpi: {why}")))?;
            if let Some(warning) = warning.filter(|_| cx.rank.0 == 0 && !cx.config.quiet) {
                eprintln!("gasnet: warning: mpi: {warning}");
            }
        }
    }
    let (rank, size) = calls::place()?;
    if (rank, size) != (cx.rank.0, cx.size) {
        return Err(Error::job(format!(
            "mpi: this is rank {} of {} of the job, but process {rank} of {size} in MPI: start the program by the mpirun of that \
             same MPI, or by `gasnetrun --conduit mpi`, which calls it",
            cx.rank, cx.size
        )));
    }
    // SAFETY: the doorbells have the conduit's shared memory for themselves.
    let bells = (cx.config.progress_thread && cx.host.len() == cx.size as usize)
        .then(|| unsafe { Bells::open(cx) })
        .transpose()?;
    if let Some(bells) = &bells {
        // No rank sends before all have made the communicator.
        bells.expect_sleeper();
    }
    let comm = calls::communicator()?;
    let engine = MpiEngine {
        comm,
        inbox: Inbox::new(comm)?,
        outboxes: Default::default(),
        ready: Default::default(),
        accounts: vec![Account::new(TERMS); size as usize],
        streak: 0,
        nudged: false,
        window: None,
        ending: None,
    };
    // Some puts need the target's help in several steps, of which a ring can announce only the first. Such a
    // put would wait for the sleeps of the target's progress thread, so it is sent as a message.
    let threads = calls::least(-i32::from(cx.config.progress_thread), comm)? != 0;
    let sound = window::sound(comm)?;
    if !sound && rank == 0 && !cx.config.quiet {
        eprintln!(
            "gasnet: warning: mpi: puts and gets go by messages, because the windows of this MPI do not work correctly"
        );
    }
    let native = sound && (!threads || window::needs_no_target(comm)?);
    let (ops, transfers) = (AtomicUsize::new(0), AtomicU64::new(0));
    let engine = Arc::new(Turns::new(cx.threading, Some(engine)));
    let value = Arc::into_raw(engine.clone()).cast_mut().cast();
    // SAFETY: `finalising` takes over the reference count that `value` stands for.
    let ending = unsafe { calls::at_finalise(finalising, value) }?;
    if let Some(engine) = engine.take().as_mut() {
        engine.ending = Some(ending);
    }
    let rung = Turns::new(cx.threading, None);
    Ok(Some(Box::new(Mpi { engine, place: (rank, size), own, native, ops, transfers, bells, rung })))
}

/// MPI calls this when it is finalised, or when the rank has left and deletes the attribute.
unsafe extern "C" fn finalising(_: MPI_Comm, _: c_int, value: *mut c_void, _: *mut c_void) -> c_int {
    // SAFETY: the value is that of `open`, and each attribute ends once.
    let engine = unsafe { Arc::from_raw(value.cast_const().cast::<Shared>()) };
    let engine = engine.take().take();
    if let Some(engine) = engine {
        // Wait however late the others call MPI_Finalize.
        engine.shut(Duration::MAX);
    }
    0
}

#[cold]
fn too_many_credits(from: u32) -> Error {
    Error::Peer(RankId(from), format!("mpi: rank {from} returned more credits than it was given"))
}

#[cold]
fn left() -> Error {
    Error::Conduit("mpi: the rank has left the job, or its program has called MPI_Finalize".to_string())
}

impl Mpi {
    /// Something was sent to a rank whose progress thread may sleep.
    #[inline]
    fn ring(&self, to: u32) {
        if let Some(bells) = &self.bells {
            bells.ring(RankId(to));
        }
    }

    /// Starts a put or a get, and counts it if that succeeded.
    fn started(&self, window: &mut Window, start: impl FnOnce(&mut Window) -> bool) -> bool {
        let started = start(window);
        // Relaxed: a hint; the lock orders the operations.
        self.ops.store(window.under_way(), Relaxed);
        // Relaxed: written under the lock; read on its own.
        self.transfers.store(self.transfers.load(Relaxed) + u64::from(started), Relaxed);
        started
    }

    #[inline]
    fn lock(&self) -> Turn<'_, Option<MpiEngine>> {
        self.engine.take()
    }
}

/// Flag in a slot's word: its frame must leave without waiting.
const IMMEDIATE: u64 = 2;

/// The destination of a slot's frame, as a word.
fn place(to: u32, channel: Channel, immediate: bool) -> u64 {
    u64::from(to) << 2 | if immediate { IMMEDIATE } else { 0 } | channel as u64
}

// SAFETY: a slot is a buffer from the free list, and a frame one whose receive is complete; nobody else uses
// either meanwhile.
unsafe impl Conduit for Mpi {
    fn name(&self) -> &'static str {
        "mpi"
    }

    fn reserve(
        &self,
        to: RankId,
        channel: Channel,
        len: usize,
        immediate: bool,
    ) -> Result<Option<RawSlot>, Error> {
        let mut guard = self.lock();
        let engine = guard.as_mut().ok_or_else(left)?;
        let account = &mut engine.accounts[to.0 as usize];
        if !account.pay(channel, cost(len)) {
            return Ok(None);
        }
        let Some(buffer) = engine.outboxes[channel as usize].buffer()? else {
            account.refund(channel, cost(len));
            return Ok(None);
        };
        let cookie = [buffer.as_ptr() as u64, place(to.0, channel, immediate)];
        Ok(Some(RawSlot { buf: frame(buffer), len, cookie }))
    }

    fn send(&self, to: RankId, channel: Channel, frame: &[u8], immediate: bool) -> Result<bool, Error> {
        assert!(HEAD_BYTES + frame.len() <= EAGER_BYTES, "the core sends small frames this way");
        if immediate {
            let Some(slot) = self.reserve(to, channel, frame.len(), true)? else { return Ok(false) };
            // SAFETY: the slot has room for the frame, which the caller has filled; it is committed once.
            unsafe {
                std::ptr::copy_nonoverlapping(frame.as_ptr(), slot.buf.as_ptr(), frame.len());
                self.commit(slot);
            }
            return Ok(true);
        }
        let rank = to.0;
        let mut guard = self.lock();
        let engine = guard.as_mut().ok_or_else(left)?;
        let account = &mut engine.accounts[rank as usize];
        if !account.pay(channel, cost(frame.len())) {
            return Ok(false);
        }
        let mut head = MessageHead { credits: account.settle(), what: channel as u8, len: frame.len() };
        let mut message = std::mem::MaybeUninit::<Small>::uninit();
        let at = message.as_mut_ptr().cast::<u64>();
        // SAFETY: there is room for head and frame, as checked; that many bytes are filled in and sent.
        unsafe {
            let len = match without_second_word(frame) {
                Some((first, rest)) => {
                    head.what |= SHORTENED;
                    at.add(1).write(first);
                    if !rest.is_empty() {
                        std::ptr::copy_nonoverlapping(rest.as_ptr(), at.add(2).cast(), rest.len());
                    }
                    frame.len() - 8
                }
                None => {
                    std::ptr::copy_nonoverlapping(frame.as_ptr(), at.add(1).cast(), frame.len());
                    frame.len()
                }
            };
            at.write(head.word());
            calls::send_small(at.cast(), HEAD_BYTES + len, rank as i32, engine.comm)?;
        }
        drop(guard);
        self.ring(rank);
        Ok(true)
    }

    unsafe fn commit(&self, slot: RawSlot) {
        let [at, place] = slot.cookie;
        let (to, channel, waits) = ((place >> 2) as u32, (place & 1) as usize, place & IMMEDIATE == 0);
        let mut guard = self.lock();
        let (Some(buffer), Some(engine)) = (NonNull::new(at as *mut Buffer), guard.as_mut()) else { return };
        let credits = engine.accounts[to as usize].settle();
        let head = MessageHead { credits, what: channel as u8, len: slot.len };
        if let Err(error) = engine.outboxes[channel].send(buffer, head, to, engine.comm, waits) {
            // A promised frame cannot be sent: this network is unusable from here on.
            drop(guard);
            eprintln!("gasnet: {error}");
            std::process::abort();
        }
        drop(guard);
        self.ring(to);
    }

    unsafe fn cancel(&self, slot: RawSlot) {
        let [at, place] = slot.cookie;
        let channel = if place & 1 == 0 { Channel::Request } else { Channel::Reply };
        let mut guard = self.lock();
        if let (Some(buffer), Some(engine)) = (NonNull::new(at as *mut Buffer), guard.as_mut()) {
            engine.outboxes[channel as usize].free.push(buffer);
            engine.accounts[(place >> 2) as usize].refund(channel, cost(slot.len));
        }
    }

    fn poll(&self, channel: Channel, budget: usize, deliver: &mut dyn FnMut(Frame)) -> Result<usize, Error> {
        let mut done = 0;
        let Some(mut guard) = self.engine.take_to_poll() else { return Ok(0) };
        while done < budget
            && let Some(engine) = guard.as_mut()
            && let Some((channel, ready)) = engine.next(channel, done > 0)?
        {
            drop(guard);
            let from = RankId(ready.from);
            deliver(Frame { from, channel, data: frame(ready.receive.1).as_ptr(), len: ready.len });
            guard = self.lock();
            done += 1;
            let Some(engine) = guard.as_mut() else { break };
            engine.handled(channel, ready)?;
        }
        Ok(done)
    }

    fn polls_both(&self) -> bool {
        true
    }

    fn attach(&self, segment: &SegmentDesc) -> Result<(), Error> {
        let mut guard = self.lock();
        let Some(engine) = guard.as_mut() else { return Ok(()) };
        if self.native {
            engine.window = Some(Window::open(segment.base, segment.len, engine.comm)?);
        }
        Ok(())
    }

    fn rma(&self) -> Option<&dyn Rma> {
        self.native.then_some(self)
    }

    fn doze(&self, longest: Duration) -> bool {
        let Some(bells) = &self.bells else { return false };
        // Operations under way from here proceed in calls of MPI only, and so does a large message after the
        // ring that announced it.
        let busy = |engine: &MpiEngine| engine.outboxes.iter().any(|outbox| !outbox.leaving.is_empty());
        if self.ops.load(Relaxed) > 0 || self.lock().as_ref().is_none_or(busy) {
            return false;
        }
        let there_is_one = || self.lock().as_mut().is_none_or(|engine| engine.look().unwrap_or(true));
        let of_late = self.rung.take().is_some_and(|rung| rung.elapsed() < SHORT_SLEEPS_AFTER_RING);
        let longest = longest.min(if of_late { MAX_SLEEP_AFTER_RING } else { MAX_SLEEP });
        let woken = bells.doze(there_is_one, longest);
        if woken {
            *self.rung.take() = Some(Instant::now());
            if let Some(engine) = self.lock().as_mut() {
                // MPI does not report that it served a put: more are likely.
                engine.nudged = true;
            }
        }
        woken
    }

    fn close(&self) {
        let Some(mut engine) = self.lock().take() else { return };
        if let Some(ending) = engine.ending.take() {
            calls::forget(ending);
        }
        match engine.shut(LEAVING_TIMEOUT) {
            _ if !self.own => {}
            true => calls::finalise(),
            // Launchers end the job as soon as this process ends without finalising MPI, some of them with
            // status 0.
            false => {
                let ((rank, size), patience) = (self.place, LEAVING_TIMEOUT.as_secs());
                let text = format!(
                    "gasnet: rank {rank} of {size}: mpi: this rank has left the job, and others have not for {patience} s: MPI ends \
                     when all ranks leave together, for example behind a barrier\n"
                );
                // In one write, and read before the launcher notices the end: launchers drop what comes
                // later, and what they have read but not forwarded.
                gasnet_sys::stdio::say(&text);
                gasnet_sys::stdio::wait_until_read(FORWARDING_TIME * 10);
                std::thread::sleep(FORWARDING_TIME);
                calls::abort();
            }
        }
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        vec![("puts and gets through windows", self.transfers.load(Relaxed))]
    }
}

// SAFETY: completions are reported when MPI reports them.
unsafe impl Rma for Mpi {
    unsafe fn put(&self, to: RemoteAddr, src: *const u8, len: usize, token: u64) -> bool {
        let mut guard = self.lock();
        let window = guard.as_mut().and_then(|engine| engine.window.as_mut());
        // SAFETY: owed by the caller.
        let put = |window: &mut Window| unsafe { window.put(to, src, len, token) };
        let started = window.is_some_and(|window| self.started(window, put));
        drop(guard);
        self.ring(to.rank.0);
        started
    }

    unsafe fn get(&self, dst: *mut u8, from: RemoteAddr, len: usize, token: u64) -> bool {
        let mut guard = self.lock();
        let window = guard.as_mut().and_then(|engine| engine.window.as_mut());
        // SAFETY: owed by the caller.
        let get = |window: &mut Window| unsafe { window.get(dst, from, len, token) };
        let started = window.is_some_and(|window| self.started(window, get));
        drop(guard);
        self.ring(from.rank.0);
        started
    }

    fn max_transfer(&self) -> usize {
        MAX_OPERATION_BYTES
    }

    fn poll(&self, budget: usize, complete: &mut dyn FnMut(u64, Completion)) -> usize {
        if self.ops.load(Relaxed) == 0 {
            // A wait that learns of puts keeps spinning.
            let guard = self.engine.take_to_poll();
            let nudged = guard.and_then(|mut guard| Some(std::mem::take(&mut guard.as_mut()?.nudged)));
            return usize::from(nudged.unwrap_or(false));
        }
        let mut done = Vec::new();
        let Some(mut guard) = self.engine.take_to_poll() else { return 0 };
        let Some(engine) = guard.as_mut() else { return 0 };
        let Some(window) = engine.window.as_mut() else { return 0 };
        let polled = window.poll(budget, &mut done).and_then(|slow| match slow {
            Some(to) => {
                let word = MessageHead { credits: [0; 2], what: NUDGE, len: 0 }.word();
                calls::send_word(word, to as i32, engine.comm)
            }
            None => Ok(()),
        });
        self.ops.store(window.under_way(), Relaxed);
        if let Err(error) = polled {
            drop(guard);
            eprintln!("gasnet: {error}");
            std::process::abort();
        }
        // Under the lock: the reports of a put come in order, whichever threads poll.
        done.iter().for_each(|&(token, how)| complete(token, how));
        done.len()
    }
}
