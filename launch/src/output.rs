//! Merges the ranks' output into whole lines, without system calls.
//!
//! A *stream* is one output of one rank, read from its pipe. A *sink* is where the monitor writes: its
//! standard output or error (one sink for both if they are the same file). The streams of a sink are merged
//! line by line:
//! - Bytes are held in the stream until a newline completes them.
//! - A line longer than a *share* ([`LONG_LINE_BYTES`], less for very many streams) is not held any longer.
//!   Its stream becomes the *owner* of the sink, and is passed through until the line ends. Other streams
//!   wait meanwhile, each with at most a share of bytes.
//! - An owner loses the sink if it has been silent for [`OWNER_STALL`] in mid-line while another stream is
//!   full: the owner may be waiting for that very rank. Its line is broken, and continues later.
//! - The rest at a stream's end is written as it is. If another stream writes next, it starts on a fresh
//!   line.
//! - On a terminal an unfinished line (a prompt) appears after [`PROMPT_DELAY`].
//!
//! Memory is bounded by not reading: [`JobOutput::wants`] tells which streams may be read. A rank whose
//! output is not read blocks in its own writes.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Bytes from which an unfinished line is passed through instead of held.
pub const LONG_LINE_BYTES: usize = 1 << 20;
/// Bytes that all streams of a sink together may hold, if that leaves [`MIN_SHARE_BYTES`] to each.
pub const MAX_HELD_BYTES: usize = 64 << 20;
/// Bytes that each stream may hold at least.
pub const MIN_SHARE_BYTES: usize = 1 << 16;
/// Bytes waiting in a sink above which its streams are not read.
pub const HIGH_WATER_BYTES: usize = 1 << 18;
/// How long an unfinished line waits for its rest before it appears on a terminal.
pub const PROMPT_DELAY: Duration = Duration::from_millis(60);
/// How long an owner may be silent, while it keeps another stream from being read, before its line is broken.
/// A loaded machine may stop a rank for a while that waits for nothing.
pub const OWNER_STALL: Duration = Duration::from_secs(3);

/// Number of a stream.
pub type StreamId = usize;
/// Number of a sink.
pub type SinkId = usize;

#[derive(Debug)]
struct Stream {
    sink: SinkId,
    /// Bytes not yet given to the sink; they have no newline, unless another stream owns the sink.
    held: Vec<u8>,
    /// When the last bytes came.
    last: Option<Instant>,
    ended: bool,
    /// Precedes each of its lines.
    label: Vec<u8>,
}

#[derive(Debug, Default)]
struct Sink {
    /// Bytes to be written.
    queue: VecDeque<u8>,
    /// The stream that is passing a long line through, and the last time when it wrote or could not have been
    /// read.
    owner: Option<(StreamId, Instant)>,
    /// The stream whose unfinished line is at the end of the output.
    open_line: Option<StreamId>,
    terminal: bool,
    closed: bool,
    /// Number of its streams.
    streams: usize,
}

/// All streams and sinks of a monitor.
#[derive(Debug, Default)]
pub struct JobOutput {
    streams: Vec<Stream>,
    sinks: Vec<Sink>,
}

impl JobOutput {
    /// Adds a sink.
    pub fn add_sink(&mut self, terminal: bool) -> SinkId {
        self.sinks.push(Sink { terminal, ..Sink::default() });
        self.sinks.len() - 1
    }

    /// Adds a stream that goes to `sink`.
    pub fn add_stream(&mut self, sink: SinkId) -> StreamId {
        self.sinks[sink].streams += 1;
        self.streams.push(Stream { sink, held: Vec::new(), last: None, ended: false, label: Vec::new() });
        self.streams.len() - 1
    }

    /// Writes this before each line of a stream.
    pub fn label(&mut self, stream: StreamId, label: &str) {
        self.streams[stream].label = label.into();
    }

    /// Whether more of this stream can be accepted.
    pub fn wants(&self, stream: StreamId) -> bool {
        let state = &self.streams[stream];
        let sink = &self.sinks[state.sink];
        if state.ended || sink.is_full() {
            return false;
        }
        !self.is_kept_waiting(stream)
    }

    /// Whether a stream is full because another one owns the sink.
    fn is_kept_waiting(&self, stream: StreamId) -> bool {
        let state = &self.streams[stream];
        let sink = &self.sinks[state.sink];
        sink.owner.is_some_and(|(owner, _)| owner != stream) && state.held.len() >= sink.share()
    }

    /// The time until which the owner of a sink may be silent: `None` if no stream is kept waiting.
    fn patience(&self, sink: SinkId) -> Option<Instant> {
        let (_, last) = self.sinks[sink].owner?;
        let of_sink = |stream: &StreamId| self.streams[*stream].sink == sink;
        let waits = (0..self.streams.len()).filter(of_sink).any(|stream| self.is_kept_waiting(stream));
        waits.then_some(last + OWNER_STALL)
    }

    /// Accepts bytes of a stream.
    pub fn feed(&mut self, stream: StreamId, bytes: &[u8], now: Instant) {
        let state = &mut self.streams[stream];
        let sink = &mut self.sinks[state.sink];
        state.last = Some(now);
        if sink.closed {
            return;
        }
        match sink.owner {
            Some((owner, _)) if owner != stream => state.held.extend_from_slice(bytes),
            owner => {
                let Some(end) = bytes.iter().rposition(|&b| b == b'\n').map(|at| at + 1) else {
                    if owner.is_some() {
                        sink.owner = Some((stream, now));
                        sink.push(stream, &state.label, bytes);
                    } else {
                        state.held.extend_from_slice(bytes);
                        self.own_if_long(stream, now);
                    }
                    return;
                };
                sink.push(stream, &state.label, &state.held);
                state.held.clear();
                sink.push(stream, &state.label, &bytes[..end]);
                state.held.extend_from_slice(&bytes[end..]);
                if owner.is_some() {
                    let sink = state.sink;
                    self.release(sink, now);
                }
                self.own_if_long(stream, now);
            }
        }
    }

    /// A stream has ended: its rest is written.
    pub fn end(&mut self, stream: StreamId, now: Instant) {
        let state = &mut self.streams[stream];
        state.ended = true;
        let id = state.sink;
        let sink = &mut self.sinks[id];
        match sink.owner {
            // The rest follows when the owner has finished.
            Some((owner, _)) if owner != stream => {}
            owner => {
                sink.push(stream, &state.label, &state.held);
                state.held = Vec::new();
                if owner.is_some() {
                    self.release(id, now);
                }
            }
        }
    }

    /// Another process writes to a stream from now on, whose last one has ended or lost it.
    pub fn reopen(&mut self, stream: StreamId, now: Instant) {
        if !self.streams[stream].ended {
            self.end(stream, now);
        }
        let state = &mut self.streams[stream];
        (state.ended, state.last) = (false, None);
        // The rest of what was written before is a line of its own.
        if !state.held.is_empty() {
            state.held.push(b'\n');
        }
        let sink = &mut self.sinks[state.sink];
        if sink.open_line == Some(stream) {
            sink.open_line = None;
            sink.queue.push_back(b'\n');
        }
    }

    /// Adds a message of the monitor.
    pub fn say(&mut self, sink: SinkId, line: &str) {
        let sink = &mut self.sinks[sink];
        if sink.open_line.take().is_some() {
            sink.queue.push_back(b'\n');
        }
        sink.queue.extend(line.as_bytes());
        sink.queue.push_back(b'\n');
    }

    /// Shows unfinished lines on terminals when they are due, and breaks lines that others have waited for
    /// too long. To be called after everything wanted was read.
    pub fn tick(&mut self, now: Instant) {
        for id in 0..self.sinks.len() {
            let patience = self.patience(id);
            let sink = &mut self.sinks[id];
            let is_full = sink.is_full();
            match &mut sink.owner {
                // A stream that is not read is not silent.
                Some((_, last)) if is_full => *last = now,
                Some(_) if patience.is_some_and(|at| now >= at) => self.release(id, now),
                _ => {}
            }
        }
        for id in 0..self.streams.len() {
            let state = &mut self.streams[id];
            let sink = &mut self.sinks[state.sink];
            let due = state.last.is_some_and(|last| now >= last + PROMPT_DELAY);
            if sink.terminal && sink.owner.is_none() && !state.held.is_empty() && due {
                sink.push(id, &state.label, &state.held);
                state.held.clear();
            }
        }
    }

    /// When [`JobOutput::tick`] is due next.
    pub fn deadline(&self) -> Option<Instant> {
        let prompts = self.streams.iter().filter_map(|state| {
            let sink = &self.sinks[state.sink];
            let waits = sink.terminal && sink.owner.is_none() && !state.held.is_empty();
            state.last.filter(|_| waits).map(|last| last + PROMPT_DELAY)
        });
        let heard = (0..self.sinks.len()).filter(|sink| !self.sinks[*sink].is_full());
        prompts.chain(heard.filter_map(|sink| self.patience(sink))).min()
    }

    /// The next bytes to write to a sink; empty if there are none.
    pub fn pending(&self, sink: SinkId) -> &[u8] {
        let (front, back) = self.sinks[sink].queue.as_slices();
        if front.is_empty() { back } else { front }
    }

    /// The first `n` bytes of [`JobOutput::pending`] are written.
    pub fn written(&mut self, sink: SinkId, n: usize) {
        self.sinks[sink].queue.drain(..n);
    }

    /// A sink accepts no more: everything for it is dropped from now on.
    pub fn close(&mut self, sink: SinkId) {
        self.sinks[sink].closed = true;
        self.sinks[sink].queue.clear();
        self.sinks[sink].owner = None;
        for state in self.streams.iter_mut().filter(|s| s.sink == sink) {
            state.held = Vec::new();
        }
    }

    /// Whether a sink is a terminal.
    pub fn is_terminal(&self, sink: SinkId) -> bool {
        self.sinks[sink].terminal
    }

    /// Whether a sink was closed.
    pub fn closed(&self, sink: SinkId) -> bool {
        self.sinks[sink].closed
    }

    fn own_if_long(&mut self, stream: StreamId, now: Instant) {
        let state = &mut self.streams[stream];
        let sink = &mut self.sinks[state.sink];
        if sink.owner.is_none() && state.held.len() > sink.share() {
            sink.push(stream, &state.label, &state.held);
            state.held = Vec::new();
            sink.owner = Some((stream, now));
        }
    }

    /// The owner's line is complete or broken: the complete lines of others follow, and one of them may
    /// become the owner.
    fn release(&mut self, sink: SinkId, now: Instant) {
        self.sinks[sink].owner = None;
        for id in 0..self.streams.len() {
            let state = &mut self.streams[id];
            if state.sink != sink || self.sinks[sink].owner.is_some() {
                continue;
            }
            let whole = if state.ended {
                state.held.len()
            } else {
                state.held.iter().rposition(|&b| b == b'\n').map_or(0, |at| at + 1)
            };
            self.sinks[sink].push(id, &state.label, &state.held[..whole]);
            state.held.drain(..whole);
            self.own_if_long(id, now);
        }
    }
}

impl Sink {
    /// Whether so much waits to be written that nothing more is read.
    fn is_full(&self) -> bool {
        self.queue.len() >= HIGH_WATER_BYTES
    }

    /// Bytes that a stream may hold.
    fn share(&self) -> usize {
        (MAX_HELD_BYTES / self.streams.max(1)).clamp(MIN_SHARE_BYTES, LONG_LINE_BYTES)
    }

    fn push(&mut self, stream: StreamId, label: &[u8], bytes: &[u8]) {
        let Some(last) = bytes.last() else { return };
        if self.closed {
            return;
        }
        if self.open_line.is_some_and(|open| open != stream) {
            self.queue.push_back(b'\n');
        }
        if label.is_empty() {
            self.queue.extend(bytes);
        } else {
            let continues = self.open_line == Some(stream);
            for (i, line) in bytes.split_inclusive(|b| *b == b'\n').enumerate() {
                if i > 0 || !continues {
                    self.queue.extend(label);
                }
                self.queue.extend(line);
            }
        }
        self.open_line = (*last != b'\n').then_some(stream);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Bench {
        output: JobOutput,
        now: Instant,
    }

    impl Bench {
        /// `streams` streams to one sink.
        fn new(streams: usize, terminal: bool) -> Bench {
            let mut output = JobOutput::default();
            let sink = output.add_sink(terminal);
            for _ in 0..streams {
                output.add_stream(sink);
            }
            Bench { output, now: Instant::now() }
        }

        fn feed(&mut self, stream: StreamId, text: &str) {
            self.output.feed(stream, text.as_bytes(), self.now);
        }

        fn end(&mut self, stream: StreamId) {
            self.output.end(stream, self.now);
        }

        fn take(&mut self) -> String {
            let mut all = Vec::new();
            while !self.output.pending(0).is_empty() {
                let n = self.output.pending(0).len();
                all.extend_from_slice(self.output.pending(0));
                self.output.written(0, n);
            }
            String::from_utf8(all).unwrap()
        }
    }

    /// Every line has one, also of lines that come in parts, are broken, or have no end.
    #[test]
    fn labels_precede_each_line_once() {
        let mut bench = Bench::new(3, true);
        bench.output.label(0, "[0] ");
        bench.output.label(1, "[1] ");
        bench.feed(0, "a\nb");
        bench.feed(1, "x\n\ny\n");
        bench.feed(0, "c\n");
        bench.feed(2, "bare\n");
        assert_eq!(bench.take(), "[0] a\n[1] x\n[1] \n[1] y\n[0] bc\nbare\n");
        bench.feed(0, "prompt ");
        bench.now += PROMPT_DELAY;
        bench.output.tick(bench.now);
        bench.feed(0, "and answer\n");
        assert_eq!(bench.take(), "[0] prompt and answer\n");
        bench.feed(0, &"z".repeat(LONG_LINE_BYTES + 1));
        bench.feed(1, "short\n");
        bench.feed(0, "\n");
        bench.end(1);
        bench.feed(0, "rest");
        bench.end(0);
        assert_eq!(bench.take(), format!("[0] {}\n[1] short\n[0] rest", "z".repeat(LONG_LINE_BYTES + 1)));
    }

    #[test]
    fn lines_are_put_together_per_stream() {
        let mut b = Bench::new(2, false);
        b.feed(0, "on");
        b.feed(1, "tw");
        assert_eq!(b.take(), "");
        b.feed(0, "e\nth");
        b.feed(1, "o\nfour\n");
        b.feed(0, "ree\n");
        assert_eq!(b.take(), "one\ntwo\nfour\nthree\n");
    }

    #[test]
    fn unfinished_ends_come_out_on_lines_of_their_own() {
        let mut b = Bench::new(2, false);
        b.feed(0, "a");
        b.feed(1, "b");
        b.end(0);
        b.end(1);
        assert_eq!(b.take(), "a\nb");

        let mut b = Bench::new(1, false);
        b.feed(0, "x\ny");
        b.end(0);
        b.output.say(0, "gasnetrun: bye");
        assert_eq!(b.take(), "x\ny\ngasnetrun: bye\n");
    }

    #[test]
    fn long_lines_pass_through_unbroken() {
        let mut b = Bench::new(3, false);
        let piece = "x".repeat(LONG_LINE_BYTES);
        b.feed(0, &piece);
        assert_eq!(b.take(), "");
        b.feed(0, "x");
        assert_eq!(b.take().len(), LONG_LINE_BYTES + 1);
        b.feed(1, "other\nhalf");
        b.feed(2, "rest");
        b.end(2);
        assert_eq!(b.take(), "");
        b.feed(0, "end\nnext");
        assert_eq!(b.take(), "end\nother\nrest");
        b.feed(1, "!\n");
        b.feed(0, "\n");
        assert_eq!(b.take(), "\nhalf!\nnext\n");
    }

    #[test]
    fn an_owner_that_ends_lets_the_next_one_own() {
        let mut b = Bench::new(2, false);
        let piece = "x".repeat(LONG_LINE_BYTES + 1);
        b.feed(0, &piece);
        b.feed(1, &piece);
        assert_eq!(b.take().len(), LONG_LINE_BYTES + 1);
        b.end(0);
        assert_eq!(b.take().len(), 1 + LONG_LINE_BYTES + 1);
        b.feed(1, "y");
        assert_eq!(b.take(), "y");
    }

    #[test]
    fn reading_stops_when_nobody_takes_the_output() {
        let mut b = Bench::new(2, false);
        b.feed(0, &"line\n".repeat(HIGH_WATER_BYTES / 5 + 1));
        assert!(!b.output.wants(0) && !b.output.wants(1));
        b.take();
        assert!(b.output.wants(0) && b.output.wants(1));
    }

    #[test]
    fn a_silent_owner_does_not_block_the_others_for_ever() {
        let mut b = Bench::new(3, false);
        let piece = "x".repeat(LONG_LINE_BYTES + 1);
        b.feed(0, &piece);
        b.feed(1, "short\n");
        b.take();
        // No stream is kept waiting.
        assert_eq!(b.output.deadline(), None);
        b.now += 2 * OWNER_STALL;
        b.output.tick(b.now);
        assert_eq!(b.take(), "");
        b.feed(0, "x");
        b.take();
        b.feed(2, &"line\n".repeat(LONG_LINE_BYTES / 5 + 1));
        assert!(b.output.wants(0) && b.output.wants(1) && !b.output.wants(2));
        assert_eq!(b.output.deadline(), Some(b.now + OWNER_STALL));
        b.now += OWNER_STALL;
        b.output.tick(b.now);
        assert!(b.take().starts_with("\nshort\nline\nline\n"));
        assert!(b.output.wants(2));
        b.feed(0, "rest\n");
        assert_eq!(b.take(), "rest\n");
    }

    #[test]
    fn an_owner_that_is_not_read_is_not_silent() {
        let mut b = Bench::new(2, false);
        b.feed(0, &"x".repeat(LONG_LINE_BYTES + 1));
        b.feed(1, &"y".repeat(LONG_LINE_BYTES));
        // Nobody reads the output, so no stream is read.
        for _ in 0..3 {
            b.now += OWNER_STALL;
            b.output.tick(b.now);
            assert_eq!(b.output.deadline(), None);
        }
        assert_eq!(b.take().len(), LONG_LINE_BYTES + 1);
        assert_eq!(b.output.deadline(), Some(b.now + OWNER_STALL));
        b.feed(0, "\n");
        assert!(b.take().starts_with("\n"));
    }

    /// Streams that write, pause and end at random, each with a letter of its own, write into a sink that
    /// accepts or not. Memory has a bound, nothing is lost, no line has the letters of two streams, only
    /// lines that were waited for are broken, and every stream is read again in the end.
    /// everybody is read again in the end.
    #[test]
    fn memory_has_a_bound_whatever_the_streams_do() {
        /// Bytes of one read.
        const READ_BYTES: usize = 1 << 16;
        let mut generator = fastrand::Rng::with_seed(1);
        let mut random = move |n: usize| generator.usize(..n);
        for streams in [1, 2, 3, 5] {
            let mut b = Bench::new(streams, false);
            let bound = HIGH_WATER_BYTES + 2 * streams * (LONG_LINE_BYTES + READ_BYTES) + READ_BYTES;
            let letters: Vec<u8> = (0..streams).map(|s| b'a' + s as u8).collect();
            // Letters and newlines that each has written; the sink's content, and lines broken.
            let (mut letters_in, mut lines_in) = (vec![0; streams], 0);
            let mut out = Vec::new();
            let mut broken = 0;
            let mut silent = None;
            for round in 0..1500 {
                // Now and then one is silent for a while, which breaks lines.
                if round % 500 == 0 {
                    silent = (random(2) == 0).then(|| random(streams));
                }
                let s = random(streams);
                if b.output.wants(s) && silent != Some(s) {
                    let mut bytes = vec![letters[s]; 1 + random(READ_BYTES)];
                    // Some lines are long.
                    letters_in[s] += bytes.len();
                    if random(if s % 2 == 0 { 60 } else { 2 }) == 0 {
                        let at = random(bytes.len());
                        bytes[at] = b'\n';
                        letters_in[s] -= 1;
                        lines_in += 1;
                    }
                    b.output.feed(s, &bytes, b.now);
                }
                b.now += Duration::from_millis(random(20) as u64);
                let owner = b.output.sinks[0].owner.map(|(owner, _)| owner);
                b.output.tick(b.now);
                let now_owns = b.output.sinks[0].owner.map(|(owner, _)| owner);
                broken += usize::from(owner.is_some() && owner != now_owns);
                let held: usize = b.output.streams.iter().map(|stream| stream.held.len()).sum();
                let queued = b.output.sinks[0].queue.len();
                assert!(held + queued <= bound, "{held} held, {queued} queued of {streams} streams");
                assert!(
                    b.output.streams.iter().all(|stream| stream.held.len() <= LONG_LINE_BYTES + READ_BYTES)
                );
                // The reader has pauses.
                while round / 100 % 3 != 0 && !b.output.pending(0).is_empty() {
                    let n = b.output.pending(0).len();
                    out.extend_from_slice(&b.output.pending(0)[..n]);
                    b.output.written(0, n);
                }
            }
            // All streams that were not read continue as soon as the output is accepted, and a silent one was
            // waited for.
            for _ in 0..3 * streams {
                out.extend(b.take().bytes());
                b.now += OWNER_STALL;
                b.output.tick(b.now);
            }
            out.extend(b.take().bytes());
            assert!((0..streams).all(|s| b.output.wants(s)));
            (0..streams).for_each(|s| b.end(s));
            out.extend(b.take().bytes());
            for (letter, n) in letters.iter().zip(&letters_in) {
                assert_eq!(out.iter().filter(|b| *b == letter).count(), *n);
            }
            let mut lines = 0;
            for line in out.split(|b| *b == b'\n') {
                assert!(line.iter().all(|b| *b == line[0]), "two streams in a line");
                lines += 1;
            }
            // Ends without a newline get one if something follows.
            assert!(lines >= lines_in && lines <= lines_in + streams + 1 + 3 * (broken + 3 * streams));
        }
    }

    #[test]
    fn very_many_streams_have_smaller_shares() {
        let mut b = Bench::new(1024, false);
        b.feed(0, &"x".repeat(MIN_SHARE_BYTES + 1));
        assert_eq!(b.take().len(), MIN_SHARE_BYTES + 1);
        assert!(b.output.wants(1));
        b.feed(1, &"y".repeat(MIN_SHARE_BYTES));
        assert!(!b.output.wants(1));
    }

    #[test]
    fn prompts_appear_on_terminals_only() {
        for terminal in [false, true] {
            let mut b = Bench::new(2, terminal);
            b.feed(0, "name? ");
            assert_eq!(b.output.deadline().is_some(), terminal);
            b.now += PROMPT_DELAY;
            b.output.tick(b.now);
            assert_eq!(b.take(), if terminal { "name? " } else { "" });
            b.feed(1, "working\n");
            assert_eq!(b.take(), if terminal { "\nworking\n" } else { "working\n" });
        }
    }

    /// Random pieces of lines that name their stream and number: each line must come out whole and in order.
    #[test]
    fn random_pieces_come_out_as_whole_lines() {
        let mut generator = fastrand::Rng::with_seed(2);
        let mut random = move |n: u64| generator.u64(..n) as usize;
        const STREAMS: usize = 5;
        let mut b = Bench::new(STREAMS, false);
        let texts: Vec<String> = (0..STREAMS)
            .map(|s| (0..300).map(|i| format!("{s} {i} {}\n", "z".repeat(random(2000)))).collect())
            .collect();
        let mut at = [0; STREAMS];
        let mut all = String::new();
        while at.iter().zip(&texts).any(|(&at, text)| at < text.len()) {
            let s = random(STREAMS as u64);
            let n = random(5000).min(texts[s].len() - at[s]);
            b.feed(s, &texts[s][at[s]..at[s] + n]);
            at[s] += n;
            all += &b.take();
        }
        for (s, text) in texts.iter().enumerate() {
            let prefix = format!("{s} ");
            let got: String = all.split_inclusive('\n').filter(|l| l.starts_with(&prefix)).collect();
            assert_eq!(&got, text);
        }
    }
}
