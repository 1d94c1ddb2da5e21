//! Asks the system of a peer's host whether a silent peer still exists.
//!
//! A peer that is stopped, or has no processor, is silent and still alive. Its host's system can answer for
//! it: it refuses datagrams for a port that no process has. So two datagrams are sent, one to the peer's own
//! port and one to a *refusing* port beside it, which the peer's process keeps others from having and takes
//! no datagrams at. If the peer's port is refused, its process is gone. If the other port is refused and the
//! peer's is not, the host and the process exist, and no firewall drops what is for such ports. If neither is
//! refused, the host is gone, unreachable, or does not answer such datagrams. A third datagram asks the
//! process itself, at another port ([`crate::answer`]): an answer says that it runs, and is silent at its own
//! port alone.

use crate::answer::Party;
use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};

/// A datagram shorter than a header, which every version of the protocol refuses.
const QUESTION: [u8; 1] = [0];

/// The answer so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Finding {
    /// None yet.
    Unknown,
    /// The process no longer exists.
    Gone,
    /// The process exists.
    There,
    /// The process runs.
    Runs,
}

/// An inquiry under way.
#[derive(Debug)]
pub(crate) struct Inquiry {
    process: UdpSocket,
    host: UdpSocket,
    keeper: UdpSocket,
    peer: u32,
    /// The number of the question to the keeper.
    number: u64,
    asked: bool,
    refused: bool,
}

impl Inquiry {
    /// Asks about a peer; `number` is the number of the question to its keeper.
    pub(crate) fn new(own: SocketAddr, party: &Party, peer: u32, number: u64) -> std::io::Result<Inquiry> {
        let card = &party.cards[peer as usize];
        let to = |port| {
            let socket = UdpSocket::bind((own.ip(), 0))?;
            socket.connect(SocketAddr::new(card.address.ip(), port))?;
            socket.set_nonblocking(true)?;
            Ok::<UdpSocket, std::io::Error>(socket)
        };
        let (process, host) = (to(card.address.port())?, to(card.refusing)?);
        let keeper = to(card.answering)?;
        Ok(Inquiry { process, host, keeper, peer, number, asked: false, refused: false })
    }

    /// Whether the keeper has answered; asks it.
    fn is_answered(&self, party: &Party) -> bool {
        let mut bytes = [0; 64];
        while let Ok(len) = self.keeper.recv(&mut bytes) {
            if party.is_answer(&bytes[..len], self.peer, self.number) {
                return true;
            }
        }
        if let Some(question) = party.question(self.peer, self.number) {
            // It is sent again at the next look.
            let _ = self.keeper.send(&question);
        }
        false
    }

    /// Reads answers, and asks. A host may answer late. The answer about the peer's port must have had as
    /// much time as the one about the other port, so it is read second.
    pub(crate) fn look(&mut self, party: &Party) -> Finding {
        let refused = |socket: &UdpSocket| {
            let said = |r: std::io::Result<usize>| r.is_err_and(|e| e.kind() == ErrorKind::ConnectionRefused);
            said(socket.recv(&mut [0; 8])) || said(socket.send(&QUESTION))
        };
        if refused(&self.process) {
            return Finding::Gone;
        }
        if self.is_answered(party) {
            return Finding::Runs;
        }
        if core::mem::replace(&mut self.asked, true) {
            let before = self.refused;
            self.refused |= refused(&self.host);
            if before {
                return Finding::There;
            }
        }
        Finding::Unknown
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::RankAddress;
    use crate::answer::Answerer;
    use crate::auth::JobKey;
    use crate::socket::Socket;
    use std::net::{IpAddr, Ipv4Addr};

    /// Two ranks; rank 1 has these ports.
    fn parties(peer: SocketAddr, refusing: u16, answering: u16) -> [Party; 2] {
        let card = |address| RankAddress {
            address,
            incarnation: 1,
            share: [1; 16],
            room: 0,
            window: 0,
            full: false,
            refusing,
            answering,
        };
        let cards = [card(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))), card(peer)].into();
        let key = JobKey::from_shares([[1; 16]; 2].iter());
        [0, 1].map(|me| Party { me, key: key.clone(), cards: std::sync::Arc::clone(&cards) })
    }

    fn find(party: &Party, meanwhile: impl Fn()) -> Finding {
        let mut inquiry = Inquiry::new(party.cards[0].address, party, 1, 77).unwrap();
        for _ in 0..1000 {
            meanwhile();
            match inquiry.look(party) {
                Finding::Unknown => std::thread::sleep(std::time::Duration::from_millis(2)),
                found => return found,
            }
        }
        Finding::Unknown
    }

    /// Nothing reads from the socket: its process might be stopped.
    #[test]
    fn a_silent_process_is_there_until_its_socket_is_closed() {
        let socket = Socket::bind(IpAddr::V4(Ipv4Addr::LOCALHOST), None).unwrap();
        let (address, refusing) = (socket.address(), socket.refusing());
        // Of a keeper that is stopped, too.
        let keeper = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let [asker, _] = parties(address, refusing, keeper.local_addr().unwrap().port());
        assert_eq!(find(&asker, || ()), Finding::There);
        assert!(UdpSocket::bind((Ipv4Addr::LOCALHOST, refusing)).is_err());
        drop(socket);
        assert_eq!(find(&asker, || ()), Finding::Gone);
    }

    /// Its own port may be behind a firewall.
    #[test]
    fn a_process_that_answers_runs() {
        let socket = Socket::bind(IpAddr::V4(Ipv4Addr::LOCALHOST), None).unwrap();
        let keeper = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        keeper.set_nonblocking(true).unwrap();
        let port = keeper.local_addr().unwrap().port();
        // The refusing port is one that nobody refuses.
        let [asker, peer] = parties(socket.address(), port, port);
        let answerer = Answerer::new(peer, keeper);
        assert_eq!(find(&asker, || answerer.answer()), Finding::Runs);
    }

    /// An address from a network for documentation, which no host has (RFC 5737); this host cannot reach it
    /// from its loop-back.
    #[test]
    fn of_a_host_that_does_not_answer_nothing_is_known() {
        let [asker, _] = parties(SocketAddr::from(([192, 0, 2, 1], 9)), 10, 11);
        let Ok(mut inquiry) = Inquiry::new(asker.cards[0].address, &asker, 1, 0) else { return };
        for _ in 0..20 {
            assert_eq!(inquiry.look(&asker), Finding::Unknown);
        }
    }
}
