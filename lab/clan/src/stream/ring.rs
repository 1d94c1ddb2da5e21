//! The views that the two sides of a stream have of its ring, without memory and without I/O.
//!
//! Positions count the bytes of a stream from its beginning and never go back; a byte's place in the ring is
//! its position modulo the size. Each side has one word that the other side writes: a position, and whether
//! it is the last ([`word`]). Such a word comes from another rank, so it is checked: a position that went
//! back, or that lies beyond what this side allowed, is [`Nonsense`] and changes nothing here.
//!
//! ```text
//!   told <= taken <= seen <= published <= put <= freed + size
//!   \____ reader _____/     \__________ writer __________/
//! ```
//!
//! `seen` and `freed` are late copies of `published` and `told`: being late hides bytes or room, and never
//! shows more than there is.

/// A word that holds no position that can be right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Nonsense;

/// A word that neither side can have written.
pub(super) const NOWHERE: u64 = u64::MAX - 1;

/// The word for a position, and for whether it is the last.
pub(super) fn word(position: u64, over: bool) -> u64 {
    position << 1 | u64::from(over)
}

/// Whether a word says that its writer will not change it any more.
pub(super) fn is_over(word: u64) -> bool {
    word & 1 != 0
}

/// A piece of a ring: where it begins, and how long it is.
pub(super) type RingRange = (usize, usize);

/// The place of `len` bytes from a position on: the second piece is empty unless they pass the ring's end.
pub(super) fn pieces(size: u64, position: u64, len: usize) -> [RingRange; 2] {
    let at = (position % size) as usize;
    let first = len.min(size as usize - at);
    [(at, first), (0, len - first)]
}

/// The side that writes.
#[derive(Debug)]
pub(super) struct Writer {
    size: u64,
    /// Bytes put into the ring; of these, bytes that the reader has been told of.
    put: u64,
    published: u64,
    /// Bytes that the reader is known to have taken, and whether it will take no more.
    freed: u64,
    over: bool,
}

impl Writer {
    pub(super) fn new(size: u32) -> Writer {
        Writer { size: size.into(), put: 0, published: 0, freed: 0, over: false }
    }

    /// Takes note of the reader's word.
    pub(super) fn learn(&mut self, word: u64) -> Result<(), Nonsense> {
        let position = word >> 1;
        if !(self.freed..=self.published).contains(&position) || self.over && !is_over(word) {
            return Err(Nonsense);
        }
        (self.freed, self.over) = (position, is_over(word));
        Ok(())
    }

    /// Whether the reader takes no more.
    pub(super) fn is_over(&self) -> bool {
        self.over
    }

    /// Free bytes of the ring.
    pub(super) fn room(&self) -> usize {
        (self.size - (self.put - self.freed)) as usize
    }

    /// The place of the next `len` bytes, at most [`room`](Self::room).
    pub(super) fn place(&mut self, len: usize) -> [RingRange; 2] {
        debug_assert!(len <= self.room());
        let pieces = pieces(self.size, self.put, len);
        self.put += len as u64;
        pieces
    }

    /// The word that tells the reader of all that was put.
    pub(super) fn publish(&mut self, over: bool) -> u64 {
        self.published = self.put;
        word(self.put, over)
    }
}

/// The side that reads.
#[derive(Debug)]
pub(super) struct Reader {
    size: u64,
    /// Bytes taken; of these, bytes that the writer has been told of.
    taken: u64,
    told: u64,
    /// Bytes that are known to be there, and whether there will be no more.
    seen: u64,
    over: bool,
}

impl Reader {
    pub(super) fn new(size: u32) -> Reader {
        Reader { size: size.into(), taken: 0, told: 0, seen: 0, over: false }
    }

    /// Takes note of the writer's word.
    pub(super) fn learn(&mut self, word: u64) -> Result<(), Nonsense> {
        let position = word >> 1;
        let possible = if self.over { self.seen..=self.seen } else { self.seen..=self.told + self.size };
        if !possible.contains(&position) || self.over && !is_over(word) {
            return Err(Nonsense);
        }
        (self.seen, self.over) = (position, is_over(word));
        Ok(())
    }

    /// Whether no byte comes after those that are [`ready`](Self::ready).
    pub(super) fn is_over(&self) -> bool {
        self.over
    }

    /// Bytes that can be taken.
    pub(super) fn ready(&self) -> usize {
        (self.seen - self.taken) as usize
    }

    /// The place of the next `len` bytes, at most [`ready`](Self::ready).
    pub(super) fn take(&mut self, len: usize) -> [RingRange; 2] {
        debug_assert!(len <= self.ready());
        let pieces = pieces(self.size, self.taken, len);
        self.taken += len as u64;
        pieces
    }

    /// Bytes taken that the writer does not know of.
    pub(super) fn untold(&self) -> usize {
        (self.taken - self.told) as usize
    }

    /// Bytes that the writer has been told of.
    pub(super) fn told(&self) -> u64 {
        self.told
    }

    /// The word that tells the writer of all that was taken.
    pub(super) fn tell(&mut self, over: bool) -> u64 {
        self.told = self.taken;
        word(self.taken, over)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    struct Rng(u64);

    impl Rng {
        fn next(&mut self) -> u64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let x = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb) >> 16
        }

        fn below(&mut self, n: usize) -> usize {
            (self.next() % n as u64) as usize
        }
    }

    fn store(ring: &mut [u8], pieces: [RingRange; 2], mut from: &[u8]) {
        for (at, len) in pieces {
            ring[at..at + len].copy_from_slice(&from[..len]);
            from = &from[len..];
        }
    }

    fn load(ring: &[u8], pieces: [RingRange; 2]) -> Vec<u8> {
        pieces.iter().flat_map(|(at, len)| &ring[*at..*at + *len]).copied().collect()
    }

    /// Both sides at random steps, with words that arrive late, against a queue of bytes. Unpublished bytes
    /// are never seen; a word that is late hides something and shows nothing that is not there.
    #[test]
    fn clan_03_a_ring_is_a_queue_of_bytes_however_late_its_words_are() {
        let mut publications = 0;
        let seeds = if cfg!(miri) { 3 } else { 300 };
        for seed in 0..seeds {
            let mut rng = Rng(seed);
            let size = 1 << rng.below(7);
            let (mut writer, mut reader) = (Writer::new(size as u32), Reader::new(size as u32));
            let mut ring = vec![0u8; size];
            // Bytes published and not read yet, and bytes that are not published.
            let (mut queue, mut hidden) = (VecDeque::new(), Vec::new());
            // Words under way, in order, and the last that arrived.
            let (mut to_reader, mut to_writer) = (VecDeque::new(), VecDeque::new());
            let (mut at_reader, mut at_writer) = (0, 0);
            for step in 0..if cfg!(miri) { 150 } else { 2000 } {
                match rng.below(6) {
                    0 => {
                        writer.learn(at_writer).unwrap_or_else(|_| panic!("seed {seed}, step {step}"));
                        let bytes: Vec<u8> = (0..rng.below(size + 1)).map(|_| rng.next() as u8).collect();
                        let bytes = &bytes[..bytes.len().min(writer.room())];
                        let pieces = writer.place(bytes.len());
                        store(&mut ring, pieces, bytes);
                        hidden.extend_from_slice(bytes);
                    }
                    1 => {
                        publications += u64::from(!hidden.is_empty());
                        queue.extend(hidden.drain(..));
                        to_reader.push_back(writer.publish(false));
                    }
                    2 => {
                        reader.learn(at_reader).unwrap_or_else(|_| panic!("seed {seed}, step {step}"));
                        assert!(reader.ready() <= queue.len(), "seed {seed}, step {step}: too much is seen");
                        let n = rng.below(reader.ready() + 1);
                        let expected: Vec<u8> = queue.drain(..n).collect();
                        assert_eq!(load(&ring, reader.take(n)), expected, "seed {seed}, step {step}");
                    }
                    3 => to_writer.push_back(reader.tell(false)),
                    4 => {
                        at_reader =
                            to_reader.drain(..rng.below(to_reader.len() + 1)).next_back().unwrap_or(at_reader)
                    }
                    _ => {
                        at_writer =
                            to_writer.drain(..rng.below(to_writer.len() + 1)).next_back().unwrap_or(at_writer)
                    }
                }
                let stored = queue.len() + hidden.len();
                assert!(
                    stored + writer.room() <= size,
                    "seed {seed}, step {step}: room over bytes that are not read"
                );
            }
        }
        assert!(
            publications > if cfg!(miri) { 3 } else { 10_000 },
            "the test does something: {publications}"
        );
    }

    /// Any word of the other side is noted or refused; neither makes room or bytes that are not there.
    #[test]
    fn clan_01_no_word_of_the_other_side_leads_out_of_the_ring() {
        for seed in 0..if cfg!(miri) { 3 } else { 200 } {
            let mut rng = Rng(seed);
            let size = 1u32 << rng.below(7);
            let (mut writer, mut reader) = (Writer::new(size), Reader::new(size));
            for step in 0..if cfg!(miri) { 50 } else { 500 } {
                // Near the positions there are, and anywhere.
                let word = match rng.below(4) {
                    0 => rng.next() << 20 ^ rng.next(),
                    1 => u64::MAX - rng.next() % 4,
                    _ => rng.next() % 600,
                };
                let before = (writer.room(), writer.is_over());
                if writer.learn(word).is_err() {
                    assert_eq!((writer.room(), writer.is_over()), before, "seed {seed}, step {step}");
                }
                let room = writer.room();
                assert!(room <= size as usize, "seed {seed}, step {step}");
                let placed = writer.place(rng.below(room + 1));
                assert!(placed.iter().all(|(at, len)| at + len <= size as usize), "seed {seed}, step {step}");
                writer.publish(false);
                let before = (reader.ready(), reader.is_over());
                if reader.learn(word).is_err() {
                    assert_eq!((reader.ready(), reader.is_over()), before, "seed {seed}, step {step}");
                }
                let ready = reader.ready();
                assert!(ready <= size as usize, "seed {seed}, step {step}");
                let taken = reader.take(rng.below(ready + 1));
                assert!(taken.iter().all(|(at, len)| at + len <= size as usize), "seed {seed}, step {step}");
                if rng.below(2) == 0 {
                    reader.tell(false);
                }
            }
        }
    }

    #[test]
    fn clan_17_messages_of_100_bytes_in_a_ring_of_32_kib() {
        let mut writer = Writer::new(32 << 10);
        let mut messages = 0;
        while writer.room() >= 100 {
            writer.place(100);
            messages += 1;
        }
        assert_eq!(messages, 327);
    }

    #[test]
    fn what_is_over_stays_so() {
        let (mut writer, mut reader) = (Writer::new(8), Reader::new(8));
        writer.place(3);
        let last = writer.publish(true);
        assert_eq!((reader.learn(last), reader.ready(), reader.is_over()), (Ok(()), 3, true));
        assert_eq!(
            [word(3, false), word(4, true), word(2, true)].map(|w| reader.learn(w)),
            [Err(Nonsense); 3]
        );
        reader.take(3);
        let last = reader.tell(true);
        assert_eq!((writer.learn(last), writer.is_over()), (Ok(()), true));
        assert_eq!(writer.learn(word(3, false)), Err(Nonsense));
    }
}

/// Two threads over a ring of two bytes: what is read is what was written, in all orders.
#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use loom::sync::Arc;
    use loom::sync::atomic::{AtomicU64, AtomicUsize, Ordering::*};

    #[test]
    fn loom_clan_01_a_ring_hands_bytes_over() {
        loom::model(|| {
            let words = Arc::new([AtomicU64::new(0), AtomicU64::new(0)]);
            let ring = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
            let (theirs, places) = (words.clone(), ring.clone());
            let writing = loom::thread::spawn(move || {
                let mut writer = Writer::new(2);
                for byte in 1..=3 {
                    while writer.room() == 0 {
                        // ORDER: Acquire; pairs with the reader's Release: the place was read.
                        writer.learn(theirs[1].load(Acquire)).unwrap();
                        loom::thread::yield_now();
                    }
                    let [(at, _), _] = writer.place(1);
                    places[at].store(byte, Relaxed);
                    // ORDER: Release; pairs with the reader's Acquire: the byte is there.
                    theirs[0].store(writer.publish(byte == 3), Release);
                }
            });
            let mut reader = Reader::new(2);
            let mut next = 1;
            while !(reader.is_over() && reader.ready() == 0) {
                reader.learn(words[0].load(Acquire)).unwrap();
                while reader.ready() > 0 {
                    let [(at, _), _] = reader.take(1);
                    assert_eq!(ring[at].load(Relaxed), next);
                    next += 1;
                    words[1].store(reader.tell(false), Release);
                }
                loom::thread::yield_now();
            }
            assert_eq!(next, 4);
            writing.join().unwrap();
        });
    }
}
