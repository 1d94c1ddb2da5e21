//! Triggered commands: ones that wait in the NIC until an event count of their port gets to a threshold. Ours; after the triggered
//! operations of Portals 4.
//!
//! A command with [`TRIGGERED`](crate::wire::TRIGGERED) names an event of its own port and a count. When the NIC takes it and the count
//! has been reached, it is carried out at once; else it is kept, and carried out by the signal that reaches it. Both happen on the
//! NIC's one thread, one after the other, so a command is carried out exactly once, whichever comes first. Thresholds are totals
//! since the port was opened, compared by distance, so a program that knows how many signals an operation takes can arm for
//! operations that are still to come.
//!
//! What it sets off may raise events of the port itself ([`Kind::Raise`]), which may trigger more: chains and trees of messages go on
//! without the host. A command's source is read when it is carried out. Its place in the queue is free, and it is counted as taken, as soon
//! as it is armed; that it was carried out shows in what it raises.

use std::collections::{HashMap, VecDeque};

use super::{Action, Interrupt, Nic, Work};
use crate::ids::PortId;
use crate::notify::EVENTS;
use crate::port::{Post, reached};
use crate::wire::{Head, Kind};

/// Commands of a port that may wait; more are refused.
pub const ARMED: usize = 4096;

/// One that waits.
#[derive(Debug)]
struct Armed {
    count: u32,
    head: Head,
    payload: Vec<u8>,
    command: u32,
}

/// Those of a port, by event.
#[derive(Debug, Default)]
pub(super) struct Triggers {
    by_event: HashMap<u32, VecDeque<Armed>>,
    len: usize,
}

impl Triggers {
    /// Commands that wait.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Takes the first of those that an event with this count sets off, in the order of arming.
    fn due(&mut self, event: u32, count: u32) -> Option<Armed> {
        let waiting = self.by_event.get_mut(&event)?;
        let i = waiting.iter().position(|armed| reached(count, armed.count))?;
        self.len -= 1;
        waiting.remove(i)
    }
}

impl Nic {
    /// Commands of a port that wait for their trigger.
    pub fn armed(&self, port: PortId) -> usize {
        self.ports.get(&port).map_or(0, |state| state.triggers.len())
    }

    /// Arms a command that was just taken. False: there is no such event, or no room.
    pub(super) fn arm(
        &mut self,
        (event, count): (u32, u32),
        head: Head,
        payload: Vec<u8>,
        command: u32,
        out: &mut Vec<Action>,
    ) -> bool {
        let Some(state) = self.ports.get_mut(&Self::lane_port(&head)) else { return false };
        if event >= EVENTS || !state.memory.events.has(event) || state.triggers.len >= ARMED {
            return false;
        }
        state.triggers.len += 1;
        let armed = Armed { count, head, payload, command };
        state.triggers.by_event.entry(event).or_default().push_back(armed);
        self.stats.armed += 1;
        self.set_off(Self::lane_port(&head), VecDeque::from([event]), out);
        true
    }

    /// Raises a notification of a port, and carries out what waits for it.
    pub(super) fn raise(&mut self, port: PortId, number: u32, out: &mut Vec<Action>) {
        if self.signal(port, number, out) {
            self.set_off(port, VecDeque::from([number]), out);
        }
    }

    fn signal(&mut self, port: PortId, number: u32, out: &mut Vec<Action>) -> bool {
        let Some(state) = self.ports.get(&port) else { return false };
        if !state.memory.events.has(number) {
            return false;
        }
        self.stats.notifications += 1;
        out.push(Action::Work(Work::Raise));
        let raised = state.memory.events.raise(number);
        if let Some(count) = raised.mirror {
            out.push(Action::Post(port, Post::Mirror { number, count }));
        }
        if raised.notice {
            out.push(Action::Post(port, Post::Notice(number)));
            out.push(Action::Interrupt(Interrupt::Notice(port)));
        }
        number < EVENTS
    }

    /// Carries out all that these events set off, and what that sets off in turn.
    fn set_off(&mut self, port: PortId, mut events: VecDeque<u32>, out: &mut Vec<Action>) {
        while let Some(event) = events.pop_front() {
            while let Some(state) = self.ports.get_mut(&port) {
                let count = state.memory.events.signals(event);
                let Some(armed) = state.triggers.due(event, count) else { break };
                self.stats.triggered += 1;
                let head = armed.head;
                if head.kind == Kind::Raise {
                    if self.signal(port, head.notification, out) {
                        events.push_back(head.notification);
                    }
                } else {
                    // Counted as taken when it was armed; counting it again means nothing.
                    self.enqueue(head, armed.payload, armed.command, out);
                    self.pump(head.to, out);
                }
            }
        }
    }
}
