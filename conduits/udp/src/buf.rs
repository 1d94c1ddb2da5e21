//! Buffers for frames: aligned, and used again.

use gasnet::conduit::MIN_FRAME;

/// Bytes of the largest frame.
pub const MAX_FRAME: usize = MIN_FRAME;
/// Sizes that buffers come in.
const CLASSES: [usize; 3] = [448, 4032, MAX_FRAME];
/// Free buffers kept of each size.
const KEPT: [usize; 3] = [256, 64, 8];
const ALIGN: usize = 64;

/// Memory for one frame, 64-byte aligned.
#[derive(Debug)]
pub struct Buf {
    /// A vector, because its memory is also reached through pointers that slots carry, while it is moved about.
    memory: Vec<u8>,
    start: usize,
    len: usize,
    class: usize,
}

fn class_of(len: usize) -> usize {
    CLASSES.iter().position(|size| len <= *size).unwrap_or(CLASSES.len() - 1)
}

/// What a frame of this length costs of a channel's room, in units of 64 bytes: the memory it occupies.
#[inline]
pub fn charge(len: usize) -> u64 {
    (CLASSES[class_of(len)] / ALIGN + 2) as u64
}

impl Buf {
    fn new(class: usize) -> Buf {
        let memory = vec![0u8; CLASSES[class] + ALIGN];
        let start = memory.as_ptr().align_offset(ALIGN).min(ALIGN);
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

/// Buffers not in use.
#[derive(Debug, Default)]
pub struct Pool {
    free: [Vec<Buf>; 3],
}

impl Pool {
    /// A buffer of `len` bytes, at most [`MAX_FRAME`], of any content.
    #[inline]
    pub fn take(&mut self, len: usize) -> Buf {
        debug_assert!(len <= MAX_FRAME);
        let class = class_of(len);
        let mut buf = self.free[class].pop().unwrap_or_else(|| Buf::new(class));
        buf.len = len;
        buf
    }

    /// Takes a buffer back.
    #[inline]
    pub fn give(&mut self, buf: Buf) {
        let free = &mut self.free[buf.class];
        if free.len() < KEPT[buf.class] {
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
        for len in [0, 1, 448, 449, 4032, 4033, MAX_FRAME] {
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
        let many: Vec<Buf> = (0..1000).map(|_| pool.take(MAX_FRAME)).collect();
        many.into_iter().for_each(|buf| pool.give(buf));
        assert!(pool.free[2].len() <= KEPT[2]);
    }
}
