//! The wire form of an active message in a conduit's frame.
//!
//! Little endian: kind u8, handler u8, number of arguments u8, zero u8, payload length u32, destination offset u64 (long
//! messages, else 0), arguments u32 each, zeros up to a multiple of 16, payload.

use super::Kind;

/// Bytes before the arguments.
const HEAD: usize = 16;

/// Where the payload starts in a frame with this many arguments.
pub(crate) const fn payload_at(nargs: usize) -> usize {
    (HEAD + nargs * 4).next_multiple_of(16)
}

/// What a frame says, its payload aside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FrameHead {
    pub(crate) kind: Kind,
    pub(crate) handler: u8,
    pub(crate) nargs: usize,
    pub(crate) args: [u32; 16],
    pub(crate) len: usize,
    pub(crate) dst: u64,
}

impl FrameHead {
    /// Writes everything before the payload; `out` has [`payload_at`]`(nargs)` bytes.
    pub(crate) fn emit(&self, out: &mut [u8]) {
        out.fill(0);
        out[0] = self.kind as u8;
        out[1] = self.handler;
        out[2] = self.nargs as u8;
        out[4..8].copy_from_slice(&(self.len as u32).to_le_bytes());
        out[8..16].copy_from_slice(&self.dst.to_le_bytes());
        for (bytes, a) in out[HEAD..].chunks_exact_mut(4).zip(&self.args[..self.nargs]) {
            bytes.copy_from_slice(&a.to_le_bytes());
        }
    }

    /// Reads a frame's head; `None` if the frame is not one.
    pub(crate) fn parse(frame: &[u8]) -> Option<FrameHead> {
        let head = frame.get(..HEAD)?;
        let kind = Kind::from_u8(head[0])?;
        let nargs = head[2] as usize;
        let len = u32::from_le_bytes(head[4..8].try_into().ok()?) as usize;
        let short = kind == Kind::Short && len > 0;
        if nargs > 16 || short || frame.len() != payload_at(nargs).checked_add(len)? {
            return None;
        }
        let mut args = [0; 16];
        for (a, bytes) in args.iter_mut().zip(frame[HEAD..HEAD + nargs * 4].chunks_exact(4)) {
            *a = u32::from_le_bytes(bytes.try_into().ok()?);
        }
        Some(FrameHead {
            kind,
            handler: head[1],
            nargs,
            args,
            len,
            dst: u64::from_le_bytes(head[8..16].try_into().ok()?),
        })
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn every_shape_survives() {
        for nargs in 0..=16 {
            for (kind, len) in [(Kind::Short, 0), (Kind::Medium, 5), (Kind::Long, 64)] {
                let mut args = [0; 16];
                args[..nargs].iter_mut().enumerate().for_each(|(i, a)| *a = 0xdead_0000 + i as u32);
                let head = FrameHead { kind, handler: 200, nargs, args, len, dst: 1 << 40 };
                let mut frame = vec![0; payload_at(nargs)];
                head.emit(&mut frame);
                frame.resize(payload_at(nargs) + len, 7);
                assert_eq!(FrameHead::parse(&frame), Some(head));
                for cut in 0..frame.len() {
                    assert_eq!(FrameHead::parse(&frame[..cut]), None);
                }
            }
        }
    }

    /// Frames that differ from good ones in a few bits, and random ones: what is read is consistent and comes out the same when
    /// it is written again.
    #[test]
    fn any_bytes_are_handled() {
        let mut x = 1u64;
        let mut next = move || {
            x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            x >> 33
        };
        let mut read = 0;
        for _ in 0..if cfg!(miri) { 500 } else { 200_000 } {
            let (nargs, len) = (next() as usize % 17, next() as usize % 40);
            let kind = [Kind::Short, Kind::Medium, Kind::Long][next() as usize % 3];
            let mut frame = vec![0; payload_at(nargs)];
            let mut args = [0; 16];
            args[..nargs].iter_mut().for_each(|a| *a = next() as u32);
            let len = if kind == Kind::Short { 0 } else { len };
            FrameHead { kind, handler: next() as u8, nargs, args, len, dst: next() }.emit(&mut frame);
            frame.resize(payload_at(nargs) + len, 1);
            for _ in 0..next() % 4 {
                let at = next() as usize % frame.len().min(24);
                frame[at] ^= 1 << (next() % 8);
            }
            if next() % 4 == 0 {
                frame.truncate(next() as usize % frame.len());
            }
            if let Some(h) = FrameHead::parse(&frame) {
                assert!(h.nargs <= 16 && payload_at(h.nargs) + h.len == frame.len());
                assert!(h.kind != Kind::Short || h.len == 0);
                let mut again = vec![0; payload_at(h.nargs)];
                h.emit(&mut again);
                again.extend_from_slice(&frame[payload_at(h.nargs)..]);
                assert_eq!(FrameHead::parse(&again), Some(h));
                read += 1;
            }
        }
        assert!(read > 50, "most frames are hardly changed");
    }
}
