//! Links and switches: every transmitter of a link is a *line* with queues, one for each input that feeds it.
//!
//! A host's card is a line with one input, an output of a switch is a line with an input for each port. A
//! line sends one *block* at a time, and takes the inputs in turn, so an input waits for at most one block
//! of each other input. A block may leave a switch before its last octet has come (cut-through). Behind
//! each link there is room for one block, and for what is under way on the link: a line does not send more
//! before something has been passed on.

use super::burst::Burst;
use crate::time::Time;
use std::collections::VecDeque;

/// How switches pass blocks on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arbitration {
    /// Most octets of a block.
    pub block: usize,
    /// Whether a block leaves before its last octet has come.
    pub cut_through: bool,
}

/// The lines from one host to another, by number.
pub type Plan = Vec<usize>;

/// A block on its way.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) burst: Burst,
    pub(super) path: Plan,
    /// Its place on the path.
    pub(super) at: usize,
    /// The line it comes from; the number of its card for the first one.
    pub(super) input: usize,
    /// When its last octet is here.
    pub(super) tail: Time,
    /// Since when it could be sent: when it came, or when the one before it had left.
    pub(super) came: Time,
}

/// Blocks of one input.
#[derive(Debug)]
struct Queue {
    input: usize,
    blocks: VecDeque<Block>,
    /// When the last one that was sent has left.
    left: Time,
}

/// One transmitter.
#[derive(Debug, Default)]
pub(super) struct Line {
    queues: Vec<Queue>,
    /// The queue behind the one that had the last turn.
    turn: usize,
    free: Time,
    /// Octets that have not been passed on behind the link.
    beyond: usize,
    /// Where the octet after the last one would go.
    follows: Option<(u32, u64)>,
}

/// A block on a line.
pub(super) struct Sent {
    pub(super) block: Block,
    /// When the line is free again.
    pub(super) end: Time,
    /// Whether the block needs a head of its own.
    pub(super) head: bool,
}

impl Line {
    /// A block comes, now.
    pub(super) fn push(&mut self, now: Time, mut block: Block) {
        let at = self.queues.iter().position(|queue| queue.input == block.input).unwrap_or_else(|| {
            let queue = Queue { input: block.input, blocks: VecDeque::new(), left: Time::ZERO };
            self.queues.push(queue);
            self.queues.len() - 1
        });
        let queue = &mut self.queues[at];
        block.came = now.max(queue.left);
        queue.blocks.push_back(block);
    }

    /// So many octets behind the link have been passed on.
    pub(super) fn passed_on(&mut self, octets: usize) {
        self.beyond -= octets;
    }

    /// Sends the next block if the line is free and there is room for it behind the link: `octet` is the time
    /// of one.
    pub(super) fn send(&mut self, now: Time, octet: Time, room: usize) -> Option<Sent> {
        if now < self.free {
            return None;
        }
        let n = self.queues.len();
        let next = (0..n).map(|i| (self.turn + i) % n).find(|i| !self.queues[*i].blocks.is_empty())?;
        let queue = &mut self.queues[next];
        let octets = queue.blocks.front()?.burst.octets.len();
        if self.beyond > 0 && self.beyond + octets > room {
            return None;
        }
        let block = queue.blocks.pop_front()?;
        let end = (now + octet.bytes(octets)).max(block.tail);
        queue.left = end;
        if let Some(behind) = queue.blocks.front_mut() {
            behind.came = behind.came.max(end);
        }
        self.turn = next + 1;
        let head = self.follows != Some((block.burst.node, block.burst.at));
        self.follows = Some(block.burst.end());
        self.free = end;
        if block.at + 1 < block.path.len() {
            self.beyond += octets;
        }
        Some(Sent { block, end, head })
    }
}
