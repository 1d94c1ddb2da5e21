//! Detects sequential access, and decides how far to read ahead.

/// Most streams that are tracked.
const MAX_STREAMS: usize = 8;

/// A sequence of faults on consecutive pages.
#[derive(Debug, Clone, Copy, Default)]
struct Stream {
    /// The page whose fault would continue it; 0: none.
    next: u64,
    /// Pages that were read ahead the last time.
    window: u64,
    /// Time when it was continued last.
    age: u64,
}

/// The tracked streams.
#[derive(Debug)]
pub(super) struct Streams {
    known: [Stream; MAX_STREAMS],
    most: u64,
    clock: u64,
    /// The stream of the last fault.
    current: usize,
}

impl Streams {
    /// `most`: most pages to read ahead.
    pub(super) fn new(most: u32) -> Streams {
        Streams { known: [Stream::default(); MAX_STREAMS], most: most.into(), clock: 0, current: 0 }
    }

    /// How many pages after this one to bring in with it: none for a first fault, then 2, 4 and so on.
    pub(super) fn fault(&mut self, page: u64) -> u64 {
        self.clock += 1;
        let known = self.known.iter().position(|s| s.next == page && page > 0);
        let oldest = (0..MAX_STREAMS).min_by_key(|&i| self.known[i].age).unwrap_or(0);
        self.current = known.unwrap_or(oldest);
        let stream = &mut self.known[self.current];
        stream.window = if known.is_some() { (stream.window * 2).max(2).min(self.most) } else { 0 };
        stream.age = self.clock;
        stream.window
    }

    /// To be called after [`fault`](Streams::fault), with the page that was not brought in and would continue
    /// the stream.
    pub(super) fn expect(&mut self, page: u64, next: u64) {
        let stream = &mut self.known[self.current];
        stream.next = next;
        stream.window = stream.window.min(next - page);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_grow_while_faults_go_on() {
        let mut streams = Streams::new(16);
        let (mut page, mut seen) = (100, Vec::new());
        for round in 0..7u64 {
            let ahead = streams.fault(page);
            streams.expect(page, page + 1 + ahead);
            seen.push(ahead);
            page += 1 + ahead;
            // Other faults in between change nothing.
            for other in 0..5 {
                let far = 10_000 * (other + 1) + round * 77;
                assert_eq!(streams.fault(far), 0);
                streams.expect(far, far + 1);
            }
        }
        assert_eq!(seen, [0, 2, 4, 8, 16, 16, 16]);
        assert_eq!(Streams::new(0).fault(5), 0);
    }
}
