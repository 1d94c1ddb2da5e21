//! The conduit's interface to the core.
//!
//! **Who makes progress.** Everything happens in polls, on the caller's stack. A rank that computes without
//! calling the runtime handles no message. But a *keeper* thread looks at intervals and then handles what has
//! arrived: it acknowledges, so that peers know that the rank is alive, places puts and serves gets. It never
//! runs handlers. A rank that waits in a loop over its own memory, of which nothing is seen here, also gets
//! what it waits for in this way, so the keeper looks often while something arrives ([`Vigil`]).
#![expect(unsafe_code, reason = "a conduit promises the core that its slots and frames are memory")]

use crate::address::{self, RankAddress};
use crate::answer::{Answerer, Party};
use crate::auth::{JobKey, KEY_SHARE_BYTES};
use crate::disturb::Disturbance;
use crate::engine::{Plan, UdpEngine};
use crate::link::Counters;
use crate::memory::Arrived;
use crate::settings::Settings;
use crate::socket::{self, MIN_DATAGRAM_BYTES, Socket, now};
use crate::trial::{self, Chosen};
use crate::vigil::{TOLD_AFTER_NS, Vigil};
use gasnet_sys::fd::close_others;
use gasnet_sys::mutex::lock;
use gasnet_wire::conduit::{
    Channel, Completion, Conduit, Frame, OpenContext, RawSlot, RemoteAddr, Rma, SegmentDesc, Survival,
};
use gasnet_wire::limits::thread_refused;
use gasnet_wire::{Error, RankId, Threading, Turn, Turns};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Longest time in nanoseconds that a leaving rank waits for the last acknowledgements.
const LINGER_NS: u64 = 2_000_000_000;
/// The keeper answers peers' questions at most this often.
const ANSWER_INTERVAL_NS: u64 = 100_000_000;
/// How long a rank that gives its world up sleeps between looks at its other threads.
const SHORT_WAIT: Duration = Duration::from_micros(100);
/// Bytes of the largest get or put.
const MAX_TRANSFER_BYTES: usize = 1 << 30;

/// Opens the conduit if not all ranks are neighbours.
///
/// # Errors
/// No usable address, or ranks with different settings.
pub fn open(cx: &OpenContext<'_>) -> Result<Option<Box<dyn Conduit>>, Error> {
    let settings = Settings::read()?;
    let needed = cx.neighbours.len() < cx.size as usize;
    let others = cx.exchange().all_gather(&[u8::from(needed)])?;
    if others.iter().all(|o| *o == [0]) {
        return Ok(None);
    }
    let one_host = cx.host.len() == cx.size as usize;
    let candidates = address::candidates(settings.interface.as_deref(), one_host)?;
    let chosen = if one_host {
        Chosen { address: candidates[0], least: MIN_DATAGRAM_BYTES }
    } else {
        let patience = Duration::from_nanos(settings.timeout_ns);
        trial::hold(cx.exchange(), (cx.rank.0, cx.host[0]), &candidates, settings.ports, patience)?
    };
    let socket = Socket::bind(chosen.address, settings.ports)?;
    let answering = socket::answering(chosen.address, settings.ports)?;
    let port = answering.local_addr().map_or(0, |address| address.port());
    let mut random = [0; 8 + KEY_SHARE_BYTES];
    gasnet_sys::fill_with_secret(&mut random);
    let (incarnation, share) = random.split_at(8);
    let card = RankAddress {
        address: socket.address(),
        incarnation: incarnation.iter().fold(0, |n, b| n << 8 | u64::from(*b)),
        share: core::array::from_fn(|i| share[i]),
        room: socket.room() as u64,
        window: settings.window,
        full: settings.auth_full.unwrap_or(!one_host),
        refusing: socket.refusing(),
        answering: port,
    };
    let cards = cx.exchange().all_gather(&card.encode())?;
    let cards: Option<Arc<[RankAddress]>> = cards.iter().map(|c| RankAddress::decode(c)).collect();
    let cards = cards.filter(|c| c.len() == cx.size as usize).ok_or_else(|| {
        Error::job(
            "udp: the ranks have different versions of the protocol: install the same version on all hosts",
        )
    })?;
    for (rank, other) in cards.iter().enumerate() {
        let differs = if other.address.is_ipv4() != card.address.is_ipv4() {
            format!("its address is {}, ours {}: set GASNET_UDP_INTERFACE", other.address, card.address)
        } else if (other.window, other.full) != (card.window, card.full) {
            "its GASNET_UDP_WINDOW or GASNET_UDP_AUTH is another".into()
        } else {
            continue;
        };
        return Err(Error::Conduit(format!("udp: rank {rank}: {differs}")));
    }
    let key = JobKey::from_shares(cards.iter().map(|c| &c.share));
    let plan = Plan { window: settings.window, patience: settings.timeout_ns, least: chosen.least };
    let party = Party { me: cx.rank.0, key, cards };
    let answerer = Answerer::new(party.clone(), answering);
    let mut engine = UdpEngine::new(party, socket, plan);
    if let Some(plan) = settings.faulty {
        engine.disturbance = Some(Disturbance::new(plan.of_rank(cx.rank.0)));
    }
    let sleep_on = engine.socket().descriptor().try_clone_to_owned();
    let sleep_on = sleep_on.map_err(|e| Error::Conduit(format!("udp: no descriptor left: {e}")))?;
    let shared = Arc::new(SharedEngine {
        moved: AtomicBool::new(false),
        completions: AtomicUsize::new(0),
        requests: AtomicUsize::new(0),
        pumped: AtomicBool::new(false),
        polled: AtomicBool::new(true),
        // The keeper is a second thread.
        state: Turns::new(Threading::Parallel, State { engine: Some(engine), handling: 0, is_over: false }),
        sleep_on,
    });
    let weak = Arc::downgrade(&shared);
    let tells = (!cx.config.quiet).then(|| format!("rank {} of {}", cx.rank, cx.size));
    let thread = std::thread::Builder::new().name("gasnet-udp".into()).stack_size(256 << 10);
    let keeper = gasnet_sys::thread::spawn_without_signals(thread, move || keep(&weak, &answerer, tells))
        .map_err(|e| Error::Conduit(format!("udp: cannot start a thread: {}", thread_refused(&e))))?;
    Ok(Some(Box::new(Udp { shared, keeper: Mutex::new(Some(keeper)) })))
}

/// The engine, until the rank gives its world up ([`Survival`]).
struct State {
    engine: Option<UdpEngine>,
    /// Handlers that run, of frames that the engine has delivered.
    handling: usize,
    /// The rank gives its world up: no frame is delivered any more.
    is_over: bool,
}

struct SharedEngine {
    state: Turns<State>,
    /// Whether puts or gets made progress, those of peers among them.
    moved: AtomicBool,
    /// Number of complete operations that were not reported.
    completions: AtomicUsize,
    /// Number of requests that wait for a poll.
    requests: AtomicUsize,
    /// Whether the last poll was for replies, and so polled the socket.
    pumped: AtomicBool,
    /// Whether the rank has polled since the keeper last looked.
    polled: AtomicBool,
    /// The engine's descriptor.
    sleep_on: OwnedFd,
}

impl SharedEngine {
    #[inline]
    fn state(&self) -> Turn<'_, State> {
        self.state.take()
    }

    /// What `f` makes of the engine; `over` if the rank has given its world up.
    #[inline]
    fn with<T>(&self, over: T, f: impl FnOnce(&mut UdpEngine) -> T) -> T {
        self.state().engine.as_mut().map_or(over, f)
    }

    /// Relaxed: hints; the lock orders the data.
    #[inline]
    fn count(&self, engine: &mut UdpEngine) {
        if core::mem::take(&mut engine.memory.moved) {
            self.moved.store(true, Relaxed);
        }
        self.completions.store(engine.memory.completed.len(), Relaxed);
        self.requests.store(engine.memory.frames[Channel::Request as usize].len(), Relaxed);
    }
}

/// Does the urgent work of a rank that computes, as long as the conduit exists.
/// `tells`: the name of the rank in a warning, if it is to be given.
fn keep(conduit: &Weak<SharedEngine>, answerer: &Answerer, tells: Option<String>) {
    if let Some(shared) = conduit.upgrade() {
        // If only one thread uses a table of files, the system looks up files without counting their users,
        // which saves 10 ns a call.
        let state = shared.state();
        let Some(engine) = &state.engine else { return };
        let stderr = std::io::stderr();
        let [socket, poll, timer] = engine.socket().descriptors();
        // SAFETY: 1. This thread runs `keep` alone, which uses no other files.
        unsafe { close_others(&[socket, poll, timer, answerer.socket().as_fd(), stderr.as_fd()], true) };
    }
    let (mut vigil, mut answered) = (Vigil::new(now()), 0);
    loop {
        std::thread::park_timeout(Duration::from_nanos(vigil.interval()));
        let Some(shared) = conduit.upgrade() else { return };
        if shared.state().is_over {
            return;
        }
        let time = now();
        if time >= answered + ANSWER_INTERVAL_NS {
            answered = time;
            answerer.answer();
        }
        if shared.polled.swap(false, Relaxed) {
            vigil.heeded(now());
            continue;
        }
        let mut state = shared.state();
        let Some(engine) = &mut state.engine else { return };
        let before = engine.counters().received;
        engine.is_keeper = true;
        engine.pump(now());
        engine.is_keeper = false;
        let arrived = engine.counters().received > before;
        shared.count(engine);
        let news = engine.memory.frames.iter().any(|f| !f.is_empty()) || !engine.memory.completed.is_empty();
        if news || engine.check().is_err() {
            // The rank may sleep on the descriptor, whose events have been handled by now.
            engine.wake();
        }
        drop(state);
        if vigil.unheeded(now(), arrived)
            && let Some(who) = &tells
        {
            gasnet_sys::stdio::say(&format!(
                "gasnet: warning: {who} has made no call of the runtime for {} s, while others sent to it: what they put arrives half a \
                 millisecond late, and handlers do not run: if it waits for that in a loop of its own, or should serve others while it \
                 computes, set GASNET_PROGRESS=thread\n",
                TOLD_AFTER_NS / 1_000_000_000
            ));
        }
    }
}

/// The conduit.
struct Udp {
    shared: Arc<SharedEngine>,
    /// Its thread, until the rank gives its world up.
    keeper: Mutex<Option<JoinHandle<()>>>,
}

impl Udp {
    fn cookie(to: RankId, channel: Channel) -> u64 {
        u64::from(to.0) << 1 | channel as u64
    }

    fn of_cookie(cookie: u64) -> (u32, Channel) {
        ((cookie >> 1) as u32, if cookie & 1 == 0 { Channel::Request } else { Channel::Reply })
    }
}

// SAFETY: 1. A slot is the memory of a buffer that the engine keeps for it, aligned by its type, until commit
// or cancel. 2. A delivered frame is a buffer that this call owns during the delivery; all of its bytes were
// written.
unsafe impl Conduit for Udp {
    fn name(&self) -> &'static str {
        "udp"
    }

    fn reserve(
        &self,
        to: RankId,
        channel: Channel,
        len: usize,
        _immediate: bool,
    ) -> Result<Option<RawSlot>, Error> {
        let mut state = self.shared.state();
        let Some(engine) = &mut state.engine else { return Ok(None) };
        let Some((slot, at)) = engine.reserve(to.0, channel, len) else {
            engine.check()?;
            return Ok(None);
        };
        let buf = core::ptr::NonNull::new(at).ok_or_else(|| Error::Conduit("udp: no memory".into()))?;
        Ok(Some(RawSlot { buf, len, cookie: [Udp::cookie(to, channel), u64::from(slot)] }))
    }

    unsafe fn commit(&self, slot: RawSlot) {
        let (to, channel) = Udp::of_cookie(slot.cookie[0]);
        self.shared.with((), |engine| engine.commit(to, channel, slot.cookie[1] as u32));
    }

    unsafe fn cancel(&self, slot: RawSlot) {
        let (to, channel) = Udp::of_cookie(slot.cookie[0]);
        self.shared.with((), |engine| engine.cancel(to, channel, slot.cookie[1] as u32));
    }

    fn poll(&self, channel: Channel, budget: usize, deliver: &mut dyn FnMut(Frame)) -> Result<usize, Error> {
        // The core polls replies, then requests: one poll of the socket serves both.
        let pumped = self.shared.pumped.load(Relaxed);
        self.shared.pumped.store(channel == Channel::Reply, Relaxed);
        let pump = channel == Channel::Reply || !pumped;
        if !pump && self.shared.requests.load(Relaxed) == 0 {
            return Ok(0);
        }
        let Some(mut state) = self.shared.state.take_to_poll() else { return Ok(0) };
        if let Some(engine) = state.engine.as_mut() {
            if pump {
                self.shared.polled.store(true, Relaxed);
                engine.glance();
                self.shared.count(engine);
                engine.check()?;
            }
            engine.is_now = true;
        }
        let mut done = 0;
        while done < budget && !state.is_over {
            let Some(engine) = &mut state.engine else { break };
            let Some(Arrived { from, mut buf }) = engine.memory.frames[channel as usize].pop_front() else {
                break;
            };
            self.shared.count(engine);
            state.handling += 1;
            drop(state);
            let bytes = buf.bytes_mut();
            deliver(Frame { from: RankId(from), channel, data: bytes.as_mut_ptr(), len: bytes.len() });
            done += 1;
            state = self.shared.state();
            state.handling -= 1;
            if let Some(engine) = &mut state.engine {
                engine.consumed(from, channel, buf);
            }
        }
        if let Some(engine) = &mut state.engine {
            engine.end_poll();
        }
        Ok(done)
    }

    fn attach(&self, segment: &SegmentDesc) -> Result<(), Error> {
        // SAFETY: the core attaches the segment, which it has mapped for the life of the process.
        self.shared.with((), |engine| unsafe { engine.memory.attach(segment.base, segment.len) });
        Ok(())
    }

    fn rma(&self) -> Option<&dyn Rma> {
        Some(self)
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.shared.with((), UdpEngine::before_sleep);
        Some(self.shared.sleep_on.as_fd())
    }

    fn left_for(&self, rank: RankId) -> Option<Duration> {
        self.shared.with(None, |engine| engine.left_for(rank.0))
    }

    fn survival(&self) -> Option<&dyn Survival> {
        Some(self)
    }

    fn close(&self) {
        let start = now();
        loop {
            let mut state = self.shared.state();
            let Some(engine) = &mut state.engine else { return };
            let now = now();
            engine.pump(now);
            if engine.is_drained() || now > start + LINGER_NS {
                return engine.close(now);
            }
            drop(state);
            std::thread::yield_now();
        }
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let Counters { sent, received, lost, spurious, timeouts, duplicates, refused } =
            self.shared.with(Counters::default(), |engine| engine.counters());
        vec![
            ("datagrams sent", sent),
            ("datagrams received", received),
            ("datagrams lost", lost),
            ("datagrams late, not lost", spurious),
            ("datagrams refused", refused),
            ("parts received twice", duplicates),
            ("timeouts", timeouts),
        ]
    }
}

// SAFETY: a put is reported complete when the peer has acknowledged all its bytes, which it does after
// placing them; a get is when all its bytes have been written.
unsafe impl Rma for Udp {
    unsafe fn put(&self, to: RemoteAddr, src: *const u8, len: usize, token: u64) -> bool {
        let src = src.expose_provenance() as u64;
        self.shared.with(false, |engine| engine.put(now(), to.rank.0, src, len as u64, to.offset, token))
    }

    unsafe fn get(&self, dst: *mut u8, from: RemoteAddr, len: usize, token: u64) -> bool {
        let dst = dst.expose_provenance() as u64;
        self.shared.with(false, |engine| engine.get(now(), from.rank.0, dst, len as u32, from.offset, token))
    }

    fn max_transfer(&self) -> usize {
        MAX_TRANSFER_BYTES
    }

    fn poll(&self, budget: usize, complete: &mut dyn FnMut(u64, Completion)) -> usize {
        // A rank that serves others has work to do, and should not sleep.
        let moved = self.shared.moved.load(Relaxed);
        if moved {
            self.shared.moved.store(false, Relaxed);
        }
        if self.shared.completions.load(Relaxed) == 0 {
            return usize::from(moved);
        }
        let Some(mut state) = self.shared.state.take_to_poll() else { return usize::from(moved) };
        let Some(engine) = state.engine.as_mut() else { return usize::from(moved) };
        let mut done = 0;
        while done < budget {
            let Some(token) = engine.memory.completed.pop_front() else { break };
            complete(token, Completion::Both);
            done += 1;
        }
        self.shared.count(engine);
        done
    }
}

/// The next world has sockets and keys of its own, so datagrams of this one are refused there.
impl Survival for Udp {
    fn give_up(&self, patience: Duration) -> bool {
        self.shared.state().is_over = true;
        let begun = Instant::now();
        while self.shared.state().handling > 0 {
            if begun.elapsed() > patience {
                return false;
            }
            std::thread::sleep(SHORT_WAIT);
        }
        let engine = self.shared.state().engine.take();
        if let Some(engine) = engine {
            engine.give_up();
        }
        self.shared.completions.store(0, Relaxed);
        self.shared.requests.store(0, Relaxed);
        // The sockets close when its table of files ends, too.
        if let Some(keeper) = lock(&self.keeper).take() {
            keeper.thread().unpark();
            let _ = keeper.join();
        }
        true
    }

    fn forget(&self, rank: RankId) {
        self.shared.with((), |engine| engine.forget(rank.0));
    }
}
