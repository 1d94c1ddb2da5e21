//! Buffers for frames: aligned, and reused.

use gasnet_wire::conduit::MIN_FRAME;

/// Bytes of the largest frame.
pub const MAX_FRAME_BYTES: usize = MIN_FRAME;
/// Bytes of a frame before its payload, at most.
const HEAD_BYTES: usize = 448;
/// Sizes of buffers, in bytes. Many programs send messages of one page or of a few. A frame with such a
/// payload has a class of its own, and so takes no more of a channel's room than it needs.
const CLASS_BYTES: [usize; 6] = [
    HEAD_BYTES,
    1024 + HEAD_BYTES,
    2048 + HEAD_BYTES,
    4096 + HEAD_BYTES,
    16384 + HEAD_BYTES,
    MAX_FRAME_BYTES,
];
/// Free buffers kept of each size: of the smaller ones about as many as a peer fills before they are
/// handled. Other free buffers go back to the system, and cost a page fault when they are needed again.
const KEPT_BUFFERS_BY_CLASS: [usize; CLASS_BYTES.len()] = [256, 256, 256, 256, 16, 8];
const ALIGN_BYTES: usize = 64;

/// Memory for one frame, 64-byte aligned.
#[derive(Debug)]
pub struct Buf {
    /// A vector, because pointers in slots also reach its memory while it is moved.
    memory: Vec<u8>,
    start: usize,
    len: usize,
    class: usize,
}

fn class_of(len: usize) -> usize {
    CLASS_BYTES.iter().position(|size| len <= *size).unwrap_or(CLASS_BYTES.len() - 1)
}

/// The cost of a frame of this length in a channel's room: the memory it occupies, in units of 64 bytes.
#[inline]
pub fn charge(len: usize) -> u64 {
    (CLASS_BYTES[class_of(len)] / ALIGN_BYTES + 2) as u64
}

impl Buf {
    fn new(class: usize) -> Buf {
        let memory = vec![0u8; CLASS_BYTES[class] + ALIGN_BYTES];
        let start = memory.as_ptr().align_offset(ALIGN_BYTES).min(ALIGN_BYTES);
        Buf { memory, start, len: 0, class }
    }

    /// Its bytes.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.memory[self.start..self.start + self.len]
    }

    /// Its bytes.
    #[inline]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..self.start + self.len]
    }
}

/// Free buffers.
#[derive(Debug, Default)]
pub struct Pool {
    free: [Vec<Buf>; CLASS_BYTES.len()],
}

impl Pool {
    /// A buffer of `len` bytes, at most [`MAX_FRAME_BYTES`], with undefined contents.
    #[inline]
    pub fn take(&mut self, len: usize) -> Buf {
        debug_assert!(len <= MAX_FRAME_BYTES);
        let class = class_of(len);
        let mut buf = self.free[class].pop().unwrap_or_else(|| Buf::new(class));
        buf.len = len;
        buf
    }

    /// Takes a buffer back.
    #[inline]
    pub fn give(&mut self, buf: Buf) {
        let free = &mut self.free[buf.class];
        if free.len() < KEPT_BUFFERS_BY_CLASS[buf.class] {
            free.push(buf);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_aligned_and_used_again() {
        let mut pool = Pool::default();
        for len in [0, 1, 448, 449, 1472, 1473, 2496, 2497, 4096, 4544, 4545, 16384, MAX_FRAME_BYTES] {
            let mut buf = pool.take(len);
            assert_eq!((buf.bytes().len(), buf.bytes().as_ptr() as usize % 64), (len, 0));
            buf.bytes_mut().fill(1);
            let at = buf.bytes().as_ptr();
            assert!(charge(len) * 64 >= len as u64 + 64);
            pool.give(buf);
            let again = pool.take(len);
            assert_eq!(again.bytes().as_ptr(), at);
            pool.give(again);
        }
        let many: Vec<Buf> = (0..1000).map(|_| pool.take(MAX_FRAME_BYTES)).collect();
        many.into_iter().for_each(|buf| pool.give(buf));
        let largest = CLASS_BYTES.len() - 1;
        assert!(pool.free[largest].len() <= KEPT_BUFFERS_BY_CLASS[largest]);
    }
}
