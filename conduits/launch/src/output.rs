//! Merges the ranks' output into whole lines, without system calls.
//!
//! A *stream* is one output of one rank, as read from its pipe. A *sink* is where the monitor writes: its standard
//! output or error (one sink for both if they are the same file). Streams of a sink are merged line by line:
//! - Bytes are held in the stream until a newline completes them.
//! - A line longer than [`LONG_LINE`] is not held any further: its stream *owns* the sink, and is passed through, until
//!   the line ends. Others wait meanwhile.
//! - What is left at a stream's end comes out as it is. If another stream writes next, it starts on a fresh line.
//! - On a terminal an unfinished line (a prompt) appears after [`PROMPT_DELAY`].
//!
//! Memory is bounded by not reading: [`Output::wants`] says which streams may be read. One exception keeps ranks from
//! blocking each other for ever: when the owner of a sink has fallen silent in mid-line, the others are read on, into
//! memory, as the owner may be waiting for them.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Length from which an unfinished line is passed through instead of held.
pub const LONG_LINE: usize = 1 << 20;
/// Bytes waiting in a sink from which its streams are read no more.
pub const HIGH_WATER: usize = 1 << 18;
/// How long an unfinished line waits for its rest before it appears on a terminal.
pub const PROMPT_DELAY: Duration = Duration::from_millis(60);
/// How long an owner is silent before the others are read on.
pub const OWNER_STALL: Duration = Duration::from_millis(250);

/// Number of a stream.
pub type StreamId = usize;
/// Number of a sink.
pub type SinkId = usize;

#[derive(Debug)]
struct Stream {
    sink: SinkId,
    /// Bytes not yet given to the sink; without a newline, unless another stream owns the sink.
    held: Vec<u8>,
    /// When the last bytes came.
    last: Option<Instant>,
    ended: bool,
}

#[derive(Debug, Default)]
struct Sink {
    /// Bytes to be written.
    queue: VecDeque<u8>,
    /// The stream that is passing a long line through, and when it last wrote.
    owner: Option<(StreamId, Instant)>,
    /// The stream whose unfinished line stands at the end of the output.
    open_line: Option<StreamId>,
    terminal: bool,
    closed: bool,
}

/// All streams and sinks of a monitor.
#[derive(Debug, Default)]
pub struct Output {
    streams: Vec<Stream>,
    sinks: Vec<Sink>,
}

impl Output {
    /// Adds a sink.
    pub fn add_sink(&mut self, terminal: bool) -> SinkId {
        self.sinks.push(Sink { terminal, ..Sink::default() });
        self.sinks.len() - 1
    }

    /// Adds a stream that goes to `sink`.
    pub fn add_stream(&mut self, sink: SinkId) -> StreamId {
        self.streams.push(Stream { sink, held: Vec::new(), last: None, ended: false });
        self.streams.len() - 1
    }

    /// Whether more of this stream can be taken in at `now`.
    pub fn wants(&self, stream: StreamId, now: Instant) -> bool {
        let state = &self.streams[stream];
        let sink = &self.sinks[state.sink];
        if state.ended || sink.queue.len() >= HIGH_WATER {
            return false;
        }
        match sink.owner {
            Some((owner, last)) if owner != stream => {
                state.held.len() < LONG_LINE || now >= last + OWNER_STALL
            }
            _ => true,
        }
    }

    /// Takes in bytes of a stream.
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
                        sink.push(stream, bytes);
                    } else {
                        state.held.extend_from_slice(bytes);
                        self.own_if_long(stream, now);
                    }
                    return;
                };
                sink.push(stream, &state.held);
                state.held.clear();
                sink.push(stream, &bytes[..end]);
                state.held.extend_from_slice(&bytes[end..]);
                if owner.is_some() {
                    let sink = state.sink;
                    self.release(sink, now);
                }
                self.own_if_long(stream, now);
            }
        }
    }

    /// A stream has ended: what is left of it comes out.
    pub fn end(&mut self, stream: StreamId, now: Instant) {
        let state = &mut self.streams[stream];
        state.ended = true;
        let id = state.sink;
        let sink = &mut self.sinks[id];
        match sink.owner {
            // The rest follows when the owner is done.
            Some((owner, _)) if owner != stream => {}
            owner => {
                sink.push(stream, &state.held);
                state.held = Vec::new();
                if owner.is_some() {
                    self.release(id, now);
                }
            }
        }
    }

    /// A line of the monitor itself.
    pub fn say(&mut self, sink: SinkId, line: &str) {
        let sink = &mut self.sinks[sink];
        if sink.open_line.take().is_some() {
            sink.queue.push_back(b'\n');
        }
        sink.queue.extend(line.as_bytes());
        sink.queue.push_back(b'\n');
    }

    /// Lets unfinished lines appear on terminals when they are due.
    pub fn tick(&mut self, now: Instant) {
        for id in 0..self.streams.len() {
            let state = &mut self.streams[id];
            let sink = &mut self.sinks[state.sink];
            let due = state.last.is_some_and(|last| now >= last + PROMPT_DELAY);
            if sink.terminal && sink.owner.is_none() && !state.held.is_empty() && due {
                sink.push(id, &state.held);
                state.held.clear();
            }
        }
    }

    /// When [`Output::tick`], or another look at [`Output::wants`], is due next.
    pub fn deadline(&self, now: Instant) -> Option<Instant> {
        let prompts = self.streams.iter().filter_map(|state| {
            let sink = &self.sinks[state.sink];
            let waits = sink.terminal && sink.owner.is_none() && !state.held.is_empty();
            state.last.filter(|_| waits).map(|last| last + PROMPT_DELAY)
        });
        let stalls = self.sinks.iter().filter_map(|sink| Some(sink.owner?.1 + OWNER_STALL));
        prompts.chain(stalls.filter(|&at| at > now)).min()
    }

    /// The next bytes to write to a sink; empty when there is nothing to do.
    pub fn pending(&self, sink: SinkId) -> &[u8] {
        let (front, back) = self.sinks[sink].queue.as_slices();
        if front.is_empty() { back } else { front }
    }

    /// The first `n` bytes of [`Output::pending`] are written.
    pub fn written(&mut self, sink: SinkId, n: usize) {
        self.sinks[sink].queue.drain(..n);
    }

    /// A sink takes no more: everything for it is dropped from now on.
    pub fn close(&mut self, sink: SinkId) {
        self.sinks[sink].closed = true;
        self.sinks[sink].queue.clear();
        self.sinks[sink].owner = None;
        for state in self.streams.iter_mut().filter(|s| s.sink == sink) {
            state.held = Vec::new();
        }
    }

    /// Whether a sink was closed.
    pub fn closed(&self, sink: SinkId) -> bool {
        self.sinks[sink].closed
    }

    fn own_if_long(&mut self, stream: StreamId, now: Instant) {
        let state = &mut self.streams[stream];
        let sink = &mut self.sinks[state.sink];
        if sink.owner.is_none() && state.held.len() > LONG_LINE {
            sink.push(stream, &state.held);
            state.held = Vec::new();
            sink.owner = Some((stream, now));
        }
    }

    /// The owner's line is over: the others' complete lines follow, and one of them may become owner.
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
            self.sinks[sink].push(id, &state.held[..whole]);
            state.held.drain(..whole);
            self.own_if_long(id, now);
        }
    }
}

impl Sink {
    fn push(&mut self, stream: StreamId, bytes: &[u8]) {
        let Some(last) = bytes.last() else { return };
        if self.closed {
            return;
        }
        if self.open_line.is_some_and(|open| open != stream) {
            self.queue.push_back(b'\n');
        }
        self.queue.extend(bytes);
        self.open_line = (*last != b'\n').then_some(stream);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Bench {
        output: Output,
        now: Instant,
    }

    impl Bench {
        /// `streams` streams to one sink.
        fn new(streams: usize, terminal: bool) -> Bench {
            let mut output = Output::default();
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
        let piece = "x".repeat(LONG_LINE);
        b.feed(0, &piece);
        assert_eq!(b.take(), "");
        b.feed(0, "x");
        assert_eq!(b.take().len(), LONG_LINE + 1);
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
        let piece = "x".repeat(LONG_LINE + 1);
        b.feed(0, &piece);
        b.feed(1, &piece);
        assert_eq!(b.take().len(), LONG_LINE + 1);
        b.end(0);
        assert_eq!(b.take().len(), 1 + LONG_LINE + 1);
        b.feed(1, "y");
        assert_eq!(b.take(), "y");
    }

    #[test]
    fn reading_stops_when_nobody_takes_the_output() {
        let mut b = Bench::new(2, false);
        b.feed(0, &"line\n".repeat(HIGH_WATER / 5 + 1));
        assert!(!b.output.wants(0, b.now) && !b.output.wants(1, b.now));
        b.take();
        assert!(b.output.wants(0, b.now) && b.output.wants(1, b.now));
    }

    #[test]
    fn a_silent_owner_does_not_block_the_others_for_ever() {
        let mut b = Bench::new(2, false);
        let piece = "x".repeat(LONG_LINE + 1);
        b.feed(0, &piece);
        b.feed(1, &"line\n".repeat(LONG_LINE / 5 + 1));
        b.take();
        assert!(!b.output.wants(1, b.now));
        assert_eq!(b.output.deadline(b.now), Some(b.now + OWNER_STALL));
        assert!(b.output.wants(1, b.now + OWNER_STALL));
    }

    #[test]
    fn prompts_appear_on_terminals_only() {
        for terminal in [false, true] {
            let mut b = Bench::new(2, terminal);
            b.feed(0, "name? ");
            assert_eq!(b.output.deadline(b.now).is_some(), terminal);
            b.now += PROMPT_DELAY;
            b.output.tick(b.now);
            assert_eq!(b.take(), if terminal { "name? " } else { "" });
            b.feed(1, "working\n");
            assert_eq!(b.take(), if terminal { "\nworking\n" } else { "working\n" });
        }
    }

    /// Random pieces of lines that name their stream and number: each must come out whole and in order.
    #[test]
    fn random_pieces_come_out_as_whole_lines() {
        let mut seed = 0x9e37_79b9_u64;
        let mut random = move |n: u64| {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            (seed % n) as usize
        };
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
