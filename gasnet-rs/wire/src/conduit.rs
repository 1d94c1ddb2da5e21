//! The seam: what a network has to do for the runtime, and nothing more.
//!
//! A conduit moves *frames*: byte strings between ranks of different hosts (or of one host under
//! `GASNET_NEIGHBORHOOD=off`). Put, get, atomics, barrier and collectives have reference implementations over
//! frames in the core (`amref.rs`); a conduit whose hardware does better says so by returning an
//! [`Rma`].
//!
//! **Sending** is reserve -> slot or would-block -> commit or cancel. A slot is memory of the conduit that
//! the core fills in place; small frames may also be sent in one step. Would-block is an answer, not an
//! error: the core polls and tries again, or gives up when the caller asked for *immediate*. Between reserve
//! and commit nothing that can fail happens and no handler runs.
//!
//! **Two channels.** Requests and replies are separate streams with separate room. A conduit guarantees that
//! a reply can be sent whenever its target keeps polling the reply channel, whatever the state of the request
//! channel. Since reply handlers send nothing, polling replies always makes room: no cycle of full queues can
//! form.
//!
//! **Receiving** happens in [`Conduit::poll`] only, on the caller's stack. Deliveries run handlers, and a
//! request's handler sends a reply, so `deliver` re-enters the conduit: no lock that `reserve`, `commit` or a
//! poll of the other channel needs may be held while delivering.
//!
//! **Order and reliability.** Frames arrive exactly once, in any order.
//!
//! A conduit whose NICs reach exported memory outside of segments says so by [`regions::RegionRma`].
//!
//! For conduits over networks whose queues hold both channels there is [`credit`], which bounds what is under
//! way, and [`looks`], which lets one question to the network serve all polls.

pub mod credit;
pub mod looks;
pub mod regions;

use crate::error::RegionError;
use crate::{Error, RankId};
use core::ptr::NonNull;
use gasnet_ops::Operation;

/// What a rank has done between two fruitless steps of its waits ([`Conduit::idle`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Meanwhile {
    /// Nothing that others could see.
    Nothing,
    /// It may have changed memory that it shares with its neighbours. A store tells nobody, so the conduit
    /// has to let neighbours look that wait.
    Stored,
    /// The same, and the rank has looked for what it waits for at other ranks: by calls in the condition of
    /// the wait, or in a loop of the program. A change there tells this rank nothing. So the conduit lets
    /// time pass instead of waiting for something to arrive.
    Looked,
}

impl Meanwhile {
    /// The one with this number; by default nothing.
    pub fn from_number(number: u64) -> Meanwhile {
        const STORED: u64 = Meanwhile::Stored as u64;
        const LOOKED: u64 = Meanwhile::Looked as u64;
        match number {
            STORED => Meanwhile::Stored,
            LOOKED => Meanwhile::Looked,
            _ => Meanwhile::Nothing,
        }
    }
}

/// Which stream a frame belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Channel {
    /// Frames whose handler may send one reply.
    Request = 0,
    /// Frames whose handler sends nothing.
    Reply = 1,
}

/// The address of a byte in the segment of another rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RemoteAddr {
    /// Whose segment.
    pub rank: RankId,
    /// Bytes from its start.
    pub offset: u64,
}

/// How a rank will use a part of its own segment next ([`Conduit::advise`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Advice {
    /// It will be used: bring it into memory as a whole.
    Coming,
    /// It will be overwritten as a whole before anybody reads it: what it holds now need not be kept or
    /// brought in. Until they are overwritten its bytes are those that it held or zeros, in any mixture.
    Overwrite,
    /// It will not be used for a while: its memory is better given to others. Its bytes are kept.
    Leaving,
}

/// A segment as a conduit sees it.
#[derive(Debug, Clone, Copy)]
pub struct SegmentDesc {
    /// First byte, in this process.
    pub base: *mut u8,
    /// Length in bytes.
    pub len: usize,
}

/// Every conduit carries frames of at least this many bytes: a medium message of the largest size with all
/// its arguments. One whose network moves less cuts frames up and puts them together itself.
pub const MIN_FRAME: usize = crate::am::MAX_MEDIUM + crate::am::frame::payload_at(crate::am::MAX_ARGUMENTS);

/// The limits of a frame to one peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of the largest frame.
    pub max_frame: usize,
}

impl Limits {
    /// Limits with this frame size.
    pub fn new(max_frame: usize) -> Limits {
        Limits { max_frame }
    }
}

/// The unit in which conduits allocate memory for frames, which start at a multiple of 64 bytes.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
pub struct FrameLine(pub [u8; 64]);

/// Room for one frame, to be filled, then given to [`Conduit::commit`] or [`Conduit::cancel`].
#[derive(Debug)]
pub struct RawSlot {
    /// Where the frame's bytes go; 64-byte aligned.
    pub buf: NonNull<u8>,
    /// Bytes asked for.
    pub len: usize,
    /// The conduit's own.
    pub cookie: [u64; 2],
}

/// A frame being delivered; valid during the call only.
#[derive(Debug)]
pub struct Frame {
    /// Who sent it.
    pub from: RankId,
    /// On which stream.
    pub channel: Channel,
    /// Its bytes, 64-byte aligned, which the receiver may use as scratch.
    pub data: *mut u8,
    /// Its length.
    pub len: usize,
}

/// A network.
///
/// # Safety
/// 1. A slot from [`Conduit::reserve`] has at least the bytes asked for, 64-byte aligned, with any values,
///    which nobody else uses until it comes back. 2. A delivered [`Frame`]'s bytes are valid, initialised,
///    and used by nobody else during the delivery (owed by the implementation: the core reads and writes them
///    without looking).
#[expect(unsafe_code, reason = "declares the obligation")]
pub unsafe trait Conduit: Send + Sync {
    /// Its name, as in `GASNET_CONDUIT`.
    fn name(&self) -> &'static str;

    /// The limits of a frame to `to` that carries `nargs` active-message arguments. Frames have at least
    /// [`MIN_FRAME`] bytes; the limits are constant over the job.
    fn limits(&self, to: RankId, nargs: usize) -> Limits {
        let _ = (to, nargs);
        Limits::new(MIN_FRAME)
    }

    /// Room for a frame of `len` bytes, or `None` when the call would have to block. The core has seen to it
    /// that `len` is within the limit and the rank one of the job's.
    ///
    /// `immediate` asks for an answer without any attempt to make room: whoever asks may never come back.
    ///
    /// # Errors
    /// The peer or the conduit is unusable.
    fn reserve(
        &self,
        to: RankId,
        channel: Channel,
        len: usize,
        immediate: bool,
    ) -> Result<Option<RawSlot>, Error>;

    /// Sends the frame in `slot`. It cannot fail; the conduit owns delivery from here.
    ///
    /// # Safety
    /// 1. `slot` is as [`Conduit::reserve`] of this conduit returned it, its bytes filled in (owed by the
    ///    caller).
    #[expect(unsafe_code, reason = "declares the obligation; no body")]
    unsafe fn commit(&self, slot: RawSlot);

    /// Gives a slot back unused.
    ///
    /// # Safety
    /// 1. `slot` is as [`Conduit::reserve`] of this conduit returned it (owed by the caller).
    #[expect(unsafe_code, reason = "declares the obligation; no body")]
    unsafe fn cancel(&self, slot: RawSlot);

    /// Sends a frame whose bytes lie elsewhere, a small one: [`Conduit::reserve`] and [`Conduit::commit`] in
    /// one. Whether it was sent; `false` where the call would have to block.
    ///
    /// # Errors
    /// As [`Conduit::reserve`].
    fn send(&self, to: RankId, channel: Channel, frame: &[u8], immediate: bool) -> Result<bool, Error> {
        let Some(slot) = self.reserve(to, channel, frame.len(), immediate)? else { return Ok(false) };
        #[expect(unsafe_code, reason = "fills in the slot")]
        // SAFETY: the slot just reserved has as many bytes, which are ours; it is committed once.
        unsafe {
            core::ptr::copy_nonoverlapping(frame.as_ptr(), slot.buf.as_ptr(), frame.len());
            self.commit(slot);
        }
        Ok(true)
    }

    /// Delivers up to `budget` frames of one channel; returns how many. See the module's rules on locks. A
    /// poll of requests may deliver replies as well; a poll of replies delivers nothing else.
    ///
    /// # Errors
    /// The conduit is unusable.
    fn poll(&self, channel: Channel, budget: usize, deliver: &mut dyn FnMut(Frame)) -> Result<usize, Error>;

    /// Whether a poll of requests delivers all replies as well: then the core asks once where it would ask
    /// for each. Constant over the job.
    fn polls_both(&self) -> bool {
        false
    }

    /// Whether frames can be sent before [`Conduit::attach`]. Constant over the job; all ranks give the same
    /// answer.
    fn sends_before_attach(&self) -> bool {
        true
    }

    /// The memory of this rank's segment, if the conduit owns it: `len` zero-filled bytes that start at a
    /// page and stay mapped as long as the conduit lives. Called once, before [`Conduit::attach`], on all
    /// ranks. Nobody else maps such a segment, so the rank must have no neighbours.
    ///
    /// # Errors
    /// There is no such memory.
    fn segment_memory(&self, len: usize) -> Result<Option<NonNull<u8>>, Error> {
        let _ = len;
        Ok(None)
    }

    /// Tells the conduit of this rank's segment, once, before any rank uses it.
    ///
    /// # Errors
    /// The segment cannot be used with this conduit.
    fn attach(&self, segment: &SegmentDesc) -> Result<(), Error> {
        let _ = segment;
        Ok(())
    }

    /// Tells the conduit how the rank will use `len` bytes at `offset` of its own segment, which are inside
    /// of it. Conduits without paged memory do nothing.
    fn advise(&self, offset: u64, len: u64, advice: Advice) {
        let _ = (offset, len, advice);
    }

    /// Native one-sided operations, if the network has them. Asked once [`Conduit::attach`] has returned.
    fn rma(&self) -> Option<&dyn Rma> {
        None
    }

    /// Regions under the NIC, if the network has one-sided operations on them. Asked as [`Conduit::rma`].
    fn regions(&self) -> Option<&dyn regions::RegionRma> {
        None
    }

    /// The NIC's own work, if the conduit's NIC has a processor.
    fn nic(&self) -> Option<&dyn crate::port::NicPort> {
        None
    }

    /// A descriptor that becomes readable when [`Conduit::poll`] has something to do, if there is one: frames
    /// that arrived, and timers of the conduit's own that are due. A wait that would sleep polls it instead.
    fn descriptor(&self) -> Option<std::os::fd::BorrowedFd<'_>> {
        None
    }

    /// Sleeps until [`Conduit::poll`] may have something to do, at most so long, and says whether it may: for
    /// a conduit without a descriptor that can be woken all the same. One that cannot says no at once. Only
    /// the progress thread calls it.
    fn doze(&self, longest: core::time::Duration) -> bool {
        let _ = longest;
        false
    }

    /// Called at every fruitless step of every blocking wait, also of those that start and attach a job, once
    /// the conduit is open; `what` names the wait. A conduit that lives in virtual time (it has a
    /// [clock](Conduit::clock)) gives the turn away and returns true; the wait then neither spins nor yields
    /// nor sleeps.
    ///
    /// `meanwhile` says what the rank has done since the last such step.
    fn idle(&self, what: &'static str, meanwhile: Meanwhile) -> bool {
        let _ = (what, meanwhile);
        false
    }

    /// What it does when ranks die and the others go on, if it can.
    fn survival(&self) -> Option<&dyn Survival> {
        None
    }

    /// The rank leaves in order: returns when its peers have what was sent to them, or cannot be expected to
    /// take it; within seconds. The conduit is not used afterwards, but for polls by threads that have not
    /// noticed yet.
    fn close(&self) {}

    /// How long a rank of another host has been gone, in order, if the conduit knows. Everything that it sent
    /// has arrived by then.
    fn left_for(&self, rank: RankId) -> Option<core::time::Duration> {
        let _ = rank;
        None
    }

    /// The conduit's counters, by name.
    fn counters(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    /// The job's time, if it is not the host's: what [`Rank::now`](crate::Wire::now) returns.
    fn clock(&self) -> Option<core::time::Duration> {
        None
    }
}

/// A conduit in a job that goes on when ranks die ([`crate::death`]).
pub trait Survival: Send + Sync {
    /// This rank has given its world up. From now on no poll delivers anything, and no operation of this rank
    /// that is under way touches its memory or completes. Waits for handlers that run on other threads, so
    /// long; returns whether all have ended.
    fn give_up(&self, patience: core::time::Duration) -> bool;

    /// A rank of this world has died, or has given it up: nothing goes to it any more, nothing comes from it,
    /// and its silence is no error.
    fn forget(&self, rank: RankId) {
        let _ = rank;
    }

    /// This rank's end of the network in the next world, whose ranks are `members`, as the job numbered them
    /// first. `None`: the network is opened again.
    fn next_world(&self, members: &[u32]) -> Option<Box<dyn Conduit>> {
        let _ = members;
        None
    }
}

/// How far an operation has come, as a conduit reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completion {
    /// The source of a put may be reused. Reported for puts, once, not after `Remote`.
    Local,
    /// The data is in place at the target (put) or here (get). Reported once, last.
    Remote,
    /// Both at once; of a get the same as `Remote`.
    Both,
    /// The owner of a region refused the access: nothing was read or written, and the source of a put may be
    /// reused. Reported once, last, for operations of [`regions::RegionRma`].
    Refused(RegionError),
}

/// One-sided operations of a network. `token` comes back through `complete` of [`Rma::poll`]: for a put once
/// with [`Completion::Local`] and once with [`Completion::Remote`], or once with [`Completion::Both`]; for a
/// get with `Remote`.
///
/// Starting an operation does not wait: where there is no room the result says so. All that the starter did
/// before is visible to `complete`, on whatever thread that is called.
///
/// An operation may not need the target's processor, but that it does is no error: the core documents who
/// must act.
///
/// # Safety
/// 1. No completion is reported before it is true: the core then frees or reads the local memory (owed by the
///    implementation).
#[expect(unsafe_code, reason = "declares the obligation")]
pub unsafe trait Rma: Send + Sync {
    /// Starts a put; `false` when it would block.
    ///
    /// # Safety
    /// 1. `src` is valid for `len` bytes until [`Completion::Local`] is reported (owed by the caller).
    /// 2. `to` is inside the target's segment (checked by the caller).
    #[expect(unsafe_code, reason = "declares the obligation; no body")]
    unsafe fn put(&self, to: RemoteAddr, src: *const u8, len: usize, token: u64) -> bool;

    /// Starts a get; `false` when it would block.
    ///
    /// # Safety
    /// 1. `dst` is valid for `len` bytes and used by nobody until [`Completion::Remote`] is reported (owed by
    ///    the caller).
    /// 2. `from` is inside the target's segment (checked by the caller).
    #[expect(unsafe_code, reason = "declares the obligation; no body")]
    unsafe fn get(&self, dst: *mut u8, from: RemoteAddr, len: usize, token: u64) -> bool;

    /// Starts an atomic operation with operands `a` and `b` on a word, aligned to its width; `Some(false)`
    /// when it would block, and `None`, always, for one that the network does not have: it goes to the target
    /// by message, to be done by its processor. So what there is has to be atomic together with the
    /// instructions of the target's processor. Acquires and releases.
    ///
    /// # Safety
    /// 1. `old` is valid, and used by nobody, until [`Completion::Remote`] is reported, when the word's old
    ///    value is there (a 32-bit one zero-extended) (owed by the caller). 2. `at` is inside the target's
    ///    segment (checked by the caller).
    #[expect(unsafe_code, reason = "declares the obligation; does nothing")]
    unsafe fn atomic(
        &self,
        at: RemoteAddr,
        what: Operation,
        operands: [u64; 2],
        old: *mut u64,
        token: u64,
    ) -> Option<bool> {
        let _ = (at, what, operands, old, token);
        None
    }

    /// Whether [`Rma::put`] of this many bytes has read its source when it returns.
    fn copies_source(&self, len: usize) -> bool {
        let _ = len;
        false
    }

    /// Bytes of the largest operation; larger transfers are cut up.
    fn max_transfer(&self) -> usize {
        usize::MAX
    }

    /// Reports completions, up to `budget`; returns how many, or 1 where there were none but bytes of puts
    /// and gets have come or gone, those of peers among them: a wait then goes on as one that has something
    /// to do. Called from any thread, and from several at once: the call of `complete` for `Local` has
    /// returned before the one for `Remote` of the same put begins. `complete` calls nothing of the conduit.
    fn poll(&self, budget: usize, complete: &mut dyn FnMut(u64, Completion)) -> usize;
}

/// The parameters with which a conduit opens itself.
#[derive(Clone, Copy)]
pub struct OpenContext<'a> {
    /// This rank and the job's size.
    pub rank: RankId,
    /// Ranks in the job.
    pub size: u32,
    /// The settings.
    pub config: &'a crate::Config,
    /// How many threads of the rank call the conduit at a time.
    pub threading: crate::Threading,
    /// The host's shared memory file, and from which offset on it is the conduit's.
    pub shm: std::os::fd::BorrowedFd<'a>,
    /// First byte of `shm` that the core does not use (page-aligned).
    pub shm_offset: u64,
    /// The ranks that map this host's shared memory file, in ascending order.
    pub host: &'a [u32],
    /// Those of them that the core reaches through shared memory, this rank among them. No frame goes to
    /// them.
    pub neighbours: &'a [u32],
    /// See [`OpenContext::exchange`].
    pub exchange: &'a dyn crate::boot::Exchange,
}

impl<'a> OpenContext<'a> {
    /// An exchange between all ranks of the job, to swap addresses and keys. It serves while the conduit
    /// opens.
    pub fn exchange(&self) -> &'a dyn crate::boot::Exchange {
        self.exchange
    }
}

impl core::fmt::Debug for OpenContext<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let mut all = f.debug_struct("OpenContext");
        all.field("rank", &self.rank).field("size", &self.size).field("shm_offset", &self.shm_offset);
        all.field("host", &self.host).field("neighbours", &self.neighbours).finish_non_exhaustive()
    }
}
