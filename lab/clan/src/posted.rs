//! Posted buffers: a rendezvous that the receiver begins, over a [`Stream`] and regions.
//!
//! The receiver *posts* one or several buffers for a message: a *cookie*, the keys of the buffers
//! ([`RegionKey`]), goes to the sender through the stream. To send, the sender takes the oldest cookie, puts
//! the bytes straight into the buffers, and then writes a *transfer entry* into the stream: how many bytes
//! there are, and a number of the sender's choice. So the bytes of a message are in place before the receiver
//! sees the entry, and nobody copies them at the receiver. They are put from where they are, too: a message
//! may consist of several pieces, which need not be as long as the buffers.
//!
//! ```text
//!   receiver                         sender
//!   post(buffers)  --- cookie -->    send(pieces, number): takes the cookie,
//!                  <=== bytes ===    puts all pieces into the buffers (one-sided),
//!   receive()      <--- entry ---    writes the entry
//! ```
//!
//! Cookies go the other way than messages, and are not behind them: they arrive while bulk is on its way.
//!
//! **Overrun** is found by the sender before a byte leaves. Where no buffer is posted, an [`Overrun`] says
//! what to do: to refuse, to wait, to queue the message here until there is a buffer, or to do what the
//! connection's [`Reliability`] asks for. A message that is too long for the buffers is treated likewise, but
//! for waiting.
//!
//! **Credits.** The sender can [keep cookies back](PostedTx::keep_back), for messages that let the other side
//! post again. Otherwise two sides with full buffers may wait for each other for ever.
//!
//! **Protection.** A buffer can be written from its posting until its entry is taken. Then its key is
//! revoked: a buffer that the program has back never changes under it.
//!
//! **Ends** are the stream's. A buffer whose sender is gone is freed with the [`Posted`].

use super::Stream;
use gasnet::Rank;
use gasnet::region::{Exported, Modes, RegionKey};
use std::collections::VecDeque;
use std::io::{self, BufRead, ErrorKind, IoSlice, Write};

/// Most buffers of a message.
pub const MOST_BUFFERS: usize = 16;
/// Bytes of a cookie before its keys: their number.
const COUNT_BYTES: usize = 8;
const KEY_BYTES: usize = size_of::<RegionKey>();
/// Bytes of a transfer entry: the length, the number, the [status](Status).
const ENTRY_BYTES: usize = 16;
/// Most cookies that the sender takes out of the stream before they are used: what more there are stays
/// there, and bounds the receiver.
const MOST_COOKIES: usize = 64;

/// The behaviour of a sender where no buffer is posted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overrun {
    /// The send fails with [`WouldBlock`](ErrorKind::WouldBlock); nothing is sent.
    Refuse,
    /// The send waits for a buffer.
    Wait,
    /// The message is copied, and goes when there is a buffer, before all later ones: see
    /// [`PostedTx::progress`].
    Queue,
    /// The behaviour that the connection's [`Reliability`] asks for.
    Comply,
}

/// The treatment of a message that has no place, after the levels of VIA.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reliability {
    /// It is dropped, and nobody is told.
    Unreliable,
    /// The connection breaks: the receiver is told, and the sender with its next message.
    Delivery,
    /// The connection breaks, and both are told.
    Reception,
}

/// How a transfer went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Status {
    Done = 0,
    NoBuffer = 1,
    TooLong = 2,
}

/// A message that has arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrival {
    /// The buffers, as they were posted but for the bytes of the message, which are the first ones.
    pub buffers: Vec<Vec<u8>>,
    /// How many bytes the message has.
    pub len: usize,
    /// The sender's number.
    pub immediate: u32,
}

/// The side that posts buffers and receives.
#[derive(Debug)]
pub struct Posted<'r> {
    rank: &'r Rank,
    stream: Stream<'r>,
    posted: VecDeque<Vec<Exported<'r, u8>>>,
}

impl<'r> Posted<'r> {
    /// Receives messages of the peer of a stream, which has a [`PostedTx`] of its end. Nothing else may be
    /// written to the stream.
    pub fn new(rank: &'r Rank, stream: Stream<'r>) -> Posted<'r> {
        Posted { rank, stream, posted: VecDeque::new() }
    }

    /// For how many messages there are buffers.
    pub fn len(&self) -> usize {
        self.posted.len()
    }

    /// Whether no buffer is posted.
    pub fn is_empty(&self) -> bool {
        self.posted.is_empty()
    }

    /// Posts buffers for the next message that finds no other ones: it fills one after the other.
    ///
    /// # Errors
    /// [`WouldBlock`](ErrorKind::WouldBlock): the stream's ring is full of cookies, with those that the peer
    /// has taken and not told of yet (it tells after each chunk). Or the peer has not accepted the stream
    /// yet. [`InvalidInput`](ErrorKind::InvalidInput): more than [`MOST_BUFFERS`]. The stream has ended.
    pub fn post(&mut self, buffers: Vec<Vec<u8>>) -> io::Result<()> {
        if buffers.len() > MOST_BUFFERS {
            let text = format!("{} buffers for a message; at most {MOST_BUFFERS}", buffers.len());
            return Err(io::Error::new(ErrorKind::InvalidInput, text));
        }
        if self.stream.tx().room()? < COUNT_BYTES + KEY_BYTES * buffers.len() {
            let (peer, n) = (self.stream.peer(), self.posted.len());
            let text = format!("rank {peer} has no room for another cookie: {n} are posted");
            return Err(io::Error::new(ErrorKind::WouldBlock, text));
        }
        let export = |buffer| self.rank.regions().export_vec(buffer, Modes::WRITE).map_err(io::Error::other);
        let exported = buffers.into_iter().map(export).collect::<io::Result<Vec<_>>>()?;
        let mut cookie = (exported.len() as u64).to_le_bytes().to_vec();
        exported.iter().for_each(|buffer| cookie.extend_from_slice(bytemuck::bytes_of(&buffer.key())));
        self.stream.write_all(&cookie)?;
        self.posted.push_back(exported);
        Ok(())
    }

    /// Waits for the next message. `None`: the sender has ended.
    ///
    /// # Errors
    /// [`ConnectionAborted`](ErrorKind::ConnectionAborted): a message had no place, and broke the connection.
    /// Those of the stream.
    pub fn receive(&mut self) -> io::Result<Option<Arrival>> {
        let peer = self.stream.peer();
        let entry = self.stream.rx().fill(ENTRY_BYTES)?;
        if entry.is_empty() {
            return Ok(None);
        }
        let Some((entry, _)) = entry.split_first_chunk::<ENTRY_BYTES>() else {
            return Err(self.nonsense("half an entry"));
        };
        let word = |at: usize| u32::from_le_bytes([entry[at], entry[at + 1], entry[at + 2], entry[at + 3]]);
        let (len, immediate, status) = (u64::from(word(4)) << 32 | u64::from(word(0)), word(8), word(12));
        if status != Status::Done as u32 {
            let why = if status == Status::TooLong as u32 {
                "was too long for its buffers"
            } else {
                "found no buffer"
            };
            let text = format!("a message of {len} bytes from rank {peer} {why}");
            return Err(io::Error::new(ErrorKind::ConnectionAborted, text));
        }
        self.stream.consume(ENTRY_BYTES);
        let Some(exported) = self.posted.pop_front() else {
            return Err(self.nonsense("an entry without a buffer"));
        };
        // Revoked by this: the sender cannot write them any more.
        let buffers: Vec<Vec<u8>> = exported.into_iter().map(Exported::into_vec).collect();
        if len > buffers.iter().map(|buffer| buffer.len() as u64).sum() {
            return Err(self.nonsense("a message that is longer than its buffers"));
        }
        Ok(Some(Arrival { buffers, len: len as usize, immediate }))
    }

    /// The next message, if one has come. `None`: none has come, or the sender has ended.
    ///
    /// # Errors
    /// As [`receive`](Self::receive).
    pub fn try_receive(&mut self) -> io::Result<Option<Arrival>> {
        if self.stream.rx().available()? < ENTRY_BYTES { Ok(None) } else { self.receive() }
    }

    fn nonsense(&self, what: &str) -> io::Error {
        nonsense(&self.stream, what, "PostedTx")
    }
}

fn nonsense(stream: &Stream<'_>, what: &str, other: &str) -> io::Error {
    let text = format!("from rank {} came {what}: is its end a {other}?", stream.peer());
    io::Error::new(ErrorKind::InvalidData, text)
}

fn ended(stream: &Stream<'_>) -> io::Error {
    io::Error::new(ErrorKind::BrokenPipe, format!("rank {} posts no more buffers", stream.peer()))
}

/// The keys of the buffers of a message.
type Cookie = Vec<RegionKey>;

fn room(cookie: &Cookie) -> u64 {
    cookie.iter().map(RegionKey::len).sum()
}

/// The side that sends.
#[derive(Debug)]
pub struct PostedTx<'r> {
    rank: &'r Rank,
    stream: Stream<'r>,
    reliability: Reliability,
    cookies: VecDeque<Cookie>,
    kept: usize,
    /// Messages that wait for buffers, with their numbers.
    queued: VecDeque<(Vec<u8>, u32)>,
    broken: bool,
}

impl<'r> PostedTx<'r> {
    /// Sends messages to the peer of a stream, which has a [`Posted`] of its end. The connection has
    /// [`Reliability::Reception`].
    pub fn new(rank: &'r Rank, stream: Stream<'r>) -> PostedTx<'r> {
        PostedTx::with_reliability(rank, stream, Reliability::Reception)
    }

    /// As [`new`](Self::new), of another reliability.
    pub fn with_reliability(rank: &'r Rank, stream: Stream<'r>, reliability: Reliability) -> PostedTx<'r> {
        let (cookies, queued) = (VecDeque::new(), VecDeque::new());
        PostedTx { rank, stream, reliability, cookies, kept: 0, queued, broken: false }
    }

    /// Keeps this many cookies for [`send_with_credit`](Self::send_with_credit).
    pub fn keep_back(&mut self, cookies: usize) {
        self.kept = cookies;
    }

    /// The length of the buffers that the next message goes to. `None`: none are known to be posted.
    ///
    /// # Errors
    /// Those of the stream.
    pub fn next_len(&mut self) -> io::Result<Option<usize>> {
        self.take_cookies()?;
        Ok(self.cookies.front().map(|cookie| room(cookie) as usize))
    }

    /// Number of messages that wait for buffers.
    pub fn queued(&self) -> usize {
        self.queued.len()
    }

    /// Sends the pieces as one message, with a number, and before it those that are queued. The pieces may be
    /// changed on return; the message is in place then, unless it is queued.
    ///
    /// # Errors
    /// [`WouldBlock`](ErrorKind::WouldBlock): no buffer is posted, or those that are are kept back.
    /// [`InvalidInput`](ErrorKind::InvalidInput): the message is longer than the buffers, which stay posted.
    /// [`ConnectionAborted`](ErrorKind::ConnectionAborted): a message without a place has broken the
    /// connection. [`BrokenPipe`](ErrorKind::BrokenPipe): the receiver has ended. In all these cases nothing
    /// of the message was sent.
    pub fn send(&mut self, pieces: &[IoSlice<'_>], immediate: u32, overrun: Overrun) -> io::Result<()> {
        self.send_above(self.kept, pieces, immediate, overrun)
    }

    /// As [`send`](Self::send), for a message that lets the other side post again: it may have the cookies
    /// that are kept back.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub fn send_with_credit(
        &mut self,
        pieces: &[IoSlice<'_>],
        immediate: u32,
        overrun: Overrun,
    ) -> io::Result<()> {
        self.send_above(0, pieces, immediate, overrun)
    }

    /// Sends as many queued messages as there are buffers for. Returns how many are left.
    ///
    /// # Errors
    /// [`ConnectionAborted`](ErrorKind::ConnectionAborted): one was too long for its buffers. Those of the
    /// stream.
    pub fn progress(&mut self) -> io::Result<usize> {
        self.check()?;
        self.take_cookies()?;
        while self.cookies.len() > self.kept
            && let Some((message, immediate)) = self.queued.pop_front()
        {
            if self.cookies.front().is_some_and(|cookie| message.len() as u64 > room(cookie)) {
                self.break_off(message.len(), immediate, Status::TooLong)?;
                return Err(self.aborted());
            }
            self.transfer(&[IoSlice::new(&message)], immediate)?;
        }
        Ok(self.queued.len())
    }

    /// Waits until no message is queued.
    ///
    /// # Errors
    /// As [`progress`](Self::progress).
    pub fn flush(&mut self) -> io::Result<()> {
        while self.progress()? > 0 {
            self.wait_cookie()?;
        }
        Ok(())
    }

    fn send_above(
        &mut self,
        kept: usize,
        pieces: &[IoSlice<'_>],
        immediate: u32,
        overrun: Overrun,
    ) -> io::Result<()> {
        let len: usize = pieces.iter().map(|p| p.len()).sum();
        let mut waiting = self.progress()?;
        while waiting > 0 || self.cookies.len() <= kept {
            match overrun {
                Overrun::Wait => self.wait_cookie()?,
                Overrun::Queue => {
                    let message = pieces.iter().flat_map(|piece| piece.iter().copied()).collect();
                    self.queued.push_back((message, immediate));
                    return Ok(());
                }
                Overrun::Refuse => {
                    let peer = self.stream.peer();
                    let text = format!("rank {peer} has posted no buffer for the message");
                    return Err(io::Error::new(ErrorKind::WouldBlock, text));
                }
                Overrun::Comply => return self.comply(len, immediate, Status::NoBuffer),
            }
            waiting = self.progress()?;
        }
        let room = self.cookies.front().map_or(0, room);
        if len as u64 > room {
            if overrun == Overrun::Comply {
                return self.comply(len, immediate, Status::TooLong);
            }
            let peer = self.stream.peer();
            let text =
                format!("a message of {len} bytes: the buffers that rank {peer} has posted have {room}");
            return Err(io::Error::new(ErrorKind::InvalidInput, text));
        }
        self.transfer(pieces, immediate)
    }

    /// A message has no place.
    fn comply(&mut self, len: usize, immediate: u32, status: Status) -> io::Result<()> {
        if self.reliability == Reliability::Unreliable {
            return Ok(());
        }
        self.break_off(len, immediate, status)?;
        if self.reliability == Reliability::Delivery { Ok(()) } else { Err(self.aborted()) }
    }

    /// Breaks the connection: the receiver is told.
    fn break_off(&mut self, len: usize, immediate: u32, status: Status) -> io::Result<()> {
        self.broken = true;
        self.enter(len, immediate, status)
    }

    fn aborted(&self) -> io::Error {
        let text =
            format!("a message to rank {} had no place, and has broken the connection", self.stream.peer());
        io::Error::new(ErrorKind::ConnectionAborted, text)
    }

    fn check(&self) -> io::Result<()> {
        if self.broken { Err(self.aborted()) } else { Ok(()) }
    }

    /// Puts a message into the buffers of the oldest cookie, where it fits, and tells the receiver.
    fn transfer(&mut self, pieces: &[IoSlice<'_>], immediate: u32) -> io::Result<()> {
        let peer = self.stream.peer();
        if self.rank.has_departed(peer) {
            return Err(io::Error::new(ErrorKind::ConnectionReset, format!("rank {peer} has left the job")));
        }
        let cookie = self.cookies.pop_front().unwrap_or_default();
        let (mut keys, mut at, mut len) = (cookie.iter().peekable(), 0, 0);
        for piece in pieces {
            let mut rest = &piece[..];
            while !rest.is_empty()
                && let Some(key) = keys.peek()
            {
                let (now, later) = rest.split_at(rest.len().min((key.len() - at) as usize));
                if !now.is_empty() {
                    self.rank.region(key).write(at, now).map_err(|e| {
                        let text = format!("the buffer that rank {peer} has posted: {e}");
                        io::Error::new(ErrorKind::BrokenPipe, text)
                    })?;
                }
                (rest, at, len) = (later, at + now.len() as u64, len + now.len());
                if at == key.len() {
                    (_, at) = (keys.next(), 0);
                }
            }
        }
        self.enter(len, immediate, Status::Done)
    }

    /// Writes a transfer entry.
    fn enter(&mut self, len: usize, immediate: u32, status: Status) -> io::Result<()> {
        let mut entry = [0; ENTRY_BYTES];
        entry[..8].copy_from_slice(&(len as u64).to_le_bytes());
        entry[8..12].copy_from_slice(&immediate.to_le_bytes());
        entry[12..].copy_from_slice(&(status as u32).to_le_bytes());
        self.stream.write_all(&entry)
    }

    /// Takes cookies that have come.
    fn take_cookies(&mut self) -> io::Result<()> {
        while self.cookies.len() < MOST_COOKIES {
            let available = self.stream.rx().available()?;
            if available == 0 && self.cookies.is_empty() && self.stream.rx().has_ended()? {
                return Err(ended(&self.stream));
            }
            if available < COUNT_BYTES {
                return Ok(());
            }
            let keys = self.count()?;
            if available < COUNT_BYTES + keys * KEY_BYTES {
                return Ok(());
            }
            let cookie = self.cookie(keys)?;
            self.cookies.push_back(cookie);
        }
        Ok(())
    }

    /// Waits for a cookie more than there are.
    fn wait_cookie(&mut self) -> io::Result<()> {
        let keys = self.count()?;
        let cookie = self.cookie(keys)?;
        self.cookies.push_back(cookie);
        Ok(())
    }

    /// The number of keys of the next cookie.
    fn count(&mut self) -> io::Result<usize> {
        let count = self.stream.rx().fill(COUNT_BYTES)?;
        let keys =
            count.split_first_chunk::<COUNT_BYTES>().map(|(count, _)| u64::from_le_bytes(*count) as usize);
        match keys {
            Some(keys) if keys <= MOST_BUFFERS => Ok(keys),
            None => Err(ended(&self.stream)),
            _ => Err(nonsense(&self.stream, "a cookie of more buffers than there may be", "Posted")),
        }
    }

    /// The next cookie.
    fn cookie(&mut self, keys: usize) -> io::Result<Cookie> {
        let (peer, len) = (self.stream.peer(), COUNT_BYTES + keys * KEY_BYTES);
        let bytes = self.stream.rx().fill(len)?.get(COUNT_BYTES..len);
        let Some(bytes) = bytes else { return Err(ended(&self.stream)) };
        let cookie: Cookie = bytes.chunks_exact(KEY_BYTES).map(bytemuck::pod_read_unaligned).collect();
        self.stream.consume(len);
        match cookie.iter().find(|key| key.rank() != peer) {
            Some(key) => {
                let what = format!("a key of rank {}", key.rank());
                Err(nonsense(&self.stream, &what, "Posted"))
            }
            None => Ok(cookie),
        }
    }
}
