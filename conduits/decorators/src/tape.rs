//! The file in which a rank's recording lies, written and read.
//!
//! ```text
//! header   4096 bytes: magic, version, build, job, rank, size; and the count of idle polls (below)
//! tail     8 bytes: length (u32), number of the block that it holds (u32); then at most 65,528 bytes
//! block 0  8 bytes: length (u32), checksum (u32); then 65,528 bytes
//! block 1  ...
//! ```
//! All numbers are little endian. The bytes of the blocks, one after the other, are the *events*: a tag, and
//! what belongs to it as variable-length numbers (seven bits a byte) and bytes. The tag's lower four bits are
//! the kind, the upper four the first number if it is less than 15; otherwise they are 15, and the rest of
//! the number follows. An event may continue in the next block.
//!
//! **The tail.** The block that is being written is the tail. The writer has it mapped, so what it has
//! written is in the file as soon as it is in memory: a killed process loses nothing. A full tail is copied
//! behind the blocks before it by a write, and its memory holds the next block. (Blocks mapped one after the
//! other would cost a page fault for every page: three to four times as much as the copy.) Length and number
//! of the tail are stored together, after the bytes that they count.
//!
//! **Cut anywhere.** The blocks before the tail's number are full, and have a checksum. A reader ends where
//! one of them is missing, a checksum is wrong, or an event is not complete.
//!
//! **Idle polls.** Most polls of a waiting rank find nothing. They are counted in the header, and become one
//! event ([`TapeEvent::Idle`]) when something else happens.
//!
//! **Versions.** A reader takes every file of its major version with the same minor version or an older one.
#![expect(unsafe_code, reason = "writes into a mapped file")]

use crate::fingerprint::{check_of_frame, hash_of_frame};
use gasnet_sys::fd;
use gasnet_sys::memory::Mapping;
use gasnet_wire::conduit::Channel;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering, compiler_fence};

/// First bytes of a file.
const MAGIC: &[u8; 8] = b"GASNETFR";
/// Version of the format: major and minor.
const VERSION: (u16, u16) = (3, 0);
/// Bytes of the header: whole pages, since it is mapped.
const HEADER_BYTES: usize = 4096;
/// Bytes of a block with its head.
const BLOCK_BYTES: usize = 64 << 10;
/// Bytes of the head of a block.
const BLOCK_HEAD_BYTES: usize = 8;
/// Bytes that a block holds.
const BLOCK_ROOM: usize = BLOCK_BYTES - BLOCK_HEAD_BYTES;
/// Bytes of the file that are mapped: the header and the tail.
const MAPPED_BYTES: usize = HEADER_BYTES + BLOCK_BYTES;
/// Where the header has the count of idle polls.
const IDLE_AT: usize = 40;
/// Largest size of a fact or of a part of an exchange that a reader believes.
const MAX_BYTES: u64 = 1 << 30;

/// Whose recording a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TapeLabel {
    /// A hash of the executable.
    pub build: u64,
    /// The job's number.
    pub job: u64,
    /// The rank.
    pub rank: u32,
    /// Ranks in the job.
    pub size: u32,
}

impl TapeLabel {
    fn encode(&self) -> [u8; IDLE_AT] {
        let mut bytes = [0; IDLE_AT];
        bytes[..8].copy_from_slice(MAGIC);
        bytes[8..10].copy_from_slice(&VERSION.0.to_le_bytes());
        bytes[10..12].copy_from_slice(&VERSION.1.to_le_bytes());
        bytes[12..16].copy_from_slice(&(HEADER_BYTES as u32).to_le_bytes());
        bytes[16..24].copy_from_slice(&self.build.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.job.to_le_bytes());
        bytes[32..36].copy_from_slice(&self.rank.to_le_bytes());
        bytes[36..40].copy_from_slice(&self.size.to_le_bytes());
        bytes
    }

    fn decode(bytes: &[u8; IDLE_AT]) -> Result<TapeLabel, String> {
        let number = |at: usize, len: usize| {
            bytes[at..at + len].iter().rev().fold(0u64, |n, byte| n << 8 | u64::from(*byte))
        };
        if &bytes[..8] != MAGIC {
            return Err("it is no recording of a rank".into());
        }
        let (major, minor) = (number(8, 2), number(10, 2));
        if major != u64::from(VERSION.0) || minor > u64::from(VERSION.1) {
            return Err(format!(
                "it has version {major}.{minor} of the format, and this program reads {}.0 to {}.{}",
                VERSION.0, VERSION.0, VERSION.1
            ));
        }
        Ok(TapeLabel {
            build: number(16, 8),
            job: number(24, 8),
            rank: number(32, 4) as u32,
            size: number(36, 4) as u32,
        })
    }
}

/// Something that happened to a rank, or that it did. Bytes are in [`TapeReader::bytes`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TapeEvent {
    /// Something about the job that a replay has to know: the length of its name, which the bytes begin with.
    Fact(usize),
    /// So many polls that found nothing.
    Idle(u64),
    /// A poll delivered the frame with these bytes.
    Frame(Channel, u32),
    /// The poll that delivered frames ends, and returns this.
    PollEnds(u64),
    /// There was no room for a frame: channel, peer, length.
    Full(Channel, u32, u64),
    /// A frame was sent: channel, peer, length, hash.
    Sent(Channel, u32, u64, u32),
    /// Room for a frame was given back.
    Cancelled,
    /// An exchange gave these bytes: of each rank a length (u32) and its contribution.
    Exchange,
    /// A rank turned out to have left.
    Left(u32),
    /// The rank ended, with this status.
    Ended(i32),
    /// The program looked at this clock of the system, which showed so many nanoseconds.
    Clock(u8, u64),
    /// A poll delivered a frame with this check ([`check_of_frame`]): in a recording of the order only.
    Came(Channel, u32, u8),
    /// There was no room for a frame, after so many for which there was since the event before: likewise.
    FullAfter(u64),
}

const FULL_AFTER: u8 = 0;
const FACT: u8 = 1;
const IDLE: u8 = 2;
const POLL_ENDS: u8 = 3;
const CANCELLED: u8 = 4;
const EXCHANGE: u8 = 5;
const LEFT: u8 = 6;
const ENDED: u8 = 7;
const CLOCK: u8 = 14;
// The lowest bit is the channel.
const FRAME: u8 = 8;
const FULL: u8 = 10;
const SENT: u8 = 12;
/// Its number is twice the rank, and the channel.
const CAME: u8 = 15;

/// The times of the clocks seen last: a look is written as the difference to the one before.
type Clocks = [u64; 16];

/// The largest first number that a tag holds, plus one: the mark that the number continues behind the tag.
const TAG_FULL: u64 = 15;

/// Bytes for a tag, two numbers and four more bytes.
const HEAD_BYTES: usize = 32;

/// The head of an event: a tag and numbers.
struct Head {
    bytes: [u8; HEAD_BYTES],
    len: usize,
}

impl Head {
    /// An event of this kind, with its first number.
    fn new(kind: u8, n: u64) -> Head {
        let mut head = Head { bytes: [0; HEAD_BYTES], len: 1 };
        head.bytes[0] = kind | (n.min(TAG_FULL) as u8) << 4;
        if n < TAG_FULL { head } else { head.number(n - TAG_FULL) }
    }

    fn number(mut self, mut n: u64) -> Head {
        while n >= 0x80 {
            self.bytes[self.len] = n as u8 | 0x80;
            self.len += 1;
            n >>= 7;
        }
        self.bytes[self.len] = n as u8;
        self.len += 1;
        self
    }

    fn byte(mut self, byte: u8) -> Head {
        self.bytes[self.len] = byte;
        self.len += 1;
        self
    }

    fn raw(mut self, bytes: [u8; 4]) -> Head {
        self.bytes[self.len..self.len + 4].copy_from_slice(&bytes);
        self.len += 4;
        self
    }
}

/// What a writer counts between two events. Its rank counts most, and without a lock, so only one thread may
/// count at a time.
#[derive(Debug, Clone)]
pub struct Counts {
    /// The header and the tail of the file.
    mapped: Arc<Mapping>,
    /// Frames for which there was room since the last event or idle poll.
    sends: Arc<AtomicU64>,
}

impl Counts {
    /// Polls that found nothing since the last event.
    #[inline]
    fn idle(&self) -> &AtomicU64 {
        // SAFETY: an aligned word of the mapped header, which lives as long as this; others reach it by this
        // method only.
        unsafe { AtomicU64::from_ptr(self.mapped.base().add(IDLE_AT).cast()) }
    }

    /// A poll found nothing.
    #[inline]
    pub fn idle_poll(&self) {
        // Relaxed, here and below: one thread counts, and a reader of the file takes any value.
        self.idle().store(self.idle().load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        self.sends.store(0, Ordering::Relaxed);
    }

    /// There was room for a frame, of whose sender the order is recorded.
    #[inline]
    pub fn room(&self) {
        self.sends.store(self.sends.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }
}

/// Writes a file. Not thread-safe.
#[derive(Debug)]
pub struct TapeWriter {
    file: File,
    /// The header and the tail.
    mapped: Arc<Mapping>,
    counts: Counts,
    /// The number of the block that the tail holds, and bytes in it.
    block: u32,
    used: usize,
    /// Why nothing is written any more.
    stopped: Option<io::Error>,
    events: u64,
    clocks: Clocks,
}

/// Where a block lies in the file that is not in the tail.
fn block_at(number: u32) -> u64 {
    (MAPPED_BYTES + number as usize * BLOCK_BYTES) as u64
}

impl TapeWriter {
    /// Makes the file, which only its owner can read: it holds the program's data.
    ///
    /// # Errors
    /// The system's.
    pub fn create(path: &Path, label: &TapeLabel) -> io::Result<TapeWriter> {
        let file =
            OpenOptions::new().read(true).write(true).create(true).truncate(true).mode(0o600).open(path)?;
        fd::allocate(file.as_fd(), 0, MAPPED_BYTES as u64)?;
        file.write_all_at(&label.encode(), 0)?;
        let mapped = Arc::new(Mapping::shared(file.as_fd(), 0, MAPPED_BYTES)?);
        Ok(TapeWriter {
            file,
            counts: Counts { mapped: mapped.clone(), sends: Arc::default() },
            mapped,
            block: 0,
            used: 0,
            stopped: None,
            events: 0,
            clocks: [0; 16],
        })
    }

    /// Events so far.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Bytes of the file so far.
    pub fn bytes(&self) -> u64 {
        block_at(self.block)
    }

    /// Why nothing is written any more, once.
    pub fn stopped(&mut self) -> Option<io::Error> {
        let kind = self.stopped.as_ref()?.kind();
        self.stopped.replace(kind.into()).filter(|why| why.raw_os_error().is_some())
    }

    /// The counts, for whoever counts.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Writes an event: its head, and bytes.
    #[inline]
    fn event(&mut self, head: &Head, bytes: &[u8]) {
        let idle = self.counts.idle().load(Ordering::Relaxed);
        if idle > 0 {
            self.append_head(&Head::new(IDLE, idle));
            self.events += 1;
        }
        self.append_head(head);
        self.append(bytes);
        self.events += 1;
        self.counts.sends.store(0, Ordering::Relaxed);
        self.publish();
        if idle > 0 {
            self.counts.idle().store(0, Ordering::Relaxed);
        }
    }

    #[inline]
    fn append_head(&mut self, head: &Head) {
        if self.used + head.bytes.len() >= BLOCK_ROOM || self.stopped.is_some() {
            return self.append(&head.bytes[..head.len]);
        }
        // Of known length, since a call to copy some bytes would take as long as all else.
        let at = HEADER_BYTES + BLOCK_HEAD_BYTES + self.used;
        // SAFETY: inside of the tail; nobody else has it.
        unsafe { self.mapped.base().add(at).cast::<[u8; HEAD_BYTES]>().write(head.bytes) };
        self.used += head.len;
    }

    /// Says which block the tail holds, and how many bytes of it.
    #[inline]
    fn publish(&mut self) {
        if self.stopped.is_some() {
            return;
        }
        // SAFETY: the aligned first word of the tail; nobody else has it.
        let word = unsafe { AtomicU64::from_ptr(self.mapped.base().add(HEADER_BYTES).cast()) };
        // ORDER: Release; pairs with whoever reads the file after this process was killed: the bytes are
        // there before the length that counts them.
        word.store(u64::from(self.block) << 32 | self.used as u64, Ordering::Release);
    }

    #[inline]
    fn append(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() && self.stopped.is_none() {
            let (now, rest) = bytes.split_at(bytes.len().min(BLOCK_ROOM - self.used));
            let at = HEADER_BYTES + BLOCK_HEAD_BYTES + self.used;
            // SAFETY: inside of the tail; nobody else has it.
            unsafe { core::ptr::copy_nonoverlapping(now.as_ptr(), self.mapped.base().add(at), now.len()) };
            self.used += now.len();
            if self.used == BLOCK_ROOM {
                self.next_block();
            }
            bytes = rest;
        }
    }

    /// Copies the tail, which is full, to its place, and begins the next block.
    #[cold]
    fn next_block(&mut self) {
        self.publish();
        // SAFETY: the bytes of the tail, all written; nobody else has them.
        let tail = unsafe {
            core::slice::from_raw_parts(self.mapped.base().add(HEADER_BYTES + BLOCK_HEAD_BYTES), BLOCK_ROOM)
        };
        let head = [(BLOCK_ROOM as u32).to_le_bytes(), checksum(tail).to_le_bytes()];
        let at = block_at(self.block);
        // Until the tail has another number a reader takes the tail.
        let written = self
            .file
            .write_all_at(tail, at + BLOCK_HEAD_BYTES as u64)
            .and_then(|()| self.file.write_all_at(head.as_flattened(), at));
        match written {
            Ok(()) => {
                (self.block, self.used) = (self.block + 1, 0);
                self.publish();
                // ORDER: SeqCst, for the compiler alone; a process is killed between two of its instructions.
                // Pairs with whoever reads the file then: no byte of the next block is in the tail while the
                // tail has the number of this one.
                compiler_fence(Ordering::SeqCst);
            }
            Err(why) => self.stopped = Some(why),
        }
    }

    /// Something about the job.
    pub fn fact(&mut self, name: &str, value: &[u8]) {
        let text = [name.as_bytes(), value].concat();
        self.event(&Head::new(FACT, name.len() as u64).number(text.len() as u64), &text);
    }

    /// A poll delivers a frame.
    pub fn frame(&mut self, channel: Channel, from: u32, frame: &[u8]) {
        let head = Head::new(FRAME | channel as u8, u64::from(from)).number(frame.len() as u64);
        self.event(&head, frame);
    }

    /// A poll that delivered frames ends.
    pub fn poll_ends(&mut self, returned: u64) {
        self.event(&Head::new(POLL_ENDS, returned), &[]);
    }

    /// There was no room for a frame.
    pub fn full(&mut self, channel: Channel, to: u32, len: usize) {
        self.event(&Head::new(FULL | channel as u8, u64::from(to)).number(len as u64), &[]);
    }

    /// A frame was sent.
    pub fn sent(&mut self, channel: Channel, to: u32, len: usize, hash: u32) {
        let head = Head::new(SENT | channel as u8, u64::from(to)).number(len as u64);
        self.event(&head.raw(hash.to_le_bytes()), &[]);
    }

    /// A poll delivers a frame, of which the order is recorded.
    pub fn came(&mut self, channel: Channel, from: u32, frame: &[u8]) {
        let head = Head::new(CAME, u64::from(from) << 1 | channel as u64);
        self.event(&head.byte(check_of_frame(frame)), &[]);
    }

    /// There was no room for a frame, of whose sender the order is recorded.
    pub fn full_after(&mut self) {
        let sends = self.counts.sends.load(Ordering::Relaxed);
        self.event(&Head::new(FULL_AFTER, sends), &[]);
    }

    /// Room was given back.
    pub fn cancelled(&mut self) {
        self.event(&Head::new(CANCELLED, 0), &[]);
    }

    /// An exchange gave these contributions.
    pub fn exchange<'a>(&mut self, parts: impl Iterator<Item = &'a [u8]>) {
        let mut all = Vec::new();
        for part in parts {
            all.extend_from_slice(&(part.len() as u32).to_le_bytes());
            all.extend_from_slice(part);
        }
        self.event(&Head::new(EXCHANGE, all.len() as u64), &all);
    }

    /// A rank turned out to have left.
    pub fn left(&mut self, rank: u32) {
        self.event(&Head::new(LEFT, u64::from(rank)), &[]);
    }

    /// The rank ends.
    pub fn ended(&mut self, status: i32) {
        self.event(&Head::new(ENDED, 0).raw(status.to_le_bytes()), &[]);
    }

    /// The program looked at a clock.
    pub fn clock(&mut self, clock: u8, now: u64) {
        let last = &mut self.clocks[usize::from(clock) % 16];
        let passed = now.wrapping_sub(*last);
        *last = now;
        self.event(&Head::new(CLOCK, u64::from(clock)).number(passed), &[]);
    }
}

/// The checksum of a full block.
fn checksum(bytes: &[u8]) -> u32 {
    hash_of_frame(bytes)
}

/// The two words of the head of a block.
fn words(file: &File, at: u64) -> Option<(u32, u32)> {
    let mut head = [0; BLOCK_HEAD_BYTES];
    file.read_exact_at(&mut head, at).ok()?;
    let word = |bytes: &[u8]| bytes.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
    Some((word(&head), word(&head[4..])))
}

/// Reads a file, event by event.
#[derive(Debug)]
pub struct TapeReader {
    file: File,
    label: TapeLabel,
    /// The number of the next block, or nothing if there is none; and of that in the tail, with its length.
    next_block: Option<u32>,
    tail: (u32, usize),
    block: Vec<u8>,
    at: usize,
    /// Bytes of the blocks before.
    before: u64,
    /// The bytes of the event read last.
    bytes: Vec<u8>,
    /// Events read.
    events: u64,
    clocks: Clocks,
}

impl TapeReader {
    /// Opens a file.
    ///
    /// # Errors
    /// Why it cannot be read.
    pub fn open(file: File) -> Result<TapeReader, String> {
        let mut header = [0; IDLE_AT];
        file.read_exact_at(&mut header, 0).map_err(|e| e.to_string())?;
        let label = TapeLabel::decode(&header)?;
        // A file that is cut here has no events.
        let (len, number) = words(&file, HEADER_BYTES as u64).unwrap_or_default();
        Ok(TapeReader {
            file,
            label,
            next_block: Some(0),
            tail: (number, len as usize),
            block: Vec::with_capacity(BLOCK_ROOM),
            at: 0,
            before: 0,
            bytes: Vec::new(),
            events: 0,
            clocks: [0; 16],
        })
    }

    /// Where the file lies.
    ///
    /// # Errors
    /// The system's.
    pub fn path(&self) -> io::Result<PathBuf> {
        std::fs::read_link(format!("/proc/self/fd/{}", self.file.as_raw_fd()))
    }

    /// Whose recording it is.
    pub fn label(&self) -> TapeLabel {
        self.label
    }

    /// Number of the event read last, from 1.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Bytes of the file that the events so far take.
    pub fn offset(&self) -> u64 {
        self.before + self.at as u64
    }

    /// Idle polls after the last event.
    pub fn idle_at_end(&self) -> u64 {
        let mut bytes = [0; 8];
        let read = self.file.read_exact_at(&mut bytes, IDLE_AT as u64);
        read.map_or(0, |()| u64::from_le_bytes(bytes))
    }

    /// The bytes of the event read last.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Takes them away; give them back by [`TapeReader::reuse`].
    pub fn take_bytes(&mut self) -> Vec<u8> {
        core::mem::take(&mut self.bytes)
    }

    /// Gives room back.
    pub fn reuse(&mut self, bytes: Vec<u8>) {
        self.bytes = bytes;
    }

    fn read_block(&mut self) -> Option<()> {
        let number = self.next_block.take()?;
        let (last, len) = self.tail;
        let is_last = number == last;
        let at = if is_last { HEADER_BYTES as u64 } else { block_at(number) };
        let len = if is_last { len } else { BLOCK_ROOM };
        if number > last || len == 0 || len > BLOCK_ROOM {
            return None;
        }
        self.before += self.at as u64;
        self.block.resize(len, 0);
        self.at = 0;
        let read = self.file.read_exact_at(&mut self.block, at + BLOCK_HEAD_BYTES as u64);
        let sum = checksum(&self.block);
        if read.is_err() || (!is_last && words(&self.file, at) != Some((BLOCK_ROOM as u32, sum))) {
            self.block.clear();
            return None;
        }
        self.next_block = (!is_last).then_some(number + 1);
        Some(())
    }

    fn byte(&mut self) -> Option<u8> {
        if self.at == self.block.len() {
            self.read_block()?;
        }
        self.at += 1;
        Some(self.block[self.at - 1])
    }

    fn number(&mut self) -> Option<u64> {
        let (mut n, mut shift) = (0u64, 0);
        loop {
            let byte = self.byte()?;
            n |= u64::from(byte & 0x7f).checked_shl(shift)?;
            if byte < 0x80 {
                return Some(n);
            }
            shift += 7;
        }
    }

    fn raw(&mut self) -> Option<[u8; 4]> {
        let mut bytes = [0; 4];
        for byte in &mut bytes {
            *byte = self.byte()?;
        }
        Some(bytes)
    }

    fn read_bytes(&mut self, len: u64) -> Option<()> {
        self.bytes.clear();
        if len > MAX_BYTES {
            return None;
        }
        let mut left = len as usize;
        while left > 0 {
            if self.at == self.block.len() {
                self.read_block()?;
            }
            let now = left.min(self.block.len() - self.at);
            self.bytes.extend_from_slice(&self.block[self.at..self.at + now]);
            self.at += now;
            left -= now;
        }
        Some(())
    }

    /// The next event; `None` where the file ends.
    #[expect(clippy::should_implement_trait, reason = "an event refers to the reader's bytes")]
    pub fn next(&mut self) -> Option<TapeEvent> {
        let tag = self.byte()?;
        let (kind, small) = (tag & 15, u64::from(tag >> 4));
        let first = if small < TAG_FULL { small } else { self.number()?.checked_add(TAG_FULL)? };
        let channel = if kind & 1 == 0 { Channel::Request } else { Channel::Reply };
        let event = match kind {
            FACT => {
                let (name, len) = (first, self.number()?);
                self.read_bytes(len)?;
                TapeEvent::Fact(usize::try_from(name.min(len)).ok()?)
            }
            IDLE => TapeEvent::Idle(first),
            POLL_ENDS => TapeEvent::PollEnds(first),
            FULL_AFTER => TapeEvent::FullAfter(first),
            CAME => {
                let channel = if first & 1 == 0 { Channel::Request } else { Channel::Reply };
                TapeEvent::Came(channel, (first >> 1) as u32, self.byte()?)
            }
            CANCELLED => TapeEvent::Cancelled,
            EXCHANGE => {
                self.read_bytes(first)?;
                TapeEvent::Exchange
            }
            LEFT => TapeEvent::Left(first as u32),
            ENDED => TapeEvent::Ended(i32::from_le_bytes(self.raw()?)),
            CLOCK => {
                let (clock, passed) = (first as u8, self.number()?);
                let last = &mut self.clocks[usize::from(clock) % 16];
                *last = last.wrapping_add(passed);
                TapeEvent::Clock(clock, *last)
            }
            _ => match kind & !1 {
                FRAME => {
                    let len = self.number()?;
                    self.read_bytes(len)?;
                    TapeEvent::Frame(channel, first as u32)
                }
                FULL => TapeEvent::Full(channel, first as u32, self.number()?),
                SENT => {
                    let (to, len) = (first as u32, self.number()?);
                    TapeEvent::Sent(channel, to, len, u32::from_le_bytes(self.raw()?))
                }
                _ => return None,
            },
        };
        self.events += 1;
        Some(event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("gasnet-tape-{}-{name}", std::process::id()))
    }

    const LABEL: TapeLabel = TapeLabel { build: 1 << 63 | 5, job: u64::MAX, rank: 3, size: 70_000 };

    /// An event and its bytes.
    type Read = (TapeEvent, Vec<u8>);

    fn all(path: &Path) -> Vec<Read> {
        let mut reader = TapeReader::open(File::open(path).unwrap()).unwrap();
        let mut events = Vec::new();
        while let Some(event) = reader.next() {
            let has_bytes = matches!(event, TapeEvent::Fact(_) | TapeEvent::Frame(..) | TapeEvent::Exchange);
            events.push((event, if has_bytes { reader.bytes().to_vec() } else { Vec::new() }));
        }
        assert_eq!(reader.events(), events.len() as u64);
        let bytes: usize = events.iter().map(|(_, bytes)| bytes.len()).sum();
        assert!(reader.offset() as usize >= events.len() + bytes);
        events
    }

    /// Writes events of all kinds, those with bytes also across blocks; returns what is to be
    /// read.
    fn write(writer: &mut TapeWriter, random: &mut fastrand::Rng, count: usize) -> Vec<Read> {
        let mut expected = Vec::new();
        let mut now = 1 << 60;
        for _ in 0..count {
            let len = [0, 1, 63, 64, 65, 129, 9000, BLOCK_ROOM, 200_000][random.usize(..9)];
            let bytes: Vec<u8> = (0..len).map(|_| random.u8(..)).collect();
            let channel = if random.bool() { Channel::Request } else { Channel::Reply };
            let idle = if random.u8(..4) == 0 { random.u64(1..300) } else { 0 };
            (0..idle).for_each(|_| writer.counts().idle_poll());
            if idle > 0 {
                expected.push((TapeEvent::Idle(idle), Vec::new()));
            }
            let plain = |event| (event, Vec::new());
            expected.push(match random.u8(..12) {
                10 => {
                    let from = [0, 6, 7, 70_000][random.usize(..4)];
                    writer.came(channel, from, &bytes);
                    plain(TapeEvent::Came(channel, from, check_of_frame(&bytes)))
                }
                11 => {
                    let sends = random.u64(..20);
                    (0..sends).for_each(|_| writer.counts().room());
                    writer.full_after();
                    plain(TapeEvent::FullAfter(sends))
                }
                0 => {
                    writer.fact("name", &bytes);
                    (TapeEvent::Fact(4), [b"name", &bytes[..]].concat())
                }
                1 => {
                    writer.frame(channel, 70_000, &bytes);
                    (TapeEvent::Frame(channel, 70_000), bytes)
                }
                2 => {
                    writer.poll_ends(300);
                    plain(TapeEvent::PollEnds(300))
                }
                3 => {
                    writer.full(channel, 1, len);
                    plain(TapeEvent::Full(channel, 1, len as u64))
                }
                4 => {
                    let hash = hash_of_frame(&bytes);
                    writer.sent(channel, 2, len, hash);
                    plain(TapeEvent::Sent(channel, 2, len as u64, hash))
                }
                5 => {
                    writer.cancelled();
                    plain(TapeEvent::Cancelled)
                }
                6 => {
                    writer.exchange([&bytes[..], &[7]].into_iter());
                    let said = [&(len as u32).to_le_bytes()[..], &bytes, &1u32.to_le_bytes(), &[7]].concat();
                    (TapeEvent::Exchange, said)
                }
                7 => {
                    writer.left(9);
                    plain(TapeEvent::Left(9))
                }
                8 => {
                    writer.ended(-1);
                    plain(TapeEvent::Ended(-1))
                }
                _ => {
                    // Clocks may be set back.
                    now = if random.bool() { now + 100 } else { now - 5 };
                    writer.clock(1, now);
                    plain(TapeEvent::Clock(1, now))
                }
            });
        }
        expected
    }

    #[test]
    #[cfg_attr(miri, ignore = "maps files")]
    fn what_is_written_is_read_wherever_the_file_is_cut() {
        let path = path("cut");
        let mut random = fastrand::Rng::with_seed(1);
        let mut writer = TapeWriter::create(&path, &LABEL).unwrap();
        let expected = write(&mut writer, &mut random, 500);
        (0..5).for_each(|_| writer.counts().idle_poll());
        // Not closed: as after a kill.
        assert!(all(&path) == expected, "before the end");
        let reader = TapeReader::open(File::open(&path).unwrap()).unwrap();
        assert_eq!((reader.label(), reader.idle_at_end()), (LABEL, 5));
        let len = writer.bytes();
        assert!(len > 20 * BLOCK_BYTES as u64, "many blocks: {len}");
        assert!(writer.stopped().is_none());
        drop(writer);
        for _ in 0..8 {
            let cut = random.u64(HEADER_BYTES as u64..len);
            File::options().write(true).open(&path).unwrap().set_len(cut).unwrap();
            let read = all(&path);
            assert!(read.len() < expected.len() && read[..] == expected[..read.len()], "cut at {cut}");
            let mut writer = TapeWriter::create(&path, &LABEL).unwrap();
            let again = write(&mut writer, &mut fastrand::Rng::with_seed(1), 500);
            assert!(again == expected);
        }
        std::fs::remove_file(&path).unwrap();
    }

    /// A file with damage is read up to there; nothing panics.
    #[test]
    #[cfg_attr(miri, ignore = "maps files")]
    fn any_damage_is_handled() {
        let path = path("damage");
        let mut random = fastrand::Rng::with_seed(2);
        let mut writer = TapeWriter::create(&path, &LABEL).unwrap();
        let expected = write(&mut writer, &mut random, 60);
        let len = writer.bytes();
        drop(writer);
        let good = std::fs::read(&path).unwrap();
        for _ in 0..200 {
            let mut bytes = good.clone();
            let at = random.u64(..len) as usize;
            bytes[at] ^= 1 << random.u8(..8);
            std::fs::write(&path, &bytes).unwrap();
            let Ok(mut reader) = TapeReader::open(File::open(&path).unwrap()) else { continue };
            let mut n = 0;
            while reader.next().is_some() {
                n += 1;
            }
            // In the tail, which has no checksum, damage may look like other events.
            if at >= MAPPED_BYTES {
                assert!(n <= expected.len(), "at {at}");
            }
        }
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    #[cfg_attr(miri, ignore = "maps files")]
    fn other_files_and_versions_are_refused() {
        let path = path("other");
        let open = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            TapeReader::open(File::open(&path).unwrap()).map(|reader| reader.label())
        };
        assert!(open(b"short").is_err());
        assert!(open(&[0; 4096]).unwrap_err().contains("no recording"));
        let mut label = LABEL.encode();
        assert_eq!(open(&label), Ok(LABEL));
        label[10] = 1;
        assert!(open(&label).unwrap_err().contains("version 3.1 of the format"));
        std::fs::remove_file(&path).unwrap();
    }
}
