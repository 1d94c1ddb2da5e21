//! What links read and write: the own segment, and the memory of puts and gets that are under way.
#![expect(unsafe_code, reason = "copies between datagrams and memory that the program lent")]

use crate::buf::{Buf, Pool};
use crate::link::{Place, World};
use crate::wire::HEADER;
use gasnet::conduit::Channel;
use std::collections::VecDeque;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;

/// A frame that waits for a poll.
#[derive(Debug)]
pub(crate) struct Arrived {
    pub(crate) from: u32,
    pub(crate) buf: Buf,
}

/// A rank's memory as its links see it, and what they have for it.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    segment: Option<(usize, usize)>,
    pub(crate) pool: Pool,
    /// By channel.
    pub(crate) frames: [VecDeque<Arrived>; 2],
    pub(crate) completed: VecDeque<u64>,
    /// Whose datagrams are being handled.
    pub(crate) from: u32,
    /// Whether bytes of puts or gets came or went.
    pub(crate) moved: bool,
    /// Where in the segment the payload that is being handled lies already.
    pub(crate) placed: Option<u64>,
}

impl Memory {
    /// Takes note of the segment.
    ///
    /// # Safety
    /// 1. The memory is valid as long as the process lives, and is written by others only in ways that programs may (owed by the
    ///    caller).
    pub(crate) unsafe fn attach(&mut self, base: *mut u8, len: usize) {
        self.segment = Some((base.expose_provenance(), len));
    }

    /// Memory that a link's batch says is lent.
    ///
    /// # Safety
    /// 1. The link that filled the batch has not been called since (owed by the caller).
    pub(crate) unsafe fn lent(&self, at: u64, len: usize) -> &[u8] {
        // SAFETY: a part of the source of a put that is not complete (1), which the core lends until then (`Rma::put`).
        unsafe { core::slice::from_raw_parts(core::ptr::with_exposed_provenance(at as usize), len) }
    }

    /// Receives a datagram whose payload of `len` bytes belongs at `offset` of the segment; false if that cannot be.
    pub(crate) fn receive_put(
        &mut self,
        socket: &UdpSocket,
        head: &mut [u8; HEADER],
        offset: u64,
        len: usize,
    ) -> bool {
        let Some(at) = self.segment_at(offset, len as u64) else { return false };
        let payload: *mut u8 = core::ptr::with_exposed_provenance_mut(at);
        let parts = [
            libc::iovec { iov_base: head.as_mut_ptr().cast(), iov_len: HEADER },
            libc::iovec { iov_base: payload.cast(), iov_len: len },
        ];
        // SAFETY: the header's room, and a part of the segment, which was just checked.
        let got = unsafe { libc::readv(socket.as_raw_fd(), parts.as_ptr(), 2) };
        let whole = got == (HEADER + len) as isize;
        self.placed = whole.then_some(offset);
        whole
    }

    fn segment_at(&self, offset: u64, len: u64) -> Option<usize> {
        let (base, size) = self.segment?;
        let end = offset.checked_add(len)?;
        (end <= size as u64).then(|| base + offset as usize)
    }
}

impl World for Memory {
    fn lend(&mut self) -> bool {
        self.moved = true;
        true
    }

    #[inline]
    fn read(&mut self, from: Place, out: &mut [u8]) {
        self.moved = true;
        let at = match from {
            Place::Own(address) => address as usize,
            Place::Segment(offset) => match self.segment_at(offset, out.len() as u64) {
                Some(at) => at,
                None => return,
            },
        };
        // SAFETY: in the segment, which was just checked, or the source of a put, which the core lends until it is complete
        // (`Rma::put`); links read nothing else.
        unsafe {
            gasnet::bytes::load(out.as_mut_ptr(), core::ptr::with_exposed_provenance(at), out.len());
        }
    }

    #[inline]
    fn write(&mut self, to: Place, data: &[u8]) -> bool {
        self.moved = true;
        if let Some(offset) = self.placed.take()
            && to == Place::Segment(offset)
        {
            return true;
        }
        let at = match to {
            Place::Own(address) => address as usize,
            Place::Segment(offset) => match self.segment_at(offset, data.len() as u64) {
                Some(at) => at,
                None => return false,
            },
        };
        let to: *mut u8 = core::ptr::with_exposed_provenance_mut(at);
        // SAFETY: in the segment, which was just checked, or the destination of a get, which the core lends until it is complete
        // (`Rma::get`); links write nothing else, and check the range of what was got. Words are written in one piece, as programs
        // expect that look at them at the same time.
        unsafe { gasnet::bytes::store(to, data.as_ptr(), data.len()) };
        true
    }

    fn holds(&self, offset: u64, len: u64) -> bool {
        self.segment_at(offset, len).is_some()
    }

    fn pool(&mut self) -> &mut Pool {
        &mut self.pool
    }

    fn deliver(&mut self, channel: Channel, buf: Buf) {
        self.frames[channel as usize].push_back(Arrived { from: self.from, buf });
    }

    fn complete(&mut self, token: u64) {
        self.completed.push_back(token);
    }
}
