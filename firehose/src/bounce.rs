//! Bounce buffers: nothing that a program owns is ever pinned; all data is copied twice.
//!
//! An operation is cut into fragments of at most one buffer. Each node may have as many fragments under way
//! to a peer as that peer keeps buffers for it. The answer to a fragment gives its buffer back. Operations to
//! one peer keep their order.

use std::collections::{HashMap, VecDeque};

use slab::Slab;

use crate::action::Action;
use crate::config::{Config, ConfigError};
use crate::message::Message;
use crate::registrar::{Change, PinError};
use crate::request::StartError;
use crate::request::{Direction, LocalMemory, OpId, Outcome, Refusal, Request, Side};
use crate::run::Node;
use crate::run::{Keys, Run};
use crate::strategy::{Stats, Strategy, StrategyKind, Usage};

#[derive(Debug)]
struct BounceOperation {
    request: Request,
    /// Bytes in fragments that were sent, and in fragments that were answered.
    sent: u64,
    answered: u64,
}

#[derive(Debug, Default)]
struct PeerBuffers {
    /// Number of fragments under way.
    used: u32,
    /// Operations that have something left to send.
    line: VecDeque<u32>,
}

#[derive(Debug)]
struct Fragment {
    op: u32,
    peer: Node,
    offset: u64,
    len: u64,
}

/// One node's half.
#[derive(Debug)]
pub struct Bounce {
    config: Config,
    ops: Slab<BounceOperation>,
    peers: Vec<PeerBuffers>,
    fragments: HashMap<u64, Fragment>,
    last_fragment: u64,
    stats: Stats,
    child: bool,
}

impl Bounce {
    /// Makes a node and its buffers.
    pub fn new(config: Config) -> Result<Bounce, ConfigError> {
        config.check()?;
        let mut peers = Vec::new();
        peers.resize_with(config.nodes as usize, PeerBuffers::default);
        Ok(Bounce {
            config,
            ops: Slab::default(),
            peers,
            fragments: HashMap::new(),
            last_fragment: 0,
            stats: Stats::default(),
            child: false,
        })
    }

    /// Sends as many fragments to a peer as it has buffers.
    fn advance(&mut self, to: Node, out: &mut Vec<Action>) {
        let peer = &mut self.peers[to as usize];
        while peer.used < self.config.bounce_buffers {
            let Some(&id) = peer.line.front() else { return };
            let Some(op) = self.ops.get_mut(id as usize) else { return };
            let (offset, len) = (op.sent, (op.request.len - op.sent).min(self.config.bounce_bytes));
            op.sent += len;
            if op.sent == op.request.len {
                peer.line.pop_front();
            }
            peer.used += 1;
            self.last_fragment += 1;
            self.stats.requests += 1;
            self.fragments.insert(self.last_fragment, Fragment { op: id, peer: to, offset, len });
            let (id, addr) = (self.last_fragment, op.request.remote + offset);
            let (LocalMemory::At(local) | LocalMemory::Registered(local)) = op.request.local;
            out.push(match op.request.direction {
                Direction::Put => {
                    let message = Message::Store { id, addr, len };
                    Action::SendData { to, message, addr: local + offset, len }
                }
                Direction::Get => Action::Send { to, message: Message::Load { id, addr, len } },
            });
        }
    }

    fn answered(&mut self, from: Node, id: u64, out: &mut Vec<Action>) {
        let Some(fragment) = self.fragments.remove(&id) else { return };
        if fragment.peer != from {
            self.fragments.insert(id, fragment);
            return;
        }
        self.peers[from as usize].used -= 1;
        let Some(op) = self.ops.get_mut(fragment.op as usize) else { return };
        if op.request.direction == Direction::Get {
            let (LocalMemory::At(local) | LocalMemory::Registered(local)) = op.request.local;
            out.push(Action::Deliver { from, addr: local + fragment.offset, len: fragment.len });
        }
        op.answered += fragment.len;
        if op.answered == op.request.len
            && let Some(op) = self.ops.try_remove(fragment.op as usize)
        {
            out.push(Action::Done { op: OpId(fragment.op), tag: op.request.tag });
        }
        self.advance(from, out);
    }
}

impl Strategy for Bounce {
    fn kind(&self) -> StrategyKind {
        StrategyKind::Bounce
    }

    fn open(&mut self, _: &mut Vec<Action>) {}

    fn start(&mut self, request: Request, out: &mut Vec<Action>) -> Result<OpId, StartError> {
        self.config.accept(&request)?;
        if self.child {
            return Err(StartError::Child);
        }
        let (peer, len, tag) = (request.peer, request.len, request.tag);
        let id = self.ops.insert(BounceOperation { request, sent: 0, answered: 0 }) as u32;
        if len == 0 {
            self.ops.try_remove(id as usize);
            out.push(Action::Done { op: OpId(id), tag });
        } else {
            self.stats.misses += 1;
            self.peers[peer as usize].line.push_back(id);
            self.advance(peer, out);
        }
        Ok(OpId(id))
    }

    /// This strategy starts no one-sided transfers.
    fn transferred(&mut self, _: OpId, _: Outcome, _: &mut Vec<Action>) {}

    fn receive(&mut self, from: Node, message: Message, out: &mut Vec<Action>) {
        if self.child || from >= self.config.nodes || from == self.config.me {
            return;
        }
        match message {
            Message::Store { id, addr, len } => {
                self.stats.served += 1;
                out.push(Action::Deliver { from, addr, len });
                let message = Message::Bounced { id, direction: Direction::Put };
                out.push(Action::Send { to: from, message });
            }
            Message::Load { id, addr, len } => {
                self.stats.served += 1;
                let message = Message::Bounced { id, direction: Direction::Get };
                out.push(Action::SendData { to: from, message, addr, len });
            }
            Message::Bounced { id, .. } => self.answered(from, id, out),
            // Messages of other strategies.
            _ => {}
        }
    }

    fn pinned(&mut self, _: Run, _: Result<(), PinError>, _: &mut Vec<Action>) {}

    fn unpinned(&mut self, _: Run, _: &mut Vec<Action>) {}

    fn changed(&mut self, change: Change, _: &mut Vec<Action>) {
        // Memory is reached through its owner's page table, which is always up to date.
        self.child |= change == Change::Child;
    }

    fn check(&self, side: Side, addr: u64, _: u64, keys: &Keys) -> Result<(), Refusal> {
        Err(Refusal { side, bucket: addr / self.config.bucket_bytes, key: keys.get(0).unwrap_or(0) })
    }

    fn usage(&self) -> Usage {
        let config = &self.config;
        let buffers = u64::from(config.bounce_buffers) * u64::from(config.nodes - 1);
        let bytes = 2 * buffers * config.bounce_bytes;
        Usage { pinned_bytes: bytes, peak_bytes: bytes, bound_bytes: Some(bytes), victim_bytes: 0 }
    }

    fn stats(&self) -> Stats {
        self.stats
    }
}
