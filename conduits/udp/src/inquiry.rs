//! Asks the system of a peer's host whether a silent peer still exists.
//!
//! A peer that is stopped, or has no processor, is silent and still alive. Its host's system can answer for
//! it: it refuses datagrams for a port that no process has. So two datagrams are sent, one to the peer's own
//! port and one to a *refusing* port beside it, which the peer's process keeps others from having and takes
//! no datagrams at. If the peer's port is refused, its process is gone. If the other port is refused and the
//! peer's is not, the host and the process exist, and no firewall drops what is for such ports. If neither is
//! refused, the host is gone, unreachable, or does not answer such datagrams.

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
}

/// An inquiry under way.
#[derive(Debug)]
pub(crate) struct Inquiry {
    process: UdpSocket,
    host: UdpSocket,
    asked: bool,
    refused: bool,
}

impl Inquiry {
    /// Asks about the peer at this address, which has also that refusing port.
    pub(crate) fn new(own: SocketAddr, peer: SocketAddr, refusing: u16) -> std::io::Result<Inquiry> {
        let to = |port| {
            let socket = UdpSocket::bind((own.ip(), 0))?;
            socket.connect(SocketAddr::new(peer.ip(), port))?;
            socket.set_nonblocking(true)?;
            Ok::<UdpSocket, std::io::Error>(socket)
        };
        Ok(Inquiry { process: to(peer.port())?, host: to(refusing)?, asked: false, refused: false })
    }

    /// Reads answers, and asks. A host may answer late. The answer about the peer's port must have had as
    /// much time as the one about the other port, so it is read second.
    pub(crate) fn look(&mut self) -> Finding {
        let refused = |socket: &UdpSocket| {
            let said = |r: std::io::Result<usize>| r.is_err_and(|e| e.kind() == ErrorKind::ConnectionRefused);
            said(socket.recv(&mut [0; 8])) || said(socket.send(&QUESTION))
        };
        if refused(&self.process) {
            return Finding::Gone;
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
    use crate::socket::Socket;
    use std::net::{IpAddr, Ipv4Addr};

    fn find(peer: SocketAddr, refusing: u16) -> Finding {
        let own = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let mut inquiry = Inquiry::new(own, peer, refusing).unwrap();
        for _ in 0..1000 {
            match inquiry.look() {
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
        assert_eq!(find(address, refusing), Finding::There);
        assert!(UdpSocket::bind((Ipv4Addr::LOCALHOST, refusing)).is_err());
        drop(socket);
        assert_eq!(find(address, refusing), Finding::Gone);
    }

    /// An address from a network for documentation, which no host has (RFC 5737); this host cannot reach it
    /// from its loop-back.
    #[test]
    fn of_a_host_that_does_not_answer_nothing_is_known() {
        let own = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let Ok(mut inquiry) = Inquiry::new(own, SocketAddr::from(([192, 0, 2, 1], 9)), 10) else { return };
        for _ in 0..20 {
            assert_eq!(inquiry.look(), Finding::Unknown);
        }
    }
}
