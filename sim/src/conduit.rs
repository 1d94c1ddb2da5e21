//! The simulated conduit: frames and one-sided operations over the modelled network.
//!
//! The costs of a call to the host are virtual time that passes for the calling rank; the work of the network
//! costs it nothing. An empty poll costs nothing when a wait made it (the wait then sleeps until something
//! happens). When a program polls by itself, each empty poll after the first in a row costs a little, so that
//! virtual time passes.
#![expect(unsafe_code, reason = "a conduit promises the core that its slots and frames are memory")]

use crate::event::Start;
use crate::memory::RankMemory;
use crate::shared::Caller;
use crate::sim_nic::SimNic;
use crate::time::Time;
use core::ptr::NonNull;
use core::time::Duration;
use gasnet::Error;
use gasnet::RankId;
use gasnet_wire::conduit::{
    Channel, Completion, Conduit, Frame, Meanwhile, RawSlot, RemoteAddr, Rma, SegmentDesc, Survival,
};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

/// One rank's end of the simulated network.
pub(crate) struct SimConduit {
    pub(crate) at: Caller,
    pub(crate) nic: SimNic,
    /// The world that it serves: its epoch, and its ranks as the job numbered them first, where they have
    /// other numbers now.
    pub(crate) epoch: u32,
    pub(crate) members: Option<Arc<[u32]>>,
    /// Whether the rank has given that world up.
    pub(crate) gave_up: AtomicBool,
}

// SAFETY: 1. A slot's buffer is a boxed slice of 64-byte lines, at least as long as asked for, kept in the
// world's table of slots until it comes back. 2. A frame's buffer has left all tables during its delivery and
// was filled by the sender's core.
unsafe impl Conduit for SimConduit {
    fn name(&self) -> &'static str {
        "netvm"
    }

    fn reserve(
        &self,
        to: RankId,
        channel: Channel,
        len: usize,
        _immediate: bool,
    ) -> Result<Option<RawSlot>, Error> {
        self.at.shared.alive();
        let mut w = self.at.shared.world();
        let Some(slot) = w.reserve((self.at.rank, self.process(to)), channel, len, self.epoch) else {
            return Ok(None);
        };
        let Some(frame) = w.slots.get_mut(slot as usize) else { return Ok(None) };
        let buf = NonNull::from(&mut frame.lines[0]).cast::<u8>();
        Ok(Some(RawSlot { buf, len, cookie: [u64::from(slot), 0] }))
    }

    unsafe fn commit(&self, slot: RawSlot) {
        let (rank, cost, slot) = (self.at.rank, self.at.costs.am_send, slot.cookie[0] as u32);
        let mut w = self.at.shared.world();
        if w.owe(rank, cost) {
            return w.commit_ahead(rank, slot);
        }
        drop(w);
        self.at.shared.work(rank, cost);
        self.at.shared.world().commit(rank, slot);
    }

    unsafe fn cancel(&self, slot: RawSlot) {
        let mut w = self.at.shared.world();
        if let Some(frame) = w.slots.try_remove(slot.cookie[0] as usize) {
            w.recycle(frame);
        }
    }

    fn poll(&self, channel: Channel, budget: usize, deliver: &mut dyn FnMut(Frame)) -> Result<usize, Error> {
        self.at.shared.alive();
        if self.has_given_up() {
            return Ok(0);
        }
        if self.at.shared.world().is_far_ahead(self.at.rank) {
            self.at.shared.catch_up(self.at.rank);
        }
        {
            let mut w = self.at.shared.world();
            // Where something chooses the order, others may go on between this poll and the wait after it;
            // what happens meanwhile must count as new there. Everywhere, messages on the other channel are
            // not seen by this poll: they may have come while an empty poll of that channel took its time.
            let explores = w.chooser.is_some();
            let r = &mut w.ranks[self.at.rank as usize];
            if !explores && r.inbox[1 - channel as usize].is_empty() {
                r.seen = r.news;
            }
        }
        let mut done = self.nic.progress(&self.at);
        while done < budget {
            let next =
                self.at.shared.world().ranks[self.at.rank as usize].inbox[channel as usize].pop_front();
            let Some(mut frame) = next else { break };
            self.at.shared.world().stats.frames += 1;
            self.at.shared.spend(self.at.rank, self.at.costs.am_handle);
            let from = self.rank(frame.from);
            let data = frame.lines.as_mut_ptr().cast::<u8>();
            deliver(Frame { from, channel, data, len: frame.len });
            self.at.shared.world().recycle(frame);
            done += 1;
        }
        self.after_poll(done, channel);
        Ok(done)
    }

    fn attach(&self, segment: &SegmentDesc) -> Result<(), Error> {
        // SAFETY: segments are mapped as long as the rank lives, which is as long as the process.
        let window = unsafe { RankMemory::new(segment.base, segment.len) };
        self.at.shared.world().ranks[self.at.rank as usize].segment = window;
        self.nic.attach(&self.at, segment.len);
        Ok(())
    }

    fn rma(&self) -> Option<&dyn Rma> {
        Some(self)
    }

    fn nic(&self) -> Option<&dyn gasnet::sync::port::NicPort> {
        matches!(self.nic, SimNic::Paging(_)).then_some(self)
    }

    fn idle(&self, what: &'static str, meanwhile: Meanwhile) -> bool {
        self.at.shared.alive();
        match meanwhile {
            Meanwhile::Looked => self.at.shared.look(self.at.rank, what, self.at.costs.poll.max(Time::ns(1))),
            _ => self.at.shared.wait(self.at.rank, what, meanwhile == Meanwhile::Stored),
        }
        true
    }

    fn survival(&self) -> Option<&dyn Survival> {
        matches!(self.nic, SimNic::Plain(_)).then_some(self)
    }

    fn clock(&self) -> Option<Duration> {
        Some(self.at.shared.world().local_time(self.at.rank).as_duration())
    }
}

impl Survival for SimConduit {
    fn give_up(&self, _: Duration) -> bool {
        self.gave_up.store(true, Relaxed);
        self.at.shared.world().give_up(self.at.rank);
        true
    }

    fn next_world(&self, members: &[u32]) -> Option<Box<dyn Conduit>> {
        let process = self.at.rank;
        let epoch = self.at.shared.epoch(process);
        self.at.shared.world().enter(process, epoch);
        let SimNic::Plain(inline) = self.nic else { unreachable!("`survival` gives out no other") };
        Some(Box::new(SimConduit {
            at: Caller { shared: self.at.shared.clone(), rank: process, costs: self.at.costs },
            nic: SimNic::Plain(inline),
            epoch,
            members: Some(members.into()),
            gave_up: AtomicBool::new(false),
        }))
    }
}

impl SimConduit {
    /// The cost of a poll in programs that poll by themselves.
    pub(crate) fn after_poll(&self, done: usize, channel: Channel) {
        let again = {
            let mut w = self.at.shared.world();
            let r = &mut w.ranks[self.at.rank as usize];
            if done > 0 {
                (r.empty_polls, r.looks) = (0, 0);
            } else if channel == Channel::Request {
                r.empty_polls += 1;
                r.looks += 1;
            }
            r.empty_polls > 1
        };
        if again {
            self.at.shared.work(self.at.rank, self.at.costs.poll.max(Time::ns(1)));
        }
    }

    /// The number of a rank in the first world.
    fn process(&self, rank: RankId) -> u32 {
        self.members.as_ref().map_or(rank.0, |members| members[rank.0 as usize])
    }

    /// The rank of this world that had that number in the first one.
    fn rank(&self, process: u32) -> RankId {
        let place = |members: &Arc<[u32]>| members.partition_point(|member| *member < process) as u32;
        RankId(self.members.as_ref().map_or(process, place))
    }

    fn has_given_up(&self) -> bool {
        // Relaxed: one thread runs all ranks.
        self.gave_up.load(Relaxed)
    }

    pub(crate) fn start(&self, start: Start) -> bool {
        self.at.shared.alive();
        // What a rank begins in a world that it has given up is never done.
        if self.has_given_up() {
            return true;
        }
        self.at.shared.catch_up(self.at.rank);
        self.nic.start(&self.at, start)
    }
}

// SAFETY: Local is reported when the source has been copied, Remote when the bytes are at the target (put) or
// were stored (get): the world makes the op's last event after that.
unsafe impl Rma for SimConduit {
    unsafe fn put(&self, to: RemoteAddr, src: *const u8, len: usize, token: u64) -> bool {
        // SAFETY: owed by the caller; the slice is used during this call only.
        let bytes = if len == 0 { &[] } else { unsafe { core::slice::from_raw_parts(src, len) } };
        self.start(Start::put(self.process(to.rank), to.offset, src as usize, bytes, token))
    }

    unsafe fn get(&self, dst: *mut u8, from: RemoteAddr, len: usize, token: u64) -> bool {
        self.start(Start::get(self.process(from.rank), from.offset, dst as usize, len, token))
    }

    fn copies_source(&self, len: usize) -> bool {
        match self.nic {
            SimNic::Plain(inline) => len <= inline || self.at.shared.world().chooser.is_none(),
            SimNic::Pinning(_) => false, // Until the end it may have to begin again.
            SimNic::Paging(_) => len <= netvm_fw::wire::MAX_INLINE_BYTES,
        }
    }

    fn max_transfer(&self) -> usize {
        let slots = match &self.nic {
            SimNic::Plain(_) => false,
            SimNic::Pinning(p) => p.leases(),
            SimNic::Paging(_) => true,
        };
        if slots { crate::paging::SLOT_BYTES } else { usize::MAX }
    }

    fn poll(&self, budget: usize, complete: &mut dyn FnMut(u64, Completion)) -> usize {
        let mut done = 0;
        while done < budget && !self.has_given_up() {
            let next = self.at.shared.world().ranks[self.at.rank as usize].done.pop_front();
            let Some((token, what)) = next else { break };
            complete(token, what);
            done += 1;
        }
        done
    }
}
