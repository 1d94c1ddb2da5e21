//! Accesses of regions, which the table does not have: a check and a copy in one step.

use std::sync::Arc;

use super::{Nic, NicAction, NicWork, Origin};
use crate::port::{Counter, Denial};
use crate::region::{Refusal, RegionMemory, RegionName};
use crate::wire::{Head, HeadKind};

impl Nic {
    /// Lets other nodes access the regions of this one.
    pub fn open_regions(&mut self, regions: Arc<dyn RegionMemory>) {
        self.regions = regions;
    }

    /// Carries out a write to a region.
    pub(super) fn write_region(
        &mut self,
        head: Head,
        (name, at): (RegionName, u64),
        payload: Vec<u8>,
        out: &mut Vec<NicAction>,
    ) {
        out.push(NicAction::NicWork(NicWork::Region(payload.len() as u32)));
        let written = self.regions.write(name, at, &payload);
        self.recycle(payload);
        match written {
            Ok(()) => {
                self.stats.regions += 1;
                self.complete(head, true, out);
            }
            Err(why) => self.refuse_for(head, why, out),
        }
    }

    /// Carries out a read of a region. It has a credit for its reply.
    pub(super) fn read_region(
        &mut self,
        head: Head,
        (name, at): (RegionName, u64),
        origin: Origin,
        out: &mut Vec<NicAction>,
    ) {
        out.push(NicAction::NicWork(NicWork::Region(head.src.len.into())));
        let mut data = self.buffers.pop().unwrap_or_default();
        data.resize(head.src.len.into(), 0);
        let deferred = origin == Origin::Deferred;
        match self.regions.read(name, at, &mut data) {
            Ok(()) => {
                self.stats.regions += 1;
                self.read_reply(head, data, out);
                // The number of a deferred one is done already.
                if !deferred {
                    self.complete(head, false, out);
                }
            }
            Err(why) => {
                self.recycle(data);
                self.unreserve(head.traffic_from());
                if deferred {
                    self.stats.refused += 1;
                    self.tell_refusal(&head, Some(why), out);
                } else {
                    self.refuse_for(head, why, out);
                }
                self.pump(head.traffic_from(), out);
            }
        }
    }

    /// A message with a number is refused, and its sender is told why.
    fn refuse_for(&mut self, head: Head, why: Refusal, out: &mut Vec<NicAction>) {
        self.stats.refused += 1;
        self.tell_refusal(&head, Some(why), out);
        self.complete(head, false, out);
    }

    /// A peer has said why it refused an operation of this node, which is not counted as done yet.
    pub(super) fn denied(&mut self, head: &Head) {
        let which = match head.op {
            kind if kind == HeadKind::Read as u32 => Counter::Reads,
            kind if kind == HeadKind::Write as u32 => Counter::Written,
            _ => return,
        };
        let Some(why) = core::num::NonZeroU32::new(head.notification).map(Refusal) else { return };
        if let Some(state) = self.ports.get(&head.port)
            && state.is_under_way(which, head.cookie)
        {
            state.memory.deny(Denial { which, number: head.cookie, why });
        }
    }
}
