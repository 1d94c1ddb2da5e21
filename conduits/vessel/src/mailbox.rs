//! The memory that a rank shares with the simulator.
//!
//! A call, in either direction, is a kind, some words and some bytes. The word `turn` says who may touch the
//! rest, and is what the other one sleeps on. Notes are calls without an answer; they are before the bytes of
//! the question that they come with:
//!
//! ```text
//! data: | note, bytes | note, bytes | ... | bytes of the question |
//!       0                              `noted`
//! ```
#![expect(unsafe_code, reason = "memory that two processes share")]

use core::ptr::NonNull;
use gasnet_sys::futex;
use gasnet_sys::memory::Mapping;
use gasnet_wire::conduit::MIN_FRAME;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// What a rank asks; the words of each are behind it.
pub mod ask {
    /// Room for a frame: to, channel, bytes. Answer: `YES` and the slot, or `NO`.
    pub const RESERVE: u32 = 1;
    /// The frame is in the bytes: slot, to, channel. May be a note.
    pub const COMMIT: u32 = 2;
    /// In place of a slot: there is room for sure ([`View::room`](super::View::room)).
    pub const NO_SLOT: u64 = u64::MAX;
    /// The room is not needed: slot.
    pub const CANCEL: u32 = 3;
    /// channel. Answer: `FRAME`, or `NO` if there is none.
    pub const POLL: u32 = 4;
    /// The handler of a `FRAME` has returned. A note.
    pub const HANDLED: u32 = 5;
    /// The segment: address, bytes.
    pub const ATTACH: u32 = 6;
    /// to, offset, address, number of bytes, token. Short sources are in the bytes. Answer: `YES` or `NO`.
    /// May be a note.
    pub const PUT: u32 = 7;
    /// from, offset, address, number of bytes, token. Answer: `YES` or `NO`. May be a note.
    pub const GET: u32 = 8;
    /// budget. Answer: `YES` and their number; in the bytes a token and 1, 2 or 3 for each (locally,
    /// remotely, both).
    pub const COMPLETIONS: u32 = 9;
    /// The rank waits; the bytes say for what, the number what it has done meanwhile.
    pub const IDLE: u32 = 10;
    /// The rank gives the bytes to the next exchange between all ranks.
    pub const GIVE: u32 = 11;
    /// The part of the result that begins at this byte. Answer: `YES`, and the bytes.
    pub const PART: u32 = 12;
    /// The rank says to its overseer what is in the bytes.
    pub const SAID: u32 = 13;
    /// The answer to `WHERE`: a place in the program.
    pub const PLACE: u32 = 14;
    /// Nothing: the notes are to be read.
    pub const NOTHING: u32 = 15;
    /// A poll that finds nothing, and takes time: channel, and the number of polls of requests before it that
    /// the rank has answered to itself. A note.
    pub const LOOK: u32 = 16;
    /// Time passes for the rank: nanoseconds.
    pub const PASS: u32 = 17;
    /// A poll that takes the frame that came with the answer to `IDLE`, to be handled: channel. A note, as is
    /// the `HANDLED` that follows.
    pub const TAKE: u32 = 18;
    /// The exchange to which the rank has given. Answer: `YES` and the number of bytes of the result, or
    /// `NO` as long as ranks are missing.
    pub const GATHERED: u32 = 19;
}

/// What the simulator answers.
pub mod answer {
    /// Done.
    pub const YES: u32 = 1;
    /// It would block.
    pub const NO: u32 = 2;
    /// A frame to be handled: from, channel; the bytes are the frame. To `POLL` it says that the frame is
    /// taken; to `IDLE`, that it is the first one that a poll of that channel will find.
    pub const FRAME: u32 = 3;
    /// The job ends: the bytes say why.
    pub const FAILED: u32 = 4;
    /// No answer but a question: where in its program the rank is.
    pub const WHERE: u32 = 5;
}

/// Who has the turn.
const RANK: u32 = 1;
const SIMULATOR: u32 = 2;

/// Bytes of the largest call: a frame, or as much of anything else.
pub const PART_BYTES: usize = MIN_FRAME.next_multiple_of(4096);
/// Bytes of the last words.
const LAST_BYTES: usize = 1024;
/// Bytes of a mailbox, whole pages.
pub const BYTES: usize = HEAD_BYTES + NOTE_BYTES + PART_BYTES;
/// Most bytes of notes.
const NOTE_BYTES: usize = 32 << 10;
/// Bytes of a note beside its own: kind, length, words.
const NOTE_HEAD_BYTES: usize = 8 + 8 * WORDS;
const HEAD_BYTES: usize = 4096;
/// Words of a call.
const WORDS: usize = 5;

/// The first page.
#[repr(C)]
struct Head {
    turn: AtomicU32,
    pid: AtomicU32,
    kind: AtomicU32,
    bytes: AtomicU32,
    /// Bytes of the notes.
    noted: AtomicU32,
    words: [AtomicU64; WORDS],
    picoseconds: AtomicU64,
    completions: AtomicU32,
    frames: [AtomicU32; 2],
    looks: AtomicU32,
    saw: AtomicU32,
    room: [AtomicU32; 2],
    empty_polls: AtomicU32,
    /// The numbers of the job: see [`Mailbox::facts`].
    facts: [AtomicU64; 5],
    last_bytes: [AtomicU32; 2],
    last: [[u8; LAST_BYTES]; 2],
}

const _: () = assert!(size_of::<Head>() <= HEAD_BYTES);

/// A question or an answer; its bytes are in the mailbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Letter {
    /// One of [`ask`] or [`answer`].
    pub kind: u32,
    /// Its numbers.
    pub words: [u64; WORDS],
    /// Number of its bytes.
    pub bytes: usize,
    /// Of a question: polls of requests just before it that the rank has answered to itself.
    pub looks: u32,
    /// Of a question: polls that the rank has answered to itself have seen what happened before.
    pub saw: bool,
}

/// What a rank knows of the world while it has the turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct View {
    /// Virtual time, in picoseconds.
    pub picoseconds: u64,
    /// Numbers of the frames of each channel that polls would deliver.
    pub frames: [u32; 2],
    /// Operations have ended.
    pub completions: bool,
    /// Number of polls in a row that have found nothing.
    pub empty_polls: u32,
    /// So many frames can be sent for sure, and one-sided operations be started.
    pub room: [u32; 2],
}

/// The polls that a rank has answered to itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Looked {
    /// Number of those of requests.
    pub times: u32,
    /// They have seen what happened before.
    pub saw: bool,
}

/// The numbers of a job that a rank needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// This rank.
    pub rank: u32,
    /// Number of ranks.
    pub size: u32,
    /// Something other than the costs chooses the order.
    pub explores: bool,
    /// A put of more bytes may read its source later, where something chooses the order.
    pub inline: u64,
    /// The seed of what ranks draw at random.
    pub seed: u64,
}

/// A mailbox: one side of it.
#[derive(Debug)]
pub struct Mailbox {
    mapping: Mapping,
}

impl Mailbox {
    /// Maps the mailbox number `number` of a file of mailboxes.
    ///
    /// # Errors
    /// The system's.
    pub fn map(file: BorrowedFd<'_>, number: u32) -> io::Result<Mailbox> {
        Ok(Mailbox { mapping: Mapping::shared(file, u64::from(number) * BYTES as u64, BYTES)? })
    }

    fn head(&self) -> &Head {
        // SAFETY: the mapping is as long, begins at a page, and lives as long as this value; all bytes are
        // values of `Head`, whose only part without atomics (`last`) is reached by address.
        unsafe { &*self.mapping.base().cast::<Head>() }
    }

    fn data(&self) -> NonNull<u8> {
        // SAFETY: inside the mapping, which is not at address 0.
        unsafe { NonNull::new_unchecked(self.mapping.base().add(HEAD_BYTES)) }
    }

    fn noted(&self) -> usize {
        (self.head().noted.load(Ordering::Relaxed) as usize).min(NOTE_BYTES)
    }

    fn part(&self, at: usize, len: usize) -> &[u8] {
        assert!(at + len <= NOTE_BYTES + PART_BYTES, "a part of the mailbox");
        // SAFETY: inside the mapping. Whoever has the turn is the only one to write there; a rank that does
        // not keep to it (invariant 3 of the crate) spoils the bytes, which are checked as any others from
        // outside.
        unsafe { core::slice::from_raw_parts(self.data().as_ptr().add(at), len) }
    }

    /// The bytes of the call that was taken last. They change with the next one.
    pub fn bytes(&self) -> &[u8] {
        let len = (self.head().bytes.load(Ordering::Relaxed) as usize).min(PART_BYTES);
        self.part(self.noted(), len)
    }

    /// Rank: keeps a note for the next question; `false` if there is no room for it.
    pub fn note(&self, kind: u32, words: &[u64], bytes: &[u8]) -> bool {
        let at = self.noted();
        let len = NOTE_HEAD_BYTES + bytes.len().next_multiple_of(8);
        if at + len > NOTE_BYTES {
            return false;
        }
        let mut head = [0; NOTE_HEAD_BYTES];
        head[..4].copy_from_slice(&kind.to_le_bytes());
        head[4..8].copy_from_slice(&(bytes.len() as u32).to_le_bytes());
        for (i, word) in words.iter().enumerate() {
            head[8 + 8 * i..16 + 8 * i].copy_from_slice(&word.to_le_bytes());
        }
        // SAFETY: checked above to be inside the part for notes; the rank has the turn, and its sources are
        // not in the mailbox.
        unsafe {
            let to = self.data().as_ptr().add(at);
            core::ptr::copy_nonoverlapping(head.as_ptr(), to, head.len());
            core::ptr::copy_nonoverlapping(bytes.as_ptr(), to.add(NOTE_HEAD_BYTES), bytes.len());
        }
        self.head().noted.store((at + len) as u32, Ordering::Relaxed);
        true
    }

    /// Rank: whether there are notes that the simulator has not read.
    pub fn has_notes(&self) -> bool {
        self.noted() > 0
    }

    /// Simulator: the notes that have come with a question, and their bytes.
    pub fn notes(&self) -> impl Iterator<Item = (Letter, &[u8])> {
        let mut rest = self.part(0, self.noted());
        core::iter::from_fn(move || {
            let (head, behind) = rest.split_first_chunk::<NOTE_HEAD_BYTES>()?;
            let number = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
            let words =
                core::array::from_fn(|i| u64::from(number(8 + 8 * i)) | u64::from(number(12 + 8 * i)) << 32);
            let len = (number(4) as usize).min(behind.len());
            rest = behind.get(len.next_multiple_of(8)..).unwrap_or_default();
            Some((Letter { kind: number(0), words, bytes: len, looks: 0, saw: false }, &behind[..len]))
        })
    }

    /// Writes a call and gives the turn away.
    fn write(&self, kind: u32, words: &[u64], bytes: &[u8], to: u32) {
        let (head, at) = (self.head(), self.noted());
        let len = bytes.len().min(PART_BYTES);
        // SAFETY: room for as many bytes behind the notes; ours, since we have the turn. The source may
        // overlap: it may be what `bytes` has lent.
        unsafe { core::ptr::copy(bytes.as_ptr(), self.data().as_ptr().add(at), len) };
        head.kind.store(kind, Ordering::Relaxed);
        head.bytes.store(len as u32, Ordering::Relaxed);
        for (i, word) in head.words.iter().enumerate() {
            word.store(words.get(i).copied().unwrap_or(0), Ordering::Relaxed);
        }
        // ORDER: Release; pairs with Acquire in has_turn: the call.
        head.turn.store(to, Ordering::Release);
        futex::wake_one(&head.turn);
    }

    fn has_turn(&self, who: u32) -> bool {
        // ORDER: Acquire; pairs with Release in write: the call.
        self.head().turn.load(Ordering::Acquire) == who
    }

    fn read(&self) -> Letter {
        let head = self.head();
        let words = core::array::from_fn(|i| head.words[i].load(Ordering::Relaxed));
        let looks = head.looks.load(Ordering::Relaxed);
        let (kind, saw) = (head.kind.load(Ordering::Relaxed), head.saw.load(Ordering::Relaxed) != 0);
        Letter { kind, words, bytes: self.bytes().len(), looks, saw }
    }

    /// Rank: asks, and sleeps until the answer is there.
    pub fn ask(&self, kind: u32, words: &[u64], bytes: &[u8], looked: Looked) -> Letter {
        self.head().looks.store(looked.times, Ordering::Relaxed);
        self.head().saw.store(looked.saw.into(), Ordering::Relaxed);
        self.write(kind, words, bytes, SIMULATOR);
        while !self.has_turn(RANK) {
            futex::sleep_while(&self.head().turn, SIMULATOR, Duration::from_secs(3600));
        }
        self.read()
    }

    /// Simulator: prepares the mailbox for a rank that is about to start, and has the turn.
    pub fn prepare(&self, facts: Facts) {
        let head = self.head();
        let numbers = [facts.rank.into(), facts.size.into(), facts.explores.into(), facts.inline, facts.seed];
        head.facts.iter().zip(numbers).for_each(|(fact, number)| fact.store(number, Ordering::Relaxed));
        // ORDER: Release; pairs with Acquire in has_turn of the rank, which comes by starting the process.
        head.turn.store(RANK, Ordering::Release);
    }

    /// Rank: the numbers of its job.
    pub fn facts(&self) -> Facts {
        let [rank, size, explores, inline, seed] =
            core::array::from_fn(|i| self.head().facts[i].load(Ordering::Relaxed));
        Facts { rank: rank as u32, size: size as u32, explores: explores != 0, inline, seed }
    }

    /// Rank: the process that it is.
    pub fn come(&self, pid: u32) {
        self.head().pid.store(pid, Ordering::Relaxed);
    }

    /// Simulator: the rank's process, once it has come.
    pub fn pid(&self) -> Option<u32> {
        Some(self.head().pid.load(Ordering::Relaxed)).filter(|pid| *pid != 0)
    }

    /// Simulator: answers.
    pub fn answer(&self, kind: u32, words: &[u64], bytes: &[u8], view: View) {
        let head = self.head();
        head.picoseconds.store(view.picoseconds, Ordering::Relaxed);
        head.completions.store(view.completions.into(), Ordering::Relaxed);
        head.frames.iter().zip(view.frames).for_each(|(to, frames)| to.store(frames, Ordering::Relaxed));
        head.empty_polls.store(view.empty_polls, Ordering::Relaxed);
        head.room.iter().zip(view.room).for_each(|(to, room)| to.store(room, Ordering::Relaxed));
        // The notes have been read.
        head.noted.store(0, Ordering::Relaxed);
        self.write(kind, words, bytes, RANK);
    }

    /// Rank: what it knows of the world.
    pub fn view(&self) -> View {
        let head = self.head();
        View {
            picoseconds: head.picoseconds.load(Ordering::Relaxed),
            frames: core::array::from_fn(|i| head.frames[i].load(Ordering::Relaxed)),
            completions: head.completions.load(Ordering::Relaxed) != 0,
            empty_polls: head.empty_polls.load(Ordering::Relaxed),
            room: core::array::from_fn(|i| head.room[i].load(Ordering::Relaxed)),
        }
    }

    /// Simulator: the rank's question, if it comes within this time.
    pub fn next(&self, longest: Duration) -> Option<Letter> {
        if !self.has_turn(SIMULATOR) {
            futex::sleep_while(&self.head().turn, RANK, longest);
        }
        self.has_turn(SIMULATOR).then(|| self.read())
    }

    /// Rank: leaves a text and a place that explain its end. The first ones count.
    pub fn last_words(&self, text: &str, place: &str) {
        let head = self.head();
        for (i, words) in [text, place].into_iter().enumerate() {
            let len = words.len().min(LAST_BYTES);
            if head.last_bytes[i].load(Ordering::Relaxed) != 0 || len == 0 {
                continue;
            }
            // SAFETY: room for as many bytes, which nobody else writes, and nobody reads before the end of
            // this process.
            unsafe {
                let to = (&raw const head.last[i]).cast_mut().cast::<u8>();
                core::ptr::copy_nonoverlapping(words.as_ptr(), to, len);
            }
            head.last_bytes[i].store(len as u32, Ordering::Relaxed);
        }
    }

    /// Simulator: the last words of a rank that has ended: a text and a place, empty if it left none.
    pub fn read_last_words(&self) -> [String; 2] {
        let head = self.head();
        core::array::from_fn(|i| {
            let len = (head.last_bytes[i].load(Ordering::Relaxed) as usize).min(LAST_BYTES);
            // SAFETY: inside the mapping; the rank's process has ended.
            let bytes = unsafe { core::slice::from_raw_parts((&raw const head.last[i]).cast::<u8>(), len) };
            String::from_utf8_lossy(bytes).into_owned()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    #[test]
    fn questions_are_answered_and_bytes_go_both_ways() {
        let file = gasnet_sys::fd::memory_file("mailboxes").unwrap();
        gasnet_sys::fd::grow(file.as_fd(), 3 * BYTES as u64).unwrap();
        let facts = Facts { rank: 2, size: 3, explores: true, inline: 64, seed: 7 };
        let here = Mailbox::map(file.as_fd(), 2).unwrap();
        here.prepare(facts);
        std::thread::scope(|threads| {
            threads.spawn(|| {
                let there = Mailbox::map(file.as_fd(), 2).unwrap();
                assert_eq!(there.facts(), facts);
                assert!(there.note(ask::COMMIT, &[1, 2, 3], b"frame") && there.note(ask::HANDLED, &[], &[]));
                assert!(!there.note(ask::COMMIT, &[], &[0; NOTE_BYTES]) && there.has_notes());
                let answer =
                    there.ask(ask::PUT, &[7, u64::MAX], &[5; PART_BYTES + 1], Looked { times: 2, saw: true });
                assert!(!there.has_notes());
                assert_eq!((answer.kind, answer.words), (answer::NO, [0, 9, 0, 0, 0]));
                assert_eq!(there.bytes(), b"why");
                assert_eq!((there.view().frames, there.view().empty_polls), ([0, 2], 3));
                there.last_words("text", "");
                there.last_words("other", "place");
                there.ask(ask::SAID, &[], &[], Looked::default());
            });
            let next = || {
                loop {
                    if let Some(call) = here.next(Duration::from_millis(50)) {
                        return call;
                    }
                }
            };
            let asked = next();
            assert_eq!(
                asked,
                Letter {
                    kind: ask::PUT,
                    words: [7, u64::MAX, 0, 0, 0],
                    bytes: PART_BYTES,
                    looks: 2,
                    saw: true
                }
            );
            assert!(here.bytes().iter().all(|byte| *byte == 5));
            let notes: Vec<_> = here.notes().collect();
            assert_eq!((notes.len(), notes[0].0.words, notes[0].1), (2, [1, 2, 3, 0, 0], &b"frame"[..]));
            assert_eq!((notes[1].0.kind, notes[1].1), (ask::HANDLED, &[][..]));
            let view = View { frames: [0, 2], empty_polls: 3, ..View::default() };
            here.answer(answer::NO, &[0, 9], b"why", view);
            assert_eq!(next().kind, ask::SAID);
            here.answer(answer::YES, &[], &[], View::default());
        });
        assert_eq!(here.read_last_words(), ["text", "place"]);
    }
}
