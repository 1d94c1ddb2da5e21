//! The wire form of an active message in a conduit's frame.
//!
//! Little endian: kind u8, handler u8, number of arguments u8, 1 for a part of a long message, 2 for a
//! message that is shorter than its frame, else 0, payload length u32, destination offset u64 (long messages,
//! else 0), arguments u32 each, zeros up to a multiple of 16, payload.
//!
//! The payload of a *part* begins with a [`PartHead`]; all parts of a message have the same arguments and the
//! same destination, that of the whole.
//!
//! It is written and read in a few instructions: they lie on the way of every message.

/// Most arguments of a message.
pub const MAX_ARGUMENTS: usize = 16;
/// Largest payload of a medium message, in bytes, to any rank and with any number of arguments.
pub const MAX_MEDIUM: usize = 65_536;

/// Kinds of active messages, by their payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Arguments only.
    Short = 0,
    /// Arguments and a payload in a buffer.
    Medium = 1,
    /// Arguments and a payload in the target's segment.
    Long = 2,
}

impl Kind {
    pub(crate) fn from_u8(v: u8) -> Option<Kind> {
        match v {
            0 => Some(Kind::Short),
            1 => Some(Kind::Medium),
            2 => Some(Kind::Long),
            _ => None,
        }
    }
}

/// Handler indices of clients start here; lower ones are the runtime's.
pub const FIRST_CLIENT_HANDLER: u8 = 128;
/// Indices from here up to [`FIRST_CLIENT_HANDLER`] belong to the libraries between the core and the program.
pub const FIRST_LIBRARY_HANDLER: u8 = 96;

/// A message on its way out.
#[derive(Clone, Copy)]
pub struct Outgoing<'a> {
    /// Short, medium or long.
    pub kind: Kind,
    /// Number of the handler.
    pub handler: u8,
    /// The arguments.
    pub args: &'a [u32],
    /// First byte of the payload.
    pub src: *const u8,
    /// Bytes of payload.
    pub len: usize,
    /// Where the payload of a long message is placed: an offset in the target's segment.
    pub dst: u64,
}

impl<'a> Outgoing<'a> {
    /// Arguments alone.
    #[inline]
    pub const fn short(handler: u8, args: &'a [u32]) -> Outgoing<'a> {
        Outgoing { kind: Kind::Short, handler, args, src: core::ptr::null(), len: 0, dst: 0 }
    }

    /// With a payload of `len` bytes for the handler.
    #[inline]
    pub const fn medium(handler: u8, args: &'a [u32], src: *const u8, len: usize) -> Outgoing<'a> {
        Outgoing { kind: Kind::Medium, handler, args, src, len, dst: 0 }
    }

    /// With a payload of `len` bytes for the offset `dst` of the target's segment.
    #[inline]
    pub const fn long(handler: u8, args: &'a [u32], src: *const u8, len: usize, dst: u64) -> Outgoing<'a> {
        Outgoing { kind: Kind::Long, handler, args, src, len, dst }
    }
}

/// Bytes before the arguments.
const HEAD_BYTES: usize = 16;

/// The mark of a part of a long message.
const PART: u8 = 1;
/// The mark of a message in a frame that has bytes behind its payload.
const PADDED: u8 = 2;

/// Where the payload starts in a frame with this many arguments.
pub(crate) const fn payload_at(nargs: usize) -> usize {
    (HEAD_BYTES + nargs * 4).next_multiple_of(16)
}

/// The arguments of a frame, as handlers see them.
pub(crate) type Arguments = [u32; MAX_ARGUMENTS];

/// The head of a frame: everything but arguments and payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FrameHead {
    pub(crate) kind: Kind,
    pub(crate) handler: u8,
    pub(crate) nargs: usize,
    pub(crate) len: usize,
    pub(crate) dst: u64,
    pub(crate) part: bool,
}

impl FrameHead {
    /// Writes everything before the payload; `out` has [`payload_at`]`(nargs)` bytes, `args` as many as the
    /// head says.
    #[inline]
    pub(crate) fn emit(&self, args: &[u32], out: &mut [u8]) {
        let word = self.kind as u64
            | u64::from(self.handler) << 8
            | (self.nargs as u64) << 16
            | u64::from(self.part) << 24
            | u64::from(self.len as u32) << 32;
        let (head, rest) = out.split_at_mut(HEAD_BYTES);
        head[..8].copy_from_slice(&word.to_le_bytes());
        head[8..].copy_from_slice(&self.dst.to_le_bytes());
        if let Some(last) = rest.len().checked_sub(16) {
            rest[last..].copy_from_slice(&[0; 16]);
        }
        for (bytes, a) in rest.chunks_exact_mut(4).zip(args) {
            bytes.copy_from_slice(&a.to_le_bytes());
        }
    }

    /// Marks the frame that begins with this head as longer than its message.
    #[inline]
    pub(crate) fn mark_padded(head: &mut [u8]) {
        head[3] = PADDED;
    }

    /// Reads a frame's head, and its arguments into `args`; `None` if the frame is not one.
    #[inline]
    pub(crate) fn parse(frame: &[u8], args: &mut Arguments) -> Option<FrameHead> {
        let (head, rest) = frame.split_at_checked(HEAD_BYTES)?;
        let word = u64::from_le_bytes(head[..8].try_into().ok()?);
        let kind = Kind::from_u8(word as u8)?;
        let nargs = (word >> 16) as usize & 0xff;
        let len = (word >> 32) as usize;
        let dst = u64::from_le_bytes(head[8..].try_into().ok()?);
        let mark = (word as u32 >> 24) as u8;
        let (part, padded) = (mark == PART, mark == PADDED);
        let known = mark == 0 || padded && kind != Kind::Short || part && kind == Kind::Long;
        let zeros = kind == Kind::Long || dst == 0;
        let short = kind == Kind::Short && len > 0;
        if nargs > MAX_ARGUMENTS || short || !zeros || !known {
            return None;
        }
        let end = payload_at(nargs).checked_add(len)?;
        if frame.len() < end || padded != (frame.len() > end) {
            return None;
        }
        for (a, bytes) in args[..nargs].iter_mut().zip(rest.chunks_exact(4)) {
            *a = u32::from_le_bytes(bytes.try_into().ok()?);
        }
        Some(FrameHead { kind, handler: (word >> 8) as u8, nargs, len, dst, part })
    }
}

/// Bytes of a [`PartHead`].
pub(crate) const PART_HEAD_BYTES: usize = 16;

/// The start of the payload of a part. Little endian, u32 each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PartHead {
    /// Counts the long messages of a sender that go in parts.
    pub(crate) number: u32,
    /// Bytes before this part.
    pub(crate) at: u32,
    /// Bytes of the whole.
    pub(crate) total: u32,
    /// Bytes of every part but the last.
    pub(crate) step: u32,
}

impl PartHead {
    pub(crate) fn emit(&self) -> [u8; PART_HEAD_BYTES] {
        let mut bytes = [0; PART_HEAD_BYTES];
        for (b, word) in bytes.chunks_exact_mut(4).zip([self.number, self.at, self.total, self.step]) {
            b.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// Reads the head of a part, and what follows it.
    pub(crate) fn parse(payload: &[u8]) -> Option<(PartHead, &[u8])> {
        let (head, data) = payload.split_at_checked(PART_HEAD_BYTES)?;
        let word = |i: usize| u32::from_le_bytes([head[i], head[i + 1], head[i + 2], head[i + 3]]);
        Some((PartHead { number: word(0), at: word(4), total: word(8), step: word(12) }, data))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn heads_of_parts_survive() {
        let head = PartHead { number: 1, at: 0x0203_0405, total: u32::MAX, step: 7 };
        let mut bytes = head.emit().to_vec();
        assert_eq!(bytes[4..8], [5, 4, 3, 2]);
        bytes.push(9);
        assert_eq!(PartHead::parse(&bytes), Some((head, &[9][..])));
        assert_eq!(PartHead::parse(&bytes[..15]), None);
    }

    #[test]
    fn every_shape_survives() {
        for nargs in 0..=16 {
            for (kind, len) in [(Kind::Short, 0), (Kind::Medium, 5), (Kind::Long, 64)] {
                let mut args = [0; 16];
                args[..nargs].iter_mut().enumerate().for_each(|(i, a)| *a = 0xdead_0000 + i as u32);
                let dst = if kind == Kind::Long { 1 << 40 } else { 0 };
                let head = FrameHead { kind, handler: 200, nargs, len, dst, part: kind == Kind::Long };
                // Old contents of the buffer must not matter.
                let mut frame = vec![0xee; payload_at(nargs)];
                head.emit(&args[..nargs], &mut frame);
                assert!(frame[HEAD_BYTES + 4 * nargs..].iter().all(|b| *b == 0));
                frame.resize(payload_at(nargs) + len, 7);
                let mut back = [0; MAX_ARGUMENTS];
                assert_eq!(FrameHead::parse(&frame, &mut back), Some(head));
                assert_eq!(back, args);
                for cut in (0..frame.len()).step_by(if cfg!(miri) { 7 } else { 1 }) {
                    assert_eq!(FrameHead::parse(&frame[..cut], &mut back), None);
                }
            }
        }
    }

    #[test]
    fn only_padded_frames_have_bytes_behind_the_payload() {
        let head = FrameHead { kind: Kind::Medium, handler: 200, nargs: 3, len: 5, dst: 0, part: false };
        let mut frame = vec![0; payload_at(3)];
        head.emit(&[1, 2, 3], &mut frame);
        let mut args = [0; MAX_ARGUMENTS];
        frame.resize(payload_at(3) + 9, 7);
        assert_eq!(FrameHead::parse(&frame, &mut args), None);
        FrameHead::mark_padded(&mut frame);
        assert_eq!(FrameHead::parse(&frame, &mut args), Some(head));
        assert_eq!(FrameHead::parse(&frame[..payload_at(3) + 4], &mut args), None);
        frame[3] = 3;
        assert_eq!(FrameHead::parse(&frame, &mut args), None);
    }

    /// Frames that differ from good ones in a few bits, and random ones: what is read is consistent and comes
    /// out the same when it is written again.
    #[test]
    fn any_bytes_are_handled() {
        let mut random = fastrand::Rng::with_seed(1);
        let mut next = move || random.u64(..1 << 31);
        let mut read = 0;
        for _ in 0..if cfg!(miri) { 100 } else { 200_000 } {
            let (nargs, len) = (next() as usize % 17, next() as usize % 40);
            let kind = [Kind::Short, Kind::Medium, Kind::Long][next() as usize % 3];
            let mut frame = vec![0; payload_at(nargs)];
            let mut args = [0; 16];
            args[..nargs].iter_mut().for_each(|a| *a = next() as u32);
            let len = if kind == Kind::Short { 0 } else { len };
            let dst = if kind == Kind::Long { next() } else { 0 };
            FrameHead { kind, handler: next() as u8, nargs, len, dst, part: false }
                .emit(&args[..nargs], &mut frame);
            frame.resize(payload_at(nargs) + len, 1);
            for _ in 0..next() % 4 {
                let at = next() as usize % frame.len().min(24);
                frame[at] ^= 1 << (next() % 8);
            }
            if next() % 4 == 0 {
                frame.truncate(next() as usize % frame.len());
            }
            let mut args = [0; MAX_ARGUMENTS];
            if let Some(h) = FrameHead::parse(&frame, &mut args) {
                let padded = frame[3] == PADDED;
                assert!(h.nargs <= 16 && payload_at(h.nargs) + h.len <= frame.len());
                assert!(padded || payload_at(h.nargs) + h.len == frame.len());
                assert!(h.kind != Kind::Short || h.len == 0);
                let mut again = vec![0; payload_at(h.nargs)];
                h.emit(&args[..h.nargs], &mut again);
                if padded {
                    FrameHead::mark_padded(&mut again);
                }
                again.extend_from_slice(&frame[payload_at(h.nargs)..]);
                let mut back = [0; MAX_ARGUMENTS];
                assert_eq!(FrameHead::parse(&again, &mut back), Some(h));
                assert_eq!(back, args);
                read += 1;
            }
        }
        assert!(read > if cfg!(miri) { 20 } else { 50 }, "most frames are hardly changed");
    }
}
