//! The socket of a rank: batches of datagrams in and out, and a descriptor to sleep on.

use crate::link::{Batch, LARGE_DATAGRAM_BYTES};
use crate::memory::Memory;
use crate::path::Time;
use crate::settings::Ports;
use crate::wire::{HEADER_BYTES, Packet};
use gasnet_wire::Error;
use quinn_udp::{RecvMeta, Transmit, UdpSocketState};
use rustix::event::epoll;
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendFlags, recv, send, sendmsg_addr, sendto, sockopt};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use std::io::{ErrorKind, IoSlice, IoSliceMut};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Bytes requested for the socket's buffers, where datagrams wait while a rank computes.
const SOCKET_BUFFER_BYTES: usize = 4 << 20;
/// Batches taken in one system call, and bytes of a batch.
const BATCHES_PER_CALL: usize = 32;
const BATCH_BYTES: usize = 65536;
/// Bytes from one buffer to the next: a little more than a batch, so that the starts of buffers do not
/// compete for the same lines of a cache.
const BATCH_STRIDE_BYTES: usize = BATCH_BYTES + 33 * 64;
/// Bytes of a datagram that almost any path carries, and that all do.
pub(crate) const MIN_DATAGRAM_BYTES: usize = 1232;
pub(crate) const LEAST_DATAGRAM_BYTES: usize = 548;
/// After this many single batches in a row, a call asks for several.
const SINGLE_BATCHES_BEFORE_SEVERAL: u32 = 4;
/// After this many lone datagrams in a row, a call asks for one batch.
const LONE_DATAGRAMS_BEFORE_ONE_BATCH: u32 = 64;

/// Bytes of the largest batch that the kernel accepts (IP and UDP headers count).
pub(crate) fn largest_batch(of: &SocketAddr) -> usize {
    if of.is_ipv4() { 65507 } else { 65487 }
}

/// Sizes of datagrams in real networks: any IPv6 network, Ethernet, Ethernet with jumbo frames, the
/// loop-back; before them the size that is known to pass, `least`, if it is smaller.
pub(crate) fn sizes(of: &SocketAddr, least: usize) -> Vec<usize> {
    let headers = if of.is_ipv4() { 28 } else { 48 };
    let known = [1500, 9000, 65535].map(|packet| packet - headers);
    let least = if least < MIN_DATAGRAM_BYTES { vec![least] } else { vec![] };
    least.into_iter().chain([MIN_DATAGRAM_BYTES]).chain(known).collect()
}

/// The ports that ranks have if no others are asked for, in words.
pub(crate) fn system_ports() -> String {
    let range = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    let ends: Vec<&str> = range.split_whitespace().collect();
    if let [low, high] = ends[..] { format!("{low} to {high}") } else { "any".into() }
}

/// A socket at an address, with one of these ports.
pub(crate) fn bind(ip: IpAddr, ports: Option<Ports>) -> Result<UdpSocket, Error> {
    let failed = |e: std::io::Error| Error::Conduit(format!("udp: cannot use the address {ip}: {e}"));
    let Some((low, high)) = ports else { return UdpSocket::bind((ip, 0)).map_err(failed) };
    for port in low..=high {
        match UdpSocket::bind((ip, port)) {
            Err(e) if e.kind() == ErrorKind::AddrInUse => {}
            bound => return bound.map_err(failed),
        }
    }
    Err(Error::Conduit(format!(
        "udp: all ports of GASNET_UDP_PORTS={low}-{high} are in use at {ip}: each rank of a host needs three"
    )))
}

/// Prepares a socket for datagrams that must not be fragmented, and of which none may be there.
pub(crate) fn probing(socket: &UdpSocket) -> Result<(), Error> {
    let failed = |e: std::io::Error| Error::Conduit(format!("udp: cannot set up a socket: {e}"));
    set_fragmenting(socket, &socket.local_addr().map_err(failed)?, false);
    socket.set_nonblocking(true).map_err(failed)
}

/// A socket near the port of another that takes no datagrams of others: the system refuses those, as it does
/// where there is no socket, and nobody else can have the port. See [`crate::inquiry`].
fn decoy(beside: SocketAddr, ports: Option<Ports>) -> Result<UdpSocket, Error> {
    let near = |by: u16| UdpSocket::bind((beside.ip(), beside.port().checked_add(by)?)).ok();
    let next = if ports.is_none() { (1..8).find_map(near) } else { None };
    let socket = next.map_or_else(|| bind(beside.ip(), ports), Ok)?;
    let own = socket.local_addr().and_then(|own| socket.connect(own));
    own.map_err(|e| Error::Conduit(format!("udp: cannot set up a socket at {beside}: {e}")))?;
    Ok(socket)
}

/// A socket beside those of a rank, at which it answers. See [`crate::answer`].
pub(crate) fn answering(ip: IpAddr, ports: Option<Ports>) -> Result<UdpSocket, Error> {
    let socket = bind(ip, ports)?;
    let ready = socket.set_nonblocking(true);
    ready.map_err(|e| Error::Conduit(format!("udp: cannot set up a socket at {ip}: {e}")))?;
    Ok(socket)
}

/// A socket connected to a peer, for sending only.
pub(crate) fn connected(from: IpAddr, to: SocketAddr) -> std::io::Result<UdpSocket> {
    let socket = UdpSocket::bind((from, 0))?;
    socket.connect(to)?;
    set_fragmenting(&socket, &to, false);
    // On one host, the datagrams that the peer has not taken yet count here.
    enlarge_send_buffer(&socket);
    // It receives nothing.
    let _ = sockopt::set_socket_recv_buffer_size(&socket, 0);
    Ok(socket)
}

/// More than the system's limit needs privileges; within it, every user may.
fn enlarge_send_buffer(socket: &UdpSocket) {
    if sockopt::set_socket_send_buffer_size_force(socket, SOCKET_BUFFER_BYTES).is_err() {
        let _ = sockopt::set_socket_send_buffer_size(socket, SOCKET_BUFFER_BYTES);
    }
}

/// Sets whether the network may fragment datagrams.
fn set_fragmenting(socket: &UdpSocket, at: &SocketAddr, may: bool) {
    use sockopt::{Ipv4PathMtuDiscovery as V4, Ipv6PathMtuDiscovery as V6};
    let _ = match at {
        SocketAddr::V4(_) => sockopt::set_ip_mtu_discover(socket, if may { V4::DONT } else { V4::PROBE }),
        SocketAddr::V6(_) => sockopt::set_ipv6_mtu_discover(socket, if may { V6::DONT } else { V6::PROBE }),
    };
}

/// The host's monotonic clock.
#[inline]
pub(crate) fn now() -> Time {
    let t = gasnet_sys::clock::monotonic();
    t.as_secs() * 1_000_000_000 + u64::from(t.subsec_nanos())
}

pub(crate) struct Socket {
    udp: UdpSocket,
    decoy: UdpSocket,
    state: UdpSocketState,
    address: SocketAddr,
    room: usize,
    poll: OwnedFd,
    timer: OwnedFd,
    /// The time that the timer is set to.
    alarm: Option<Time>,
    buffers: Vec<u8>,
    /// Batches that the next call asks for: one while few datagrams come.
    ask: usize,
    /// Bytes of the batch in the first buffer.
    taken: Option<usize>,
    /// Whether large datagrams come, so that their headers are read before they are received.
    large: bool,
    /// The header and the length of a large datagram that waits.
    head: [u8; HEADER_BYTES],
    waiting: Option<usize>,
    /// How many were received with their payloads written to their destinations.
    #[cfg(test)]
    pub(crate) placed: usize,
    /// Successful calls for one batch, in a row; and such calls since the last one for several.
    streak: u32,
    alone: u32,
    /// Whether the kernel merges datagrams that arrived together, which makes each lone datagram 150 ns more
    /// expensive.
    merging: bool,
    /// Whether the network may fragment datagrams.
    fragmenting: bool,
    /// The last error of the kernel while sending.
    complaint: Option<String>,
}

/// The result of sending a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sent {
    Yes,
    /// The kernel has no room: send the same batch again later.
    Later,
}

impl Socket {
    pub(crate) fn bind(ip: IpAddr, ports: Option<Ports>) -> Result<Socket, Error> {
        let udp = bind(ip, ports)?;
        let failed = |what: &str, e: std::io::Error| Error::Conduit(format!("udp: {what} {ip}: {e}"));
        let address = udp.local_addr().map_err(|e| failed("no address of", e))?;
        let decoy = decoy(address, ports)?;
        // The kernel's features are tested on another socket: the test would turn on time stamps for all
        // arriving datagrams, which cannot be turned off again.
        let state = UdpSocket::bind((address.ip(), 0)).and_then(|other| UdpSocketState::new((&other).into()));
        let state = state.map_err(|e| failed("cannot set up a socket at", e))?;
        udp.set_nonblocking(true).map_err(|e| failed("cannot set up a socket at", e))?;
        set_fragmenting(&udp, &address, false);
        // More than the system's limit needs privileges; within it, every user may.
        if sockopt::set_socket_recv_buffer_size_force(&udp, SOCKET_BUFFER_BYTES).is_err() {
            let _ = sockopt::set_socket_recv_buffer_size(&udp, SOCKET_BUFFER_BYTES);
        }
        enlarge_send_buffer(&udp);
        // The kernel counts its own overhead, and doubles the requested size to make up for it.
        let room = sockopt::socket_recv_buffer_size(&udp).unwrap_or(SOCKET_BUFFER_BYTES) / 2;
        let sleep = |e: rustix::io::Errno| failed("no descriptor to wait on for", e.into());
        let poll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(sleep)?;
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)
            .map_err(sleep)?;
        for fd in [udp.as_fd(), timer.as_fd()] {
            epoll::add(&poll, fd, epoll::EventData::new_u64(0), epoll::EventFlags::IN).map_err(sleep)?;
        }
        Ok(Socket {
            udp,
            decoy,
            state,
            address,
            room,
            poll,
            timer,
            alarm: None,
            buffers: vec![0; BATCHES_PER_CALL * BATCH_STRIDE_BYTES],
            ask: 1,
            taken: None,
            large: false,
            head: [0; HEADER_BYTES],
            waiting: None,
            #[cfg(test)]
            placed: 0,
            streak: 0,
            alone: 0,
            merging: false,
            fragmenting: false,
            complaint: None,
        })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// A port of this process at which the system refuses all datagrams.
    pub(crate) fn refusing(&self) -> u16 {
        self.decoy.local_addr().map_or(0, |address| address.port())
    }

    /// Approximate number of bytes that may wait in the socket.
    pub(crate) fn room(&self) -> usize {
        self.room
    }

    pub(crate) fn complaint(&self) -> Option<&str> {
        self.complaint.as_deref()
    }

    /// A descriptor that is readable when something has arrived, or at the time given to [`Socket::ring`].
    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.poll.as_fd()
    }

    /// All descriptors, for a thread that uses no others.
    pub(crate) fn descriptors(&self) -> [BorrowedFd<'_>; 3] {
        [self.udp.as_fd(), self.poll.as_fd(), self.timer.as_fd()]
    }

    /// Makes the descriptor readable at `at`, if it is not earlier than that.
    pub(crate) fn ring(&mut self, now: Time, at: Option<Time>) {
        // A timer that fires once too early is cheaper than setting it before every sleep.
        let stays = match (self.alarm, at) {
            (None, None) => true,
            (Some(alarm), Some(at)) => now < alarm && alarm <= at,
            _ => false,
        };
        if stays {
            return;
        }
        self.alarm = at;
        let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
        let it_value = at.map_or(zero, |at| Timespec {
            tv_sec: (at / 1_000_000_000) as i64,
            // A time of zero would disarm it.
            tv_nsec: (at % 1_000_000_000).max(1) as i64,
        });
        let spec = Itimerspec { it_interval: zero, it_value };
        // It cannot fail with a valid time; if it did, sleeps would last their full length.
        let _ = timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &spec);
    }

    /// Most datagrams in one batch.
    pub(crate) fn segments(&self) -> usize {
        self.state.max_gso_segments()
    }

    /// Allows the network to fragment datagrams.
    pub(crate) fn fragment(&mut self) {
        if !self.fragmenting {
            self.fragmenting = true;
            set_fragmenting(&self.udp, &self.address, true);
        }
    }

    /// Whether a connected socket can send this datagram as well as the other socket, the only one that is
    /// told when the network may fragment datagrams.
    fn may_go_directly(&self, batch: &Batch) -> bool {
        !self.fragmenting || batch.size() <= MIN_DATAGRAM_BYTES
    }

    /// Sends a batch; a single datagram goes through a socket connected to its receiver if there is one.
    /// `lent` is the payload of the batch's only datagram if the batch does not contain it. A datagram that
    /// the kernel refuses counts as lost.
    #[inline]
    pub(crate) fn send(
        &mut self,
        to: SocketAddr,
        direct: Option<&UdpSocket>,
        batch: &Batch,
        lent: Option<IoSlice<'_>>,
    ) -> Sent {
        let sent = if let Some(lent) = lent {
            let parts = [IoSlice::new(batch.bytes()), lent];
            let mut none = SendAncillaryBuffer::default();
            let sent = sendmsg_addr(&self.udp, &to, &parts, &mut none, SendFlags::empty());
            sent.map(drop).map_err(std::io::Error::from)
        } else if let Some(direct) = direct.filter(|_| batch.count() == 1 && self.may_go_directly(batch)) {
            let sent = send(direct, batch.bytes(), SendFlags::DONTWAIT);
            sent.map(drop).map_err(std::io::Error::from)
        } else if batch.count() == 1 {
            let sent = sendto(&self.udp, batch.bytes(), SendFlags::empty(), &to);
            sent.map(drop).map_err(std::io::Error::from)
        } else {
            let transmit = Transmit {
                destination: to,
                ecn: None,
                contents: batch.bytes(),
                segment_size: Some(batch.size()),
                src_ip: None,
            };
            self.state.try_send((&self.udp).into(), &transmit)
        };
        match sent {
            Ok(()) => Sent::Yes,
            Err(e) => self.not_sent(&e),
        }
    }

    #[cold]
    fn not_sent(&mut self, e: &std::io::Error) -> Sent {
        let number = rustix::io::Errno::from_io_error(e);
        // The lent memory cannot be read: the program gets its signal when the payload is copied instead.
        if e.kind() == ErrorKind::WouldBlock || number == Some(rustix::io::Errno::FAULT) {
            return Sent::Later;
        }
        // "Too large" is the expected answer to a try of a size.
        if number != Some(rustix::io::Errno::MSGSIZE) {
            self.complaint = Some(e.to_string());
        }
        Sent::Yes
    }

    /// Whether there may be something to receive.
    #[inline]
    pub(crate) fn peek(&mut self) -> bool {
        if self.ask > 1 || self.taken.is_some() || self.waiting.is_some() {
            return true;
        }
        if self.large {
            return self.look();
        }
        self.receive_one()
    }

    /// [`Socket::peek`] while large datagrams come.
    fn look(&mut self) -> bool {
        let flags = RecvFlags::PEEK | RecvFlags::TRUNC | RecvFlags::DONTWAIT;
        match recv(&self.udp, &mut self.head[..], flags) {
            Ok((_, len)) if len >= LARGE_DATAGRAM_BYTES => {
                self.waiting = Some(len);
                true
            }
            Ok(_) => {
                self.large = false;
                self.receive_one()
            }
            Err(_) => false,
        }
    }

    /// The next datagram, if it is large: its header, and as many bytes as its payload has.
    pub(crate) fn next_large(&mut self) -> Option<Packet<'_>> {
        if !self.large || !self.peek() {
            return None;
        }
        // A word must be stored in one piece ([`gasnet_wire::bytes`]), which the kernel does not promise.
        let payload = self.waiting?.checked_sub(HEADER_BYTES).filter(|len| *len > size_of::<u64>())?;
        Packet::of_parts(&self.head, self.buffers.get(..payload)?).ok()
    }

    /// Receives it with the payload written to an offset of the segment, and returns its header with the same
    /// length; `None` if that is not possible.
    pub(crate) fn receive_put(&mut self, memory: &mut Memory, offset: u64) -> Option<Packet<'_>> {
        let payload = self.waiting? - HEADER_BYTES;
        if !memory.receive_put(&self.udp, &mut self.head, offset, payload) {
            return None;
        }
        self.waiting = None;
        #[cfg(test)]
        {
            self.placed += 1;
        }
        Packet::of_parts(&self.head, &self.buffers[..payload]).ok()
    }

    fn receive_one(&mut self) -> bool {
        // One batch without any report of the kernel costs least. It is a plain system call, because in a
        // process of several threads (the keeper is one) libc adds work for threads that may be cancelled.
        let taken = recv(&self.udp, &mut self.buffers[..BATCH_BYTES], RecvFlags::DONTWAIT);
        self.taken = taken.ok().map(|(_, len)| len);
        if self.taken.is_none() {
            self.streak = 0;
        }
        self.taken.is_some()
    }

    /// Passes on the datagrams that have arrived, some hundreds at most; returns whether there may be more.
    #[inline]
    pub(crate) fn receive(&mut self, take: &mut dyn FnMut(&[u8])) -> bool {
        if !self.peek() || self.waiting.take().is_some() && !self.receive_one() {
            return false;
        }
        let Some(len) = self.taken.take() else { return self.receive_many(take) };
        self.streak += 1;
        if self.streak > SINGLE_BATCHES_BEFORE_SEVERAL {
            (self.streak, self.ask) = (0, 2);
        }
        if self.merging {
            self.alone += 1;
            if self.alone > LONE_DATAGRAMS_BEFORE_ONE_BATCH {
                self.merge(false);
            }
        }
        // All datagrams but the last have the length that is in the first one's header. If that is forged
        // they are lost, and sent again.
        let batch = &self.buffers[..len];
        let size = Packet::length(batch).unwrap_or(len).max(1);
        self.large = size >= LARGE_DATAGRAM_BYTES;
        batch.chunks(size).for_each(take);
        false
    }

    #[cold]
    fn merge(&mut self, on: bool) {
        self.merging = on;
        gasnet_sys::network::merge_arriving(&self.udp, on);
    }

    fn receive_many(&mut self, take: &mut dyn FnMut(&[u8])) -> bool {
        self.alone = 0;
        if !self.merging {
            self.merge(true);
        }
        let mut meta = [RecvMeta::default(); BATCHES_PER_CALL];
        let ask = self.ask;
        let got = {
            let mut chunks = self.buffers.chunks_exact_mut(BATCH_STRIDE_BYTES);
            let mut slices: [IoSliceMut<'_>; BATCHES_PER_CALL] = core::array::from_fn(|_| {
                IoSliceMut::new(&mut chunks.next().expect("there are as many")[..BATCH_BYTES])
            });
            self.state.recv((&self.udp).into(), &mut slices[..ask], &mut meta[..ask])
        };
        let Ok(got) = got else {
            self.ask = 1;
            return false;
        };
        self.large = meta[..got].iter().any(|m| m.stride >= LARGE_DATAGRAM_BYTES);
        for (meta, buffer) in meta.iter().zip(self.buffers.chunks_exact(BATCH_STRIDE_BYTES)).take(got) {
            buffer[..meta.len].chunks(meta.stride.max(1)).for_each(&mut *take);
        }
        // A call for one batch costs least when it is the only one.
        self.ask = match () {
            () if self.large => 1,
            () if got == ask => (ask * 2).min(BATCHES_PER_CALL),
            () => got,
        };
        got == ask
    }
}
