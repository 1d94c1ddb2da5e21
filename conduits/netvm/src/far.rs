//! The wire to NICs of other hosts. Packets are frames of another conduit, the network's. It delivers each
//! once, in any order, which is all that the firmware asks of a wire.
//!
//! **Hello.** The description of a rank's exported memory is on its desk, which its own host sees. A rank
//! sends it to the ranks of other hosts in a frame on the network's reply channel. They record it in their
//! copies of its desk, and attach when they have heard of all ranks.
//!
//! **Sleep.** A network does not wake threads by a word in shared memory. The *listener*, a thread, sleeps on
//! the network's descriptor while the rank does not poll, and runs the NIC when something has arrived or a
//! timer of the network is due. A rank that sleeps includes the descriptor in what it sleeps on.

use crate::desk::Desks;
use crate::sys::refused;
use gasnet_sys::fd::Either;
use gasnet_sys::mutex::lock;
use gasnet_sys::poll::wait_readable;
use gasnet_wire::conduit::{Channel, Conduit, Frame};
use gasnet_wire::{Error, RankId};
use netvm_fw::wire::{HEAD_BYTES, Head};
use netvm_fw::{Key, PortId, host::Segment};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Mutex;
use std::time::Duration;

/// Frames taken from the network in one go.
const FRAMES_PER_POLL: usize = 32;
/// Bytes of a hello: key, bytes of the segment, bytes behind it.
const HELLO_BYTES: usize = 24;
/// Longest sleep of the listener.
const MAX_LISTENER_SLEEP: Duration = Duration::from_millis(500);

/// The network, and the ranks it reaches.
pub(crate) struct Far {
    conduit: Box<dyn Conduit>,
    is_far: Vec<bool>,
    /// Readable when the network or the NIC has something for the rank.
    either: Either,
    /// Peers that have not been sent a hello yet, and the hello.
    hellos: Mutex<(Vec<u32>, [u8; HELLO_BYTES])>,
}

impl Far {
    /// A wire over this network, to these ranks.
    pub(crate) fn new(
        conduit: Box<dyn Conduit>,
        is_far: Vec<bool>,
        news: BorrowedFd<'_>,
    ) -> Result<Far, Error> {
        let Some(fd) = conduit.descriptor() else {
            return Err(Error::job(format!(
                "netvm conduit: NICs cannot sleep on the network {}: it has no descriptor",
                conduit.name()
            )));
        };
        let either = Either::new([news, fd]).map_err(refused("descriptor of several"))?;
        Ok(Far { conduit, is_far, either, hellos: Mutex::default() })
    }

    /// Whether the network reaches a rank.
    #[inline]
    pub(crate) fn has(&self, rank: u32) -> bool {
        self.is_far[rank as usize]
    }

    fn all(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.is_far.len() as u32).filter(|rank| self.has(*rank))
    }

    /// Sends hellos to all of these ranks.
    pub(crate) fn greet(&self, export: &Segment, segment: u64) {
        let mut words = [0; HELLO_BYTES];
        for (to, word) in words.chunks_exact_mut(8).zip([export.key.0, segment, export.size - segment]) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        *lock(&self.hellos) = (self.all().collect(), words);
    }

    /// Whether the hellos of all of these ranks have arrived.
    pub(crate) fn has_heard_all(&self, desks: &Desks, port: PortId) -> bool {
        self.all().all(|rank| desks.import(rank, port).is_some())
    }

    fn say_hello(&self) -> Result<(), Error> {
        let mut hellos = lock(&self.hellos);
        while let Some(to) = hellos.0.last().copied() {
            if !self.send_frame(to, Channel::Reply, [&hellos.1, &[]])? {
                break;
            }
            hellos.0.pop();
        }
        Ok(())
    }

    /// Sends a packet. Returns false if there is no room.
    pub(crate) fn send(&self, head: &Head, payload: &[u8]) -> Result<bool, Error> {
        self.send_frame(head.to.0, Channel::Request, [&head.to_bytes(), payload])
    }

    #[expect(unsafe_code, reason = "fills a slot of the network in place")]
    fn send_frame(&self, to: u32, channel: Channel, parts: [&[u8]; 2]) -> Result<bool, Error> {
        let to = RankId(to);
        let len = parts[0].len() + parts[1].len();
        let Some(slot) = self.conduit.reserve(to, channel, len, false)? else { return Ok(false) };
        // SAFETY: the slot has that many bytes, which are ours until it is committed; committed once, filled.
        unsafe {
            let at = slot.buf.as_ptr();
            core::ptr::copy_nonoverlapping(parts[0].as_ptr(), at, parts[0].len());
            core::ptr::copy_nonoverlapping(parts[1].as_ptr(), at.add(parts[0].len()), parts[1].len());
            self.conduit.commit(slot);
        }
        Ok(true)
    }

    /// Handles what has arrived; `packet` gets each packet. Returns their number, without hellos.
    pub(crate) fn poll(&self, desks: &Desks, packet: &mut dyn FnMut(Frame)) -> Result<usize, Error> {
        self.conduit.poll(Channel::Reply, FRAMES_PER_POLL, &mut |frame| heard(desks, &frame))?;
        self.say_hello()?;
        self.conduit.poll(Channel::Request, FRAMES_PER_POLL, packet)
    }

    /// The descriptor that a waiting rank sleeps on: the network, its timers, and the NIC's bell.
    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        // This call sets the network's timers.
        self.conduit.descriptor();
        self.either.as_fd()
    }

    /// Sleeps until the network has work, or for a limited time.
    pub(crate) fn sleep(&self) {
        if let Some(fd) = self.conduit.descriptor() {
            wait_readable(fd, MAX_LISTENER_SLEEP);
        }
    }

    /// The rank leaves.
    pub(crate) fn close(&self) {
        self.conduit.close();
    }

    pub(crate) fn name(&self) -> &'static str {
        self.conduit.name()
    }

    pub(crate) fn counters(&self) -> Vec<(&'static str, u64)> {
        self.conduit.counters()
    }
}

/// Records the hello of a rank of another host.
#[expect(unsafe_code, reason = "reads a frame in place")]
fn heard(desks: &Desks, frame: &Frame) {
    // SAFETY: a frame's bytes are valid during its delivery.
    let bytes = unsafe { core::slice::from_raw_parts(frame.data, frame.len) };
    let word = |i: usize| bytes.get(8 * i..8 * i + 8).and_then(|b| b.try_into().ok()).map(u64::from_le_bytes);
    if let (Some(key), Some(segment), Some(extra)) = (word(0), word(1), word(2)) {
        desks.note(frame.from.0, Key(key), segment, extra);
    }
}

const _: () = assert!(HEAD_BYTES + netvm_fw::PAGE as usize <= gasnet_wire::conduit::MIN_FRAME);
