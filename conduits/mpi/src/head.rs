//! The head of a message, and the word that most frames can omit.
#![expect(unsafe_code, reason = "completes frames in place")]

/// The head of a message, one word. From the lowest bits on: credits returned for both channels (16 bits
/// each), the kind of the message (8 bits), and its frame's length (24 bits).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MessageHead {
    pub(crate) credits: [u32; 2],
    pub(crate) what: u8,
    pub(crate) len: usize,
}

/// The kind of a message without a frame: only credits, or a request to a sleeping receiver to make progress
/// because puts wait for it.
pub(crate) const CREDITS: u8 = 2;
pub(crate) const NUDGE: u8 = 3;
/// Added to a frame's channel: its second word, which is zero, was omitted. Most frames that are sent at once
/// have such a word, and MPI libraries are fastest with the shortest messages.
pub(crate) const SHORTENED: u8 = 4;

impl MessageHead {
    #[inline]
    pub(crate) fn word(self) -> u64 {
        let [requests, replies] = self.credits.map(u64::from);
        requests | replies << 16 | u64::from(self.what) << 32 | (self.len as u64) << 40
    }

    #[inline]
    pub(crate) fn read(word: u64) -> MessageHead {
        let credits = [word as u32 & 0xffff, word as u32 >> 16];
        MessageHead { credits, what: (word >> 32) as u8, len: (word >> 40) as usize }
    }
}

/// The first word of a frame whose second one is zero, and the bytes that follow the second.
#[inline]
pub(crate) fn without_second_word(frame: &[u8]) -> Option<(u64, &[u8])> {
    match frame.split_first_chunk::<16>()? {
        (&[a, b, c, d, e, f, g, h, 0, 0, 0, 0, 0, 0, 0, 0], rest) => {
            Some((u64::from_ne_bytes([a, b, c, d, e, f, g, h]), rest))
        }
        _ => None,
    }
}

/// Inserts a zero word behind the first one of a frame, which then has `len` bytes.
///
/// # Safety
/// 1. The caller owns `len` bytes from `frame` on (owed by the caller).
#[inline]
pub(crate) unsafe fn put_in_second_word(frame: *mut u8, len: usize) {
    // SAFETY: (1).
    unsafe {
        if len > 16 {
            std::ptr::copy(frame.add(8), frame.add(16), len - 16);
        }
        frame.add(8).cast::<u64>().write_unaligned(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_survive() {
        for credits in [[0, 0], [1, 4096], [0xffff, 0]] {
            for what in [0, 1, CREDITS, NUDGE, SHORTENED, 1 | SHORTENED] {
                for len in [0, 16, 65_616, (1 << 24) - 1] {
                    let head = MessageHead { credits, what, len };
                    assert_eq!(MessageHead::read(head.word()), head);
                }
            }
        }
    }

    /// Frames of every small length, with the second word zero or not: shortened frames come out unchanged,
    /// and nothing behind them changes.
    #[test]
    fn the_second_word_comes_back() {
        for len in 0..=80 {
            for second in [0u8, 1, 0x80] {
                let mut frame: Vec<u8> = (0..len).map(|i| i as u8 + 1).collect();
                for (i, byte) in frame.iter_mut().enumerate().skip(8).take(8) {
                    *byte = if i == 15 { second } else { 0 };
                }
                let Some((first, rest)) = without_second_word(&frame) else {
                    assert!(len < 16 || second != 0);
                    continue;
                };
                assert!(len >= 16 && second == 0);
                let mut buffer = [&first.to_ne_bytes()[..], rest].concat();
                buffer.resize(96, 0xee);
                // SAFETY: the buffer has more than `len` bytes.
                unsafe { put_in_second_word(buffer.as_mut_ptr(), len) };
                assert_eq!(buffer[..len], frame);
                assert!(buffer[len..].iter().all(|byte| *byte == 0xee));
            }
        }
    }
}
