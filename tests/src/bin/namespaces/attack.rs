//! Somebody on the wire who sees what a host sends: sends it again, sends it changed, and sends rubbish in
//! its name.
#![expect(unsafe_code, reason = "packet sockets and a signal handler")]

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

static STOP: AtomicBool = AtomicBool::new(false);

extern "C" fn stop(_: libc::c_int) {
    STOP.store(true, Relaxed);
}

const ETHERNET: usize = 14;
/// Behind an IPv4 header without options.
const UDP: usize = ETHERNET + 20;
const PAYLOAD: usize = UDP + 8;
/// One packet of this many is sent again; more would fill the wire.
const SHARE: u64 = 3;

/// Attacks what passes an interface until it gets SIGTERM; then says how often.
pub fn run(interface: &str) -> ExitCode {
    // SAFETY: the handler only stores to an atomic.
    unsafe { libc::signal(libc::SIGTERM, stop as *const () as libc::sighandler_t) };
    let Some(socket) = open(interface) else {
        eprintln!("attack: {}", std::io::Error::last_os_error());
        return ExitCode::FAILURE;
    };
    let mut kept: Vec<Vec<u8>> = Vec::new();
    let (mut again, mut changed, mut rubbish) = (0u64, 0u64, 0u64);
    let mut generator = fastrand::Rng::with_seed(1);
    let mut random = move || generator.u64(..1 << 31);
    let mut buffer = [0u8; 65536];
    while !STOP.load(Relaxed) {
        // SAFETY: fills in the buffer and the address, up to the lengths given; any bytes are an address.
        let (n, from) = unsafe {
            let mut from: libc::sockaddr_ll = core::mem::zeroed();
            let mut len = size_of_val(&from) as libc::socklen_t;
            let (to, room) = (buffer.as_mut_ptr().cast(), buffer.len());
            (libc::recvfrom(socket, to, room, 0, (&raw mut from).cast(), &raw mut len), from)
        };
        let Ok(n) = usize::try_from(n) else { continue };
        if from.sll_pkttype != libc::PACKET_OUTGOING {
            // To send it from here would tell the bridge that its sender has moved here, which is another
            // attack.
            continue;
        }
        let is_udp = n > PAYLOAD && buffer[12..14] == [8, 0] && buffer[ETHERNET] == 0x45 && buffer[23] == 17;
        if !is_udp || n > 1514 || !random().is_multiple_of(SHARE) {
            continue;
        }
        let mut packet = buffer[..n].to_vec();
        // Without a checksum, so that changed ones are not dropped on the way.
        packet[UDP + 6..UDP + 8].fill(0);
        again += send(socket, &packet);
        if kept.len() < 1000 {
            kept.push(packet.clone());
        } else {
            let old = random() as usize % kept.len();
            again += send(socket, &kept[old]);
            kept[old] = packet.clone();
        }
        let at = PAYLOAD + random() as usize % (n - PAYLOAD).min(64);
        packet[at] ^= 1 << (random() % 8);
        changed += send(socket, &packet);
        packet[PAYLOAD..].iter_mut().for_each(|b| *b = random() as u8);
        rubbish += send(socket, &packet);
    }
    println!("{} datagrams: {again} again, {changed} changed, {rubbish} rubbish", again + changed + rubbish);
    ExitCode::SUCCESS
}

/// A socket that sees all packets of an interface, in both directions, and sends any; it waits no longer than
/// 100 ms.
fn open(interface: &str) -> Option<libc::c_int> {
    let name = std::ffi::CString::new(interface).ok()?;
    let all = u16::to_be(libc::ETH_P_ALL as u16);
    // SAFETY: plain system calls with structures of the sizes that are given.
    unsafe {
        let socket = libc::socket(libc::AF_PACKET, libc::SOCK_RAW, i32::from(all));
        let mut address: libc::sockaddr_ll = core::mem::zeroed();
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = all;
        address.sll_ifindex = libc::if_nametoindex(name.as_ptr()) as i32;
        let wait = libc::timeval { tv_sec: 0, tv_usec: 100_000 };
        let len = size_of_val(&wait) as libc::socklen_t;
        libc::setsockopt(socket, libc::SOL_SOCKET, libc::SO_RCVTIMEO, (&raw const wait).cast(), len);
        let len = size_of_val(&address) as libc::socklen_t;
        (socket >= 0 && libc::bind(socket, (&raw const address).cast(), len) == 0).then_some(socket)
    }
}

/// Puts a packet on the wire; 1 if it went out.
fn send(socket: libc::c_int, packet: &[u8]) -> u64 {
    // SAFETY: a slice is valid for its length.
    let sent = unsafe { libc::send(socket, packet.as_ptr().cast(), packet.len(), libc::MSG_DONTWAIT) };
    u64::from(sent > 0)
}
