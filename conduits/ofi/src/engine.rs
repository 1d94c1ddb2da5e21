//! The conduit: frames as messages, one endpoint for all. See the crate's documentation for the protocol.
#![expect(unsafe_code, reason = "gives out slots and frames")]

use crate::choice::{self, Offer};
use crate::fabric::{self, OperationKind, Port, QueueEntry, RegisteredRegion};
use crate::offers::{self, Use};
use crate::onesided::{Known, OneSided, Start};
use crate::receive::{Arrived, Receiver};
use crate::send::{Lost, Sender};
use crate::wire::{End, MAX_FRAME_BYTES, MessageKind, UNIT_BYTES, message_len};
use gasnet_ops::Operation;
use gasnet_settings::ofi::{Native, Settings};
use gasnet_wire::conduit::credit::{Account, Terms};
use gasnet_wire::conduit::looks::Looks;
use gasnet_wire::conduit::{
    Channel, Completion, Conduit, Frame, FrameLine, Limits, OpenContext, RawSlot, RemoteAddr, Rma,
    SegmentDesc,
};
use gasnet_wire::{Bells, Error, RankId, Turn, Turns};
use std::collections::VecDeque;
use std::os::fd::BorrowedFd;
use std::ptr::NonNull;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Bytes of frames of one channel that may be under way to one peer.
const WINDOW_BYTES: usize = 256 << 10;
/// Smallest number of bytes that a frame counts as: with buffers for many messages, and with a buffer for
/// each.
const MIN_FRAME_COST_BYTES: [usize; 2] = [512, 4096];
/// How long a leaving rank waits for the others.
const LEAVING_TIMEOUT: Duration = Duration::from_secs(3);
/// Empty polls between two questions for visits of peers: such a question costs as much as a poll.
const EMPTY_POLLS_PER_VISIT_CHECK: u32 = 16;
/// Longest sleep at the doorbell: of an operation with several steps on both sides, not every step rings.
const MAX_SLEEP: Duration = Duration::from_millis(1);
/// Batches of completions handled in one poll.
const COMPLETION_BATCHES_PER_POLL: usize = 4;

/// A frame that has arrived and is not handled yet.
struct Ready {
    from: u32,
    channel: Channel,
    at: *mut u8,
    len: usize,
    keeper: FrameMemory,
}

/// The memory of a frame.
enum FrameMemory {
    /// The buffer of a receive.
    Buffer(u32),
    /// Memory of its own.
    Own(#[expect(dead_code, reason = "keeps the memory")] Vec<FrameLine>),
}

impl Ready {
    /// Copies the frame's bytes to other memory.
    fn copy(&self) -> Vec<FrameLine> {
        let mut lines = vec![FrameLine([0; 64]); self.len.div_ceil(64).max(1)];
        // SAFETY: the frame's bytes, into at least as much room.
        unsafe { std::ptr::copy_nonoverlapping(self.at, lines.as_mut_ptr().cast(), self.len) };
        lines
    }
}

/// The state of a peer.
struct Relation {
    account: Account,
    /// Credits must be returned in a message of their own.
    due: bool,
    /// Something was sent to it, or received from it.
    met: bool,
    /// It has left.
    gone: bool,
}

/// The state for calls of libfabric; one thread at a time uses it.
pub(crate) struct OfiEngine {
    pub(crate) me: u32,
    pub(crate) port: Port,
    sender: Sender,
    receiver: Receiver,
    pub(crate) onesided: Option<OneSided>,
    peers: Vec<Relation>,
    terms: Terms,
    ready: [VecDeque<Ready>; 2],
    /// Notes that found no room: receiver and contents.
    notes: VecDeque<(u32, MessageKind, Vec<u8>)>,
    /// The own segment, and the note with its key.
    segment: Option<(RegisteredRegion, Vec<u8>)>,
    /// Peers that asked before there was a segment.
    asked: Vec<u32>,
    /// Peers whose trial has ended.
    pub(crate) tried: Vec<u32>,
    looks: Looks,
    /// Polls in a row that found no completion.
    vain: u32,
    /// Doorbells, if the provider has no descriptor; and the last peer that something was sent to.
    bells: Option<Arc<Bells>>,
    last: u32,
    failed: Option<(Option<u32>, String)>,
    leaving: bool,
}

// SAFETY: all pointers are into memory that the engine owns; the engine is used under its lock.
unsafe impl Send for OfiEngine {}

impl OfiEngine {
    fn error(&self, rank: Option<u32>, text: String) -> Error {
        let text = format!("ofi ({}): {text}", self.port.traits.name);
        match rank {
            Some(rank) => Error::Peer(RankId(rank), text),
            None => Error::Conduit(text),
        }
    }

    fn lost(&self, lost: Lost) -> Error {
        self.error(Some(lost.to), format!("sending to rank {}: {}", lost.to, lost.why))
    }

    /// Something was sent to a peer, or started there: it may be asleep.
    fn ring(&mut self, to: u32) {
        self.last = to;
        if let Some(bells) = &self.bells {
            bells.ring(RankId(to));
        }
    }

    /// Whether operations of this rank are under way.
    fn is_busy(&self) -> bool {
        !self.sender.is_idle() || self.onesided.as_ref().is_some_and(|o| o.is_busy())
    }

    /// Whether there is work for a poll.
    fn has_work(&mut self) -> bool {
        // The poll will report a failure.
        let came = self.progress().map_or(true, |count| count > 0);
        let done = self.onesided.as_ref().is_some_and(|o| !o.done.is_empty());
        came || done || self.ready.iter().any(|r| !r.is_empty()) || self.port.was_visited()
    }

    /// Makes progress: sends what waits, and handles completions.
    pub(crate) fn progress(&mut self) -> Result<usize, Error> {
        if let Some((rank, text)) = &self.failed {
            return Err(self.error(*rank, text.clone()));
        }
        if !self.notes.is_empty() {
            self.send_notes()?;
        }
        if self.sender.is_waiting() {
            self.sender.retry(&self.port).map_err(|lost| self.lost(lost))?;
        }
        let mut total = 0;
        for _ in 0..COMPLETION_BATCHES_PER_POLL {
            let mut events = [None::<QueueEntry>; fabric::COMPLETIONS_PER_BATCH];
            let mut count = 0;
            let taken = self.port.completions(&mut |event| {
                events[count] = Some(event);
                count += 1;
            });
            for event in events[..count].iter().flatten() {
                self.see(event)?;
            }
            match taken {
                Ok(taken) => total += taken,
                Err(failure) => self.see_failure(&failure)?,
            }
            if count < fabric::COMPLETIONS_PER_BATCH {
                break;
            }
        }
        if total > 0 || self.receiver.is_bare() {
            self.receiver.keep_up(&mut self.port).map_err(|why| self.error(None, why))?;
            if self.receiver.is_bare() {
                self.clear_buffers().map_err(|why| self.error(None, why))?;
            }
        }
        if let Some(onesided) = &mut self.onesided
            && let Err((to, why)) = onesided.go_on(&mut self.port)
        {
            return Err(self.error(Some(to), format!("a piece of a transfer with rank {to}: {why}")));
        }
        Ok(total)
    }

    /// No receive is posted, and there is no memory for more: frames that nobody has polled for move
    /// elsewhere.
    #[cold]
    fn clear_buffers(&mut self) -> Result<(), String> {
        for ready in self.ready.iter_mut().flatten() {
            if let FrameMemory::Buffer(index) = ready.keeper {
                let mut lines = ready.copy();
                ready.at = lines.as_mut_ptr().cast();
                ready.keeper = FrameMemory::Own(lines);
                self.receiver.handled(index);
            }
        }
        self.receiver.keep_up(&mut self.port)
    }

    fn see(&mut self, event: &QueueEntry) -> Result<(), Error> {
        match event.what {
            OperationKind::Send => self.sender.sent(event.index),
            OperationKind::OneSided => {
                if let Some(onesided) = &mut self.onesided {
                    onesided.complete(&mut self.port, event.index);
                }
            }
            OperationKind::Receive => {
                if let Some(arrived) = self.receiver.arrived(event) {
                    self.take(arrived)?;
                }
            }
        }
        Ok(())
    }

    /// Handles a message.
    fn take(&mut self, arrived: Arrived) -> Result<(), Error> {
        // SAFETY: the provider wrote that many bytes, and has finished with them.
        let bytes = unsafe { std::slice::from_raw_parts(arrived.at, arrived.len) };
        let end =
            End::parse(bytes).filter(|end| (end.from as usize) < self.peers.len() && end.from != self.me);
        let Some(end) = end else {
            return Err(self.error(None, format!("{} bytes arrived that are no message", arrived.len)));
        };
        let relation = &mut self.peers[end.from as usize];
        relation.met = true;
        if !relation.account.returned(end.credit, self.terms) {
            return Err(self.error(
                Some(end.from),
                format!("rank {} returned more credits than it was given", end.from),
            ));
        }
        if end.kind == MessageKind::Frame {
            self.ready[end.channel as usize].push_back(Ready {
                from: end.from,
                channel: end.channel,
                at: arrived.at,
                len: end.len,
                keeper: FrameMemory::Buffer(arrived.buffer),
            });
            return Ok(());
        }
        let note = bytes[..end.len].to_vec();
        self.receiver.handled(arrived.buffer);
        match end.kind {
            MessageKind::Frame | MessageKind::Credit => {}
            MessageKind::Ask => match &self.segment {
                Some((_, key)) => self.notes.push_back((end.from, MessageKind::Key, key.clone())),
                None => self.asked.push(end.from),
            },
            MessageKind::Key => self.learn(end.from, &note)?,
            MessageKind::Tried => self.tried.push(end.from),
            MessageKind::Bye => {
                self.peers[end.from as usize].gone = true;
                self.sender.drop_waiting(end.from);
                self.notes.retain(|(to, ..)| *to != end.from);
            }
        }
        if self.notes.is_empty() { Ok(()) } else { self.send_notes() }
    }

    fn learn(&mut self, from: u32, note: &[u8]) -> Result<(), Error> {
        let key = self
            .port
            .read_key(note)
            .map_err(|why| self.error(Some(from), format!("the key of rank {from}: {why}")))?;
        if let Some(onesided) = &mut self.onesided {
            onesided.keys[from as usize] = Known::Key(key);
        }
        Ok(())
    }

    fn see_failure(&mut self, failure: &fabric::Failure) -> Result<(), Error> {
        let (rank, what) = match failure.of {
            Some((OperationKind::Receive, index)) => {
                self.receiver.lost(index);
                (None, "a receive".to_string())
            }
            Some((OperationKind::Send, index)) => {
                let to = self.sender.target(index);
                self.sender.sent(index);
                (Some(to), format!("a message to rank {to}"))
            }
            Some((OperationKind::OneSided, index)) => {
                let (to, what) = self.onesided.as_ref().map_or((0, "an operation"), |o| o.describe(index));
                (Some(to), format!("{what} with rank {to}"))
            }
            None => (None, "an operation".to_string()),
        };
        let expected = failure.cancelled || self.leaving || rank.is_some_and(|r| self.peers[r as usize].gone);
        if expected {
            return Ok(());
        }
        let text = format!("{what}: {}", failure.text);
        self.failed = Some((rank, text.clone()));
        Err(self.error(rank, text))
    }

    /// Sends a note as soon as there is room.
    pub(crate) fn say(&mut self, to: u32, kind: MessageKind) -> Result<(), Error> {
        self.notes.push_back((to, kind, Vec::new()));
        self.send_notes()
    }

    fn send_notes(&mut self) -> Result<(), Error> {
        while let Some((to, kind, bytes)) = self.notes.pop_front() {
            let relation = &mut self.peers[to as usize];
            if relation.gone && kind != MessageKind::Bye {
                continue;
            }
            relation.met = true;
            let credit = relation.account.settle();
            relation.due = false;
            let through = kind == MessageKind::Bye;
            match self.sender.note(&mut self.port, to, kind, &bytes, credit, through) {
                Ok(true) => self.ring(to),
                Ok(false) => {
                    // The credits go with the next attempt.
                    let account = &mut self.peers[to as usize].account;
                    account.handled(Channel::Request, credit[0]);
                    account.handled(Channel::Reply, credit[1]);
                    self.notes.push_front((to, kind, bytes));
                    return Ok(());
                }
                Err(_) if self.leaving => {}
                Err(lost) => return Err(self.lost(lost)),
            }
        }
        Ok(())
    }

    /// The number of credits that a frame of `len` bytes costs.
    fn cost(&self, len: usize) -> u32 {
        self.terms.cost(message_len(len) / UNIT_BYTES)
    }

    /// A frame has been handled: its credits go back to its sender.
    fn handled(&mut self, frame: &Ready) -> Result<(), Error> {
        if let FrameMemory::Buffer(index) = frame.keeper {
            self.receiver.handled(index);
        }
        let cost = self.cost(frame.len);
        let relation = &mut self.peers[frame.from as usize];
        relation.account.handled(frame.channel, cost);
        if relation.account.is_due(self.terms) && !relation.due {
            relation.due = true;
            self.say(frame.from, MessageKind::Credit)?;
        }
        Ok(())
    }

    /// Whether a put or get was started; the next poll reports errors.
    fn started(&mut self, to: u32, start: Start) -> bool {
        match start {
            Start::Started => {
                self.peers[to as usize].met = true;
                self.ring(to);
                true
            }
            Start::Later => false,
            Start::Ask => {
                if self.say(to, MessageKind::Ask).is_err() {
                    self.failed = Some((Some(to), format!("asking rank {to} for its segment's key")));
                }
                false
            }
            Start::Failed(why) => {
                self.failed = Some((Some(to), format!("starting a one-sided operation on rank {to}: {why}")));
                false
            }
        }
    }

    /// Records an error after which the conduit cannot go on: the next progress reports it.
    pub(crate) fn trouble(&mut self, why: String) {
        self.failed = Some((None, why));
    }

    /// Runs work that waits for all ranks, and makes progress meanwhile.
    pub(crate) fn meanwhile<T: Send>(&mut self, work: impl FnOnce() -> T + Send) -> Result<T, Error> {
        std::thread::scope(|scope| {
            let work = scope.spawn(work);
            let mut outcome = Ok(0);
            while !work.is_finished() {
                if outcome.is_ok() {
                    outcome = self.progress();
                }
                std::thread::yield_now();
            }
            let result = work.join().map_err(|_| self.error(None, "a thread died".to_string()))?;
            outcome.map(|_| result)
        })
    }

    /// Sends good-byes to all peers it has communicated with and waits for theirs, so that everything sent
    /// has arrived.
    fn leave(&mut self) {
        self.leaving = true;
        let met: Vec<u32> = (0..self.peers.len() as u32).filter(|r| self.peers[*r as usize].met).collect();
        for &peer in &met {
            self.notes.push_back((peer, MessageKind::Bye, Vec::new()));
        }
        let since = Instant::now();
        while since.elapsed() < LEAVING_TIMEOUT {
            // A network that fails now has nothing more to deliver.
            if self.progress().is_err() {
                break;
            }
            let all_gone = met.iter().all(|peer| self.peers[*peer as usize].gone);
            if all_gone && self.sender.is_idle() && self.notes.is_empty() {
                break;
            }
            std::thread::yield_now();
        }
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        self.onesided.as_ref().map_or(Vec::new(), |onesided| onesided.local.counters())
    }

    fn end(mut self) {
        self.leave();
        self.port.stop();
        if let Some((region, _)) = &self.segment {
            self.port.forget(region);
        }
        if let Some(onesided) = self.onesided.take() {
            onesided.end(&mut self.port);
        }
        self.sender.end(&mut self.port);
        self.receiver.end(&mut self.port);
    }
}

struct Ofi {
    engine: Turns<Option<OfiEngine>>,
    /// The counters, saved before the engine was closed.
    counted: OnceLock<Vec<(&'static str, u64)>>,
    bells: Option<Arc<Bells>>,
    /// Whether puts and gets are the provider's.
    native: bool,
    /// Whether atomics are the provider's, as far as it has them.
    atomics: bool,
    /// Largest put, in bytes, whose source is read by the call.
    copies: usize,
    max_transfer: usize,
}

/// Opens the conduit unless shared memory reaches all ranks. `trial` finds out whether puts and gets can be
/// used.
pub(crate) fn open(
    cx: &OpenContext<'_>,
    trial: impl FnOnce(&mut OfiEngine, &OpenContext<'_>) -> Result<bool, Error>,
) -> Result<Option<Box<dyn Conduit>>, Error> {
    if cx.neighbours.len() == cx.size as usize {
        return Ok(None);
    }
    let mut engine = connect(cx)?;
    let native = trial(&mut engine, cx)?;
    let atomics = engine.onesided.as_ref().is_some_and(|o| !o.have.is_empty());
    let traits = &engine.port.traits;
    let local = engine.onesided.as_ref().map(|o| &o.local);
    let copies = local.map_or(0, |local| local.copied()).max(traits.inject);
    let max_transfer = traits.max_transfer;
    if !native {
        engine.drop_onesided();
    }
    let bells = engine.bells.clone();
    let engine = Turns::new(cx.threading, Some(engine));
    Ok(Some(Box::new(Ofi { engine, counted: OnceLock::new(), bells, native, atomics, copies, max_transfer })))
}

/// Agrees on a provider, opens an endpoint, and exchanges the addresses.
fn connect(cx: &OpenContext<'_>) -> Result<OfiEngine, Error> {
    let settings = Settings::read()?;
    let (wanted, domain) = (settings.provider.as_deref(), settings.domain.as_deref());
    let mut offers = offers::usable(wanted, domain);
    if offers.is_empty() && wanted.is_some() {
        // For the message that the named provider does not exist.
        offers = offers::usable(None, domain);
    }
    let mine = choice::Offered { host: cx.host.first().copied().unwrap_or(cx.rank.0), offers };
    let lists = cx.exchange().all_gather(mine.encode().as_bytes())?;
    let lists: Vec<choice::Offered> =
        lists.iter().map(|list| choice::Offered::decode(&String::from_utf8_lossy(list))).collect();
    let one_host = cx.host.len() == cx.size as usize;
    let name = choice::pick(&lists, wanted, one_host).map_err(|why| {
        let objections = offers::objections(wanted);
        let more = if objections.is_empty() {
            String::new()
        } else {
            format!("; left out here: {}", objections.join("; "))
        };
        Error::job(format!("ofi: {why}{more}"))
    })?;
    let fail = |why: String| Error::Conduit(format!("ofi ({name}): {why}"));
    let ranks = cx.size as usize;
    let native = settings.native;
    let atomics = native == Native::All && !choice::breaks_atomics(&name);
    let mode = Use { one_sided: native != Native::None, atomics, multi: true };
    let network = choice::network(&lists, &name, cx.rank.0 as usize);
    // A rank that cannot open an endpoint reports it, instead of keeping all others waiting.
    let opened = network.and_then(|network| {
        let port = Port::open(&Offer { provider: name.clone(), network }, mode, ranks)?;
        port.address().map(|address| (port, address))
    });
    let bells = match &opened {
        // SAFETY: the conduit's part of that memory is used for nothing else.
        Ok((port, _)) if one_host && !port.has_descriptor() => Some(Arc::new(unsafe { Bells::open(cx) }?)),
        _ => None,
    };
    if let Some(bells) = bells.as_ref().filter(|_| cx.config.progress_thread) {
        bells.expect_sleeper();
    }
    let mine = match &opened {
        Ok((_, address)) => [&[1], &address[..]].concat(),
        Err(why) => [&[0], why.as_bytes()].concat(),
    };
    let all = cx.exchange().all_gather(&mine)?;
    if let Some(rank) = all.iter().position(|said| said.first() != Some(&1)) {
        let why = String::from_utf8_lossy(all[rank].get(1..).unwrap_or_default()).into_owned();
        return Err(fail(format!("rank {rank} has no endpoint: {why}")));
    }
    let (mut port, _) = opened.map_err(fail)?;
    port.learn(&all.iter().map(|said| said[1..].to_vec()).collect::<Vec<_>>()).map_err(fail)?;
    let least = MIN_FRAME_COST_BYTES[usize::from(!port.traits.multi)];
    let terms = Terms { window: (WINDOW_BYTES / UNIT_BYTES) as u32, least: (least / UNIT_BYTES) as u32 };
    let room = (ranks - 1) * 2 * WINDOW_BYTES;
    let receiver = Receiver::new(&mut port, room, room / least).map_err(fail)?;
    let sender = Sender::new(cx.rank.0, &mut port).map_err(fail)?;
    let relation = || Relation { account: Account::new(terms), due: false, met: false, gone: false };
    let rma = port.traits.rma;
    let registration = settings.registration;
    let onesided = if rma {
        Some(OneSided::new(&mut port, ranks, Known::Not, registration, cx.config.quiet).map_err(fail)?)
    } else {
        None
    };
    Ok(OfiEngine {
        me: cx.rank.0,
        port,
        sender,
        receiver,
        onesided,
        peers: (0..ranks).map(|_| relation()).collect(),
        terms,
        ready: Default::default(),
        notes: VecDeque::new(),
        segment: None,
        asked: Vec::new(),
        tried: Vec::new(),
        looks: Looks::default(),
        vain: 0,
        bells,
        last: cx.rank.0,
        failed: None,
        leaving: false,
    })
}

impl OfiEngine {
    fn drop_onesided(&mut self) {
        match self.onesided.take() {
            // The provider may still use the memory of operations that it did not complete.
            Some(onesided) if onesided.is_busy() => std::mem::forget(onesided),
            Some(onesided) => onesided.end(&mut self.port),
            None => {}
        }
    }
}

/// A provider that does not align messages costs a copy.
fn deliver_frame(frame: &Ready, deliver: &mut dyn FnMut(Frame)) {
    let from = RankId(frame.from);
    let mut lend = |data| deliver(Frame { from, channel: frame.channel, data, len: frame.len });
    if (frame.at as usize).is_multiple_of(align_of::<FrameLine>()) {
        return lend(frame.at);
    }
    lend(frame.copy().as_mut_ptr().cast());
}

impl Ofi {
    fn lock(&self) -> Turn<'_, Option<OfiEngine>> {
        self.engine.take()
    }
}

// SAFETY: a slot is from the free list, and a frame's buffer is not posted again before the frame is handled:
// nobody else uses them.
unsafe impl Conduit for Ofi {
    fn name(&self) -> &'static str {
        "ofi"
    }

    fn limits(&self, _to: RankId, _nargs: usize) -> Limits {
        Limits::new(MAX_FRAME_BYTES)
    }

    fn reserve(
        &self,
        to: RankId,
        channel: Channel,
        len: usize,
        _immediate: bool,
    ) -> Result<Option<RawSlot>, Error> {
        if len > MAX_FRAME_BYTES {
            return Err(Error::Conduit(format!("a frame of {len} bytes: at most {MAX_FRAME_BYTES}")));
        }
        let mut guard = self.lock();
        let Some(engine) = guard.as_mut() else {
            return Err(Error::Conduit("ofi: the rank has left the job".to_string()));
        };
        let cost = engine.cost(len);
        let relation = &mut engine.peers[to.0 as usize];
        if !relation.account.pay(channel, cost) {
            return Ok(None);
        }
        let slot = engine.sender.reserve(&mut engine.port, channel as usize, len);
        let Some((index, at)) = slot.map_err(|why| engine.error(None, why))? else {
            engine.peers[to.0 as usize].account.refund(channel, cost);
            return Ok(None);
        };
        let cookie = [u64::from(index), u64::from(to.0) << 1 | channel as u64];
        Ok(NonNull::new(at).map(|buf| RawSlot { buf, len, cookie }))
    }

    unsafe fn commit(&self, slot: RawSlot) {
        let [index, place] = slot.cookie;
        let (to, channel) =
            ((place >> 1) as u32, if place & 1 == 0 { Channel::Request } else { Channel::Reply });
        let mut guard = self.lock();
        let Some(engine) = guard.as_mut() else { return };
        let relation = &mut engine.peers[to as usize];
        relation.met = true;
        let credit = relation.account.settle();
        let end = (MessageKind::Frame, channel, slot.len, credit);
        // The next poll reports a failure.
        if let Err(lost) = engine.sender.commit(&engine.port, index as u32, to, end, false) {
            engine.failed = Some((Some(to), format!("sending to rank {to}: {}", lost.why)));
        }
        engine.ring(to);
    }

    unsafe fn cancel(&self, slot: RawSlot) {
        let [index, place] = slot.cookie;
        let channel = if place & 1 == 0 { Channel::Request } else { Channel::Reply };
        let mut guard = self.lock();
        if let Some(engine) = guard.as_mut() {
            engine.sender.release(index as u32);
            let cost = engine.cost(slot.len);
            engine.peers[(place >> 1) as usize].account.refund(channel, cost);
        }
    }

    fn poll(&self, channel: Channel, budget: usize, deliver: &mut dyn FnMut(Frame)) -> Result<usize, Error> {
        let mut done = 0;
        let Some(mut guard) = self.engine.take_to_poll() else { return Ok(0) };
        while done < budget {
            let Some(engine) = guard.as_mut() else { break };
            if engine.ready[channel as usize].is_empty() {
                if done > 0 || !engine.looks.is_due(channel as usize) {
                    break;
                }
                engine.progress()?;
            }
            let Some(frame) = engine.ready[channel as usize].pop_front() else { break };
            drop(guard);
            deliver_frame(&frame, deliver);
            guard = self.lock();
            let Some(engine) = guard.as_mut() else { break };
            engine.handled(&frame)?;
            done += 1;
        }
        Ok(done)
    }

    fn attach(&self, segment: &SegmentDesc) -> Result<(), Error> {
        let mut guard = self.lock();
        let Some(engine) = guard.as_mut() else { return Ok(()) };
        if !self.native || segment.len == 0 {
            return Ok(());
        }
        // SAFETY: a segment stays valid for the rest of the job.
        let region = unsafe { engine.port.register(segment.base, segment.len, true) };
        let key =
            region.and_then(|region| engine.port.key_note(&region, segment.base).map(|key| (region, key)));
        let (region, key) = key.map_err(|why| {
            engine.error(
                None,
                format!(
                    "registering the segment of {} bytes: {why} (a larger ulimit -l or a smaller GASNET_MAX_SEGSIZE may help; \
                     GASNET_OFI_NATIVE=none does without registering it)",
                    segment.len
                ),
            )
        })?;
        if let Some(onesided) = &mut engine.onesided {
            onesided.local.attached(segment.base, segment.len, &region);
        }
        for peer in std::mem::take(&mut engine.asked) {
            engine.notes.push_back((peer, MessageKind::Key, key.clone()));
        }
        engine.segment = Some((region, key));
        engine.send_notes()
    }

    fn rma(&self) -> Option<&dyn Rma> {
        self.native.then_some(self)
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        let guard = self.lock();
        let engine = guard.as_ref()?;
        let nothing = engine.notes.is_empty()
            && !engine.sender.is_waiting()
            && !engine.receiver.is_bare()
            && engine.ready.iter().all(VecDeque::is_empty)
            && engine.onesided.as_ref().is_none_or(|o| o.done.is_empty() && !o.has_pieces());
        let fd = if nothing { engine.port.descriptor()? } else { return None };
        // SAFETY: it is open until the conduit is closed; after that only threads wait on it that have not
        // noticed.
        Some(unsafe { BorrowedFd::borrow_raw(std::os::fd::AsRawFd::as_raw_fd(&fd)) })
    }

    fn doze(&self, longest: Duration) -> bool {
        let there_is_one = || self.lock().as_mut().is_none_or(OfiEngine::has_work);
        self.bells.as_ref().is_some_and(|bells| bells.doze(there_is_one, longest.min(MAX_SLEEP)))
    }

    fn close(&self) {
        let engine = self.lock().take();
        if let Some(engine) = engine {
            self.counted.get_or_init(|| engine.counters());
            engine.end();
        }
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let counted = self.lock().as_ref().map(OfiEngine::counters);
        counted.or_else(|| self.counted.get().cloned()).unwrap_or_default()
    }
}

// SAFETY: completions are reported when the provider reports them, and puts complete when the data is in
// place.
unsafe impl Rma for Ofi {
    unsafe fn put(&self, to: RemoteAddr, src: *const u8, len: usize, token: u64) -> bool {
        let mut guard = self.lock();
        let Some(engine) = guard.as_mut() else { return false };
        let Some(onesided) = &mut engine.onesided else { return false };
        // SAFETY: owed by the caller.
        let start = unsafe { onesided.put(&mut engine.port, to, src, len, token) };
        engine.started(to.rank.0, start)
    }

    unsafe fn get(&self, dst: *mut u8, from: RemoteAddr, len: usize, token: u64) -> bool {
        let mut guard = self.lock();
        let Some(engine) = guard.as_mut() else { return false };
        let Some(onesided) = &mut engine.onesided else { return false };
        // SAFETY: owed by the caller.
        let start = unsafe { onesided.get(&mut engine.port, dst, from, len, token) };
        engine.started(from.rank.0, start)
    }

    unsafe fn atomic(
        &self,
        at: RemoteAddr,
        what: Operation,
        operands: [u64; 2],
        old: *mut u64,
        token: u64,
    ) -> Option<bool> {
        if !self.atomics {
            return None;
        }
        let mut guard = self.lock();
        let engine = guard.as_mut()?;
        let onesided = engine.onesided.as_mut()?;
        // SAFETY: owed by the caller.
        let start = unsafe { onesided.atomic(&mut engine.port, at, what, operands, old, token) }?;
        Some(engine.started(at.rank.0, start))
    }

    fn copies_source(&self, len: usize) -> bool {
        len <= self.copies
    }

    fn max_transfer(&self) -> usize {
        self.max_transfer
    }

    fn poll(&self, budget: usize, complete: &mut dyn FnMut(u64, Completion)) -> usize {
        let Some(mut guard) = self.engine.take_to_poll() else { return 0 };
        let Some(engine) = guard.as_mut() else { return 0 };
        if engine.onesided.as_ref().is_some_and(|o| o.done.is_empty()) && engine.looks.is_due(2) {
            // The next poll for frames reports a failure.
            if let Err(error) = engine.progress() {
                engine.failed.get_or_insert((None, error.to_string()));
            }
        }
        let Some(onesided) = &mut engine.onesided else { return 0 };
        let mut done = 0;
        while done < budget
            && let Some((token, how)) = onesided.done.pop_front()
        {
            complete(token, how);
            done += 1;
        }
        if done == 0 {
            engine.vain = engine.vain.wrapping_add(1);
            if engine.vain.is_multiple_of(EMPTY_POLLS_PER_VISIT_CHECK) {
                if engine.bells.is_some() && engine.is_busy() {
                    engine.ring(engine.last);
                }
                return usize::from(engine.port.was_visited());
            }
        }
        done
    }
}
