//! The mailbox as a rank uses it: questions and notes of one thread.
#![expect(unsafe_code, reason = "copies bytes of answers, and asks for an alarm in a handler of faults")]

use crate::mailbox::{Facts, Letter, Looked, Mailbox, View, answer, ask};
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use gasnet_sys::signals::{self, Fault};
use gasnet_sys::{process, thread};
use gasnet_wire::RankId;
use gasnet_wire::conduit::{Channel, FrameLine, Meanwhile};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// A handler of a fault that takes longer is caught by a lock that the fault has left behind.
const LONGEST_HANDLER_SECONDS: u32 = 10;

/// The mailbox, as the one thread uses it that asks.
pub(crate) struct Asker {
    pub(crate) mailbox: Mailbox,
    pub(crate) facts: Facts,
    /// The process and the thread that ask.
    owner: (u32, u32),
    /// Polls of requests that were answered here, and of which the simulator knows nothing.
    looks: AtomicU32,
    /// Polls of requests in a row that have found nothing.
    empty_polls: AtomicU32,
    /// Such a poll has seen all that happened before the last answer.
    saw: AtomicBool,
    /// One of them takes time, so that something may have happened since.
    late: AtomicBool,
    /// Frames and operations that were noted since the last question; frames whose slot is being filled.
    pub(crate) noted: [AtomicU32; 2],
    pub(crate) filling: AtomicU32,
    /// The frame that the last wait was answered with, until a poll takes it.
    at_hand: Mutex<Option<AtHand>>,
    /// Frames of each channel that were taken since the last question without one.
    taken: [AtomicU32; 2],
    /// Buffers of frames, by size class.
    pool: Mutex<[Vec<Box<[FrameLine]>>; 12]>,
    pub(crate) outside: Outside,
}

/// A frame that has come with an answer, and that the simulator still has in its queue.
pub(crate) struct AtHand {
    pub(crate) from: RankId,
    pub(crate) channel: Channel,
    pub(crate) buffer: Box<[FrameLine]>,
    pub(crate) len: usize,
}

/// The asker of this process, for handlers of faults.
static ASKER: OnceLock<Arc<Asker>> = OnceLock::new();

/// The asker of this process, once it has one.
pub(crate) fn current() -> Option<&'static Arc<Asker>> {
    ASKER.get()
}

/// Leaves the place of a fault to the simulator. SIGTRAP comes from the simulator, when a turn does not end.
fn at_fault(_: &Fault) {
    if let Some(asker) = ASKER.get() {
        // SAFETY: asks for a signal that ends the process if the search below does not end.
        unsafe { libc::alarm(LONGEST_HANDLER_SECONDS) };
        asker.mailbox.last_words("", &crate::place::place());
    }
}

impl Asker {
    /// For the calling thread.
    pub(crate) fn new(mailbox: Mailbox, facts: Facts) -> Asker {
        Asker {
            mailbox,
            facts,
            owner: (std::process::id(), thread::number()),
            looks: AtomicU32::new(0),
            empty_polls: AtomicU32::new(0),
            saw: AtomicBool::new(false),
            late: AtomicBool::new(false),
            noted: Default::default(),
            filling: AtomicU32::new(0),
            at_hand: Mutex::default(),
            taken: Default::default(),
            pool: Mutex::default(),
            outside: Outside::default(),
        }
    }

    /// Whether the calling thread is the one that asks.
    pub(crate) fn is_owner(&self) -> bool {
        (std::process::id(), thread::number()) == self.owner
    }

    /// Lets time pass.
    pub(crate) fn pass(&self, nanoseconds: u64) {
        self.ask(ask::PASS, &[nanoseconds], &[]);
    }

    /// The time of the last answer.
    pub(crate) fn nanoseconds(&self) -> u64 {
        self.view().picoseconds / 1000
    }

    pub(crate) fn seed_of_rank(&self) -> u64 {
        self.facts.seed << 20 ^ u64::from(self.facts.rank)
    }

    pub(crate) fn ask(&self, kind: u32, words: &[u64], bytes: &[u8]) -> Letter {
        if !self.is_owner() {
            self.refuse();
        }
        let looked = Looked {
            times: self.looks.swap(0, Ordering::Relaxed),
            saw: self.saw.swap(false, Ordering::Relaxed),
        };
        self.late.store(false, Ordering::Relaxed);
        self.noted.iter().chain(&self.taken).for_each(|noted| noted.store(0, Ordering::Relaxed));
        let mut answer = self.mailbox.ask(kind, words, bytes, looked);
        while answer.kind == answer::WHERE {
            answer = self.mailbox.ask(ask::PLACE, &[], crate::place::place().as_bytes(), Looked::default());
        }
        self.empty_polls.store(self.view().empty_polls, Ordering::Relaxed);
        if answer.kind == answer::FAILED {
            gasnet_sys::stdio::say(&String::from_utf8_lossy(self.mailbox.bytes()));
            process::exit_now(1);
        }
        answer
    }

    /// Notes a frame (0) or an operation (1) if there is room for sure, and nothing but the costs chooses the
    /// order.
    pub(crate) fn note(&self, what: usize, kind: u32, words: &[u64], bytes: &[u8]) -> bool {
        let noted = self.noted[what].load(Ordering::Relaxed);
        let may = !self.facts.explores && (what == 0 || noted < self.view().room[1]);
        let noted_now = may && self.mailbox.note(kind, words, bytes);
        self.noted[what].store(noted + u32::from(noted_now), Ordering::Relaxed);
        noted_now
    }

    /// Whether a poll of this channel finds a frame, as far as the last answer and the notes since then tell.
    pub(crate) fn has_frames(&self, channel: Channel) -> bool {
        let channel = channel as usize;
        self.view().frames[channel] > self.taken[channel].load(Ordering::Relaxed)
    }

    /// Waits. The answer may be the frame that ends the wait.
    pub(crate) fn idle(&self, what: &str, meanwhile: Meanwhile) {
        let answer = self.ask(ask::IDLE, &[meanwhile as u64], what.as_bytes());
        if let Some(frame) = self.received(&answer)
            && let Some(old) = lock(&self.at_hand).replace(frame)
        {
            self.give_back(old.buffer);
        }
    }

    /// Polls by a question.
    pub(crate) fn ask_for_frame(&self, channel: Channel) -> Option<AtHand> {
        self.received(&self.ask(ask::POLL, &[channel as u64], &[]))
    }

    /// The frame that an answer is, if it is one.
    fn received(&self, answer: &Letter) -> Option<AtHand> {
        if answer.kind != answer::FRAME {
            return None;
        }
        let [from, channel, ..] = answer.words;
        let channel = if channel == 0 { Channel::Request } else { Channel::Reply };
        let (mut buffer, len) = (self.buffer(answer.bytes), answer.bytes);
        // SAFETY: the buffer has as many bytes, and is not the mailbox.
        unsafe {
            let to = buffer.as_mut_ptr().cast::<u8>();
            core::ptr::copy_nonoverlapping(self.mailbox.bytes().as_ptr(), to, len);
        }
        Some(AtHand { from: RankId(from as u32), channel, buffer, len })
    }

    /// Takes the frame at hand, and notes that, if it is one of this channel.
    pub(crate) fn take_at_hand(&self, channel: Channel) -> Option<AtHand> {
        let mut at_hand = lock(&self.at_hand);
        let frame = at_hand.take_if(|frame| frame.channel == channel)?;
        if !self.mailbox.note(ask::TAKE, &[channel as u64], &[]) {
            // A question will bring it again.
            self.give_back(frame.buffer);
            return None;
        }
        self.looks.store(0, Ordering::Relaxed);
        self.empty_polls.store(0, Ordering::Relaxed);
        let taken = &self.taken[channel as usize];
        taken.store(taken.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        Some(frame)
    }

    /// A poll of a channel without frames: whether it needs no question.
    pub(crate) fn looks_in_vain(&self, channel: Channel) -> bool {
        if self.late.load(Ordering::Relaxed) {
            return false;
        }
        // The simulator lets time pass at the second empty poll in a row, and counts those of requests.
        let looks = self.looks.load(Ordering::Relaxed);
        let one = u32::from(channel == Channel::Request);
        let empty_polls = self.empty_polls.load(Ordering::Relaxed) + one;
        if empty_polls <= 1 {
            self.looks.store(looks + one, Ordering::Relaxed);
            self.empty_polls.store(empty_polls, Ordering::Relaxed);
        } else if !self.facts.explores && self.mailbox.note(ask::LOOK, &[channel as u64, looks.into()], &[]) {
            self.looks.store(0, Ordering::Relaxed);
            self.late.store(true, Ordering::Relaxed);
        } else {
            return false;
        }
        self.saw.store(true, Ordering::Relaxed);
        true
    }

    #[cold]
    fn refuse(&self) -> ! {
        let process = std::process::id();
        let rank = self.facts.rank;
        let who = if process == self.owner.0 {
            "a second thread of this rank calls the runtime"
        } else {
            "a process that this rank has forked calls the runtime"
        };
        let text = format!("rank {rank}: {who}: --simulate gives turns to ranks of one thread only");
        gasnet_sys::stdio::say(&format!("gasnet: {text}\n"));
        if process == self.owner.0 {
            self.mailbox.last_words(&text, &crate::place::place());
        }
        process::exit_now(2)
    }

    pub(crate) fn view(&self) -> View {
        self.mailbox.view()
    }

    /// Leaves to the simulator what explains the end of this process: the place of a fault, the message of a
    /// panic.
    pub(crate) fn explain_end(self: &Arc<Asker>) {
        if ASKER.set(self.clone()).is_err() {
            return;
        }
        signals::FAULTS.into_iter().for_each(|signal| signals::on_fault(signal, at_fault));
        let before = std::panic::take_hook();
        let asker = self.clone();
        std::panic::set_hook(Box::new(move |what| {
            let text = what.payload();
            let text =
                text.downcast_ref::<&str>().copied().or(text.downcast_ref::<String>().map(String::as_str));
            let text = text.unwrap_or_default();
            let place = what.location().map_or(String::new(), |at| format!("{}:{}", at.file(), at.line()));
            asker.mailbox.last_words(text, &place);
            before(what);
        }));
    }

    pub(crate) fn buffer(&self, len: usize) -> Box<[FrameLine]> {
        let class = class(len);
        let free = lock(&self.pool)[class].pop();
        free.unwrap_or_else(|| vec![FrameLine([0; 64]); 1 << class].into())
    }

    pub(crate) fn give_back(&self, buffer: Box<[FrameLine]>) {
        let class = buffer.len().trailing_zeros() as usize;
        lock(&self.pool)[class].push(buffer);
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Size class of a frame: it has `1 << class` lines.
pub(crate) fn class(len: usize) -> usize {
    len.div_ceil(64).max(1).next_power_of_two().trailing_zeros() as usize
}

/// What a rank has seen of the clock and of random numbers.
#[derive(Default)]
pub(crate) struct Outside {
    /// Reads since the last time that the simulator was told.
    pub(crate) reads: AtomicU64,
    /// The latest time that the program has seen.
    pub(crate) seen: AtomicU64,
    /// Random words that were drawn.
    pub(crate) drawn: AtomicU64,
}
