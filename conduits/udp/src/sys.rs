//! Three system calls that have no safe wrapper elsewhere.
#![expect(unsafe_code, reason = "system calls")]

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::os::fd::AsRawFd;

/// Turns off what the kernel reports with every datagram and nobody here reads (time, destination, class): together it costs
/// a tenth of a round trip.
pub(crate) fn report_nothing(socket: &UdpSocket) {
    let off: libc::c_int = 0;
    for (level, option) in [
        (libc::SOL_SOCKET, libc::SO_TIMESTAMPNS),
        (libc::IPPROTO_IP, libc::IP_PKTINFO),
        (libc::IPPROTO_IP, libc::IP_RECVTOS),
        (libc::IPPROTO_IPV6, libc::IPV6_RECVPKTINFO),
        (libc::IPPROTO_IPV6, libc::IPV6_RECVTCLASS),
    ] {
        // SAFETY: passes an integer by address; options of the other family fail, which is as good.
        unsafe {
            let len = size_of_val(&off) as libc::socklen_t;
            libc::setsockopt(socket.as_raw_fd(), level, option, (&raw const off).cast(), len);
        }
    }
}

/// An address of this host.
#[derive(Debug, Clone)]
pub(crate) struct Interface {
    pub(crate) name: String,
    pub(crate) address: IpAddr,
    pub(crate) loopback: bool,
}

/// The addresses of the interfaces that are up.
pub(crate) fn interfaces() -> Vec<Interface> {
    let mut list: *mut libc::ifaddrs = core::ptr::null_mut();
    let mut all = Vec::new();
    // SAFETY: fills in a list that freeifaddrs takes back; its entries are valid in between, an address has the type that its
    // family says, and names are NUL-terminated.
    unsafe {
        if libc::getifaddrs(&raw mut list) != 0 {
            return all;
        }
        let mut entry = list;
        while let Some(e) = entry.as_ref() {
            entry = e.ifa_next;
            let flags = e.ifa_flags as libc::c_int;
            let Some(address) = e.ifa_addr.as_ref() else { continue };
            let address = match libc::c_int::from(address.sa_family) {
                libc::AF_INET => {
                    let v4 = e.ifa_addr.cast::<libc::sockaddr_in>().read_unaligned();
                    IpAddr::V4(Ipv4Addr::from(u32::from_be(v4.sin_addr.s_addr)))
                }
                libc::AF_INET6 => {
                    let v6 = e.ifa_addr.cast::<libc::sockaddr_in6>().read_unaligned();
                    IpAddr::V6(Ipv6Addr::from(v6.sin6_addr.s6_addr))
                }
                _ => continue,
            };
            if flags & libc::IFF_UP != 0 {
                let name = core::ffi::CStr::from_ptr(e.ifa_name).to_string_lossy().into_owned();
                all.push(Interface { name, address, loopback: flags & libc::IFF_LOOPBACK != 0 });
            }
        }
        libc::freeifaddrs(list);
    }
    all
}

/// Starts a thread that takes no signals: those are for the program's own.
pub(crate) fn spawn_without_signals(name: &str, body: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    // SAFETY: plain system calls on local signal sets; the mask is put back before anything else happens.
    unsafe {
        let mut all: libc::sigset_t = core::mem::zeroed();
        let mut before: libc::sigset_t = core::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
        let spawned = std::thread::Builder::new().name(name.into()).stack_size(256 << 10).spawn(body);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, core::ptr::null_mut());
        spawned.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loop_back_has_its_address() {
        let all = interfaces();
        assert!(
            all.iter().any(|i| i.loopback && i.name == "lo" && i.address == Ipv4Addr::LOCALHOST),
            "{all:?}"
        );
    }
}
