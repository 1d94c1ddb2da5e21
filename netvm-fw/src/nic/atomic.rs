//! Atomics at their home: the NIC fetches the operand by DMA, computes, replies and writes back. Combining
//! writes are done likewise, without a reply. Operations on one frame take turns, in the order of arrival.
//! Operations that had to wait for their page come through here as well, so the host never computes.

use std::collections::VecDeque;

use super::{Interrupt, Nic, NicAction, NicWork, Origin, Pending, to_words};
use crate::atomics::AtomicOp;
use crate::combine::Combine;
use crate::ids::Ppn;
use crate::shadow::LockError;
use crate::wire::{Head, HeadKind, Span};

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
                    self.atomics.insert(ppn, VecDeque::new());
                    self.fetch(Pending::Operand { head, payload, ppn }, ppn, head.dst, out);
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
            let how = Combine::parse(head.op).expect("checked when it came");
            how.apply(&mut data, &payload);
            self.stats.folds += 1;
            out.push(NicAction::NicWork(NicWork::Fold(payload.len() as u32)));
            self.recycle(payload);
            return self.store(Pending::WriteBack { head, ppn }, ppn, head.dst, data, out);
        }
        let op = AtomicOp::parse(head.op).expect("checked when it came");
        let mut words = to_words(&data);
        let reply = op.apply(&mut words, head.src.to_arguments());
        self.stats.atomics += 1;
        out.push(NicAction::NicWork(NicWork::Compute(op)));
        data.clear();
        data.extend(words.iter().flat_map(|word| word.to_le_bytes()).take(op.operand_bytes()));
        let [a, b, c] = reply;
        self.send_answer(
            HeadKind::AtomicReply,
            &head,
            |answer| answer.src = Span::arguments([a, b, c, 0]),
            out,
        );
        self.store(Pending::WriteBack { head, ppn }, ppn, head.dst, data, out);
    }

    /// The operand is in memory again: the next operation may have it.
    pub(super) fn written_back(&mut self, head: Head, ppn: Ppn, out: &mut Vec<NicAction>) {
        self.unlock(ppn, true, out);
        let next = self.atomics.get_mut(&ppn).and_then(VecDeque::pop_front);
        match next {
            Some((next, payload)) => {
                self.fetch(Pending::Operand { head: next, payload, ppn }, ppn, next.dst, out);
            }
            None => {
                self.atomics.remove(&ppn);
            }
        }
        self.complete(head, true, out);
    }
}
