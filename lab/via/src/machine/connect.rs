//! Connections: who asks whom, and what the answers are.
//!
//! ```text
//!   client                      server                    two peers, A < B by address
//!   Request  ---------------->  a listener's queue        A: Request (peer) ---> B, when B wants A, too
//!            <-- Refuse         nobody listens, reject    A: <----------- Accept
//!            <-- Accept         accept, with a VI         A: Confirm ----------> B
//!   Confirm  ---------------->  connected
//! ```
//! A requester that has waited long enough sends *Cancel*; if a yes comes nevertheless, it answers *Gone*. A
//! server's accept that does not fit (reliability, largest message, quality of service) tells the client
//! nothing: the request stays, for another VI or a reject.

use super::{Machine, NO_VI, send, send_to};
use crate::link::{Link, Phase};
use crate::memory::Region;
use crate::table::Table;
use crate::terms::{
    Address, ListenerId, MAX_DISCRIMINATOR, NicId, RemoteAttributes, RequestId, ViId, ViState, ViaError,
};
use crate::wire::{No, Packet};
use core::time::Duration;
use std::collections::VecDeque;

#[derive(Debug, Clone)]
struct Listener {
    nic: NicId,
    discriminator: Vec<u8>,
    /// Requests that nobody has taken.
    requests: VecDeque<RequestId>,
}

/// A request for a connection that has come.
#[derive(Debug, Clone)]
struct Incoming {
    from: u32,
    link: u32,
    /// Where it comes from, and whom it is for.
    local: Address,
    remote: Address,
    attributes: RemoteAttributes,
    nic: Option<NicId>,
}

/// Where requests come in.
#[derive(Debug, Clone, Default)]
pub(super) struct Doors {
    listeners: Table<Listener>,
    requests: Table<Incoming>,
    /// Requests of peers that nobody here wants yet.
    peers: Vec<Incoming>,
    /// VIs with a request that may take too long.
    waiting: Vec<ViId>,
}

/// A request as the server sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Its name, for the answer.
    pub id: RequestId,
    /// Where it comes from.
    pub from: Address,
    /// The attributes of the client's VI.
    pub attributes: RemoteAttributes,
}

const NO_LISTENER: ViaError = ViaError::Parameter("there is no such listener, or it was closed");

fn check_address(address: &Address) -> Result<(), ViaError> {
    if address.discriminator.len() > MAX_DISCRIMINATOR {
        return Err(ViaError::Parameter("a discriminator has 64 bytes at most"));
    }
    Ok(())
}

impl No {
    fn of(why: ViaError) -> No {
        match why {
            ViaError::Reliability => No::Reliability,
            ViaError::TransferSize => No::TransferSize,
            ViaError::Qos => No::Qos,
            ViaError::NoMatch => No::Nobody,
            _ => No::Rejected,
        }
    }

    fn error(self) -> ViaError {
        match self {
            No::Reliability => ViaError::Reliability,
            No::TransferSize => ViaError::TransferSize,
            No::Qos => ViaError::Qos,
            No::Nobody => ViaError::NoMatch,
            No::Rejected => ViaError::Rejected,
        }
    }
}

impl<R: Region> Machine<R> {
    /// Lets requests for a discriminator of this rank come in.
    pub(crate) fn listen(&mut self, nic: NicId, discriminator: &[u8]) -> Result<ListenerId, ViaError> {
        self.check_nic(nic)?;
        check_address(&Address::new(self.rank, discriminator))?;
        let discriminator = discriminator.to_vec();
        Ok(ListenerId(self.doors.listeners.add(Listener { nic, discriminator, requests: VecDeque::new() })))
    }

    /// The opposite; requests that nobody has taken hear that nobody is there.
    pub(crate) fn unlisten(&mut self, id: ListenerId) {
        self.slow_calls += 1;
        let Some(listener) = self.doors.listeners.remove(id.0) else { return };
        for request in listener.requests {
            self.refuse(request, ViaError::NoMatch);
        }
    }

    /// Takes the oldest request of a listener.
    pub(crate) fn take_request(&mut self, id: ListenerId) -> Result<Option<Request>, ViaError> {
        let doors = &mut self.doors;
        let listener = doors.listeners.get_mut(id.0).ok_or(NO_LISTENER)?;
        while let Some(id) = listener.requests.pop_front() {
            // The others were taken back.
            if let Some(Incoming { local, attributes, .. }) = doors.requests.get(id.0) {
                return Ok(Some(Request { id, from: local.clone(), attributes: *attributes }));
            }
        }
        Ok(None)
    }

    /// Answers a request with no.
    pub(crate) fn reject(&mut self, id: RequestId) -> Result<(), ViaError> {
        self.slow_calls += 1;
        if self.doors.requests.get(id.0).is_none() {
            return Err(ViaError::Timeout);
        }
        self.refuse(id, ViaError::Rejected);
        Ok(())
    }

    fn refuse(&mut self, id: RequestId, why: ViaError) {
        if let Some(Incoming { from, link, .. }) = self.doors.requests.remove(id.0) {
            send(&mut self.out, from, &Packet::Refuse { link, why: No::of(why) });
        }
    }

    /// Answers a request with yes. The outcome is that of [`Machine::outcome`].
    pub(crate) fn accept(&mut self, request: RequestId, id: ViId) -> Result<(), ViaError> {
        self.slow_calls += 1;
        let vi = self.vi(id)?;
        if vi.state != ViState::Idle {
            return Err(ViaError::State(vi.state));
        }
        let incoming = self.doors.requests.get(request.0).ok_or(ViaError::Timeout)?;
        RemoteAttributes::from(&vi.attributes).agree(&incoming.attributes)?;
        if let Some(incoming) = self.doors.requests.remove(request.0) {
            self.attempt(id, incoming.from, Phase::Accepting(Some(request)));
            self.say_yes(id, &incoming);
        }
        Ok(())
    }

    /// A VI begins to connect to a rank. Returns its link.
    fn attempt(&mut self, id: ViId, rank: u32, phase: Phase) -> u32 {
        let own = self.links.add(id);
        if let Some(vi) = self.vis.get_mut(id.0) {
            vi.link = Some(Link::new(own, rank, phase, vi.receive.outstanding() as u64));
            (vi.state, vi.outcome) = (ViState::Pending, None);
        }
        own
    }

    fn say_yes(&mut self, id: ViId, to: &Incoming) {
        let Some(vi) = self.vis.get_mut(id.0) else { return };
        let attributes = RemoteAttributes::from(&vi.attributes);
        if let Some(link) = &mut vi.link {
            (link.theirs, link.remote) = (Some(to.link), Some(to.attributes));
            let (own, posted) = (link.own, link.posted);
            send_to(&mut self.out, link, |link| Packet::Accept { link, own, attributes, posted });
        }
    }

    /// Asks for a connection. Until when an answer may come: for ever without a time. The outcome is that of
    /// [`Machine::outcome`].
    pub(crate) fn request(
        &mut self,
        id: ViId,
        local: Address,
        remote: Address,
        until: Option<Duration>,
        peer: bool,
    ) -> Result<(), ViaError> {
        self.slow_calls += 1;
        let vi = self.vi(id)?;
        if vi.state != ViState::Idle {
            return Err(ViaError::State(vi.state));
        }
        check_address(&local)?;
        check_address(&remote)?;
        if remote.rank >= self.size {
            return Err(ViaError::Gone);
        }
        if local.rank != self.rank {
            return Err(ViaError::Parameter("the local address has another rank"));
        }
        if peer && local == remote {
            return Err(ViaError::Parameter("two peers have different addresses"));
        }
        let attributes = RemoteAttributes::from(&vi.attributes);
        self.doors.waiting.push(id);
        if peer && local > remote {
            let wanted = |p: &Incoming| p.local == remote && p.remote == local;
            let found = self.doors.peers.iter().position(wanted);
            let phase = Phase::Awaiting { local, remote: remote.clone(), until };
            self.attempt(id, remote.rank, phase);
            if let Some(at) = found {
                let incoming = self.doors.peers.swap_remove(at);
                self.meet(id, &incoming);
            }
            return Ok(());
        }
        let link = self.attempt(id, remote.rank, Phase::Asking(until));
        send(&mut self.out, remote.rank, &Packet::Request { link, peer, local, remote, attributes });
        Ok(())
    }

    /// Two peers want each other.
    fn meet(&mut self, id: ViId, other: &Incoming) {
        let Some(vi) = self.vis.get_mut(id.0) else { return };
        match RemoteAttributes::from(&vi.attributes).agree(&other.attributes) {
            Ok(()) => {
                if let Some(link) = &mut vi.link {
                    link.phase = Phase::Accepting(None);
                }
                self.say_yes(id, other);
            }
            Err(why) => {
                send(&mut self.out, other.from, &Packet::Refuse { link: other.link, why: No::of(why) });
                self.attempt_failed(id, why);
            }
        }
    }

    /// The outcome of the last attempt to connect a VI; `None` while it is under way, or when there was none.
    pub(crate) fn outcome(&self, id: ViId) -> Result<Option<Result<RemoteAttributes, ViaError>>, ViaError> {
        self.vis.get(id.0).map(|vi| vi.outcome).ok_or(NO_VI)
    }

    fn attempt_failed(&mut self, id: ViId, why: ViaError) {
        if let Some(vi) = self.vis.get_mut(id.0)
            && let Some(link) = vi.link.take()
        {
            self.links.remove(link.own);
            (vi.state, vi.outcome) = (ViState::Idle, Some(Err(why)));
        }
    }

    /// The connection is there.
    fn opened(&mut self, id: ViId) {
        let Some(vi) = self.vis.get_mut(id.0) else { return };
        let Some(link) = &mut vi.link else { return };
        link.phase = Phase::Open;
        vi.state = ViState::Connected;
        vi.outcome = link.remote.map(Ok);
        let early = std::mem::take(&mut link.early);
        for (packet, bytes) in early {
            self.handle_open(id, packet, &bytes);
        }
    }

    /// Ends the connection of a VI, or its attempt to connect. All that is outstanding is flushed, but for
    /// receives of one that was not connected.
    pub(crate) fn disconnect(&mut self, id: ViId) -> Result<(), ViaError> {
        self.slow_calls += 1;
        let vi = self.vis.get_mut(id.0).ok_or(NO_VI)?;
        let before = std::mem::replace(&mut vi.state, ViState::Idle);
        if let Some(link) = vi.link.take() {
            self.links.remove(link.own);
            match link.phase {
                Phase::Asking(_) => send(&mut self.out, link.rank, &Packet::Cancel { link: link.own }),
                Phase::Awaiting { .. } => {}
                Phase::Accepting(_) | Phase::Open => {
                    let (sent, placed) = (link.sent, link.received);
                    send_to(&mut self.out, &link, |link| Packet::Bye { link, sent, placed });
                }
            }
        }
        if before == ViState::Connected {
            vi.send.flush();
            vi.receive.flush();
            self.settle(id);
        }
        Ok(())
    }

    /// It is now so late: requests that have waited long enough end.
    pub(crate) fn tick(&mut self, now: Duration) {
        let Machine { doors, vis, .. } = self;
        let mut late = Vec::new();
        doors.waiting.retain(|id| {
            let phase = vis.get(id.0).and_then(|vi| vi.link.as_ref()).map(|link| &link.phase);
            let (Some(Phase::Asking(until)) | Some(Phase::Awaiting { until, .. })) = phase else {
                return false;
            };
            let is_late = until.is_some_and(|until| until <= now);
            late.extend(is_late.then_some(*id));
            !is_late
        });
        for id in late {
            if let Some(link) = self.vis.get(id.0).and_then(|vi| vi.link.as_ref())
                && let Phase::Asking(_) = link.phase
            {
                let (rank, link) = (link.rank, link.own);
                send(&mut self.out, rank, &Packet::Cancel { link });
            }
            self.attempt_failed(id, ViaError::Timeout);
        }
    }

    /// Ranks that VIs or requests of this rank are connected with.
    pub(crate) fn ranks(&self) -> impl Iterator<Item = u32> {
        let linked = self.vis.iter().filter_map(|(_, vi)| vi.link.as_ref()).map(|link| link.rank);
        linked.chain(self.doors.requests.iter().map(|(_, request)| request.from)).chain(self.asked())
    }

    /// A rank has left: nothing comes from it any more.
    pub(crate) fn rank_gone(&mut self, rank: u32) {
        let of = |incoming: &Incoming| incoming.from == rank;
        self.doors.peers.retain(|p| !of(p));
        self.doors.requests.retain(|r| !of(r));
        self.answers_no_more(rank);
        let ends: Vec<(u32, bool)> = self
            .vis
            .iter()
            .filter_map(|(id, vi)| Some((id, vi.link.as_ref().filter(|link| link.rank == rank)?)))
            .map(|(id, link)| (id, link.phase == Phase::Open))
            .collect();
        for (id, open) in ends {
            match open {
                true => self.break_link(ViId(id), None),
                false => self.attempt_failed(ViId(id), ViaError::Gone),
            }
        }
    }

    /// Listeners and requests of a NIC handle end.
    pub(super) fn close_doors(&mut self, nic: NicId) {
        let of = |listener: &Listener| listener.nic == nic;
        let gone: Vec<u32> =
            self.doors.listeners.iter().filter(|(_, l)| of(l)).map(|(number, _)| number).collect();
        gone.into_iter().for_each(|number| self.unlisten(ListenerId(number)));
        let gone: Vec<u32> = self
            .doors
            .requests
            .iter()
            .filter(|(_, r)| r.nic == Some(nic))
            .map(|(number, _)| number)
            .collect();
        gone.into_iter().for_each(|number| self.refuse(RequestId(number), ViaError::NoMatch));
    }

    /// A packet that belongs to no open connection.
    pub(super) fn handle_connect(&mut self, from: u32, packet: Packet) -> bool {
        match packet {
            Packet::Request { link, peer, local, remote, attributes } => {
                if local.rank != from || remote.rank != self.rank {
                    return false;
                }
                self.came(Incoming { from, link, local, remote, attributes, nic: None }, peer);
                return true;
            }
            Packet::Cancel { link } => {
                let is = |r: &Incoming| r.from == from && r.link == link;
                self.doors.peers.retain(|p| !is(p));
                let found = self.doors.requests.iter().find(|(_, r)| is(r)).map(|(number, _)| number);
                return found.is_some_and(|number| self.doors.requests.remove(number).is_some());
            }
            _ => {}
        }
        let (Packet::Accept { link: number, .. }
        | Packet::Refuse { link: number, .. }
        | Packet::Confirm { link: number, .. }
        | Packet::Gone { link: number }) = packet
        else {
            return false;
        };
        let id = self.links.get(number).copied();
        let link = id.and_then(|id| self.vis.get_mut(id.0)?.link.as_mut()).filter(|link| link.rank == from);
        match (packet, link, id) {
            (Packet::Accept { own, attributes, posted, .. }, Some(link), Some(id))
                if matches!(link.phase, Phase::Asking(_)) =>
            {
                (link.theirs, link.remote) = (Some(own), Some(attributes));
                link.learn(posted);
                let posted = link.posted;
                send_to(&mut self.out, link, |link| Packet::Confirm { link, posted });
                self.opened(id);
            }
            (Packet::Accept { own, .. }, None, _) => {
                send(&mut self.out, from, &Packet::Gone { link: own });
                return false;
            }
            (Packet::Refuse { why, .. }, Some(link), Some(id)) if matches!(link.phase, Phase::Asking(_)) => {
                self.attempt_failed(id, why.error());
            }
            (Packet::Confirm { posted, .. }, Some(link), Some(id))
                if matches!(link.phase, Phase::Accepting(_)) =>
            {
                link.learn(posted);
                self.opened(id);
            }
            (Packet::Gone { .. }, Some(link), Some(id)) if matches!(link.phase, Phase::Accepting(_)) => {
                self.attempt_failed(id, ViaError::Timeout);
            }
            _ => return false,
        }
        true
    }

    /// A request has come.
    fn came(&mut self, mut incoming: Incoming, peer: bool) {
        if peer {
            let wants = |link: &Link| {
                matches!(&link.phase, Phase::Awaiting { local, remote, .. }
                    if *local == incoming.remote && *remote == incoming.local)
            };
            let found = self.vis.iter().find(|(_, vi)| vi.link.as_ref().is_some_and(wants)).map(|(id, _)| id);
            match found {
                Some(id) => self.meet(ViId(id), &incoming),
                None => self.doors.peers.push(incoming),
            }
            return;
        }
        let doors = &mut self.doors;
        let listener = doors
            .listeners
            .iter()
            .find(|(_, l)| l.discriminator == incoming.remote.discriminator)
            .map(|(id, _)| id);
        match listener.and_then(|id| doors.listeners.get_mut(id)) {
            Some(listener) => {
                incoming.nic = Some(listener.nic);
                listener.requests.push_back(RequestId(doors.requests.add(incoming)));
            }
            None => {
                let (from, link) = (incoming.from, incoming.link);
                send(&mut self.out, from, &Packet::Refuse { link, why: No::Nobody });
            }
        }
    }
}
