//! Atomics at their home: the NIC fetches the operand by DMA, computes, replies and writes back. Combining
//! writes are done likewise, without a reply. Operations on one frame take turns, in the order of arrival.
//! An operand may stay on the NIC instead (see `operands.rs`).
//! Operations that had to wait for their page come through here as well, so the host never computes.

use std::collections::VecDeque;

use gasnet_ops::Operation;

use super::{Interrupt, Nic, NicAction, NicWork, Origin, Pending, to_words};
use crate::ids::Ppn;
use crate::shadow::LockError;
use crate::wire::{Head, HeadKind, Span};
use gasnet_ops::home::HomeOp;

impl Nic {
    /// Carries out an atomic or combining write, or asks the host to bring its page.
    pub(super) fn serve_atomic(
        &mut self,
        head: Head,
        payload: Vec<u8>,
        origin: Origin,
        out: &mut Vec<NicAction>,
    ) {
        match self.lock(head.dst, None, out) {
            Ok(ppn) => match self.atomics.get_mut(&ppn) {
                // The operation keeps its lock while it waits: its turn comes after a bounded number of DMAs.
                Some(waiting) => waiting.push_back((head, payload)),
                None => {
                    if !self.begin_atomic(head, payload, ppn, out) {
                        self.atomics.insert(ppn, VecDeque::new());
                    }
                }
            },
            Err(LockError::Missing) => {
                if head.kind == HeadKind::Combine {
                    self.parked.push((head.traffic_from(), head.seq, payload));
                }
                if origin == Origin::Packet {
                    self.bounce(head, Vec::new(), out);
                } else {
                    out.push(NicAction::Interrupt(Interrupt::StillMissing { head, deferred: false }));
                }
            }
            Err(LockError::Refused) => self.refuse(head, out),
        }
    }

    /// Begins an operation whose turn it is. Returns whether it is over: its operand is on the NIC.
    fn begin_atomic(&mut self, head: Head, payload: Vec<u8>, ppn: Ppn, out: &mut Vec<NicAction>) -> bool {
        let atomic = head.kind == HeadKind::Atomic;
        if atomic && let Some(bytes) = self.operands.as_mut().and_then(|all| all.take(ppn, head.dst)) {
            self.stats.cached += 1;
            let bytes = self.compute(&head, bytes, out);
            self.keep_operand(ppn, head.dst, bytes, out);
            self.unlock(ppn, true, out);
            self.complete(head, true, out);
            return true;
        }
        let apart = atomic && self.operands.as_ref().is_some_and(|all| all.are_apart(ppn, head.dst));
        let pending = Pending::Operand { head, payload, ppn };
        if apart {
            self.fetch_at_once(pending, ppn, head.dst, out);
        } else {
            self.fetch(pending, ppn, head.dst, out);
        }
        false
    }

    /// The payload of a combining write whose page was missing.
    pub(super) fn unpark(&mut self, head: &Head) -> Option<Vec<u8>> {
        let i = self.parked.iter().position(|p| (p.0, p.1) == (head.traffic_from(), head.seq))?;
        Some(self.parked.swap_remove(i).2)
    }

    /// The operand has been fetched.
    pub(super) fn operand(
        &mut self,
        head: Head,
        payload: Vec<u8>,
        ppn: Ppn,
        mut data: Vec<u8>,
        out: &mut Vec<NicAction>,
    ) {
        if head.kind == HeadKind::Combine {
            let how = Operation::decode(head.op).expect("checked when it came");
            how.fold(&mut data, &payload);
            self.stats.folds += 1;
            out.push(NicAction::NicWork(NicWork::Fold(payload.len() as u32)));
            self.recycle(payload);
            return self.store(Pending::WriteBack { head, ppn }, ppn, head.dst, data, out);
        }
        let data = self.compute(&head, data, out);
        if self.operands.is_some() {
            // The lock of this operation is the cached operand's now.
            self.keep_operand(ppn, head.dst, data, out);
            return self.next_turn(head, ppn, out);
        }
        self.store(Pending::WriteBack { head, ppn }, ppn, head.dst, data, out);
    }

    /// Computes an atomic and answers it. Returns the new operand.
    fn compute(&mut self, head: &Head, mut data: Vec<u8>, out: &mut Vec<NicAction>) -> Vec<u8> {
        let op = HomeOp::parse(head.op).expect("checked when it came");
        let mut words = to_words(&data);
        let [a, b, c] = op.apply(&mut words, head.src.to_arguments());
        self.stats.atomics += 1;
        out.push(NicAction::NicWork(NicWork::Compute(op)));
        data.clear();
        data.extend(words.iter().flat_map(|word| word.to_le_bytes()).take(op.operand_bytes()));
        self.send_answer(
            HeadKind::AtomicReply,
            head,
            |answer| answer.src = Span::arguments([a, b, c, 0]),
            out,
        );
        data
    }

    /// The operand is in memory again.
    pub(super) fn written_back(&mut self, head: Head, ppn: Ppn, out: &mut Vec<NicAction>) {
        self.unlock(ppn, true, out);
        self.next_turn(head, ppn, out);
    }

    /// An operation is over: the next ones may have the frame.
    fn next_turn(&mut self, head: Head, ppn: Ppn, out: &mut Vec<NicAction>) {
        loop {
            let Some((next, payload)) = self.atomics.get_mut(&ppn).and_then(VecDeque::pop_front) else {
                self.atomics.remove(&ppn);
                break;
            };
            if !self.begin_atomic(next, payload, ppn, out) {
                break;
            }
        }
        self.complete(head, true, out);
    }
}
