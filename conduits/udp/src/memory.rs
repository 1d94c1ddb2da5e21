//! The memory that links read and write: the own segment, and the memory of puts and gets under way.
#![expect(unsafe_code, reason = "copies between datagrams and memory that the program lent")]

use crate::buf::{Buf, Pool};
use crate::link::{OpLocation, World};
use crate::wire::HEADER_BYTES;
use gasnet_wire::conduit::Channel;
use std::collections::VecDeque;
use std::io::IoSlice;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;

/// A frame that waits for a poll.
#[derive(Debug)]
pub(crate) struct Arrived {
    pub(crate) from: u32,
    pub(crate) buf: Buf,
}

/// A rank's memory as its links use it, and the frames that they delivered.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    segment: Option<(usize, usize)>,
    pub(crate) pool: Pool,
    /// Delivered frames by channel.
    pub(crate) frames: [VecDeque<Arrived>; 2],
    pub(crate) completed: VecDeque<u64>,
    /// The sender of the datagrams that are being handled.
    pub(crate) from: u32,
    /// Whether bytes of puts or gets were moved.
    pub(crate) moved: bool,
    /// The offset in the segment where the payload being handled already is.
    pub(crate) placed: Option<u64>,
}

impl Memory {
    /// Records the segment.
    ///
    /// # Safety
    /// 1. The memory is valid as long as the process lives, and others write it only in ways that programs
    ///    may (owed by the caller).
    pub(crate) unsafe fn attach(&mut self, base: *mut u8, len: usize) {
        self.segment = Some((base.expose_provenance(), len));
    }

    /// The memory that a link's batch has lent, for the system to read. No reference to its bytes is made: if
    /// the source of a put is in the segment, peers may write it meanwhile.
    ///
    /// # Safety
    /// 1. The link that filled the batch has not been called since (owed by the caller).
    pub(crate) unsafe fn lent(&self, at: u64, len: usize) -> IoSlice<'_> {
        let part =
            libc::iovec { iov_base: core::ptr::with_exposed_provenance_mut(at as usize), iov_len: len };
        // SAFETY: an `IoSlice` has the layout of an `iovec`, as it promises; the bytes are part of the source
        // of a put that is not complete (1), which the core lends until then (`Rma::put`).
        unsafe { core::mem::transmute::<libc::iovec, IoSlice<'_>>(part) }
    }

    /// Receives a datagram whose payload of `len` bytes belongs at `offset` of the segment; false if that is
    /// not possible.
    pub(crate) fn receive_put(
        &mut self,
        socket: &UdpSocket,
        head: &mut [u8; HEADER_BYTES],
        offset: u64,
        len: usize,
    ) -> bool {
        let Some(at) = self.segment_at(offset, len as u64) else { return false };
        let payload: *mut u8 = core::ptr::with_exposed_provenance_mut(at);
        let parts = [
            libc::iovec { iov_base: head.as_mut_ptr().cast(), iov_len: HEADER_BYTES },
            libc::iovec { iov_base: payload.cast(), iov_len: len },
        ];
        // SAFETY: the header's buffer, and a part of the segment, as checked above.
        let got = unsafe { libc::readv(socket.as_raw_fd(), parts.as_ptr(), 2) };
        let whole = got == (HEADER_BYTES + len) as isize;
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
    fn read(&mut self, from: OpLocation, out: &mut [u8]) {
        self.moved = true;
        let at = match from {
            OpLocation::Own(address) => address as usize,
            OpLocation::Segment(offset) => match self.segment_at(offset, out.len() as u64) {
                Some(at) => at,
                None => return,
            },
        };
        // SAFETY: in the segment, as checked above, or in the source of a put, which the core lends until the
        // put is complete (`Rma::put`); links read nothing else.
        unsafe {
            gasnet_wire::bytes::load(out.as_mut_ptr(), core::ptr::with_exposed_provenance(at), out.len());
        }
    }

    #[inline]
    fn write(&mut self, to: OpLocation, data: &[u8]) -> bool {
        self.moved = true;
        if let Some(offset) = self.placed.take()
            && to == OpLocation::Segment(offset)
        {
            return true;
        }
        let at = match to {
            OpLocation::Own(address) => address as usize,
            OpLocation::Segment(offset) => match self.segment_at(offset, data.len() as u64) {
                Some(at) => at,
                None => return false,
            },
        };
        let to: *mut u8 = core::ptr::with_exposed_provenance_mut(at);
        // SAFETY: in the segment, as checked above, or in the destination of a get, which the core lends
        // until the get is complete (`Rma::get`); links write nothing else, and check the range of what
        // arrived. Words are written in one piece, as programs expect that read them at the same time.
        unsafe { gasnet_wire::bytes::store(to, data.as_ptr(), data.len()) };
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
