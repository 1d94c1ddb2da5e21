//! Messages that are being sent.
//!
//! A message is written in place into a *slot*. Requests, replies and notes (messages without a frame) have
//! slots of their own, so a lack of room for one does not block the others. A small message leaves its slot
//! at once (inject), others when the provider has finished with it. If the provider has no room at the
//! moment, or the connection is not made yet, the slot waits and is tried again at each poll.
#![expect(unsafe_code, reason = "writes slots, and has the provider read them")]

use crate::fabric::{Answer, Context, OperationKind, Port};
use crate::memory::Chunk;
use crate::wire::{End, MAX_MESSAGE_BYTES, MAX_NOTE_BYTES, MessageKind, message_len};
use gasnet_wire::conduit::Channel;
use std::collections::VecDeque;

/// Lanes: requests, replies, notes.
pub(crate) const LANE_COUNT: usize = 3;
/// The lane of notes.
pub(crate) const NOTE_LANE: usize = 2;
/// Bytes of a slot, by class.
const SLOT_BYTES_BY_CLASS: [usize; 2] = [1024, MAX_MESSAGE_BYTES];
/// By class: most slots of each lane, and slots made in one step.
const MAX_SLOTS_BY_CLASS: [usize; 2] = [256, 32];
const SLOTS_PER_CHUNK_BY_CLASS: [usize; 2] = [64, 4];
/// Failed slots in a row after which a round of retries ends.
const MAX_FAILED_SLOTS_IN_A_ROW: usize = 16;

struct SendSlot {
    context: Context,
    at: *mut u8,
    desc: *mut std::ffi::c_void,
    lane: usize,
    class: usize,
    to: u32,
    len: usize,
    /// Whether it completes only when the target has it.
    through: bool,
}

/// All slots of an endpoint.
pub(crate) struct Sender {
    me: u32,
    #[expect(clippy::vec_box, reason = "the provider keeps their addresses")]
    slots: Vec<Box<SendSlot>>,
    chunks: Vec<Chunk>,
    free: [[Vec<u32>; 2]; LANE_COUNT],
    made: [[usize; 2]; LANE_COUNT],
    /// Slots that have not been sent yet.
    waiting: [VecDeque<u32>; LANE_COUNT],
    /// Messages that the provider has not finished with, by lane.
    under_way: [usize; LANE_COUNT],
    /// Most such messages, by lane.
    depth: [usize; LANE_COUNT],
}

/// A failed send.
pub(crate) struct Lost {
    pub(crate) to: u32,
    pub(crate) why: String,
}

impl Sender {
    pub(crate) fn new(me: u32, port: &mut Port) -> Result<Sender, String> {
        // The provider's queue is shared with puts and gets: no lane may fill it alone.
        let depth = port.traits.depth;
        let mut sender = Sender {
            me,
            slots: Vec::new(),
            chunks: Vec::new(),
            free: Default::default(),
            made: Default::default(),
            waiting: Default::default(),
            under_way: [0; LANE_COUNT],
            depth: [depth / 4, depth / 8, depth / 8],
        };
        if port.traits.mr_local {
            // While memory can be registered.
            for (lane, class) in [(0, 0), (0, 1), (1, 0), (1, 1), (NOTE_LANE, 0)] {
                sender.grow(port, lane, class)?;
            }
        }
        Ok(sender)
    }

    /// Makes slots.
    fn grow(&mut self, port: &mut Port, lane: usize, class: usize) -> Result<(), String> {
        let chunk = Chunk::new(port, SLOT_BYTES_BY_CLASS[class] * SLOTS_PER_CHUNK_BY_CLASS[class])?;
        for k in 0..SLOTS_PER_CHUNK_BY_CLASS[class] {
            let index = self.slots.len() as u32;
            let at = chunk.at().wrapping_add(k * SLOT_BYTES_BY_CLASS[class]);
            let (context, desc) = (Context::new(OperationKind::Send, index), chunk.desc());
            let (to, len, through) = (0, 0, false);
            self.slots.push(Box::new(SendSlot { context, at, desc, lane, class, to, len, through }));
            self.free[lane][class].push(index);
        }
        self.chunks.push(chunk);
        self.made[lane][class] += SLOTS_PER_CHUNK_BY_CLASS[class];
        Ok(())
    }

    /// Reserves room for a message of `len` bytes: the slot's number and memory, or `None` if there is no
    /// room.
    pub(crate) fn reserve(
        &mut self,
        port: &mut Port,
        lane: usize,
        len: usize,
    ) -> Result<Option<(u32, *mut u8)>, String> {
        let class = usize::from(message_len(len) > SLOT_BYTES_BY_CLASS[0]);
        if self.free[lane][class].is_empty() {
            if self.made[lane][class] >= MAX_SLOTS_BY_CLASS[class] {
                return Ok(None);
            }
            match self.grow(port, lane, class) {
                // No more memory can be registered: wait until slots come back.
                Err(_) if self.made[lane][class] > 0 => return Ok(None),
                grown => grown?,
            }
        }
        let index = self.free[lane][class].pop();
        Ok(index.map(|index| (index, self.slots[index as usize].at)))
    }

    /// Frees a slot.
    pub(crate) fn release(&mut self, index: u32) {
        let slot = &self.slots[index as usize];
        self.free[slot.lane][slot.class].push(index);
    }

    /// Sends the frame or note in a slot, at once or later.
    pub(crate) fn commit(
        &mut self,
        port: &Port,
        index: u32,
        to: u32,
        end: (MessageKind, Channel, usize, [u32; 2]),
        through: bool,
    ) -> Result<(), Lost> {
        let (kind, channel, len, credit) = end;
        let slot = &mut *self.slots[index as usize];
        (slot.to, slot.len, slot.through) = (to, message_len(len), through);
        // SAFETY: a slot's own bytes, which are initialised: zero, or written before.
        let message = unsafe { std::slice::from_raw_parts_mut(slot.at, slot.len) };
        End { kind, from: self.me, channel, len, credit }.emit(message);
        let lane = slot.lane;
        if !self.attempt(port, index)? {
            self.waiting[lane].push_back(index);
        }
        Ok(())
    }

    /// Sends a note; `false` if there is no room for it now.
    pub(crate) fn note(
        &mut self,
        port: &mut Port,
        to: u32,
        kind: MessageKind,
        bytes: &[u8],
        credit: [u32; 2],
        through: bool,
    ) -> Result<bool, Lost> {
        debug_assert!(bytes.len() <= MAX_NOTE_BYTES);
        let lost = |why| Lost { to, why };
        let Some((index, at)) = self.reserve(port, NOTE_LANE, bytes.len()).map_err(lost)? else {
            return Ok(false);
        };
        // SAFETY: a slot has room for a note.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), at, bytes.len()) };
        self.commit(port, index, to, (kind, Channel::Reply, bytes.len(), credit), through)?;
        Ok(true)
    }

    /// Whether the provider took the message.
    fn attempt(&mut self, port: &Port, index: u32) -> Result<bool, Lost> {
        let slot = &mut *self.slots[index as usize];
        let (lane, to) = (slot.lane, slot.to);
        let inject = slot.len <= port.traits.inject && !slot.through;
        if !inject && self.under_way[lane] >= self.depth[lane] {
            return Ok(false);
        }
        let answer = if inject {
            // SAFETY: a slot's own bytes.
            port.inject(to, unsafe { std::slice::from_raw_parts(slot.at, slot.len) })
        } else {
            // SAFETY: the send owns the slot until it is complete.
            unsafe { port.send(to, slot.at, slot.len, slot.desc, &mut slot.context, slot.through) }
        };
        match answer {
            Answer::Started if inject => self.release(index),
            Answer::Started => self.under_way[lane] += 1,
            Answer::Again => return Ok(false),
            Answer::Failed(why) => {
                self.release(index);
                return Err(Lost { to, why });
            }
        }
        Ok(true)
    }

    /// Tries again to send waiting messages.
    pub(crate) fn retry(&mut self, port: &Port) -> Result<(), Lost> {
        for lane in [NOTE_LANE, Channel::Reply as usize, Channel::Request as usize] {
            let mut vain = 0;
            for _ in 0..self.waiting[lane].len() {
                let Some(index) = self.waiting[lane].pop_front() else { break };
                // To the end: one peer that cannot be reached must not block the others.
                if !self.attempt(port, index)? {
                    self.waiting[lane].push_back(index);
                    vain += 1;
                    if vain == MAX_FAILED_SLOTS_IN_A_ROW {
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    /// Whether something waits to be tried again.
    pub(crate) fn is_waiting(&self) -> bool {
        self.waiting.iter().any(|w| !w.is_empty())
    }

    /// Whether the provider has all messages and has finished with them.
    pub(crate) fn is_idle(&self) -> bool {
        !self.is_waiting() && self.under_way == [0; LANE_COUNT]
    }

    /// The provider has finished with a slot.
    pub(crate) fn sent(&mut self, index: u32) {
        self.under_way[self.slots[index as usize].lane] -= 1;
        self.release(index);
    }

    /// The receiver of a slot's message.
    pub(crate) fn target(&self, index: u32) -> u32 {
        self.slots[index as usize].to
    }

    /// Drops the messages that wait for a peer that has gone.
    pub(crate) fn drop_waiting(&mut self, gone: u32) {
        for lane in 0..LANE_COUNT {
            for _ in 0..self.waiting[lane].len() {
                let Some(index) = self.waiting[lane].pop_front() else { break };
                if self.slots[index as usize].to == gone {
                    self.release(index);
                } else {
                    self.waiting[lane].push_back(index);
                }
            }
        }
    }

    /// Gives all memory back. The endpoint is closed.
    pub(crate) fn end(self, port: &mut Port) {
        for chunk in self.chunks {
            chunk.end(port);
        }
    }
}
