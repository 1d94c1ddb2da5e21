//! Puts, gets and atomic operations of the provider.
//!
//! A put has one completion, which tells that the data is in place at the target; so local and remote
//! completion are reported at the same time. The call itself reads the source of a small put. If the provider
//! demands that local memory is registered, memory of the own segment is; for other memory see
//! [`crate::local`]. A transfer that has to be copied and is larger than a bounce buffer is *cut*: its pieces
//! are operations of their own, started when there are buffers, and it is complete when the last of them is.
#![expect(unsafe_code, reason = "hands memory to the provider")]

use crate::atomics::{self, Have};
use crate::fabric::{Answer, Context, MemoryKey, OperationKind, Port, Remote};
use crate::local::{Local, MemoryLease, Room};
use crate::memory::Chunk;
use crate::prices::LARGE_BYTES;
use gasnet_ops::Operation;
use gasnet_settings::ofi::Registration;
use gasnet_wire::conduit::{Completion, RemoteAddr};
use std::collections::VecDeque;

/// Words of an atomic operation: operand, expected value, result.
const ATOMIC_WORDS: usize = 3;

/// Most transfers that may be cut at the same time.
const MAX_CUT_TRANSFERS: usize = 64;

struct OneSidedOperation {
    context: Context,
    token: u64,
    to: u32,
    job: OneSidedKind,
    /// The words of an atomic operation, in registered memory.
    words: *mut u64,
}

/// The action when an operation is complete.
enum OneSidedKind {
    None,
    Put(MemoryLease),
    Get(MemoryLease),
    /// A piece of the cut transfer with this number.
    Piece(MemoryLease, u32),
    /// Write the result to this address.
    Atomic(*mut u64),
}

/// A cut transfer.
struct Cut {
    token: u64,
    remote: Remote,
    put: bool,
    at: *mut u8,
    len: usize,
    /// Bytes of the pieces that were started; the buffer of the next piece, if it has one; number of pieces
    /// that are not complete.
    begun: usize,
    next: Option<MemoryLease>,
    under_way: u32,
}

/// Keys of a peer's segment.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Known {
    Not,
    Asked,
    Key(MemoryKey),
}

/// The one-sided operations of an endpoint.
pub(crate) struct OneSided {
    #[expect(clippy::vec_box, reason = "the provider keeps their addresses")]
    ops: Vec<Box<OneSidedOperation>>,
    free: Vec<u32>,
    words: Chunk,
    /// Cut transfers by number, and those with pieces to start.
    cuts: Vec<Option<Cut>>,
    beginning: VecDeque<u32>,
    /// Keys by rank.
    pub(crate) keys: Vec<Known>,
    pub(crate) done: VecDeque<(u64, Completion)>,
    pub(crate) local: Local,
    /// Atomic operations of the provider.
    pub(crate) have: Have,
}

/// The result of an attempt to start an operation.
pub(crate) enum Start {
    Started,
    /// Try again.
    Later,
    /// The key has to be requested from the peer first.
    Ask,
    Failed(String),
}

impl OneSided {
    pub(crate) fn new(
        port: &mut Port,
        ranks: usize,
        known: Known,
        registration: Registration,
        quiet: bool,
    ) -> Result<OneSided, String> {
        let count = port.traits.depth / 2;
        let words = Chunk::new(port, count * ATOMIC_WORDS * 8)?;
        let ops = (0..count)
            .map(|k| {
                let words = words.at().cast::<u64>().wrapping_add(k * ATOMIC_WORDS);
                let context = Context::new(OperationKind::OneSided, k as u32);
                Box::new(OneSidedOperation { context, token: 0, to: 0, job: OneSidedKind::None, words })
            })
            .collect();
        Ok(OneSided {
            ops,
            free: (0..count as u32).rev().collect(),
            words,
            cuts: (0..MAX_CUT_TRANSFERS).map(|_| None).collect(),
            beginning: VecDeque::new(),
            keys: vec![known; ranks],
            done: VecDeque::new(),
            local: Local::new(port, registration, quiet)?,
            have: Have::ask(port),
        })
    }

    /// The target of an operation, if the peer's key is known.
    fn remote(&mut self, to: RemoteAddr) -> Result<Remote, Start> {
        let rank = to.rank.0;
        match self.keys[rank as usize] {
            Known::Key(key) => Ok(Remote { peer: rank, at: key.base.wrapping_add(to.offset), key: key.key }),
            Known::Asked => Err(Start::Later),
            Known::Not => {
                self.keys[rank as usize] = Known::Asked;
                Err(Start::Ask)
            }
        }
    }

    /// Handles the result of starting operation `index`.
    fn settle(&mut self, port: &mut Port, index: u32, answer: Answer) -> Start {
        if matches!(answer, Answer::Started) {
            return Start::Started;
        }
        let job = std::mem::replace(&mut self.ops[index as usize].job, OneSidedKind::None);
        match job {
            OneSidedKind::Put(lease) | OneSidedKind::Get(lease) => self.local.end(port, lease),
            OneSidedKind::Piece(lease, cut) => {
                if let Some(cut) = &mut self.cuts[cut as usize] {
                    cut.next = Some(lease);
                }
            }
            OneSidedKind::None | OneSidedKind::Atomic(_) => {}
        }
        self.free.push(index);
        match answer {
            Answer::Failed(why) => Start::Failed(why),
            _ => Start::Later,
        }
    }

    /// # Safety
    /// As `Rma::put`; 1. with `inject` the call reads the source (owed by the caller).
    pub(crate) unsafe fn put(
        &mut self,
        port: &mut Port,
        to: RemoteAddr,
        src: *const u8,
        len: usize,
        token: u64,
    ) -> Start {
        let remote = match self.remote(to) {
            Ok(remote) => remote,
            Err(why) => return why,
        };
        let inject = len <= port.traits.inject;
        let Some(index) = self.free.pop() else { return Start::Later };
        // SAFETY: owed by the caller: valid until the put is complete.
        let lease = match unsafe { self.local.source(port, src, len, inject) } {
            Room::Here(lease) => lease,
            Room::Later => return self.settle(port, index, Answer::Again),
            Room::InPieces => {
                self.free.push(index);
                let (at, begun, under_way) = (src.cast_mut(), 0, 0);
                return self
                    .cut(port, Cut { token, remote, put: true, at, len, begun, next: None, under_way });
            }
        };
        let (spans, count) = lease.spans();
        let op = &mut *self.ops[index as usize];
        (op.token, op.to, op.job) = (token, remote.peer, OneSidedKind::Put(lease));
        // SAFETY: owed by the caller; the op stays until it is complete.
        let answer = unsafe { port.write(remote, &spans[..count], &mut op.context, inject) };
        self.settle(port, index, answer)
    }

    /// # Safety
    /// As `Rma::get`.
    pub(crate) unsafe fn get(
        &mut self,
        port: &mut Port,
        dst: *mut u8,
        from: RemoteAddr,
        len: usize,
        token: u64,
    ) -> Start {
        let remote = match self.remote(from) {
            Ok(remote) => remote,
            Err(why) => return why,
        };
        let Some(index) = self.free.pop() else { return Start::Later };
        // SAFETY: owed by the caller: valid and used by nobody else until the get is complete.
        let lease = match unsafe { self.local.target(port, dst, len) } {
            Room::Here(lease) => lease,
            Room::Later => return self.settle(port, index, Answer::Again),
            Room::InPieces => {
                self.free.push(index);
                let (at, begun, under_way) = (dst, 0, 0);
                return self
                    .cut(port, Cut { token, remote, put: false, at, len, begun, next: None, under_way });
            }
        };
        let (spans, count) = lease.spans();
        let op = &mut *self.ops[index as usize];
        (op.token, op.to, op.job) = (token, remote.peer, OneSidedKind::Get(lease));
        // SAFETY: as above.
        let answer = unsafe { port.read(&spans[..count], remote, &mut op.context) };
        self.settle(port, index, answer)
    }

    /// Starts a transfer in pieces.
    fn cut(&mut self, port: &mut Port, cut: Cut) -> Start {
        let Some(number) = self.cuts.iter().position(Option::is_none) else { return Start::Later };
        self.cuts[number] = Some(cut);
        self.beginning.push_back(number as u32);
        match self.go_on(port) {
            Ok(()) => Start::Started,
            Err((_, why)) => Start::Failed(why),
        }
    }

    /// Starts pieces of cut transfers as far as there is room. An error names the rank.
    pub(crate) fn go_on(&mut self, port: &mut Port) -> Result<(), (u32, String)> {
        while let Some(&number) = self.beginning.front()
            && let Some(cut) = &mut self.cuts[number as usize]
        {
            let len = LARGE_BYTES.min(cut.len - cut.begun);
            let at = cut.at.wrapping_add(cut.begun);
            let lease = cut.next.take().or_else(|| {
                if cut.put {
                    // SAFETY: owed by the caller of `put`, which is not complete.
                    unsafe { self.local.bounce_source(port, at, len) }
                } else {
                    self.local.bounce(port, at, len)
                }
            });
            let Some(lease) = lease else { return Ok(()) };
            let Some(index) = self.free.pop() else {
                cut.next = Some(lease);
                return Ok(());
            };
            let remote = Remote { at: cut.remote.at.wrapping_add(cut.begun as u64), ..cut.remote };
            let (spans, put, op) = (lease.spans().0, cut.put, &mut *self.ops[index as usize]);
            (op.token, op.to, op.job) = (cut.token, remote.peer, OneSidedKind::Piece(lease, number));
            // SAFETY: a bounce buffer; the op stays until it is complete; the target is part of the range
            // given by the caller.
            let answer = unsafe {
                if put {
                    port.write(remote, &spans[..1], &mut op.context, false)
                } else {
                    port.read(&spans[..1], remote, &mut op.context)
                }
            };
            match self.settle(port, index, answer) {
                Start::Started => {}
                Start::Failed(why) => return Err((remote.peer, why)),
                _ => return Ok(()),
            }
            let Some(cut) = &mut self.cuts[number as usize] else { continue };
            cut.begun += len;
            cut.under_way += 1;
            if cut.begun == cut.len {
                self.beginning.pop_front();
            }
        }
        Ok(())
    }

    /// A piece is complete; if it was the last one, so is the transfer.
    fn piece_complete(&mut self, number: u32) {
        let slot = &mut self.cuts[number as usize];
        let Some(cut) = slot else { return };
        cut.under_way -= 1;
        if cut.begun < cut.len || cut.under_way > 0 {
            return;
        }
        if cut.put {
            self.done.push_back((cut.token, Completion::Local));
        }
        self.done.push_back((cut.token, Completion::Remote));
        *slot = None;
    }

    /// Starts an atomic operation; `None` if the provider does not have it.
    ///
    /// # Safety
    /// As `Rma::atomic`.
    pub(crate) unsafe fn atomic(
        &mut self,
        port: &mut Port,
        to: RemoteAddr,
        what: Operation,
        operands: [u64; 2],
        old: *mut u64,
        token: u64,
    ) -> Option<Start> {
        let plan = atomics::plan(what, operands).filter(|plan| self.have.has(plan))?;
        let remote = match self.remote(to) {
            Ok(remote) => remote,
            Err(why) => return Some(why),
        };
        let Some(index) = self.free.pop() else { return Some(Start::Later) };
        let desc = self.words.desc();
        let op = &mut *self.ops[index as usize];
        (op.token, op.to, op.job) = (token, remote.peer, OneSidedKind::Atomic(old));
        // SAFETY: the op and its words stay until it is complete.
        let answer = unsafe { port.atomic(remote, &plan, op.words, desc, &mut op.context) };
        Some(self.settle(port, index, answer))
    }

    /// An operation is complete.
    pub(crate) fn complete(&mut self, port: &mut Port, index: u32) {
        let op = &mut *self.ops[index as usize];
        let token = op.token;
        match std::mem::replace(&mut op.job, OneSidedKind::None) {
            OneSidedKind::None => return,
            OneSidedKind::Put(lease) => {
                self.local.end(port, lease);
                self.done.push_back((token, Completion::Local));
            }
            OneSidedKind::Get(lease) => {
                // SAFETY: the destination is valid until this is reported.
                unsafe { lease.deliver() };
                self.local.end(port, lease);
            }
            OneSidedKind::Piece(lease, cut) => {
                // SAFETY: this part of a get's destination is valid until the whole is reported.
                unsafe { lease.deliver() };
                self.local.end(port, lease);
                self.free.push(index);
                return self.piece_complete(cut);
            }
            OneSidedKind::Atomic(to) => {
                // SAFETY: the caller's word, valid until this is reported; the result is in the op's own
                // words.
                unsafe { to.write(op.words.add(ATOMIC_WORDS - 1).read()) };
            }
        }
        self.done.push_back((token, Completion::Remote));
        self.free.push(index);
    }

    /// Whether pieces of transfers wait to be started.
    pub(crate) fn has_pieces(&self) -> bool {
        !self.beginning.is_empty()
    }

    /// Whether operations are under way.
    pub(crate) fn is_busy(&self) -> bool {
        self.free.len() < self.ops.len() || self.has_pieces()
    }

    /// The peer of an operation, and its kind.
    pub(crate) fn describe(&self, index: u32) -> (u32, &'static str) {
        let op = &self.ops[index as usize];
        let what = match op.job {
            OneSidedKind::None => "an operation",
            OneSidedKind::Put(_) => "a put",
            OneSidedKind::Get(_) => "a get",
            OneSidedKind::Piece(..) => "a piece of a transfer",
            OneSidedKind::Atomic(_) => "an atomic operation",
        };
        (op.to, what)
    }

    /// Gives all memory back. The endpoint is closed.
    pub(crate) fn end(self, port: &mut Port) {
        self.local.close(port);
        self.words.end(port);
    }
}
