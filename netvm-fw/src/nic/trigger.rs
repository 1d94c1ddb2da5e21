//! Triggered commands: commands that wait in the NIC until an event count of their port reaches a threshold.
//! This is an addition of ours, after the triggered operations of Portals 4.
//!
//! A command with [`TRIGGERED`](crate::wire::TRIGGERED) names an event of its own port and a count. If the
//! count has been reached when the NIC takes the command, the NIC carries it out at once. Otherwise the NIC
//! keeps it, and carries it out when a signal reaches the count. Both happen on the NIC's one thread, so a
//! command is carried out exactly once. Thresholds are totals since the port was opened, compared by
//! distance. A program that knows how many signals an operation takes can arm commands for later operations.
//!
//! A triggered command may raise events of the port itself ([`HeadKind::Raise`]), which may trigger more:
//! chains and trees of messages proceed without the host. A command's source is read when it is carried out.
//! Its slot in the queue is free, and it is counted as taken, as soon as it is armed; only the events that it
//! raises tell that it was carried out.

use std::collections::{HashMap, VecDeque};

use super::{Interrupt, Nic, NicAction, NicWork};
use crate::ids::PortId;
use crate::notify::EVENT_NUMBERS;
use crate::port::{Post, reached};
use crate::wire::{Head, HeadKind};

/// Most commands of a port that may wait; more are refused.
pub const MAX_ARMED_COMMANDS: usize = 4096;

/// A command that waits.
#[derive(Debug)]
struct Armed {
    count: u32,
    head: Head,
    payload: Vec<u8>,
    command: u32,
}

/// The waiting commands of a port, by event.
#[derive(Debug, Default)]
pub(super) struct Triggers {
    by_event: HashMap<u32, VecDeque<Armed>>,
    len: usize,
}

impl Triggers {
    /// Number of waiting commands.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Removes the first of the commands that an event with this count triggers, in the order of arming.
    fn due(&mut self, event: u32, count: u32) -> Option<Armed> {
        let waiting = self.by_event.get_mut(&event)?;
        let i = waiting.iter().position(|armed| reached(count, armed.count))?;
        self.len -= 1;
        waiting.remove(i)
    }
}

impl Nic {
    /// Number of commands of a port that wait for their trigger.
    pub fn armed(&self, port: PortId) -> usize {
        self.ports.get(&port).map_or(0, |state| state.triggers.len())
    }

    /// Arms a command that was just taken. Returns false if there is no such event, or no room.
    pub(super) fn arm(
        &mut self,
        (event, count): (u32, u32),
        head: Head,
        payload: Vec<u8>,
        command: u32,
        out: &mut Vec<NicAction>,
    ) -> bool {
        let Some(state) = self.ports.get_mut(&Self::lane_port(&head)) else { return false };
        if event >= EVENT_NUMBERS
            || !state.memory.events.has(event)
            || state.triggers.len >= MAX_ARMED_COMMANDS
        {
            return false;
        }
        state.triggers.len += 1;
        let armed = Armed { count, head, payload, command };
        state.triggers.by_event.entry(event).or_default().push_back(armed);
        self.stats.armed += 1;
        self.set_off(Self::lane_port(&head), VecDeque::from([event]), out);
        true
    }

    /// Raises a notification of a port, and carries out the commands that wait for it.
    pub(super) fn raise(&mut self, port: PortId, number: u32, out: &mut Vec<NicAction>) {
        if self.signal(port, number, out) {
            self.set_off(port, VecDeque::from([number]), out);
        }
    }

    fn signal(&mut self, port: PortId, number: u32, out: &mut Vec<NicAction>) -> bool {
        let Some(state) = self.ports.get(&port) else { return false };
        if !state.memory.events.has(number) {
            return false;
        }
        self.stats.notifications += 1;
        out.push(NicAction::NicWork(NicWork::Raise));
        let raised = state.memory.events.raise(number);
        if let Some(count) = raised.mirror {
            out.push(NicAction::Post(port, Post::Mirror { number, count }));
        }
        if raised.notice {
            out.push(NicAction::Post(port, Post::Notice(number)));
            out.push(NicAction::Interrupt(Interrupt::Notice(port)));
        }
        number < EVENT_NUMBERS
    }

    /// Carries out all commands that these events trigger, and those that they trigger in turn.
    fn set_off(&mut self, port: PortId, mut events: VecDeque<u32>, out: &mut Vec<NicAction>) {
        while let Some(event) = events.pop_front() {
            while let Some(state) = self.ports.get_mut(&port) {
                let count = state.memory.events.signals(event);
                let Some(armed) = state.triggers.due(event, count) else { break };
                self.stats.triggered += 1;
                let head = armed.head;
                if head.kind == HeadKind::Raise {
                    if self.signal(port, head.notification, out) {
                        events.push_back(head.notification);
                    }
                } else {
                    // It was counted as taken when it was armed; counting it again has no effect.
                    self.enqueue(head, armed.payload, armed.command, out);
                    self.pump(head.traffic_to(), out);
                }
            }
        }
    }
}
