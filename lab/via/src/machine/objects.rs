//! Objects that a program makes and ends: handles of the NIC, VIs, completion queues.

use super::{Machine, Vi, ViStatus};
use crate::memory::Region;
use crate::queue::{CompletionQueue, Queue};
use crate::terms::{CqId, ErrorReport, MAX_TRANSFER, NicId, Report, ViAttributes, ViId, ViState, ViaError};
use std::collections::VecDeque;

const NO_CQ: ViaError = ViaError::Parameter("there is no such completion queue, or it was destroyed");
const NO_NIC: ViaError = ViaError::Parameter("the NIC handle was closed");

impl<R: Region> Machine<R> {
    pub(crate) fn open_nic(&mut self) -> NicId {
        self.slow_calls += 1;
        NicId(self.nics.add(()))
    }

    pub(crate) fn check_nic(&mut self, nic: NicId) -> Result<(), ViaError> {
        self.slow_calls += 1;
        self.nics.get(nic.0).map(|_| ()).ok_or(NO_NIC)
    }

    /// Everything of a NIC handle ends.
    pub(crate) fn close_nic(&mut self, nic: NicId) {
        self.slow_calls += 1;
        let vis: Vec<u32> = self.vis.iter().filter(|(_, vi)| vi.nic == nic).map(|(id, _)| id).collect();
        for id in vis {
            let _ = self.disconnect(ViId(id));
            self.forget_vi(ViId(id));
        }
        self.close_doors(nic);
        self.unpublish(nic);
        self.cqs.retain(|cq| cq.nic != nic);
        self.protection.close(nic);
        self.reports.retain(|r| r.nic != nic);
        self.nics.remove(nic.0);
    }

    fn check_attributes(attributes: &ViAttributes) -> Result<(), ViaError> {
        match () {
            () if !(1..=MAX_TRANSFER).contains(&attributes.max_transfer) => Err(ViaError::TransferSize),
            () if attributes.rdma_read && !attributes.reliability.is_reliable() => Err(ViaError::RdmaRead),
            () => Ok(()),
        }
    }

    pub(crate) fn create_vi(
        &mut self,
        nic: NicId,
        attributes: ViAttributes,
        send: Option<CqId>,
        receive: Option<CqId>,
    ) -> Result<ViId, ViaError> {
        self.check_nic(nic)?;
        Self::check_attributes(&attributes)?;
        for cq in [send, receive].into_iter().flatten() {
            self.cq(nic, cq)?;
        }
        self.protection.use_tag(nic, attributes.tag)?;
        for cq in [send, receive].into_iter().flatten() {
            self.cq(nic, cq)?.queues += 1;
        }
        Ok(ViId(self.vis.add(Vi {
            nic,
            attributes,
            state: ViState::Idle,
            send: Queue::new(send, false),
            receive: Queue::new(receive, true),
            link: None,
            outcome: None,
        })))
    }

    pub(crate) fn destroy_vi(&mut self, id: ViId) -> Result<(), ViaError> {
        self.slow_calls += 1;
        let vi = self.vi(id)?;
        if vi.state != ViState::Idle {
            return Err(ViaError::State(vi.state));
        }
        if vi.send.len() + vi.receive.len() > 0 {
            return Err(ViaError::Resource("the VI has descriptors: take those that are done"));
        }
        self.forget_vi(id);
        Ok(())
    }

    /// Removes a VI that is not connected.
    pub(super) fn forget_vi(&mut self, id: ViId) {
        let Some(mut vi) = self.vis.remove(id.0) else { return };
        for is_receive in [false, true] {
            let queue = vi.queue(is_receive);
            queue.flush();
            let (protection, mut places) = (&mut self.protection, 0);
            queue.settle(|entry| {
                places += 1;
                if entry.held {
                    protection.release(&entry.work.segments);
                }
            });
            while let Some((_, own)) = queue.take() {
                self.protection.release(own.as_slice());
            }
            if let Some(cq) = queue.cq.and_then(|cq| self.cqs.get_mut(cq.0)) {
                let before = cq.entries.len();
                cq.entries.retain(|entry| *entry != (id, is_receive));
                cq.taken -= before - cq.entries.len() + places;
                cq.queues -= 1;
            }
        }
        self.protection.drop_tag(vi.attributes.tag);
        self.reports.retain(|r| r.vi != id);
    }

    pub(crate) fn query_vi(&self, id: ViId) -> Result<ViStatus, ViaError> {
        let Vi { nic, state, attributes, ref send, ref receive, .. } = *self.vi(id)?;
        Ok(ViStatus { nic, state, attributes, sends: send.len(), receives: receive.len() })
    }

    /// The completion queue of a work queue.
    pub(crate) fn cq_of(&self, id: ViId, is_receive: bool) -> Result<Option<CqId>, ViaError> {
        let vi = self.vi(id)?;
        Ok(if is_receive { vi.receive.cq } else { vi.send.cq })
    }

    pub(crate) fn change_vi(&mut self, id: ViId, attributes: ViAttributes) -> Result<(), ViaError> {
        self.slow_calls += 1;
        let (nic, state, before) = self.vi(id).map(|vi| (vi.nic, vi.state, vi.attributes.tag))?;
        if state != ViState::Idle {
            return Err(ViaError::State(state));
        }
        Self::check_attributes(&attributes)?;
        self.protection.use_tag(nic, attributes.tag)?;
        self.protection.drop_tag(before);
        self.vi_mut(id)?.attributes = attributes;
        Ok(())
    }

    fn cq(&mut self, nic: NicId, id: CqId) -> Result<&mut CompletionQueue, ViaError> {
        self.cqs.get_mut(id.0).filter(|cq| cq.nic == nic).ok_or(NO_CQ)
    }

    pub(crate) fn check_cq(&mut self, nic: NicId, id: CqId) -> Result<(), ViaError> {
        self.cq(nic, id).map(drop)
    }

    pub(crate) fn create_cq(&mut self, nic: NicId, capacity: usize) -> Result<CqId, ViaError> {
        self.check_nic(nic)?;
        if capacity == 0 {
            return Err(ViaError::Parameter("a completion queue has room for one entry at least"));
        }
        let entries = VecDeque::new();
        Ok(CqId(self.cqs.add(CompletionQueue { nic, capacity, taken: 0, entries, queues: 0 })))
    }

    pub(crate) fn destroy_cq(&mut self, nic: NicId, id: CqId) -> Result<(), ViaError> {
        self.slow_calls += 1;
        if self.cq(nic, id)?.queues > 0 {
            return Err(ViaError::Resource("VIs report to the completion queue: destroy them first"));
        }
        self.cqs.remove(id.0);
        Ok(())
    }

    pub(crate) fn resize_cq(&mut self, nic: NicId, id: CqId, capacity: usize) -> Result<(), ViaError> {
        self.slow_calls += 1;
        let cq = self.cq(nic, id)?;
        if capacity < cq.taken.max(1) {
            return Err(ViaError::Resource("entries and posted descriptors need more room than that"));
        }
        cq.capacity = capacity;
        Ok(())
    }

    /// Reports what a layer above has found.
    pub(crate) fn report(&mut self, id: ViId, report: Report) -> Result<(), ViaError> {
        let nic = self.vi(id)?.nic;
        self.reports.push_back(ErrorReport { nic, vi: id, report });
        Ok(())
    }

    /// Takes the oldest entry of a completion queue: whose descriptor is done, and whether it is a receive.
    pub(crate) fn take_entry(&mut self, nic: NicId, id: CqId) -> Result<Option<(ViId, bool)>, ViaError> {
        let cq = self.cq(nic, id)?;
        let entry = cq.entries.pop_front();
        cq.taken -= usize::from(entry.is_some());
        Ok(entry)
    }
}
