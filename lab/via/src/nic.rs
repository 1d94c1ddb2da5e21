//! The functions that programs call.
#![expect(unsafe_code, reason = "declares the registration of raw memory")]

use crate::agent::Agent;
use crate::machine::{Polled, Request, ViStatus};
use crate::memory::Region;
use crate::notice::Wanted;
use crate::region::Registered;
use crate::terms::{
    Address, Completed, CqId, Descriptor, ErrorReport, ListenerId, MemoryAttributes, MemoryId, NicId,
    RemoteAttributes, Report, RequestId, TagId, ViAttributes, ViId, ViaError,
};
use core::ops::Range;
use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::Arc;

/// An opening of the network interface of a rank.
///
/// Tags, memory handles, VIs, completion queues and listeners belong to the `Nic` that made them. Dropping it
/// ends them all: VIs are disconnected, memory is freed.
#[derive(Debug)]
pub struct Nic {
    agent: &'static Agent,
    id: NicId,
}

impl Agent {
    /// Opens the network interface once more. Dropping a [`Nic`] closes it.
    pub fn open(&'static self) -> Nic {
        Nic { agent: self, id: self.slow(|machine| machine.open_nic()) }
    }
}

impl Drop for Nic {
    fn drop(&mut self) {
        self.close();
    }
}

impl Nic {
    /// Ends all objects of this NIC. Threads that wait for its VIs get an error. Later calls are refused.
    pub fn close(&self) {
        self.agent.notices.on_error(self.id, None);
        self.agent.slow(|machine| machine.close_nic(self.id));
    }

    /// Its name, as in reports.
    pub fn id(&self) -> NicId {
        self.id
    }

    /// The agent that opened it.
    pub fn agent(&self) -> &'static Agent {
        self.agent
    }

    /// The address of an end of this rank.
    pub fn address(&self, discriminator: impl Into<Vec<u8>>) -> Address {
        Address::new(self.agent.rank.id().0, discriminator)
    }

    /// Makes a protection tag.
    pub fn create_tag(&self) -> TagId {
        self.agent.slow(|machine| {
            machine.slow_calls += 1;
            machine.protection.create_tag(self.id)
        })
    }

    /// Gives up a tag.
    ///
    /// # Errors
    /// VIs or memory still have it, or there is no such tag here.
    pub fn destroy_tag(&self, tag: TagId) -> Result<(), ViaError> {
        self.agent.slow(|machine| {
            machine.slow_calls += 1;
            machine.protection.destroy_tag(self.id, tag)
        })
    }

    /// Registers a vector, whose bytes have the addresses from 0 on.
    ///
    /// # Errors
    /// No such tag, or no room.
    pub fn register(&self, memory: Vec<u8>, attributes: MemoryAttributes) -> Result<MemoryId, ViaError> {
        let region = Registered::vec(self.agent.rank, memory);
        self.enter(0, region, attributes)
    }

    /// Registers memory of the program; its bytes have their own addresses.
    ///
    /// # Safety
    /// 1. The bytes are valid for reads and writes until the handle was deregistered or the `Nic` dropped,
    ///    and are accessed by means only that may meet accesses of peers, as for
    ///    [`RegionCalls::export_raw`](gasnet::RegionCalls::export_raw) (owed by the caller).
    ///
    /// # Errors
    /// As [`register`](Self::register).
    pub unsafe fn register_raw(
        &self,
        at: *mut u8,
        len: usize,
        attributes: MemoryAttributes,
    ) -> Result<MemoryId, ViaError> {
        // SAFETY: (1).
        let region = unsafe { Registered::raw(self.agent.rank, at, len) };
        self.enter(at as u64, region, attributes)
    }

    fn enter(
        &self,
        base: u64,
        region: Registered,
        attributes: MemoryAttributes,
    ) -> Result<MemoryId, ViaError> {
        self.agent.slow(|machine| {
            machine.slow_calls += 1;
            machine.protection.register(self.id, base, region, attributes)
        })
    }

    /// Ends a registration: when it returns, no peer can access the memory any more, and none does. The
    /// vector, if it was one.
    ///
    /// # Errors
    /// Posted descriptors use it, or there is no such handle here.
    pub fn deregister(&self, memory: MemoryId) -> Result<Option<Vec<u8>>, ViaError> {
        self.agent
            .slow(|machine| {
                machine.slow_calls += 1;
                machine.protection.deregister(self.id, memory)
            })
            .map(Registered::into_vec)
    }

    /// The attributes of registered memory, and its length.
    ///
    /// # Errors
    /// There is no such handle here.
    pub fn query_memory(&self, memory: MemoryId) -> Result<(MemoryAttributes, u64), ViaError> {
        self.agent.slow(|machine| {
            machine.slow_calls += 1;
            machine.protection.get(self.id, memory).map(|m| (m.attributes, m.region.len()))
        })
    }

    /// Where registered memory is: the addresses of its bytes.
    ///
    /// # Errors
    /// There is no such handle here.
    pub fn range_of(&self, memory: MemoryId) -> Result<Range<u64>, ViaError> {
        self.agent
            .slow(|machine| machine.protection.get(self.id, memory).map(|m| m.base..m.base + m.region.len()))
    }

    /// Gives memory other attributes. Accesses of peers that the old attributes allowed have ended when
    /// this returns.
    ///
    /// # Errors
    /// No such tag or handle.
    pub fn change_memory(&self, memory: MemoryId, attributes: MemoryAttributes) -> Result<(), ViaError> {
        self.agent.slow(|machine| {
            machine.slow_calls += 1;
            machine.protection.change(self.id, memory, attributes)
        })
    }

    /// Copies bytes out of registered memory. Bytes that a peer writes at the same time may be old or new.
    ///
    /// # Errors
    /// There is no such handle here, or the range is not inside it.
    pub fn read(&self, memory: MemoryId, at: u64, into: &mut [u8]) -> Result<(), ViaError> {
        let len = into.len();
        self.access(memory, at, len, |region, at| region.load(at, into))
    }

    /// Copies bytes into registered memory.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn write(&self, memory: MemoryId, at: u64, from: &[u8]) -> Result<(), ViaError> {
        self.access(memory, at, from.len(), |region, at| region.store(at, from))
    }

    fn access(
        &self,
        memory: MemoryId,
        at: u64,
        len: usize,
        access: impl FnOnce(&Registered, u64),
    ) -> Result<(), ViaError> {
        self.agent.slow(|machine| {
            let memory = machine.protection.get(self.id, memory)?;
            let place = memory.place(at, len as u64);
            access(&memory.region, place.ok_or(ViaError::Parameter("the range is not inside the memory"))?);
            Ok(())
        })
    }

    /// Makes a VI. Work queues that are given a completion queue report to it, as long as they exist.
    ///
    /// # Errors
    /// Attributes that cannot be, or no such tag or completion queue here.
    pub fn create_vi(
        &self,
        attributes: ViAttributes,
        send: Option<CqId>,
        receive: Option<CqId>,
    ) -> Result<ViId, ViaError> {
        self.agent.slow(|machine| machine.create_vi(self.id, attributes, send, receive))
    }

    /// Gives up a VI.
    ///
    /// # Errors
    /// It is not idle, or its queues are not empty.
    pub fn destroy_vi(&self, vi: ViId) -> Result<(), ViaError> {
        self.agent.slow(|machine| machine.destroy_vi(vi))
    }

    /// State, attributes and lengths of the queues of a VI.
    ///
    /// # Errors
    /// There is no such VI.
    pub fn query_vi(&self, vi: ViId) -> Result<ViStatus, ViaError> {
        self.agent.look(|machine| machine.query_vi(vi))
    }

    /// Gives a VI other attributes.
    ///
    /// # Errors
    /// It is not idle, or the attributes cannot be.
    pub fn change_vi(&self, vi: ViId, attributes: ViAttributes) -> Result<(), ViaError> {
        self.agent.slow(|machine| machine.change_vi(vi, attributes))
    }

    /// Makes a completion queue with room for this many entries.
    ///
    /// # Errors
    /// No room at all.
    pub fn create_cq(&self, capacity: usize) -> Result<CqId, ViaError> {
        self.agent.slow(|machine| machine.create_cq(self.id, capacity))
    }

    /// Gives up a completion queue.
    ///
    /// # Errors
    /// VIs report to it.
    pub fn destroy_cq(&self, cq: CqId) -> Result<(), ViaError> {
        self.agent.slow(|machine| machine.destroy_cq(self.id, cq))
    }

    /// Gives a completion queue another size.
    ///
    /// # Errors
    /// Entries, and descriptors that are posted, need more.
    pub fn resize_cq(&self, cq: CqId, capacity: usize) -> Result<(), ViaError> {
        self.agent.slow(|machine| machine.resize_cq(self.id, cq, capacity))
    }

    /// Listens for requests to this rank with a discriminator. Requests that come while nobody listens are
    /// refused.
    ///
    /// # Errors
    /// A discriminator that is too long.
    pub fn listen(&self, discriminator: &[u8]) -> Result<ListenerId, ViaError> {
        self.agent.slow(|machine| machine.listen(self.id, discriminator))
    }

    /// Ends that; requests that nobody has taken are refused.
    pub fn unlisten(&self, listener: ListenerId) {
        self.agent.slow(|machine| machine.unlisten(listener));
    }

    /// Waits for a request, for ever without a time.
    ///
    /// # Errors
    /// [`ViaError::Timeout`], or there is no such listener.
    pub fn next_request(&self, listener: ListenerId, timeout: Option<Duration>) -> Result<Request, ViaError> {
        self.agent.wait("a request for a VI", timeout, |m| m.take_request(listener).transpose())?
    }

    /// Connects an idle VI with the one that a request came from.
    ///
    /// # Errors
    /// The VIs do not agree, or the VI is not idle: the request stays, the client hears nothing.
    /// [`ViaError::Timeout`]: the client does not wait any more; the request is gone.
    pub fn accept(&self, request: RequestId, vi: ViId) -> Result<RemoteAttributes, ViaError> {
        self.agent.slow(|machine| machine.accept(request, vi))?;
        self.connected(vi)
    }

    /// Refuses a request.
    ///
    /// # Errors
    /// As [`accept`](Self::accept), where the client does not wait any more.
    pub fn reject(&self, request: RequestId) -> Result<(), ViaError> {
        self.agent.slow(|machine| machine.reject(request))
    }

    /// Connects an idle VI with one of a server that listens at `remote`. Waits for the answer, for ever
    /// without a time.
    ///
    /// # Errors
    /// [`ViaError::NoMatch`]: nobody listens. [`ViaError::Rejected`]. [`ViaError::Timeout`]. The VI is idle
    /// again then, and receives that were posted stay.
    pub fn connect(
        &self,
        vi: ViId,
        local: Address,
        remote: Address,
        timeout: Option<Duration>,
    ) -> Result<RemoteAttributes, ViaError> {
        self.begin(vi, local, remote, timeout, false)?;
        self.connected(vi)
    }

    /// Begins to connect an idle VI with one that asks for this address in the same way. Returns at once;
    /// [`peer_connected`](Self::peer_connected) and [`wait_peer`](Self::wait_peer) tell the outcome.
    ///
    /// # Errors
    /// The VI is not idle, or the addresses cannot be.
    pub fn connect_peer(
        &self,
        vi: ViId,
        local: Address,
        remote: Address,
        timeout: Option<Duration>,
    ) -> Result<(), ViaError> {
        self.begin(vi, local, remote, timeout, true)
    }

    fn begin(
        &self,
        vi: ViId,
        local: Address,
        remote: Address,
        timeout: Option<Duration>,
        peer: bool,
    ) -> Result<(), ViaError> {
        if timeout.is_some_and(|t| t.is_zero()) {
            return Err(ViaError::Parameter("no answer can come in no time"));
        }
        let until = timeout.map(|timeout| self.agent.rank.now().saturating_add(timeout));
        self.agent.slow(|machine| machine.request(vi, local, remote, until, peer))
    }

    /// The outcome of the last attempt to connect; `None` while it is under way.
    ///
    /// # Errors
    /// There is no such VI.
    pub fn peer_connected(&self, vi: ViId) -> Result<Option<Result<RemoteAttributes, ViaError>>, ViaError> {
        self.agent.look(|machine| machine.outcome(vi))
    }

    /// Waits for it.
    ///
    /// # Errors
    /// Those of [`connect`](Self::connect).
    pub fn wait_peer(&self, vi: ViId) -> Result<RemoteAttributes, ViaError> {
        self.connected(vi)
    }

    fn connected(&self, vi: ViId) -> Result<RemoteAttributes, ViaError> {
        self.agent.wait("the connection of a VI", None, |m| m.outcome(vi).transpose())??
    }

    /// Ends the connection of a VI, which is idle then. All that is outstanding is done, as flushed.
    ///
    /// # Errors
    /// There is no such VI.
    pub fn disconnect(&self, vi: ViId) -> Result<(), ViaError> {
        self.agent.slow(|machine| machine.disconnect(vi))
    }

    /// Posts a send or an RDMA operation. Does not wait. On a VI that is not connected it is flushed.
    ///
    /// # Errors
    /// The queue or its completion queue is full; [`ViaError::WouldBlock`] where the descriptor asks for
    /// it. Nothing was posted then. Errors about memory are reported in the descriptor, when it is done.
    pub fn post_send(&self, vi: ViId, work: Descriptor) -> Result<(), ViaError> {
        self.agent.slow(|machine| machine.post(vi, false, work))
    }

    /// Posts a receive.
    ///
    /// # Errors
    /// As [`post_send`](Self::post_send).
    pub fn post_receive(&self, vi: ViId, work: Descriptor) -> Result<(), ViaError> {
        self.agent.slow(|machine| machine.post(vi, true, work))
    }

    /// Takes the oldest send, if it is done.
    ///
    /// # Errors
    /// There is no such VI.
    pub fn send_done(&self, vi: ViId) -> Result<Polled, ViaError> {
        self.agent.look(|machine| machine.poll(vi, false))
    }

    /// Takes the oldest receive, if it is done.
    ///
    /// # Errors
    /// There is no such VI.
    pub fn receive_done(&self, vi: ViId) -> Result<Polled, ViaError> {
        self.agent.look(|machine| machine.poll(vi, true))
    }

    /// Waits for the oldest send and takes it.
    ///
    /// # Errors
    /// [`ViaError::Timeout`], [`ViaError::Reports`], [`ViaError::Empty`].
    pub fn wait_send(&self, vi: ViId, timeout: Option<Duration>) -> Result<Completed, ViaError> {
        self.wait_done(vi, false, timeout)
    }

    /// Waits for the oldest receive and takes it.
    ///
    /// # Errors
    /// As [`wait_send`](Self::wait_send).
    pub fn wait_receive(&self, vi: ViId, timeout: Option<Duration>) -> Result<Completed, ViaError> {
        self.wait_done(vi, true, timeout)
    }

    /// A queue that reports to a completion queue is not waited for.
    fn check_waits(&self, vi: ViId, is_receive: bool) -> Result<(), ViaError> {
        match self.agent.slow(|machine| machine.cq_of(vi, is_receive))? {
            Some(_) => Err(ViaError::Reports),
            None => Ok(()),
        }
    }

    fn wait_done(
        &self,
        vi: ViId,
        is_receive: bool,
        timeout: Option<Duration>,
    ) -> Result<Completed, ViaError> {
        self.check_waits(vi, is_receive)?;
        let done = |polled| match polled {
            Ok(Polled::NotDone) => None,
            Ok(Polled::Done(completed)) => Some(Ok(completed)),
            Ok(Polled::Empty) => Some(Err(ViaError::Empty)),
            Err(e) => Some(Err(e)),
        };
        self.agent.wait("a descriptor of a VI", timeout, |m| done(m.poll(vi, is_receive)))?
    }

    /// Takes the oldest entry of a completion queue: the VI whose descriptor is done, and whether it is a
    /// receive. The descriptor itself is then taken from that queue.
    ///
    /// # Errors
    /// There is no such completion queue here.
    pub fn cq_done(&self, cq: CqId) -> Result<Option<(ViId, bool)>, ViaError> {
        self.agent.look(|machine| machine.take_entry(self.id, cq))
    }

    /// Waits for an entry and takes it.
    ///
    /// # Errors
    /// [`ViaError::Timeout`]; as [`cq_done`](Self::cq_done).
    pub fn wait_cq(&self, cq: CqId, timeout: Option<Duration>) -> Result<(ViId, bool), ViaError> {
        let take = |m: &mut crate::machine::Machine<Registered>| m.take_entry(self.id, cq).transpose();
        self.agent.wait("an entry of a completion queue", timeout, take)?
    }

    /// Calls a function once with the next send that is done, on a thread of the agent. Several that are
    /// waiting are called in order. A VI that is destroyed takes them with it, uncalled.
    ///
    /// # Errors
    /// [`ViaError::Reports`]; there is no such VI; no thread.
    pub fn notify_send(
        &self,
        vi: ViId,
        call: impl FnOnce(Completed) + Send + 'static,
    ) -> Result<(), ViaError> {
        self.notify(vi, false, Box::new(call))
    }

    /// The same for receives.
    ///
    /// # Errors
    /// As [`notify_send`](Self::notify_send).
    pub fn notify_receive(
        &self,
        vi: ViId,
        call: impl FnOnce(Completed) + Send + 'static,
    ) -> Result<(), ViaError> {
        self.notify(vi, true, Box::new(call))
    }

    fn notify(
        &self,
        vi: ViId,
        is_receive: bool,
        call: Box<dyn FnOnce(Completed) + Send>,
    ) -> Result<(), ViaError> {
        self.check_waits(vi, is_receive)?;
        self.agent.want(Wanted::Done { vi, is_receive, call })
    }

    /// Calls a function once with the next entry of a completion queue, which it takes: as
    /// [`notify_send`](Self::notify_send).
    ///
    /// # Errors
    /// There is no such completion queue here; no thread.
    pub fn notify_cq(
        &self,
        cq: CqId,
        call: impl FnOnce(ViId, bool) + Send + 'static,
    ) -> Result<(), ViaError> {
        self.agent.slow(|machine| machine.check_cq(self.id, cq))?;
        self.agent.want(Wanted::Entry { nic: self.id, cq, call: Box::new(call) })
    }

    /// Calls a function with every report about a VI of this `Nic`, on a thread of the agent; it replaces the
    /// function before. [`next_report`](Self::next_report) finds none then.
    ///
    /// # Errors
    /// No thread.
    pub fn on_error(&self, call: impl Fn(ErrorReport) + Send + Sync + 'static) -> Result<(), ViaError> {
        self.agent.start_calls()?;
        self.agent.notices.on_error(self.id, Some(Arc::new(call)));
        Ok(())
    }

    /// This rank is known by one more name, until [`unpublish`](Self::unpublish) or the end of the `Nic`.
    ///
    /// # Errors
    /// The `Nic` was closed.
    pub fn publish(&self, name: impl Into<String>) -> Result<(), ViaError> {
        self.agent.slow(|machine| machine.publish(self.id, name.into()))
    }

    /// It is not known by the names that this `Nic` has published any more.
    pub fn unpublish(&self) {
        self.agent.slow(|machine| machine.unpublish(self.id));
    }

    /// The names by which ranks are known. Waits for the answers of those that have not left.
    pub fn names_of(&self, ranks: impl Iterator<Item = u32>) -> BTreeMap<u32, Vec<String>> {
        let question = self.agent.slow(|machine| machine.ask_names(ranks));
        self.agent.wait("the names of ranks", None, |m| m.answered(question)).unwrap_or_default()
    }

    /// Reports an error of a descriptor that a layer above has found before posting it.
    ///
    /// # Errors
    /// There is no such VI.
    pub fn report(&self, vi: ViId, report: Report) -> Result<(), ViaError> {
        self.agent.slow(|machine| machine.report(vi, report))
    }

    /// The next report about a VI of this `Nic` that no descriptor could tell.
    pub fn next_report(&self) -> Option<ErrorReport> {
        self.agent.look(|machine| machine.next_report(self.id))
    }
}
