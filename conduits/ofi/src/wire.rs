//! The form of a message: the frame, padding, and 16 bytes at the very end that describe it.
//!
//! The frame comes first, so that it is aligned as well as the provider allows. A message is a multiple of
//! [`UNIT_BYTES`] bytes, so messages that a provider stores one behind the other in a buffer are aligned,
//! too.
//!
//! The end, little endian: sender u32; frame length (20 bits), channel (1 bit, at 24), kind (4 bits, at 28);
//! credits returned for requests and for replies, in units, u32 each. A message without a frame is one unit
//! long.

use gasnet_wire::conduit::{Channel, MIN_FRAME};

/// Bytes of a unit: messages are multiples of it, and credits count in it.
pub(crate) const UNIT_BYTES: usize = 64;
/// Bytes of the end.
const END_BYTES: usize = 16;
/// Bytes of the largest frame.
pub(crate) const MAX_FRAME_BYTES: usize = MIN_FRAME;
/// Bytes of the largest message.
pub(crate) const MAX_MESSAGE_BYTES: usize = message_len(MAX_FRAME_BYTES);
/// Most bytes of a note.
pub(crate) const MAX_NOTE_BYTES: usize = UNIT_BYTES - END_BYTES;

/// Bytes of the message that carries a frame of `frame` bytes.
pub(crate) const fn message_len(frame: usize) -> usize {
    (frame + END_BYTES).next_multiple_of(UNIT_BYTES)
}

/// The purpose of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MessageKind {
    /// Carries a frame.
    Frame = 1,
    /// Returns credits.
    Credit = 2,
    /// Asks for the key of the receiver's segment.
    Ask = 3,
    /// The key of the sender's segment.
    Key = 4,
    /// The sender's puts to the receiver, in the trial, are complete.
    Tried = 5,
    /// The sender leaves.
    Bye = 6,
}

/// The end of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct End {
    pub(crate) kind: MessageKind,
    pub(crate) from: u32,
    pub(crate) channel: Channel,
    /// Bytes of the frame, or of the note.
    pub(crate) len: usize,
    /// Units returned, by channel.
    pub(crate) credit: [u32; 2],
}

impl End {
    /// Writes it at the end of `message`.
    pub(crate) fn emit(&self, message: &mut [u8]) {
        let word = self.len as u32 | (self.channel as u32) << 24 | (self.kind as u32) << 28;
        let at = message.len() - END_BYTES;
        for (bytes, word) in
            message[at..].chunks_exact_mut(4).zip([self.from, word, self.credit[0], self.credit[1]])
        {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
    }

    /// Reads it from the end of `message`; `None` if `message` is not valid.
    pub(crate) fn parse(message: &[u8]) -> Option<End> {
        let (frame, end) = message.split_last_chunk::<END_BYTES>()?;
        let word = |i: usize| u32::from_le_bytes([end[i], end[i + 1], end[i + 2], end[i + 3]]);
        let kind = match word(4) >> 28 {
            1 => MessageKind::Frame,
            2 => MessageKind::Credit,
            3 => MessageKind::Ask,
            4 => MessageKind::Key,
            5 => MessageKind::Tried,
            6 => MessageKind::Bye,
            _ => return None,
        };
        let channel = if word(4) >> 24 & 1 == 0 { Channel::Request } else { Channel::Reply };
        let len = (word(4) & 0xf_ffff) as usize;
        let fits = len <= frame.len() && message_len(len) == message.len();
        fits.then_some(End { kind, from: word(0), channel, len, credit: [word(8), word(12)] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_come_back() {
        for kind in [
            MessageKind::Frame,
            MessageKind::Credit,
            MessageKind::Ask,
            MessageKind::Key,
            MessageKind::Tried,
            MessageKind::Bye,
        ] {
            for channel in [Channel::Request, Channel::Reply] {
                for len in [0, 1, MAX_NOTE_BYTES, MAX_NOTE_BYTES + 1, 4096, MAX_FRAME_BYTES] {
                    let end = End { kind, from: 7, channel, len, credit: [3, u32::MAX] };
                    let mut message = vec![0xa5; message_len(len)];
                    end.emit(&mut message);
                    assert_eq!(End::parse(&message), Some(end));
                    assert!(message[..len].iter().all(|b| *b == 0xa5), "the frame is left alone");
                }
            }
        }
    }

    /// Any bytes are a message or are not; a message's frame is inside it.
    #[test]
    fn anything_can_be_read() {
        let mut x = 9u64;
        let mut messages = 0;
        for round in 0..200_000usize {
            let mut bytes = vec![0u8; (round % 5) * 32];
            for b in &mut bytes {
                x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                *b = (x >> 59) as u8;
            }
            if let Some(end) = End::parse(&bytes) {
                assert!(end.len + END_BYTES <= bytes.len());
                messages += 1;
            }
        }
        assert!(messages > 0, "some of them look like messages");
    }
}
