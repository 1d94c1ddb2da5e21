//! Runs one rank again from its recording, alone and without a network.
//!
//! [`Replayer::begin`] makes what a launcher would tell the rank, and [`Replayed`] takes the place of the
//! network: its polls deliver what the recording says that they delivered, and what the rank sends is
//! compared with what it sent then. The rank is an ordinary process, so debuggers work as usual.
//!
//! The first step that is not the recorded one ends the replay ([`STATUS_LEFT`]), since all that follows
//! would be another run. A rank that was killed, or still waited when the job ended, replays up to there
//! ([`STATUS_OVER`]). Under a debugger both stop the process as a breakpoint does.
#![expect(unsafe_code, reason = "a conduit promises the core that its slots and frames are memory")]

use crate::fingerprint::{hash_of_frame, hash_of_program};
use crate::inputs;
use crate::record::{ARGUMENT_COUNTS, Kept, Nobody, alone_in, fact, file_of};
use crate::tape::{TapeEvent, TapeLabel, TapeReader};
use crate::view::View;
use gasnet_wire::boot::{Exchange, HostFile, Overseer, ToMonitor};
use gasnet_wire::conduit::{
    Advice, Channel, Conduit, Frame, FrameLine, Limits, Meanwhile, OpenContext, RawSlot, SegmentDesc,
};
use gasnet_wire::last_words::say;
use gasnet_wire::{Boot, Config, Error, RankId};
use std::fs::File;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Exit status of a replay that does other things than its recording.
pub const STATUS_LEFT: i32 = 124;
/// Exit status of a replay whose recording ends before the rank does.
pub const STATUS_OVER: i32 = 125;

/// What a recording says about the rank.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// The words of the command.
    pub arguments: Vec<Vec<u8>>,
    /// The variables of the environment: `NAME=VALUE`.
    pub environment: Vec<Vec<u8>>,
    /// The directory it ran in.
    pub directory: Vec<u8>,
    /// The path of its executable.
    pub program: Vec<u8>,
    max_segment: u64,
    conduit: String,
    polls_both: bool,
    /// The first rank with these limits, by number of arguments.
    limits: Vec<(u32, [usize; ARGUMENT_COUNTS])>,
}

impl Facts {
    /// Reads the beginning of a recording.
    ///
    /// # Errors
    /// Why the file is none.
    pub fn of(file: File) -> Result<(TapeLabel, Facts), String> {
        let mut reader = TapeReader::open(file)?;
        let mut facts = Facts::default();
        while let Some(TapeEvent::Fact(name)) = reader.next() {
            facts.learn(name, reader.bytes());
        }
        Ok((reader.label(), facts))
    }

    pub(crate) fn max_segment(&self) -> u64 {
        self.max_segment
    }

    pub(crate) fn conduit(&self) -> &str {
        &self.conduit
    }

    pub(crate) fn polls_both(&self) -> bool {
        self.polls_both
    }

    pub(crate) fn limits(&self, to: u32, nargs: usize) -> Limits {
        let after = self.limits.partition_point(|(first, _)| *first <= to);
        let row = self.limits.get(after.saturating_sub(1));
        row.map_or(Limits::new(gasnet_wire::conduit::MIN_FRAME), |(_, of)| {
            Limits::new(of[nargs.min(ARGUMENT_COUNTS - 1)])
        })
    }

    fn learn(&mut self, name: usize, text: &[u8]) {
        let (name, value) = text.split_at(name.min(text.len()));
        let words = || value.split(|b| *b == 0).map(<[u8]>::to_vec);
        let word = |bytes: &[u8]| bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        match core::str::from_utf8(name).unwrap_or_default() {
            fact::ARGUMENTS => self.arguments = words().collect(),
            fact::ENVIRONMENT => self.environment = words().collect(),
            fact::DIRECTORY => self.directory = value.to_vec(),
            fact::PROGRAM => self.program = value.to_vec(),
            fact::MAX_SEGMENT => self.max_segment = word(value),
            fact::CONDUIT => self.conduit = String::from_utf8_lossy(value).into(),
            fact::POLLS_BOTH => self.polls_both = value == [1],
            fact::LIMITS => {
                let row = |row: &[u8]| {
                    let number = |i: usize| word(&row[8 * i..]);
                    (number(0) as u32, core::array::from_fn(|i| number(i + 1) as usize))
                };
                self.limits = value.chunks_exact(8 * (1 + ARGUMENT_COUNTS)).map(row).collect();
            }
            // Of a later minor version.
            _ => {}
        }
        // Each list ends with a zero.
        for list in [&mut self.arguments, &mut self.environment] {
            list.pop_if(|last| last.is_empty());
        }
    }
}

/// How far a replay is.
pub(crate) struct Play {
    reader: TapeReader,
    label: TapeLabel,
    /// The event that comes next.
    next: Option<TapeEvent>,
    /// Idle polls that are left at the end of the recording.
    idle_at_end: u64,
    /// What the rank waits for.
    waits_for: &'static str,
    /// From whom the last frame came, and its handler.
    last_frame: Option<(u32, u8)>,
    /// The executable is not the recorded one.
    other_program: bool,
    /// Frames for which there was room since the last event or idle poll.
    sends: u64,
    view: View,
    /// Memory for frames.
    pool: Vec<Vec<FrameLine>>,
}

impl core::fmt::Debug for Play {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Play").field("label", &self.label).field("next", &self.next).finish_non_exhaustive()
    }
}

impl Play {
    pub(crate) fn label(&self) -> TapeLabel {
        self.label
    }

    /// Whether the next poll found nothing; if so, it is over.
    pub(crate) fn was_idle(&mut self) -> bool {
        match self.peek() {
            Some(TapeEvent::Idle(n)) if n > 1 => self.next = Some(TapeEvent::Idle(n - 1)),
            Some(TapeEvent::Idle(_)) => self.advance(),
            None if self.idle_at_end > 0 => self.idle_at_end -= 1,
            _ => return false,
        }
        self.sends = 0;
        true
    }

    /// Whether there was no room for the message that comes next, if only the order was recorded.
    pub(crate) fn was_full_here(&mut self) -> bool {
        let full = self.peek() == Some(TapeEvent::FullAfter(self.sends));
        if full {
            self.advance();
        }
        full
    }

    /// There was room for a message.
    pub(crate) fn had_room(&mut self) {
        self.sends += 1;
    }

    /// A frame is delivered.
    pub(crate) fn came(&mut self, from: u32, handler: u8) {
        self.last_frame = Some((from, handler));
        self.view.came(from, handler);
        self.advance();
    }

    /// Whether a rank had left.
    pub(crate) fn has_left(&mut self, rank: u32) -> bool {
        let left = self.next == Some(TapeEvent::Left(rank));
        if left {
            self.advance();
        }
        left
    }

    pub(crate) fn waits_for(&mut self, what: &'static str) {
        self.waits_for = what;
    }

    pub(crate) fn advance(&mut self) {
        self.sends = 0;
        self.next = self.reader.next();
        if self.next.is_none() {
            self.idle_at_end = self.reader.idle_at_end();
        }
        self.view.comes(self.reader.events());
    }

    /// The event that comes next, without that a rank has left, which may be noticed at any time.
    pub(crate) fn peek(&mut self) -> Option<TapeEvent> {
        while let Some(TapeEvent::Left(_)) = self.next {
            self.advance();
        }
        self.next
    }

    /// Memory for a frame.
    fn room(&mut self, len: usize) -> Vec<FrameLine> {
        let mut lines = self.pool.pop().unwrap_or_default();
        lines.resize(lines.len().max(len.div_ceil(size_of::<FrameLine>()).max(1)), FrameLine([0; 64]));
        lines
    }

    fn who(&self) -> String {
        format!("gasnet: the replay of rank {} of {}", self.label.rank, self.label.size)
    }

    /// That the recording ends before the rank does, in words.
    pub(crate) fn end(&self) -> String {
        let waiting = match self.waits_for {
            "" => String::new(),
            what => format!(", in a wait for {what}"),
        };
        format!("{}: the recording ends here, after event {}{waiting}", self.who(), self.reader.events())
    }

    /// The recording ends before the rank does.
    fn is_over(&self) -> ! {
        say(&self.end());
        stop(STATUS_OVER)
    }

    /// The rank does something else than it did.
    pub(crate) fn leaves(&self, does: &str) -> ! {
        let did = match self.next {
            None => self.is_over(),
            Some(TapeEvent::Idle(_)) => "polled, and found nothing".to_string(),
            Some(TapeEvent::Frame(_, from) | TapeEvent::Came(_, from, _)) => {
                format!("polled, and got a frame from rank {from}")
            }
            Some(TapeEvent::PollEnds(_)) => "returned from a handler".into(),
            Some(TapeEvent::Full(_, to, len)) => format!("found no room for {len} bytes to rank {to}"),
            Some(TapeEvent::FullAfter(n)) => format!("found no room, after {n} other messages"),
            Some(TapeEvent::Sent(channel, to, len, _)) => {
                format!("sent a {} of {len} bytes to rank {to}", name(channel))
            }
            Some(TapeEvent::Cancelled) => "gave up a message that it had prepared".into(),
            Some(TapeEvent::Exchange) => "met the other ranks".into(),
            Some(TapeEvent::Clock(..)) => "looked at a clock".into(),
            Some(TapeEvent::Ended(status)) => format!("ended with status {status}"),
            Some(TapeEvent::Fact(_) | TapeEvent::Left(_)) => "started".into(),
        };
        let input = self
            .last_frame
            .map_or("none".into(), |(from, handler)| format!("frame from rank {from}, handler {handler}"));
        let other = if self.other_program { "; the program is not the one that was recorded" } else { "" };
        say(&format!(
            "{} leaves the recording at event {}: it {does}, and then it {did}; last input: {input}{other}",
            self.who(),
            self.reader.events()
        ));
        stop(STATUS_LEFT)
    }

    /// Compares a frame with what was sent.
    fn sends(&mut self, to: RankId, channel: Channel, frame: &[u8]) {
        let handler = frame.get(1).copied().unwrap_or(0);
        let len = frame.len() as u64;
        match self.peek() {
            Some(TapeEvent::Sent(then, rank, length, hash))
                if (then, rank, length) == (channel, to.0, len) =>
            {
                if hash == hash_of_frame(frame) {
                    return self.advance();
                }
                let differs = match self.received(to, channel, frame.len(), hash) {
                    Ok(then) => {
                        let first = frame.iter().zip(&then).position(|(now, then)| now != then);
                        let at = first.unwrap_or(0) / SHOWN_BYTES * SHOWN_BYTES;
                        let end = frame.len().min(at + SHOWN_BYTES);
                        let (now, then) = (hex(&frame[at..end]), hex(&then[at..end]));
                        format!("whose bytes {at} to {} are others than then: {now}; then: {then}", end - 1)
                    }
                    Err(why) => {
                        let begin = hex(&frame[..frame.len().min(SHOWN_BYTES)]);
                        format!("whose bytes are others than then: {begin}; which ones is not known: {why}")
                    }
                };
                self.leaves(&format!("sends a {} to rank {to}, handler {handler}, {differs}", name(channel)))
            }
            _ => self.leaves(&format!(
                "sends a {} of {len} bytes to rank {to}, handler {handler}: {}",
                name(channel),
                hex(&frame[..frame.len().min(SHOWN_BYTES)])
            )),
        }
    }

    /// The bytes of a frame that this rank has sent, from the recording of the rank that got it.
    fn received(&self, by: RankId, channel: Channel, len: usize, hash: u32) -> Result<Vec<u8>, String> {
        let mine = self.reader.path().map_err(|e| e.to_string())?;
        let path = file_of(mine.parent().unwrap_or(Path::new("")), Kept::Frames, by.0);
        let failed = |why: String| format!("{}: {why}", path.display());
        let mut theirs =
            TapeReader::open(File::open(&path).map_err(|e| failed(e.to_string()))?).map_err(failed)?;
        if theirs.label().job != self.label.job {
            return Err(failed("it is of another job".into()));
        }
        // Frames may overtake each other, and those with the same hash are the same.
        let came = TapeEvent::Frame(channel, self.label.rank);
        while let Some(event) = theirs.next() {
            if event == came && theirs.bytes().len() == len && hash_of_frame(theirs.bytes()) == hash {
                return Ok(theirs.take_bytes());
            }
        }
        Err(failed("the rank did not get this message".into()))
    }
}

/// Bytes that are shown of a frame that differs.
const SHOWN_BYTES: usize = 64;

pub(crate) fn name(channel: Channel) -> &'static str {
    match channel {
        Channel::Request => "request",
        Channel::Reply => "reply",
    }
}

fn hex(bytes: &[u8]) -> String {
    let group = |group: &[u8]| group.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    bytes.chunks(4).map(group).collect::<Vec<_>>().join(" ")
}

/// Ends the process, or lets a debugger stop it first.
fn stop(status: i32) -> ! {
    gasnet_sys::stdio::flush();
    drop(std::io::Write::flush(&mut std::io::stdout()));
    let traced = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    if traced.lines().any(|line| line.strip_prefix("TracerPid:").is_some_and(|pid| pid.trim() != "0")) {
        gasnet_sys::process::kill(gasnet_sys::process::pid(), libc::SIGTRAP);
    }
    gasnet_sys::process::exit_now(status)
}

pub(crate) type Shared = Arc<Mutex<Play>>;

pub(crate) fn lock(play: &Shared) -> MutexGuard<'_, Play> {
    play.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Begins to play a recording, whose facts come first.
pub(crate) fn begin_play(file: File) -> Result<(Shared, Facts), String> {
    let mut reader = TapeReader::open(file)?;
    let label = reader.label();
    let build = hash_of_program(Path::new("/proc/self/exe"));
    let other_program = build.is_ok_and(|build| build != label.build);
    let mut facts = Facts::default();
    let mut next = reader.next();
    while let Some(TapeEvent::Fact(name)) = next {
        facts.learn(name, reader.bytes());
        next = reader.next();
    }
    let play = Play {
        idle_at_end: if next.is_none() { reader.idle_at_end() } else { 0 },
        reader,
        label,
        next,
        waits_for: "",
        last_frame: None,
        other_program,
        sends: 0,
        view: View::new(),
        pool: Vec::new(),
    };
    Ok((Arc::new(Mutex::new(play)), facts))
}

/// Warns if the rank has other arguments than then. The launcher does not know them: it may start a program
/// that starts the rank.
pub(crate) fn check_arguments(play: &Shared, facts: &Facts) {
    let now = std::fs::read("/proc/self/cmdline").unwrap_or_default();
    let mut now: Vec<&[u8]> = now.split(|b| *b == 0).collect();
    now.pop();
    if now.iter().skip(1).eq(facts.arguments.iter().skip(1)) {
        return;
    }
    let words: Vec<_> = facts.arguments.iter().map(|word| String::from_utf8_lossy(word)).collect();
    let who = lock(play).who();
    say(&format!("{who}: warning: these are not the arguments that were recorded: {}", words.join(" ")));
}

/// Facts about the network come after those at the start, and exchanges may lie between.
pub(crate) fn learn_rest(play: &Shared, facts: &mut Facts) {
    let mut play = lock(play);
    while let Some(TapeEvent::Fact(name)) = play.next {
        facts.learn(name, play.reader.bytes());
        play.advance();
    }
}

/// Replays a rank.
pub struct Replayer {
    play: Shared,
    facts: Facts,
}

impl core::fmt::Debug for Replayer {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Replayer").field("facts", &self.facts).finish_non_exhaustive()
    }
}

impl Replayer {
    /// Begins to replay a recording. Returns what the rank is to be told, with `config` changed to that of
    /// the recording.
    ///
    /// # Errors
    /// The file is no recording.
    pub fn begin(file: File, config: Config) -> Result<(Boot, Config, Replayer), Error> {
        let (play, facts) = begin_play(file).map_err(|why| Error::job(format!("--replay: {why}")))?;
        check_arguments(&play, &facts);
        let label = lock(&play).label();
        inputs::listen(Box::new(Clock(play.clone())));
        let alone = |name| {
            let file = gasnet_sys::fd::memory_file(name).map(HostFile::from);
            let file = file.map_err(|e| Error::job(format!("--replay: {name}: {e}")))?;
            lock(&play).view.has_memory(name, &file);
            Ok::<_, Error>(file)
        };
        let boot = Boot {
            rank: label.rank,
            size: label.size,
            host_ranks: vec![label.rank],
            exchange: Some(Box::new(ReplayedExchange(play.clone()))),
            shm: alone("gasnet-shm")?,
            segments: alone("gasnet-segments")?,
            link: None,
            overseer: Some(Box::new(End(play.clone()))),
            job_id: label.job,
        };
        let config = alone_in(Config { max_segment: Some(facts.max_segment), ..config });
        Ok((boot, config, Replayer { play, facts }))
    }

    /// What takes the place of the network.
    ///
    /// # Errors
    /// The recording ends before the network was open.
    pub fn open(&self, cx: &OpenContext<'_>) -> Result<Option<Box<dyn Conduit>>, Error> {
        let mut facts = self.facts.clone();
        learn_rest(&self.play, &mut facts);
        if facts.limits.is_empty() && cx.size > 1 {
            return Err(Error::job("--replay: the recording ends before the rank had started"));
        }
        // It lives as long as the process.
        let conduit = String::leak(core::mem::take(&mut facts.conduit));
        Ok(Some(Box::new(Replayed { play: self.play.clone(), conduit, facts })))
    }
}

/// Shows what clocks have shown.
pub(crate) struct Clock(pub(crate) Shared);

impl inputs::Looks for Clock {
    fn look(&self, clock: u8, _: u64) -> u64 {
        let mut play = lock(&self.0);
        match play.peek() {
            Some(TapeEvent::Clock(then, now)) if then == clock => {
                play.advance();
                now
            }
            _ => play.leaves("looks at a clock"),
        }
    }
}

/// Gives what exchanges gave.
struct ReplayedExchange(Shared);

impl Exchange for ReplayedExchange {
    fn all_gather(&self, mine: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
        let mut play = lock(&self.0);
        if play.label.size == 1 && play.next.is_none() {
            return Nobody.all_gather(mine);
        }
        let Some(TapeEvent::Exchange) = play.peek() else { play.leaves("meets the other ranks") };
        let mut parts = Vec::new();
        let mut rest = play.reader.bytes();
        while let Some((len, more)) = rest.split_first_chunk::<4>() {
            let (part, more) = more.split_at((u32::from_le_bytes(*len) as usize).min(more.len()));
            parts.push(part.to_vec());
            rest = more;
        }
        play.advance();
        Ok(parts)
    }
}

/// Sees whether the rank ends as it did.
pub(crate) struct End(pub(crate) Shared);

impl Overseer for End {
    fn hear(&self, said: &ToMonitor) {
        let (ToMonitor::Done(status)
        | ToMonitor::Leaves(status)
        | ToMonitor::GlobalExit(status)
        | ToMonitor::Abort(status, _)) = said
        else {
            return;
        };
        // As in the recording.
        let Ok(mut play) = self.0.try_lock() else { return };
        match play.peek() {
            Some(TapeEvent::Ended(then)) if then == *status => play.advance(),
            _ => play.leaves(&format!("ends with status {status}")),
        }
    }
}

/// A conduit that delivers what was recorded.
struct Replayed {
    play: Shared,
    conduit: &'static str,
    facts: Facts,
}

#[deny(clippy::missing_trait_methods)]
// SAFETY: slots and frames are memory of the pool, taken out of it until they come back.
unsafe impl Conduit for Replayed {
    messages_only!();

    fn name(&self) -> &'static str {
        self.conduit
    }

    fn limits(&self, to: RankId, nargs: usize) -> Limits {
        self.facts.limits(to.0, nargs)
    }

    fn reserve(&self, to: RankId, channel: Channel, len: usize, _: bool) -> Result<Option<RawSlot>, Error> {
        let mut play = lock(&self.play);
        match play.peek() {
            Some(TapeEvent::Full(then, rank, length))
                if (then, rank, length) == (channel, to.0, len as u64) =>
            {
                play.advance();
                return Ok(None);
            }
            Some(TapeEvent::Cancelled) => play.advance(),
            // The rest is compared when the frame is complete.
            _ => {}
        }
        let lines = core::mem::ManuallyDrop::new(play.room(len));
        let buf = NonNull::new(lines.as_ptr().cast_mut().cast()).expect("a vector's memory");
        let whose = u64::from(to.0) << 1 | channel as u64;
        let rooms = (lines.len() as u64) << 32 | lines.capacity() as u64;
        Ok(Some(RawSlot { buf, len, cookie: [whose, rooms] }))
    }

    unsafe fn commit(&self, slot: RawSlot) {
        let mut play = lock(&self.play);
        // SAFETY: (1), so the bytes are filled in.
        let frame = unsafe { core::slice::from_raw_parts(slot.buf.as_ptr(), slot.len) };
        let channel = if slot.cookie[0] & 1 == 0 { Channel::Request } else { Channel::Reply };
        play.sends(RankId((slot.cookie[0] >> 1) as u32), channel, frame);
        drop(play);
        // SAFETY: (1).
        unsafe { self.cancel(slot) };
    }

    unsafe fn cancel(&self, slot: RawSlot) {
        let [_, rooms] = slot.cookie;
        let (len, capacity) = ((rooms >> 32) as usize, rooms as u32 as usize);
        // SAFETY: by (1) the parts of the vector that `reserve` took apart, once.
        let lines = unsafe { Vec::from_raw_parts(slot.buf.as_ptr().cast::<FrameLine>(), len, capacity) };
        lock(&self.play).pool.push(lines);
    }

    fn send(&self, to: RankId, channel: Channel, frame: &[u8], _: bool) -> Result<bool, Error> {
        let mut play = lock(&self.play);
        match play.peek() {
            Some(TapeEvent::Full(then, rank, len))
                if (then, rank, len) == (channel, to.0, frame.len() as u64) =>
            {
                play.advance();
                Ok(false)
            }
            _ => {
                play.sends(to, channel, frame);
                Ok(true)
            }
        }
    }

    fn poll(&self, _: Channel, _: usize, deliver: &mut dyn FnMut(Frame)) -> Result<usize, Error> {
        let mut delivered = false;
        loop {
            let mut play = lock(&self.play);
            match play.peek() {
                Some(TapeEvent::Frame(channel, from)) => {
                    let bytes = play.reader.take_bytes();
                    let mut lines = play.room(bytes.len());
                    let data = lines.as_mut_ptr().cast::<u8>();
                    // SAFETY: there is room for as many bytes.
                    unsafe { core::ptr::copy_nonoverlapping(bytes.as_ptr(), data, bytes.len()) };
                    let len = bytes.len();
                    let handler = bytes.get(1).copied().unwrap_or(0);
                    play.reader.reuse(bytes);
                    play.came(from, handler);
                    drop(play);
                    deliver(Frame { from: RankId(from), channel, data, len });
                    lock(&self.play).pool.push(lines);
                    delivered = true;
                }
                Some(TapeEvent::PollEnds(done)) => {
                    play.advance();
                    return Ok(done as usize);
                }
                _ if !delivered && play.was_idle() => return Ok(0),
                // The runtime ended the rank: it waited for one that had left.
                None | Some(TapeEvent::Ended(_)) => play.is_over(),
                Some(_) => play.leaves("polls"),
            }
        }
    }

    fn polls_both(&self) -> bool {
        self.facts.polls_both
    }

    fn attach(&self, _: &SegmentDesc) -> Result<(), Error> {
        Ok(())
    }

    fn advise(&self, _: u64, _: u64, _: Advice) {}

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn doze(&self, _: Duration) -> bool {
        false
    }

    /// Takes the place of every step of a wait: what comes next is here.
    fn idle(&self, what: &'static str, _: Meanwhile) -> bool {
        lock(&self.play).waits_for(what);
        true
    }

    fn close(&self) {}

    fn left_for(&self, rank: RankId) -> Option<Duration> {
        lock(&self.play).has_left(rank.0).then_some(Duration::ZERO)
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}
