//! Operands of atomics that stay on the NIC, as the thesis suggests for later work. Off unless
//! [`NicConfig::operands`](super::NicConfig::operands) says how many.
//!
//! A *cached* operand is newer than its words in memory, and keeps a lock of its frame, so its page stays.
//! Before anything else sees the page, the operands that are cached of it are written back:
//!
//! | what | then |
//! |---|---|
//! | an atomic on the same words | neither fetch nor write-back: what the cache saves |
//! | an atomic on words beside them | nothing |
//! | any other DMA of the frame; an atomic on some of the words | it waits for the write-back |
//! | a write that bounces, as the page is not in the table | the host hears of it after the write-back |
//! | the host wants the frame back, as with leases | written back and unlocked, then the host is told |
//! | one operand more than there is room for | the one that was used least recently is written back |
//!
//! The NIC does not notice loads and stores by the home's own program, no more than during an atomic
//! operation.

use std::collections::{HashMap, VecDeque};

use super::{FrameAddress, Nic, NicAction, Pending};
use crate::ids::{Ppn, Vpn};
use crate::wire::Span;

/// A cached operand.
#[derive(Debug)]
struct Operand {
    vpn: Vpn,
    ppn: Ppn,
    offset: u16,
    bytes: Vec<u8>,
}

impl Operand {
    fn is(&self, ppn: Ppn, span: Span) -> bool {
        (self.ppn, self.offset, self.bytes.len()) == (ppn, span.offset, span.len.into())
    }

    fn overlaps(&self, ppn: Ppn, span: Span) -> bool {
        let (first, end) = (usize::from(self.offset), usize::from(self.offset) + self.bytes.len());
        let (other, other_end) = (usize::from(span.offset), usize::from(span.offset) + usize::from(span.len));
        self.ppn == ppn && first < other_end && other < end
    }
}

/// A frame some of whose operands are on their way back to memory.
#[derive(Debug)]
struct Leaving {
    vpn: Vpn,
    /// Operands that are.
    writes: u32,
    /// Actions that wait for them.
    behind: Vec<NicAction>,
}

/// The operands of one NIC.
#[derive(Debug, Default)]
pub(super) struct Operands {
    most: usize,
    /// Those used least recently first.
    cached: VecDeque<Operand>,
    leaving: HashMap<Ppn, Leaving>,
}

impl Operands {
    pub(super) fn new(most: u32) -> Operands {
        Operands { most: most as usize, ..Operands::default() }
    }

    /// Whether nothing is on its way back.
    pub(super) fn are_still(&self) -> bool {
        self.leaving.is_empty()
    }

    /// Takes a cached operand out. Its lock is now the caller's.
    pub(super) fn take(&mut self, ppn: Ppn, span: Span) -> Option<Vec<u8>> {
        let at = self.cached.iter().position(|operand| operand.is(ppn, span))?;
        self.cached.remove(at).map(|operand| operand.bytes)
    }

    /// Whether an operand can be fetched without regard to those that are cached.
    pub(super) fn are_apart(&self, ppn: Ppn, span: Span) -> bool {
        !self.leaving.contains_key(&ppn) && !self.cached.iter().any(|operand| operand.overlaps(ppn, span))
    }

    /// The frame of a page of which operands are cached or on their way back.
    pub(super) fn frame(&self, vpn: Vpn) -> Option<Ppn> {
        let cached = self.cached.iter().find(|operand| operand.vpn == vpn).map(|operand| operand.ppn);
        cached.or_else(|| self.leaving.iter().find(|(_, frame)| frame.vpn == vpn).map(|(ppn, _)| *ppn))
    }
}

impl Nic {
    /// Keeps an operand, with a lock of its frame.
    pub(super) fn keep_operand(&mut self, ppn: Ppn, span: Span, bytes: Vec<u8>, out: &mut Vec<NicAction>) {
        let Some(all) = &mut self.operands else { return };
        let oldest = if all.cached.len() == all.most { all.cached.pop_front() } else { None };
        all.cached.push_back(Operand { vpn: span.vpn, ppn, offset: span.offset, bytes });
        if let Some(oldest) = oldest {
            self.write_back(oldest, out);
        }
    }

    fn write_back(&mut self, operand: Operand, out: &mut Vec<NicAction>) {
        let Operand { vpn, ppn, offset, bytes } = operand;
        let op = self.begin(Pending::Evicted { ppn });
        let Some(all) = &mut self.operands else { return };
        let new = || Leaving { vpn, writes: 0, behind: Vec::new() };
        all.leaving.entry(ppn).or_insert_with(new).writes += 1;
        out.push(NicAction::DmaWrite { op, to: FrameAddress { ppn, offset: offset.into() }, data: bytes });
    }

    /// The last action sees a frame, so memory has all of its operands before.
    #[cold]
    pub(super) fn put_behind_operands(&mut self, ppn: Ppn, out: &mut Vec<NicAction>) {
        let Some(all) = &mut self.operands else { return };
        let Some(last) = out.pop() else { return };
        let (of_frame, others) = all.cached.drain(..).partition(|operand| operand.ppn == ppn);
        all.cached = others;
        VecDeque::into_iter(of_frame).for_each(|operand| self.write_back(operand, out));
        match self.operands.as_mut().and_then(|all| all.leaving.get_mut(&ppn)) {
            Some(frame) => frame.behind.push(last),
            None => out.push(last),
        }
    }

    /// An operand is in memory again.
    pub(super) fn evicted(&mut self, ppn: Ppn, out: &mut Vec<NicAction>) {
        self.unlock(ppn, true, out);
        let Some(all) = &mut self.operands else { return };
        let Some(frame) = all.leaving.get_mut(&ppn) else { return };
        frame.writes -= 1;
        if frame.writes == 0 {
            out.extend(all.leaving.remove(&ppn).into_iter().flat_map(|frame| frame.behind));
        }
    }
}
