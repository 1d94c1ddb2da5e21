//! Frames as MPI messages. See the crate's documentation for the protocol.
#![expect(unsafe_code, reason = "gives out buffers as slots and frames")]

use crate::calls::{self, MPI_Comm, MPI_Request};
use crate::window::{self, LARGEST, Window};
use gasnet::conduit::{
    Channel, Completion, Conduit, Frame, MIN_FRAME, OpenContext, Peer, RawSlot, RemoteAddr, Rma, SegmentDesc,
};
use gasnet::{Error, RankId, Turn, Turns};
use std::collections::VecDeque;
use std::mem::take;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Frames of one channel that may be under way to one peer.
pub(crate) const WINDOW: u32 = 64;
/// Receives posted on each channel.
const POSTED: usize = 32;
/// Frames of a channel that may be on their way out.
const OUTGOING: usize = 64;
/// How long a rank that leaves waits for the others.
const PATIENCE: Duration = Duration::from_secs(5);
/// Bytes that every MPI sends at once, whether or not the target listens.
const SMALL: usize = 256;
/// Bytes of a frame at most.
const MAX_FRAME: usize = MIN_FRAME;

/// Bytes of a message's head: credits returned for both channels, whether a frame follows, its length.
const HEAD: usize = 16;
/// The head ends where the frame begins, on a line of its own.
const FRAME_AT: usize = 64;

#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; 64]);

#[repr(C, align(64))]
struct Buffer([u8; FRAME_AT + MAX_FRAME]);

impl Buffer {
    /// A buffer for good. They start at different places in a page: short messages use the start only, and starts that
    /// are all alike would compete for the same lines of a cache.
    fn new() -> NonNull<Buffer> {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let shift = MADE.fetch_add(3, Relaxed) % 64 * 64;
        let lines = vec![Line([0; 64]); size_of::<Buffer>() / 64 + 64];
        // For good, as said.
        NonNull::from(&mut Vec::leak(lines)[shift / 64]).cast()
    }
}

fn head(buffer: NonNull<Buffer>) -> *mut u8 {
    // SAFETY: inside the buffer.
    unsafe { buffer.as_ptr().cast::<u8>().add(FRAME_AT - HEAD) }
}

fn frame(buffer: NonNull<Buffer>) -> NonNull<u8> {
    // SAFETY: inside the buffer.
    unsafe { buffer.cast::<u8>().add(FRAME_AT) }
}

fn write_head(at: *mut u8, words: [u32; 4]) {
    // SAFETY: HEAD bytes of a buffer, which nobody else uses.
    unsafe { at.cast::<[u32; 4]>().write_unaligned(words) }
}

/// One channel's communicator and buffers.
struct Lane {
    comm: MPI_Comm,
    /// Receives, the oldest first.
    posted: VecDeque<Receive>,
    /// Who sent what is in the oldest, if it is complete.
    arrived: Option<u32>,
    /// Whether a message was handled since MPI said that there is none: then there may be more behind the next one.
    busy: bool,
    /// Sends, the oldest first.
    leaving: VecDeque<(MPI_Request, NonNull<Buffer>)>,
    /// Receives of frames that have been handled, to be posted again when there is nothing better to do.
    handled: Vec<Receive>,
    free: Vec<NonNull<Buffer>>,
    buffers: usize,
}

/// A buffer and the request that fills it, time and again.
type Receive = (MPI_Request, NonNull<Buffer>);

impl Lane {
    fn new() -> Result<Lane, Error> {
        let comm = calls::communicator()?;
        let mut lane = Lane {
            comm,
            posted: VecDeque::new(),
            arrived: None,
            busy: false,
            leaving: VecDeque::new(),
            handled: Vec::new(),
            free: Vec::new(),
            buffers: 0,
        };
        for _ in 0..POSTED {
            let buffer = Buffer::new();
            // SAFETY: while the receive is posted the buffer is its own.
            let request = unsafe { calls::receive(head(buffer), HEAD + MAX_FRAME, comm) }?;
            lane.post((request, buffer))?;
        }
        Ok(lane)
    }

    fn post(&mut self, mut receive: Receive) -> Result<(), Error> {
        calls::post(&mut receive.0)?;
        self.posted.push_back(receive);
        Ok(())
    }

    /// Posts what was handled, all of it when `idle`, else only if few receives are left.
    fn post_handled(&mut self, idle: bool) -> Result<(), Error> {
        while !self.handled.is_empty() && (idle || self.posted.len() < POSTED / 2) {
            if let Some(receive) = self.handled.pop() {
                self.post(receive)?;
            }
        }
        Ok(())
    }

    /// Takes back the buffers of sends that are complete.
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

    /// A buffer for a frame, if there may be one more.
    fn buffer(&mut self) -> Result<Option<NonNull<Buffer>>, Error> {
        if self.free.is_empty() {
            self.reap()?;
        }
        if let Some(buffer) = self.free.pop() {
            return Ok(Some(buffer));
        }
        if self.buffers == OUTGOING {
            return Ok(None);
        }
        self.buffers += 1;
        Ok(Some(Buffer::new()))
    }

    fn send(&mut self, buffer: NonNull<Buffer>, words: [u32; 4], to: u32) -> Result<(), Error> {
        write_head(head(buffer), words);
        let len = HEAD + words[3] as usize;
        if len <= SMALL {
            // SAFETY: a buffer's bytes.
            unsafe { calls::send_small(head(buffer), len, to as i32, self.comm) }?;
            self.free.push(buffer);
            return Ok(());
        }
        // SAFETY: the buffer is the send's until it is complete.
        let request = unsafe { calls::send(head(buffer), len, to as i32, self.comm) }?;
        self.leaving.push_back((request, buffer));
        Ok(())
    }
}

/// What is between this rank and a peer, by channel.
#[derive(Clone, Copy)]
struct Account {
    /// Frames that may still be sent.
    credit: [u32; 2],
    /// Frames handled whose credit has not been returned.
    owed: [u32; 2],
}

impl Account {
    /// The credits that a message on this channel returns. Those of replies travel with replies only: a handler that waits for
    /// room to reply looks at no request.
    fn take_owed(&mut self, channel: usize) -> [u32; 2] {
        let replies = if channel == Channel::Reply as usize { take(&mut self.owed[1]) } else { 0 };
        [take(&mut self.owed[0]), replies]
    }
}

/// All that MPI calls need; one thread at a time.
struct Engine {
    lanes: [Lane; 2],
    accounts: Vec<Account>,
    /// Peers to whom credits could not be returned for want of a buffer.
    late: Vec<u32>,
    window: Option<Window>,
}

// SAFETY: the buffers are reached through the engine only, and MPI was initialised for several threads or is called under its lock.
unsafe impl Send for Engine {}

impl Engine {
    /// Asks MPI once, about both channels.
    #[inline]
    fn look(&mut self) -> Result<(), Error> {
        for lane in &mut self.lanes {
            if !lane.leaving.is_empty() {
                lane.reap()?;
            }
        }
        let oldest = |lane: &Lane| match lane.arrived {
            None => lane.posted.front().map(|receive| receive.0),
            Some(_) => None,
        };
        match calls::test_any([oldest(&self.lanes[0]), oldest(&self.lanes[1])])? {
            Some((which, from)) => self.lanes[which].arrived = Some(from),
            None => {
                for lane in &mut self.lanes {
                    lane.busy = false;
                    lane.post_handled(true)?;
                }
                for to in take(&mut self.late) {
                    self.return_credits(to)?;
                }
            }
        }
        Ok(())
    }

    fn take(&mut self, channel: Channel, look: bool) -> Result<Option<(u32, Receive, usize)>, Error> {
        let mut looked = !look;
        loop {
            let Some(from) = self.lanes[channel as usize].arrived.take() else {
                if looked {
                    return Ok(None);
                }
                looked = true;
                self.look()?;
                continue;
            };
            let lane = &mut self.lanes[channel as usize];
            let Some(receive) = lane.posted.pop_front() else { return Ok(None) };
            // SAFETY: the receive is complete: the head is there.
            let words = unsafe { head(receive.1).cast::<[u32; 4]>().read_unaligned() };
            let account = &mut self.accounts[from as usize];
            account.credit[0] += words[0];
            account.credit[1] += words[1];
            if words[2] != 0 {
                return Ok(Some((from, receive, words[3] as usize)));
            }
            lane.post(receive)?;
            looked = !look;
        }
    }

    /// Returns credits in a message of its own if half a window is owed.
    fn return_credits(&mut self, to: u32) -> Result<(), Error> {
        let owed = self.accounts[to as usize].owed;
        if owed[0].max(owed[1]) < WINDOW / 2 {
            return Ok(());
        }
        let lane = &mut self.lanes[Channel::Reply as usize];
        match lane.buffer()? {
            Some(buffer) => {
                let owed = self.accounts[to as usize].take_owed(Channel::Reply as usize);
                lane.send(buffer, [owed[0], owed[1], 0, 0], to)?;
            }
            None if self.late.contains(&to) => {}
            None => self.late.push(to),
        }
        Ok(())
    }
}

struct Mpi {
    engine: Turns<Option<Engine>>,
    /// Whether this conduit initialised MPI.
    own: bool,
    /// Whether MPI's windows do what MPI says.
    native: bool,
    /// Whether the last poll was for replies: it has looked for requests, too.
    looked: AtomicBool,
    /// Whether a request has arrived.
    request: AtomicBool,
    /// Puts and gets under way.
    ops: AtomicUsize,
}

/// Opens the conduit unless shared memory reaches everyone.
pub(crate) fn open(cx: &OpenContext<'_>) -> Result<Option<Box<dyn Conduit>>, Error> {
    if cx.neighbours.len() == cx.size as usize {
        return Ok(None);
    }
    let own = calls::initialise(cx.threading)?;
    let (rank, size) = calls::place()?;
    if (rank, size) != (cx.rank.0, cx.size) {
        return Err(Error::job(format!(
            "mpi: this is rank {} of {} to the job, but process {rank} of {size} to MPI: start the program by the mpirun of that \
             same MPI, or by `gasnetrun --conduit mpi`, which calls it",
            cx.rank, cx.size
        )));
    }
    let full = Account { credit: [WINDOW; 2], owed: [0; 2] };
    let engine = Engine {
        lanes: [Lane::new()?, Lane::new()?],
        accounts: vec![full; size as usize],
        late: Vec::new(),
        window: None,
    };
    let native = window::sound(engine.lanes[Channel::Request as usize].comm)?;
    Ok(Some(Box::new(Mpi {
        engine: Turns::new(cx.threading, Some(engine)),
        own,
        native,
        looked: AtomicBool::new(false),
        request: AtomicBool::new(false),
        ops: AtomicUsize::new(0),
    })))
}

impl Mpi {
    /// Starts a put or a get, and counts it if that went well.
    fn started(&self, window: &mut Window, start: impl FnOnce(&mut Window) -> bool) -> bool {
        let started = start(window);
        // Relaxed: a hint; the lock orders what it is about.
        self.ops.store(window.under_way(), Relaxed);
        started
    }

    #[inline]
    fn lock(&self) -> Turn<'_, Option<Engine>> {
        self.engine.take()
    }

    /// The oldest message of a channel, if it has come: its sender, its receive, its length. `look` says whether to ask MPI.
    fn take(&self, channel: Channel, look: bool) -> Result<Option<(u32, Receive, usize)>, Error> {
        let mut guard = self.lock();
        let Some(engine) = guard.as_mut() else { return Ok(None) };
        let taken = engine.take(channel, look);
        // Relaxed: a hint; the lock orders what it is about.
        self.request.store(engine.lanes[Channel::Request as usize].arrived.is_some(), Relaxed);
        taken
    }
}

// SAFETY: a slot is a buffer out of the free list, a frame one whose receive is complete; both are used by nobody else meanwhile.
unsafe impl Conduit for Mpi {
    fn name(&self) -> &'static str {
        "mpi"
    }

    fn reserve(
        &self,
        to: Peer,
        channel: Channel,
        len: usize,
        _immediate: bool,
    ) -> Result<Option<RawSlot>, Error> {
        let mut guard = self.lock();
        let Some(engine) = guard.as_mut() else {
            return Err(Error::Conduit("mpi: the rank has left the job".to_string()));
        };
        let credit = &mut engine.accounts[to.rank.0 as usize].credit[channel as usize];
        if *credit == 0 {
            return Ok(None);
        }
        let Some(buffer) = engine.lanes[channel as usize].buffer()? else { return Ok(None) };
        *credit -= 1;
        let cookie = [buffer.as_ptr() as u64, u64::from(to.rank.0) << 1 | channel as u64];
        Ok(Some(RawSlot { buf: frame(buffer), len, cookie }))
    }

    unsafe fn commit(&self, slot: RawSlot) {
        let [at, place] = slot.cookie;
        let (to, channel) = ((place >> 1) as u32, (place & 1) as usize);
        let mut guard = self.lock();
        let (Some(buffer), Some(engine)) = (NonNull::new(at as *mut Buffer), guard.as_mut()) else { return };
        let owed = engine.accounts[to as usize].take_owed(channel);
        let sent = engine.lanes[channel].send(buffer, [owed[0], owed[1], 1, slot.len as u32], to);
        if let Err(error) = sent {
            // A frame that was promised cannot be sent: nothing is left to be done with this network.
            drop(guard);
            eprintln!("gasnet: {error}");
            std::process::abort();
        }
    }

    unsafe fn cancel(&self, slot: RawSlot) {
        let [at, place] = slot.cookie;
        let (to, channel) = ((place >> 1) as usize, (place & 1) as usize);
        let mut guard = self.lock();
        if let (Some(buffer), Some(engine)) = (NonNull::new(at as *mut Buffer), guard.as_mut()) {
            engine.lanes[channel].free.push(buffer);
            engine.accounts[to].credit[channel] += 1;
        }
    }

    fn poll(&self, channel: Channel, budget: usize, deliver: &mut dyn FnMut(Frame)) -> Result<usize, Error> {
        // The core polls replies, then requests: one look serves both.
        let looked = self.looked.load(Relaxed);
        self.looked.store(channel == Channel::Reply, Relaxed);
        let mut look = channel == Channel::Reply || !looked;
        if !look && !self.request.load(Relaxed) {
            return Ok(0);
        }
        let mut done = 0;
        while done < budget {
            let Some((from, receive, len)) = self.take(channel, look)? else { break };
            let peer = Peer { rank: RankId(from), endpoint: 0 };
            deliver(Frame { from: peer, channel, data: frame(receive.1).as_ptr(), len });
            let mut guard = self.lock();
            let Some(engine) = guard.as_mut() else { break };
            let lane = &mut engine.lanes[channel as usize];
            lane.handled.push(receive);
            lane.post_handled(false)?;
            look = lane.busy;
            lane.busy = true;
            engine.accounts[from as usize].owed[channel as usize] += 1;
            engine.return_credits(from)?;
            done += 1;
        }
        Ok(done)
    }

    fn attach(&self, segment: &SegmentDesc) -> Result<(), Error> {
        let mut guard = self.lock();
        let Some(engine) = guard.as_mut() else { return Ok(()) };
        if self.native {
            let comm = engine.lanes[Channel::Request as usize].comm;
            engine.window = Some(Window::open(segment.base, segment.len, comm)?);
        }
        Ok(())
    }

    fn rma(&self) -> Option<&dyn Rma> {
        self.native.then_some(self)
    }

    fn close(&self) {
        let Some(mut engine) = self.lock().take() else { return };
        let since = Instant::now();
        for lane in &mut engine.lanes {
            while !lane.leaving.is_empty() && since.elapsed() < PATIENCE && lane.reap().is_ok() {
                std::thread::yield_now();
            }
        }
        // MPI can be finalised by all together only; a job in which somebody does not come is being ended by its launcher.
        if calls::meet(engine.lanes[0].comm, PATIENCE) {
            for lane in &mut engine.lanes {
                // Who has arrived is complete, and was handled by nobody.
                let first = lane.arrived.is_some();
                for (i, (request, _)) in lane.posted.iter_mut().enumerate() {
                    calls::cancel(request, i > 0 || !first);
                }
                lane.handled.iter_mut().for_each(|(request, _)| calls::cancel(request, false));
            }
            if let Some(window) = engine.window.take() {
                window.close();
            }
            if self.own {
                calls::finalise();
            }
        }
    }
}

// SAFETY: completions are reported when MPI says so.
unsafe impl Rma for Mpi {
    unsafe fn put(&self, to: RemoteAddr, src: *const u8, len: usize, token: u64) -> bool {
        let mut guard = self.lock();
        let window = guard.as_mut().and_then(|engine| engine.window.as_mut());
        // SAFETY: owed by the caller.
        window.is_some_and(|window| self.started(window, |window| unsafe { window.put(to, src, len, token) }))
    }

    unsafe fn get(&self, dst: *mut u8, from: RemoteAddr, len: usize, token: u64) -> bool {
        let mut guard = self.lock();
        let window = guard.as_mut().and_then(|engine| engine.window.as_mut());
        // SAFETY: owed by the caller.
        window
            .is_some_and(|window| self.started(window, |window| unsafe { window.get(dst, from, len, token) }))
    }

    fn max_transfer(&self) -> usize {
        LARGEST
    }

    fn poll(&self, budget: usize, complete: &mut dyn FnMut(u64, Completion)) -> usize {
        if self.ops.load(Relaxed) == 0 {
            return 0;
        }
        let mut done = Vec::new();
        {
            let mut guard = self.lock();
            let Some(window) = guard.as_mut().and_then(|engine| engine.window.as_mut()) else { return 0 };
            if let Err(error) = window.poll(budget, &mut done) {
                drop(guard);
                eprintln!("gasnet: {error}");
                std::process::abort();
            }
            self.ops.store(window.under_way(), Relaxed);
        }
        done.iter().for_each(|&(token, how)| complete(token, how));
        done.len()
    }
}
