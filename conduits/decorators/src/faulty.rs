//! Injects faults into the frames of any conduit.
#![expect(unsafe_code, reason = "a conduit promises the core that its slots and frames are memory")]

use crate::faults::{FaultRates, Faults, Late};
use gasnet_wire::conduit::regions::RegionRma;
use gasnet_wire::conduit::{Channel, Conduit, Frame, FrameLine, RawSlot, Rma};
use gasnet_wire::{Error, RankId};
use std::collections::VecDeque;
use std::os::fd::BorrowedFd;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Most frames that are held back at the same time.
const MAX_HELD_FRAMES: usize = 4096;
/// Empty polls after which a held frame no longer waits for others to pass.
const MAX_EMPTY_POLLS: u32 = 16;

/// A conduit that drops, duplicates, reorders, delays and corrupts the frames of another one. It does not
/// offer that conduit's one-sided operations: their data travels as frames too.
pub struct Faulty {
    inner: Box<dyn Conduit>,
    state: Mutex<FaultyState>,
    start: Instant,
}

struct FaultyState {
    faults: Faults,
    /// Held frames by channel.
    held: [VecDeque<Held>; 2],
}

/// A frame that arrives later.
struct Held {
    from: RankId,
    /// The frame's bytes, aligned to 64 bytes.
    lines: Vec<FrameLine>,
    len: usize,
    until: Until,
}

#[derive(Clone, Copy)]
enum Until {
    Others { left: u32, patience: u32 },
    Time(Duration),
}

impl Held {
    fn copy(frame: &Frame, until: Until) -> Held {
        let mut lines = vec![FrameLine([0; 64]); frame.len.div_ceil(64).max(1)];
        // SAFETY: a frame is valid for its length; the lines have room for it, and nothing else refers to
        // them.
        unsafe {
            core::ptr::copy_nonoverlapping(frame.data, lines.as_mut_ptr().cast::<u8>(), frame.len);
        }
        Held { from: frame.from, lines, len: frame.len, until }
    }

    fn deliver(&mut self, channel: Channel, deliver: &mut dyn FnMut(Frame)) {
        let data = self.lines.as_mut_ptr().cast();
        deliver(Frame { from: self.from, channel, data, len: self.len });
    }
}

impl Faulty {
    /// Wraps a conduit with the faults of a plan.
    pub fn new(inner: Box<dyn Conduit>, plan: FaultRates) -> Faulty {
        let state = FaultyState { faults: Faults::new(plan), held: Default::default() };
        Faulty { inner, state: Mutex::new(state), start: Instant::now() }
    }

    fn state(&self) -> MutexGuard<'_, FaultyState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether frames are held back. A caller that sleeps until the inner conduit has something would not
    /// notice when they are due.
    fn holds_some(&self) -> bool {
        self.state().held.iter().any(|h| !h.is_empty())
    }

    fn time(&self) -> Duration {
        self.inner.clock().unwrap_or_else(|| self.start.elapsed())
    }

    /// Decides about a frame that has arrived.
    fn arrived(&self, frame: Frame, now: Duration, deliver: &mut dyn FnMut(Frame)) {
        let channel = frame.channel;
        let mut state = self.state();
        let fate = state.faults.fate();
        if fate.drop {
            return;
        }
        // SAFETY: a frame's bytes may be changed until its delivery ends.
        fate.apply(unsafe { core::slice::from_raw_parts_mut(frame.data, frame.len) });
        let held = &mut state.held[channel as usize];
        for other in held.iter_mut() {
            if let Until::Others { left, .. } = &mut other.until {
                *left = left.saturating_sub(1);
            }
        }
        let room = held.len() < MAX_HELD_FRAMES;
        let until = match fate.late {
            Some(Late::After(n)) => Some(Until::Others { left: n, patience: MAX_EMPTY_POLLS }),
            Some(Late::By(ns)) => Some(Until::Time(now + Duration::from_nanos(ns))),
            None => None,
        };
        if fate.duplicate && room {
            // The duplicate is delivered by the next poll, or even later.
            let until = until.unwrap_or(Until::Others { left: 0, patience: 0 });
            held.push_back(Held::copy(&frame, until));
        }
        match until {
            Some(until) if room => held.push_back(Held::copy(&frame, until)),
            _ => {
                drop(state);
                deliver(frame);
            }
        }
    }

    /// A held frame that is due.
    fn due(&self, channel: Channel, now: Duration) -> Option<Held> {
        let held = &mut self.state().held[channel as usize];
        let due = held.iter().position(|h| match h.until {
            Until::Others { left, patience } => left == 0 || patience == 0,
            Until::Time(at) => at <= now,
        });
        held.remove(due?)
    }
}

#[deny(clippy::missing_trait_methods)]
// SAFETY: 1. Slots are those of the inner conduit. 2. Frames are those of the inner conduit, or copies that
// this conduit owns.
unsafe impl Conduit for Faulty {
    forward!();

    fn reserve(
        &self,
        to: RankId,
        channel: Channel,
        len: usize,
        immediate: bool,
    ) -> Result<Option<RawSlot>, Error> {
        self.inner.reserve(to, channel, len, immediate)
    }

    fn send(&self, to: RankId, channel: Channel, frame: &[u8], immediate: bool) -> Result<bool, Error> {
        self.inner.send(to, channel, frame, immediate)
    }

    fn poll(&self, channel: Channel, budget: usize, deliver: &mut dyn FnMut(Frame)) -> Result<usize, Error> {
        let now = self.time();
        let mut done = 0;
        while done < budget
            && let Some(mut held) = self.due(channel, now)
        {
            held.deliver(channel, deliver);
            done += 1;
        }
        let mut delivered = 0;
        let taken = self.inner.poll(channel, budget - done, &mut |frame| {
            self.arrived(frame, now, &mut |frame| {
                delivered += 1;
                deliver(frame);
            });
        })?;
        if taken == 0 && done == 0 {
            for held in &mut self.state().held[channel as usize] {
                if let Until::Others { patience, .. } = &mut held.until {
                    *patience = patience.saturating_sub(1);
                }
            }
        }
        Ok(done + delivered)
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        if self.holds_some() { None } else { self.inner.descriptor() }
    }

    fn doze(&self, longest: Duration) -> bool {
        !self.holds_some() && self.inner.doze(longest)
    }

    /// A poll of requests does not deliver the held replies.
    fn polls_both(&self) -> bool {
        false
    }

    /// See [`Faulty`].
    fn rma(&self) -> Option<&dyn Rma> {
        None
    }

    fn regions(&self) -> Option<&dyn RegionRma> {
        None
    }

    fn close(&self) {
        self.inner.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::faults::FaultRates;

    /// Delivers the frames it is given, in order.
    #[derive(Default)]
    struct Wire(Mutex<VecDeque<Vec<FrameLine>>>, Mutex<Duration>);

    // SAFETY: the stack owns the frames; slots are never given out.
    unsafe impl Conduit for Wire {
        fn name(&self) -> &'static str {
            "wire"
        }
        fn reserve(&self, _: RankId, _: Channel, _: usize, _: bool) -> Result<Option<RawSlot>, Error> {
            Ok(None)
        }
        unsafe fn commit(&self, _: RawSlot) {}
        unsafe fn cancel(&self, _: RawSlot) {}
        fn poll(
            &self,
            channel: Channel,
            budget: usize,
            deliver: &mut dyn FnMut(Frame),
        ) -> Result<usize, Error> {
            let mut done = 0;
            while done < budget {
                let Some(mut lines) = self.0.lock().unwrap().pop_front() else { break };
                let from = RankId(1);
                deliver(Frame { from, channel, data: lines.as_mut_ptr().cast(), len: 64 });
                done += 1;
            }
            Ok(done)
        }
        fn clock(&self) -> Option<Duration> {
            Some(*self.1.lock().unwrap())
        }
    }

    const COUNT: u32 = 2000;

    /// Sends numbered frames through faults and returns those that arrived, in order, each with the poll in
    /// which it arrived.
    fn through(plan: &str) -> Vec<(u32, [u8; 64])> {
        let wire: &'static Wire = Box::leak(Box::default());
        struct Borrowed(&'static Wire);
        // SAFETY: that of the wire.
        unsafe impl Conduit for Borrowed {
            fn name(&self) -> &'static str {
                self.0.name()
            }
            fn reserve(&self, t: RankId, c: Channel, l: usize, i: bool) -> Result<Option<RawSlot>, Error> {
                self.0.reserve(t, c, l, i)
            }
            unsafe fn commit(&self, _: RawSlot) {}
            unsafe fn cancel(&self, _: RawSlot) {}
            fn poll(&self, c: Channel, b: usize, d: &mut dyn FnMut(Frame)) -> Result<usize, Error> {
                self.0.poll(c, b, d)
            }
            fn clock(&self) -> Option<Duration> {
                self.0.clock()
            }
        }
        let faulty = Faulty::new(Box::new(Borrowed(wire)), FaultRates::parse(plan).unwrap());
        let mut arrived = Vec::new();
        for i in 0..COUNT + 100 {
            if i < COUNT {
                let mut line = FrameLine([7; 64]);
                line.0[..4].copy_from_slice(&i.to_le_bytes());
                wire.0.lock().unwrap().push_back(vec![line]);
            }
            *wire.1.lock().unwrap() += Duration::from_micros(10);
            let n = faulty
                .poll(Channel::Request, 64, &mut |f| {
                    // SAFETY: a delivered frame is valid.
                    let bytes = unsafe { core::slice::from_raw_parts(f.data, f.len) };
                    assert_eq!(f.data as usize % 64, 0);
                    arrived.push((i, bytes.try_into().unwrap()));
                })
                .unwrap();
            assert!(n <= 64);
        }
        assert!(faulty.state().held.iter().all(|h| h.is_empty()), "everything held arrives in the end");
        arrived
    }

    fn number(bytes: &[u8; 64]) -> u32 {
        u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
    }

    fn numbers(arrived: &[(u32, [u8; 64])]) -> Vec<u32> {
        arrived.iter().map(|(_, bytes)| number(bytes)).collect()
    }

    #[test]
    fn no_fault_arrives_where_none_is_asked_for() {
        assert_eq!(numbers(&through("")), (0..COUNT).collect::<Vec<_>>());
    }

    #[test]
    fn dropped_frames_do_not_arrive() {
        let arrived = numbers(&through("drop=10%"));
        assert!((1700..1900).contains(&arrived.len()), "{}", arrived.len());
        assert!(arrived.is_sorted());
    }

    #[test]
    fn duplicated_frames_arrive_twice() {
        let mut arrived = numbers(&through("duplicate=10%"));
        assert!((2100..2300).contains(&arrived.len()), "{}", arrived.len());
        arrived.sort_unstable();
        arrived.dedup();
        assert_eq!(arrived, (0..COUNT).collect::<Vec<_>>());
    }

    #[test]
    fn reordered_frames_arrive_after_later_ones() {
        let mut arrived = numbers(&through("reorder=10%"));
        let passed = arrived.windows(2).filter(|w| w[0] > w[1]).count();
        assert!(passed > 100, "{passed}");
        arrived.sort_unstable();
        assert_eq!(arrived, (0..COUNT).collect::<Vec<_>>());
    }

    #[test]
    fn delayed_frames_arrive_late() {
        let arrived = through("delay=10%,by=200us");
        let mut all = numbers(&arrived);
        let late = arrived.iter().filter(|(at, bytes)| (8..=32).contains(&(at - number(bytes)))).count();
        assert!((150..250).contains(&late), "{late}");
        assert_eq!(arrived.iter().filter(|(at, bytes)| *at == number(bytes)).count() + late, COUNT as usize);
        all.sort_unstable();
        assert_eq!(all, (0..COUNT).collect::<Vec<_>>());
    }

    #[test]
    fn corrupted_frames_arrive_with_one_bit_changed() {
        let arrived = through("corrupt=10%");
        assert_eq!(arrived.len(), COUNT as usize);
        let mut changed = 0;
        for (i, (_, bytes)) in arrived.iter().enumerate() {
            let mut sent = [7; 64];
            sent[..4].copy_from_slice(&(i as u32).to_le_bytes());
            let bits: u32 = bytes.iter().zip(sent).map(|(a, b)| (a ^ b).count_ones()).sum();
            assert!(bits <= 1);
            changed += bits;
        }
        assert!((150..250).contains(&changed), "{changed}");
    }
}
