//! `GASNET_PROGRESS=thread`: a thread that makes progress while the program computes.
//!
//! It sleeps until the conduit's descriptor is readable or its [doorbell](crate::conduit::Conduit::doze) rung, or for a short time where there
//! is neither, and then polls as the program would. While the program itself polls often the thread keeps out of its way. With it, locks that
//! a rank of one thread does without are taken.
//!
//! **Lingering.** To be woken takes some microseconds, of the processor and of the peer's time. So after a message the thread of a rank that was
//! given processors of its own polls on for about as long before it lies down again: a peer that sends one after the other is answered as if
//! this rank waited for it, and the processor time is at most twice what waking for each would take. Elsewhere it lies down at once: a thread
//! that may run anywhere is woken on the processor of the very peer that waits for its answer.
//!
//! **Handlers of a rank of one thread** ([`Threading::Serial`](crate::Threading)) expect to run on that thread, inside calls of the
//! runtime. So on the progress thread only the runtime's own messages are served: puts, gets, atomics, barriers. Messages for handlers of
//! libraries and programs are put aside, and handled at the program's next poll; when very many wait, requests stay in the
//! network until then.
#![expect(unsafe_code, reason = "hands payloads on to handlers; keeps signals off the thread")]

use crate::am::{Kind, Message};
use crate::conduit::Channel;
use crate::prim::{AtomicU32, Ordering};
use crate::shm::map;
use crate::{Rank, RankId};
use core::cell::Cell;
use std::collections::VecDeque;
use std::os::fd::AsRawFd;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Messages put aside from which requests stay in the network.
const MANY: usize = 1024;
/// Sleep where there is no descriptor to wait for.
const NAP: Duration = Duration::from_micros(20);
/// Polls after the last message before the thread lies down: about what it takes to wake it.
const LINGER: Duration = Duration::from_micros(10);
/// Sleep while the program polls by itself.
const BESIDE: Duration = Duration::from_micros(200);
/// Longest sleep on a descriptor.
const LONG: Duration = Duration::from_millis(50);

thread_local! {
    /// A fact of the thread: whichever rank it works for, it is none of the program's.
    static AT_WORK: Cell<bool> = const { Cell::new(false) };
}

/// A message put aside. A long message's payload is in the segment already.
struct Aside {
    from: RankId,
    channel: Channel,
    handler: u8,
    kind: Kind,
    args: Vec<u32>,
    medium: Vec<u128>,
    long: u64,
    len: usize,
}

/// State of a rank's progress thread.
pub(crate) struct Progress {
    /// Handlers of the program may run on the thread.
    parallel: bool,
    /// Polls by the program.
    polls: AtomicU32,
    /// Messages put aside, and their number.
    aside: Mutex<VecDeque<Aside>>,
    waiting: AtomicU32,
    stop: AtomicU32,
}

impl Progress {
    pub(crate) fn new(parallel: bool) -> Progress {
        Progress {
            parallel,
            polls: AtomicU32::new(0),
            aside: Mutex::default(),
            waiting: AtomicU32::new(0),
            stop: AtomicU32::new(0),
        }
    }

    /// Has the thread end soon.
    pub(crate) fn stop(&self) {
        self.stop.store(1, Ordering::Relaxed);
    }

    /// Whether a message for a handler of the program has to be put aside now.
    pub(crate) fn puts_aside(&self) -> bool {
        !self.parallel && AT_WORK.get()
    }

    pub(crate) fn put_aside(&self, from: RankId, channel: Channel, handler: u8, m: &Message<'_>) {
        let mut medium = Vec::new();
        if m.kind == Kind::Medium {
            medium.resize(m.len.div_ceil(16).max(1), 0u128);
            // SAFETY: room for the payload just made; it is valid while the message is delivered.
            unsafe { core::ptr::copy_nonoverlapping(m.payload, medium.as_mut_ptr().cast(), m.len) };
        }
        let (args, long) = (m.args.to_vec(), m.payload as u64);
        let message = Aside { from, channel, handler, kind: m.kind, args, medium, long, len: m.len };
        let mut aside = self.aside.lock().unwrap_or_else(PoisonError::into_inner);
        aside.push_back(message);
        self.waiting.store(aside.len() as u32, Ordering::Relaxed);
    }
}

impl Rank {
    /// Called by polls of the program: handles what was put aside.
    #[cold]
    pub(crate) fn poll_beside(&self, progress: &Progress) -> usize {
        if AT_WORK.get() {
            return 0;
        }
        progress.polls.store(progress.polls.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
        let mut done = 0;
        // Relaxed: a hint; the lock hands the messages over.
        while progress.waiting.load(Ordering::Relaxed) > 0 {
            let next = {
                let mut aside = progress.aside.lock().unwrap_or_else(PoisonError::into_inner);
                let next = aside.pop_front();
                progress.waiting.store(aside.len() as u32, Ordering::Relaxed);
                next
            };
            let Some(mut m) = next else { break };
            let payload = match m.kind {
                Kind::Short => core::ptr::null_mut(),
                Kind::Medium => m.medium.as_mut_ptr().cast(),
                Kind::Long => m.long as *mut u8,
            };
            let message = Message { kind: m.kind, args: &m.args, payload, len: m.len };
            self.run_handler(m.from, m.channel, m.handler, &message);
            done += 1;
        }
        done
    }

    /// Starts the thread.
    pub(crate) fn start_progress(&'static self) {
        let Some(progress) = &self.progress else { return };
        // Signals of the program are for its own threads: the new one inherits a mask of all.
        let before = map::block_signals();
        let made =
            std::thread::Builder::new().name("gasnet-progress".into()).spawn(move || self.work(progress));
        map::set_signals(&before);
        if let Err(e) = made {
            let why = crate::limits::thread_refused(&e);
            self.fatal(&format!("GASNET_PROGRESS=thread: cannot start a thread: {why}"));
        }
    }

    fn work(&self, progress: &Progress) {
        AT_WORK.set(true);
        map::sleep_exactly();
        let linger = if crate::wait::has_own_processors() { LINGER } else { Duration::ZERO };
        let mut seen = 0;
        // When there was something to do last, and whether there was since the last sleep.
        let (mut last, mut useful) = (Instant::now(), true);
        while progress.stop.load(Ordering::Relaxed) == 0 {
            let polls = progress.polls.load(Ordering::Relaxed);
            if polls != seen {
                seen = polls;
                std::thread::sleep(BESIDE);
                continue;
            }
            let full = progress.waiting.load(Ordering::Relaxed) as usize >= MANY;
            let done = match (full, progress.parallel) {
                (true, _) => self.poll_replies(),
                (false, true) => self.poll(),
                (false, false) => self.poll_beside_program(),
            };
            if done > 0 {
                (last, useful) = (Instant::now(), true);
                continue;
            }
            if last.elapsed() < linger {
                core::hint::spin_loop();
                continue;
            }
            // What wakes the thread and is not for it to do (it waits for the program, which has a lock) would wake it again at once.
            let woken = useful && !full && self.sleep_until_woken();
            if woken {
                last = Instant::now();
            } else {
                std::thread::sleep(NAP);
            }
            useful = !woken;
        }
    }

    /// Sleeps until the conduit says that there is something to do. Whether it did: it may have no means to.
    fn sleep_until_woken(&self) -> bool {
        let Some(conduit) = &self.conduit else { return false };
        // Neighbours' messages wake nobody.
        let longest = if self.grid.is_none() { LONG } else { NAP };
        match conduit.descriptor() {
            Some(fd) if fd.as_raw_fd() >= 0 => map::wait_readable(fd, longest),
            _ => conduit.doze(longest),
        }
    }
}
