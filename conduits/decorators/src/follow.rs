//! Lets the ranks of a job meet their messages in the order of a recording.
//!
//! A recording of the order ([`Kept::Order`]) has no messages, so the ranks run again together, over a
//! network, and send them again. Each rank is told what it was told then, and [`Followed`] wraps its network:
//! a poll that delivered a message then waits until that message is here, messages that are early are held,
//! and a poll that found nothing finds nothing. So every rank does what it did, whatever the times are now.
//!
//! No two ranks can wait for each other: the recorded order is one in which every message was sent before it
//! came, and there is always room to send, since whoever waits takes messages out of the network.
//!
//! # Invariants
//! 1. No lock is held while a frame is delivered, nor while the network is polled.
//! 2. A frame is delivered from memory that nobody else has until the delivery is over.
#![expect(unsafe_code, reason = "a conduit promises the core that its slots and frames are memory")]

use crate::fingerprint::check_of_frame;
use crate::inputs;
use crate::record::{Kept, TrueHost, file_of, limits_of, tell_alone};
use crate::replay::{Clock, End, Facts, Shared, begin_play, check_arguments, learn_rest, lock, name};
use crate::tape::TapeEvent;
use gasnet_sys::clock::unseen;
use gasnet_sys::mutex;
use gasnet_wire::boot::Exchange;
use gasnet_wire::conduit::{
    Advice, Channel, Conduit, Frame, FrameLine, Limits, Meanwhile, OpenContext, RawSlot, SegmentDesc,
};
use gasnet_wire::last_words::say;
use gasnet_wire::{Boot, Config, Error, Gathered, RankId, WaitPolicy, Waiter};
use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Makes a rank follow a recording.
#[derive(Debug)]
pub struct Follower {
    play: Shared,
    facts: Facts,
    host: TrueHost,
    policy: WaitPolicy,
}

impl Follower {
    /// Begins to follow the recording in a folder. `exchange` is between all ranks. Returns what the rank is
    /// to be told in place of `boot` and `config`.
    ///
    /// # Errors
    /// The folder has no recording of this job, or the launcher gives no exchange.
    pub fn begin(
        folder: &Path,
        mut boot: Boot,
        exchange: Option<Box<dyn Exchange>>,
        config: Config,
    ) -> Result<(Boot, Config, Follower), Error> {
        let path = file_of(folder, Kept::Order, boot.rank);
        let failed = |why: String| Error::job(format!("--replay: {}: {why}", path.display()));
        let file = File::open(&path).map_err(|e| failed(e.to_string()))?;
        let (play, facts) = begin_play(file).map_err(failed)?;
        let label = lock(&play).label();
        if (label.job, label.rank, label.size) != (boot.job_id, boot.rank, boot.size) {
            return Err(failed("it is of another job".into()));
        }
        if label.rank == 0 {
            check_arguments(&play, &facts);
        }
        inputs::listen(Box::new(Clock(play.clone())));
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let policy = WaitPolicy::new(boot.host_ranks.len() as u32, processors, config.spin);
        let (config, host) = tell_alone(&mut boot, exchange, config, facts.max_segment())?;
        boot.exchange = Some(Box::new(Again(host.exchange())));
        boot.overseer = Some(Box::new(End(play.clone())));
        Ok((boot, config, Follower { play, facts, host, policy }))
    }

    /// Opens the network of the true host by `open`, and wraps it.
    ///
    /// # Errors
    /// Those of `open`, or the network is not as large as the recorded one.
    pub fn open(
        &self,
        cx: &OpenContext<'_>,
        open: impl FnOnce(&OpenContext<'_>) -> Result<Option<Box<dyn Conduit>>, Error>,
    ) -> Result<Option<Box<dyn Conduit>>, Error> {
        let inner = self.host.open(cx, open)?;
        let mut facts = self.facts.clone();
        learn_rest(&self.play, &mut facts);
        for rank in (0..cx.size).filter(|rank| *rank != cx.rank.0) {
            let enough = |(now, n): (&u64, usize)| facts.limits(rank, n).max_frame as u64 <= *now;
            if !limits_of(&*inner, rank).iter().zip(0..).all(enough) {
                return Err(Error::job(format!(
                    "--replay: the messages of this network ({}) are smaller than those of the recording: choose {} by --conduit",
                    inner.name(),
                    facts.conduit()
                )));
            }
        }
        // It lives as long as the process.
        let conduit = String::leak(facts.conduit().to_owned());
        let (held, pool) = (Mutex::default(), Mutex::default());
        let waiter = Mutex::new(Waiter::new(self.policy, None));
        let (play, policy) = (self.play.clone(), self.policy);
        Ok(Some(Box::new(Followed { inner, play, conduit, facts, held, pool, policy, waiter })))
    }
}

/// An exchange of ranks that say what they said.
struct Again(Arc<dyn Exchange>);

impl Exchange for Again {
    fn all_gather(&self, mine: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
        unseen(|| self.0.all_gather(mine))
    }

    fn all_gather_shared(&self, mine: &[u8]) -> Result<Arc<Gathered>, Error> {
        unseen(|| self.0.all_gather_shared(mine))
    }
}

/// A frame that has arrived, and is delivered later.
struct HeldFrame {
    lines: Vec<FrameLine>,
    len: usize,
    check: u8,
}

/// Frames that are held, by sender and channel, in the order in which they arrived.
type Held = BTreeMap<(u32, u8), VecDeque<HeldFrame>>;

/// A conduit that delivers in the recorded order.
struct Followed {
    inner: Box<dyn Conduit>,
    play: Shared,
    conduit: &'static str,
    facts: Facts,
    held: Mutex<Held>,
    /// Memory for frames.
    pool: Mutex<Vec<Vec<FrameLine>>>,
    policy: WaitPolicy,
    /// The wait for what the recording says.
    waiter: Mutex<Waiter>,
}

/// Number of frames that a poll takes out of the network.
const BUDGET: usize = 64;
/// Longest sleep on the network's descriptor.
const SLEEP_ON_DESCRIPTOR: Duration = Duration::from_millis(20);
/// A frame may overtake others of its sender. After so long a wait beside others it is not expected any more.
const TIME_TO_BE_OVERTAKEN: Duration = Duration::from_secs(10);

impl Followed {
    /// Takes frames out of the network, or makes a step of a wait if there are none.
    fn pull(&self) -> Result<(), Error> {
        let mut done = 0;
        for channel in [Channel::Reply, Channel::Request] {
            let mut hold = |frame: Frame| {
                let mut lines = mutex::lock(&self.pool).pop().unwrap_or_default();
                lines.resize(frame.len.div_ceil(size_of::<FrameLine>()).max(1), FrameLine([0; 64]));
                // SAFETY: a frame's bytes are valid during its delivery, and there is room for as many.
                let bytes = unsafe {
                    core::ptr::copy_nonoverlapping(frame.data, lines.as_mut_ptr().cast::<u8>(), frame.len);
                    core::slice::from_raw_parts(lines.as_ptr().cast::<u8>(), frame.len)
                };
                let (check, len) = (check_of_frame(bytes), frame.len);
                let key = (frame.from.0, frame.channel as u8);
                mutex::lock(&self.held).entry(key).or_default().push_back(HeldFrame { lines, len, check });
                done += 1;
            };
            let more = unseen(|| self.inner.poll(channel, BUDGET, &mut hold))?;
            done += more;
        }
        let mut waiter = mutex::lock(&self.waiter);
        if done > 0 {
            *waiter = Waiter::new(self.policy, None);
            return Ok(());
        }
        unseen(|| {
            waiter.step_or(|sleep| match self.inner.descriptor() {
                Some(fd) => drop(gasnet_sys::poll::wait_readable(fd, SLEEP_ON_DESCRIPTOR)),
                None => std::thread::sleep(sleep),
            });
        });
        Ok(())
    }

    /// Waits for a frame, and takes it.
    fn take(&self, channel: Channel, from: u32, check: u8) -> Result<HeldFrame, Error> {
        loop {
            let mut others = false;
            if let Some(queue) = mutex::lock(&self.held).get_mut(&(from, channel as u8)) {
                let at = queue.iter().position(|frame| frame.check == check);
                if let Some(frame) = at.and_then(|at| queue.remove(at)) {
                    return Ok(frame);
                }
                others = !queue.is_empty();
            }
            let slept = unseen(|| mutex::lock(&self.waiter).asleep_for());
            if others && slept.is_some_and(|slept| slept > TIME_TO_BE_OVERTAKEN) {
                let name = name(channel);
                lock(&self.play).leaves(&format!("gets another {name} of rank {from} than then"));
            }
            self.pull()?;
        }
    }

    /// Whether there was no room for the message that the rank wants to send.
    fn was_full(&self) -> bool {
        lock(&self.play).was_full_here()
    }

    /// The recording ends, since the rank was killed: it serves the network until that happens again.
    fn rest(&self) -> Result<(), Error> {
        say(&lock(&self.play).end());
        loop {
            self.pull()?;
        }
    }
}

#[deny(clippy::missing_trait_methods)]
// SAFETY: slots are those of the inner conduit; frames are memory of the pool, taken out of it until they
// come back.
unsafe impl Conduit for Followed {
    messages_only!();

    fn name(&self) -> &'static str {
        self.conduit
    }

    fn limits(&self, to: RankId, nargs: usize) -> Limits {
        self.facts.limits(to.0, nargs)
    }

    fn reserve(
        &self,
        to: RankId,
        channel: Channel,
        len: usize,
        immediate: bool,
    ) -> Result<Option<RawSlot>, Error> {
        if self.was_full() {
            return Ok(None);
        }
        loop {
            if let Some(slot) = unseen(|| self.inner.reserve(to, channel, len, immediate))? {
                lock(&self.play).had_room();
                return Ok(Some(slot));
            }
            self.pull()?;
        }
    }

    unsafe fn commit(&self, slot: RawSlot) {
        // SAFETY: owed by the caller.
        unseen(|| unsafe { self.inner.commit(slot) });
    }

    unsafe fn cancel(&self, slot: RawSlot) {
        // SAFETY: owed by the caller.
        unseen(|| unsafe { self.inner.cancel(slot) });
    }

    fn send(&self, to: RankId, channel: Channel, frame: &[u8], immediate: bool) -> Result<bool, Error> {
        if self.was_full() {
            return Ok(false);
        }
        while !unseen(|| self.inner.send(to, channel, frame, immediate))? {
            self.pull()?;
        }
        lock(&self.play).had_room();
        Ok(true)
    }

    fn poll(&self, _: Channel, _: usize, deliver: &mut dyn FnMut(Frame)) -> Result<usize, Error> {
        let mut delivered = false;
        loop {
            let mut play = lock(&self.play);
            match play.peek() {
                Some(TapeEvent::Came(channel, from, check)) => {
                    drop(play);
                    let HeldFrame { mut lines, len, .. } = self.take(channel, from, check)?;
                    let data = lines.as_mut_ptr().cast::<u8>();
                    // The second byte is the handler.
                    lock(&self.play).came(from, if len > 1 { lines[0].0[1] } else { 0 });
                    deliver(Frame { from: RankId(from), channel, data, len });
                    mutex::lock(&self.pool).push(lines);
                    delivered = true;
                }
                Some(TapeEvent::PollEnds(done)) => {
                    play.advance();
                    return Ok(done as usize);
                }
                _ if !delivered && play.was_idle() => return Ok(0),
                None | Some(TapeEvent::Ended(_)) => {
                    drop(play);
                    self.rest()?;
                }
                Some(_) => play.leaves("polls"),
            }
        }
    }

    fn polls_both(&self) -> bool {
        self.facts.polls_both()
    }

    fn attach(&self, segment: &SegmentDesc) -> Result<(), Error> {
        unseen(|| self.inner.attach(segment))
    }

    fn advise(&self, offset: u64, len: u64, advice: Advice) {
        self.inner.advise(offset, len, advice);
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn doze(&self, _: Duration) -> bool {
        false
    }

    /// Takes the place of every step of a wait: the next poll waits for what comes next.
    fn idle(&self, what: &'static str, _: Meanwhile) -> bool {
        lock(&self.play).waits_for(what);
        true
    }

    fn close(&self) {
        unseen(|| self.inner.close());
    }

    fn left_for(&self, rank: RankId) -> Option<Duration> {
        lock(&self.play).has_left(rank.0).then_some(Duration::ZERO)
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        self.inner.counters()
    }
}
