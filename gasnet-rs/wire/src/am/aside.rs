//! Messages that a [progress thread](crate::progress) has taken in, and may not handle: those for handlers of
//! the program of a rank of one thread. The program's next poll handles them.
#![expect(unsafe_code, reason = "hands payloads on to handlers")]

use super::{Kind, Message};
use crate::conduit::Channel;
use crate::prim::{AtomicU32, Ordering};
use crate::{RankId, Wire};
use core::cell::Cell;
use gasnet_sys::mutex::lock;
use std::collections::VecDeque;
use std::sync::Mutex;

thread_local! {
    /// Whether this thread is a progress thread, of any rank, and not one of the program.
    static AT_WORK: Cell<bool> = const { Cell::new(false) };
}

/// The calling thread is a progress thread from now on.
pub(crate) fn begin_work() {
    AT_WORK.set(true);
}

/// A message put aside. The payload of a long message is already in the segment.
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
pub struct Progress {
    /// Whether handlers of the program may run on the thread.
    pub(crate) parallel: bool,
    /// Whether the thread moves to the program's processor, unless the rank was given processors of its own.
    pub(crate) follows: bool,
    /// Number of polls by the program.
    pub(crate) polls: AtomicU32,
    /// Messages put aside, and their number.
    aside: Mutex<VecDeque<Aside>>,
    pub(crate) waiting: AtomicU32,
    pub(crate) stop: AtomicU32,
}

impl Progress {
    /// The state for a host with `ranks` ranks and `processors` processors.
    pub(crate) fn new(parallel: bool, ranks: usize, processors: usize) -> Progress {
        Progress {
            parallel,
            follows: ranks <= processors && processors < 2 * ranks,
            polls: AtomicU32::new(0),
            aside: Mutex::default(),
            waiting: AtomicU32::new(0),
            stop: AtomicU32::new(0),
        }
    }

    /// Asks the thread to end.
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
        let mut aside = lock(&self.aside);
        aside.push_back(message);
        self.waiting.store(aside.len() as u32, Ordering::Relaxed);
    }
}

impl Wire {
    /// Called by polls of the program: handles the messages that were put aside.
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
                let mut aside = lock(&progress.aside);
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
}
