//! Waits that look at other ranks' memory, such as `while (far_flag == 0);`.
//!
//! A rank that waits for something to arrive sleeps until it does. But of a change of memory that it only
//! looks at, at another rank, nobody tells it. So a *look in vain* lets time pass, and the rank looks again:
//! a look that asks another rank takes the time of that anyway; any other one takes a poll at first, and up
//! to [`LONGEST_PAUSE`] in a long wait.
//!
//! The world is *quiet* as long as nothing happens in it but such looks. Then nothing ever will, unless a
//! rank counts its looks or reads the clock. So a deadlock is reported only after [`LOOKS`] looks and
//! [`LONGEST_QUIET`] of virtual time; when the looks are enough, they take a part of the time that has been
//! quiet, which soon makes that long. Meanwhile those that wait for something to arrive look again, too, each
//! time that the quiet has become twice as long: their condition may depend on the clock
//! ([`World::look_again`] does so where nobody looks).

use crate::event::{Body, WorldEvent};
use crate::time::Time;
use crate::world::World;

/// Looks in vain after which the ranks that look may be taken for stuck; and for each rank.
const LOOKS: u64 = 100_000;
/// The same where something other than the costs chooses the order, and thousands of orders are tried.
const LOOKS_OF_EXPLORERS: u64 = 10_000;
const LOOKS_OF_RANK: u64 = 16;
/// Virtual time that has to be quiet, too.
const LONGEST_QUIET: Time = Time::ns(10_000_000_000);
/// Longest time of a look that asks nobody, as long as there are other things to happen.
const LONGEST_PAUSE: Time = Time::ns(1000);
/// Looks after which their time doubles.
const LOOKS_BEFORE_DOUBLED: u32 = 16;
/// The part of the quiet time that a look takes when looks are enough.
const PART_OF_QUIET: u64 = 16;
/// Calls between two looks of a loop, at most.
const CALLS_OF_LOOK: u32 = 64;

/// A wait of a rank that looks at other ranks' memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Looking {
    /// The name of the wait.
    pub(crate) why: &'static str,
    /// The time of its last look, the calls that the rank had begun then, and the number of looks.
    at: Time,
    begun: u32,
    times: u32,
}

/// How long the world has been quiet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Quiet {
    since: Time,
    looks: u64,
    /// How long it has to be quiet until all who wait look again.
    until_all_look: Time,
    /// The ranks that look are stuck.
    pub(crate) is_stuck: bool,
}

impl Looking {
    /// Whether a rank that has begun so many calls may still be in it.
    pub(crate) fn goes_on(self, begun: u32) -> bool {
        begun.wrapping_sub(self.begun) <= CALLS_OF_LOOK
    }

    /// Whether such a rank has begun some since its last look.
    pub(crate) fn asks(self, begun: u32) -> bool {
        begun != self.begun
    }
}

impl Quiet {
    pub(crate) const NEW: Quiet =
        Quiet { since: Time::ZERO, looks: 0, until_all_look: Time::ZERO, is_stuck: false };
}

impl World {
    /// Something has happened that a rank may look for.
    pub(crate) fn unquiet(&mut self) {
        (self.quiet.since, self.quiet.looks, self.quiet.until_all_look) = (self.now, 0, Time::ZERO);
    }

    /// A rank has looked in vain. Returns how long until it looks again.
    pub(crate) fn looked(&mut self, rank: u32, why: &'static str, poll: Time) -> Time {
        let (now, explores) = (self.now, self.chooser.is_some());
        let r = &mut self.ranks[rank as usize];
        (r.empty_polls, r.seen) = (0, r.news);
        let last = r.looking().filter(|last| last.why == why);
        let times = last.map_or(0, |last| last.times.saturating_add(1));
        let took_time = last.is_none_or(|last| last.at < now);
        let pause = match took_time {
            true => Time::ZERO,
            false => (poll * (1 << (times / LOOKS_BEFORE_DOUBLED).min(16))).min(LONGEST_PAUSE.max(poll)),
        };
        r.looking = Some(Looking { why, at: now + pause, begun: r.begun, times });
        self.quiet.looks += 1;
        let enough = if explores { LOOKS_OF_EXPLORERS } else { LOOKS };
        if self.quiet.looks < enough + LOOKS_OF_RANK * self.ranks.len() as u64 {
            return pause;
        }
        let quiet = now.since(self.quiet.since);
        if quiet >= self.quiet.until_all_look {
            self.quiet.until_all_look = quiet * 2;
            self.all_look();
        }
        if quiet >= LONGEST_QUIET {
            self.quiet.is_stuck = self.nobody_changes_anything();
            if !self.quiet.is_stuck {
                self.unquiet();
            }
        }
        pause.max(Time::ps(quiet.as_ps() / PART_OF_QUIET))
    }

    /// Whether all ranks wait, and nothing is under way but what looks ask for.
    fn nobody_changes_anything(&self) -> bool {
        let looks = |rank: u32| self.ranks[rank as usize].looking().is_some();
        let changes = |event: WorldEvent| match event {
            WorldEvent::Resume(rank) => !looks(rank),
            WorldEvent::Arrive(packet) => {
                let body = self.packets.get(packet as usize).and_then(|packet| packet.body.as_ref());
                !matches!(body, None | Some(Body::Get { .. } | Body::Data { .. }))
            }
            WorldEvent::Done(op) => self.ops.get(op as usize).is_some_and(|op| !looks(op.from)),
            WorldEvent::Stir(_) => false,
            WorldEvent::Send(_)
            | WorldEvent::Fetch(_)
            | WorldEvent::Nic(..)
            | WorldEvent::Device(_)
            | WorldEvent::Dies(_) => true,
        };
        self.ranks.iter().all(|r| r.is_still()) && !self.queue.iter().any(|e| changes(e.event))
    }
}
