//! Frames as MPI messages. See the crate's documentation for the protocol.
#![expect(unsafe_code, reason = "gives out buffers as slots and frames")]

use crate::calls::{self, MPI_Comm, MPI_Request};
use crate::window::{LARGEST, Window};
use gasnet::conduit::{
    Channel, Completion, Conduit, Frame, Limits, MIN_FRAME, OpenContext, Peer, RawSlot, RemoteAddr, Rma,
    SegmentDesc,
};
use gasnet::{Error, RankId};
use std::collections::VecDeque;
use std::ptr::NonNull;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
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

#[repr(C, align(64))]
struct Buffer([u8; FRAME_AT + MAX_FRAME]);

impl Buffer {
    fn new() -> NonNull<Buffer> {
        // SAFETY: all zeros are a valid buffer; a layout with a size.
        let at = unsafe { std::alloc::alloc_zeroed(std::alloc::Layout::new::<Buffer>()) };
        NonNull::new(at.cast()).expect("memory for messages")
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
    posted: VecDeque<(MPI_Request, NonNull<Buffer>)>,
    /// Sends, the oldest first.
    leaving: VecDeque<(MPI_Request, NonNull<Buffer>)>,
    /// Buffers of frames that have been handled, to be posted again when there is nothing better to do.
    handled: Vec<NonNull<Buffer>>,
    free: Vec<NonNull<Buffer>>,
    buffers: usize,
}

impl Lane {
    fn new() -> Result<Lane, Error> {
        let comm = calls::communicator()?;
        let mut lane = Lane {
            comm,
            posted: VecDeque::new(),
            leaving: VecDeque::new(),
            handled: Vec::new(),
            free: Vec::new(),
            buffers: 0,
        };
        for _ in 0..POSTED {
            lane.post(Buffer::new())?;
        }
        Ok(lane)
    }

    fn post(&mut self, buffer: NonNull<Buffer>) -> Result<(), Error> {
        // SAFETY: the buffer is the receive's until it is complete.
        let request = unsafe { calls::receive(head(buffer), HEAD + MAX_FRAME, self.comm) }?;
        self.posted.push_back((request, buffer));
        Ok(())
    }

    /// Posts what was handled, all of it when `idle`, else only if few receives are left.
    fn post_handled(&mut self, idle: bool) -> Result<(), Error> {
        while !self.handled.is_empty() && (idle || self.posted.len() < POSTED / 2) {
            if let Some(buffer) = self.handled.pop() {
                self.post(buffer)?;
            }
        }
        Ok(())
    }

    /// Takes back the buffers of sends that are complete.
    fn reap(&mut self) -> Result<(), Error> {
        while let Some((request, buffer)) = self.leaving.front_mut() {
            if calls::test(request)?.is_none() {
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

/// All that MPI calls need; one thread at a time.
struct Engine {
    lanes: [Lane; 2],
    accounts: Vec<Account>,
    window: Option<Window>,
}

// SAFETY: the buffers are reached through the engine only, and MPI was initialised for several threads or is called under its lock.
unsafe impl Send for Engine {}

impl Engine {
    /// Returns credits in a message of its own if half a window is owed.
    fn return_credits(&mut self, to: u32) -> Result<(), Error> {
        let owed = self.accounts[to as usize].owed;
        if owed[0].max(owed[1]) < WINDOW / 2 {
            return Ok(());
        }
        // Without a buffer they wait for the next frame handled.
        let lane = &mut self.lanes[Channel::Reply as usize];
        if let Some(buffer) = lane.buffer()? {
            self.accounts[to as usize].owed = [0, 0];
            lane.send(buffer, [owed[0], owed[1], 0, 0], to)?;
        }
        Ok(())
    }
}

struct Mpi {
    engine: Mutex<Option<Engine>>,
    /// Whether this conduit initialised MPI.
    own: bool,
    native: OnceLock<bool>,
}

/// Opens the conduit unless shared memory reaches everyone.
pub(crate) fn open(cx: &OpenContext<'_>) -> Result<Option<Box<dyn Conduit>>, Error> {
    if cx.neighbours.len() == cx.size as usize {
        return Ok(None);
    }
    let own = calls::initialise()?;
    let (rank, size) = calls::place()?;
    if (rank, size) != (cx.rank.0, cx.size) {
        return Err(Error::job(format!(
            "mpi: this is rank {} of {} to the job, but process {rank} of {size} to MPI: start the program by the mpirun of that \
             same MPI, or by `gasnetrun --conduit mpi`, which calls it",
            cx.rank, cx.size
        )));
    }
    let full = Account { credit: [WINDOW; 2], owed: [0; 2] };
    let engine =
        Engine { lanes: [Lane::new()?, Lane::new()?], accounts: vec![full; size as usize], window: None };
    Ok(Some(Box::new(Mpi { engine: Mutex::new(Some(engine)), own, native: OnceLock::new() })))
}

impl Mpi {
    fn lock(&self) -> MutexGuard<'_, Option<Engine>> {
        self.engine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One message of a channel, if one has come: its sender and its buffer.
    fn take(&self, channel: Channel) -> Result<Option<(u32, NonNull<Buffer>, usize)>, Error> {
        let mut guard = self.lock();
        let Some(engine) = guard.as_mut() else { return Ok(None) };
        let lane = &mut engine.lanes[channel as usize];
        if !lane.leaving.is_empty() {
            lane.reap()?;
        }
        loop {
            let lane = &mut engine.lanes[channel as usize];
            let Some((request, buffer)) = lane.posted.front_mut() else { return Ok(None) };
            let Some(from) = calls::test(request)? else {
                lane.post_handled(true)?;
                return Ok(None);
            };
            let buffer = *buffer;
            lane.posted.pop_front();
            // SAFETY: the receive is complete: the head is there.
            let words = unsafe { head(buffer).cast::<[u32; 4]>().read_unaligned() };
            let account = &mut engine.accounts[from as usize];
            account.credit[0] += words[0];
            account.credit[1] += words[1];
            if words[2] != 0 {
                return Ok(Some((from, buffer, words[3] as usize)));
            }
            engine.lanes[channel as usize].post(buffer)?;
        }
    }
}

// SAFETY: a slot is a buffer out of the free list, a frame one whose receive is complete; both are used by nobody else meanwhile.
unsafe impl Conduit for Mpi {
    fn name(&self) -> &'static str {
        "mpi"
    }

    fn limits(&self, _to: Peer, _nargs: usize) -> Limits {
        Limits::new(MAX_FRAME)
    }

    fn reserve(
        &self,
        to: Peer,
        channel: Channel,
        len: usize,
        _immediate: bool,
    ) -> Result<Option<RawSlot>, Error> {
        if len > MAX_FRAME {
            return Err(Error::Conduit(format!("a frame of {len} bytes: at most {MAX_FRAME}")));
        }
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
        let owed = std::mem::take(&mut engine.accounts[to as usize].owed);
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
        let mut done = 0;
        while done < budget {
            let Some((from, buffer, len)) = self.take(channel)? else { break };
            let peer = Peer { rank: RankId(from), endpoint: 0 };
            deliver(Frame { from: peer, channel, data: frame(buffer).as_ptr(), len });
            let mut guard = self.lock();
            let Some(engine) = guard.as_mut() else { break };
            let lane = &mut engine.lanes[channel as usize];
            lane.handled.push(buffer);
            lane.post_handled(false)?;
            engine.accounts[from as usize].owed[channel as usize] += 1;
            engine.return_credits(from)?;
            done += 1;
        }
        Ok(done)
    }

    fn attach(&self, segment: &SegmentDesc) -> Result<(), Error> {
        let mut guard = self.lock();
        let Some(engine) = guard.as_mut() else { return Ok(()) };
        let comm = engine.lanes[Channel::Request as usize].comm;
        engine.window = Window::open(segment.base, segment.len, comm)?;
        let _ = self.native.set(engine.window.is_some());
        Ok(())
    }

    fn rma(&self) -> Option<&dyn Rma> {
        self.native.get().copied().unwrap_or(false).then_some(self)
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
            for (request, _) in engine.lanes.iter_mut().flat_map(|lane| &mut lane.posted) {
                calls::cancel(request);
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
        window.is_some_and(|window| unsafe { window.put(to, src, len, token) })
    }

    unsafe fn get(&self, dst: *mut u8, from: RemoteAddr, len: usize, token: u64) -> bool {
        let mut guard = self.lock();
        let window = guard.as_mut().and_then(|engine| engine.window.as_mut());
        // SAFETY: owed by the caller.
        window.is_some_and(|window| unsafe { window.get(dst, from, len, token) })
    }

    fn max_transfer(&self) -> usize {
        LARGEST
    }

    fn poll(&self, budget: usize, complete: &mut dyn FnMut(u64, Completion)) -> usize {
        let mut done = Vec::new();
        {
            let mut guard = self.lock();
            let Some(window) = guard.as_mut().and_then(|engine| engine.window.as_mut()) else { return 0 };
            if let Err(error) = window.poll(budget, &mut done) {
                drop(guard);
                eprintln!("gasnet: {error}");
                std::process::abort();
            }
        }
        done.iter().for_each(|&(token, how)| complete(token, how));
        done.len()
    }
}
