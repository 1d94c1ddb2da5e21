//! Addresses of this host, and socket options.
#![expect(unsafe_code, reason = "getifaddrs and setsockopt")]

use std::ffi::CStr;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::os::fd::AsRawFd;

/// Whether the kernel may return datagrams of one sender that arrived together as one.
pub fn merge_arriving(socket: &UdpSocket, on: bool) {
    let on = libc::c_int::from(on);
    // SAFETY: passes an integer by address. Older kernels do not know the option: datagrams then come one by
    // one.
    unsafe {
        let len = size_of_val(&on) as libc::socklen_t;
        libc::setsockopt(socket.as_raw_fd(), libc::SOL_UDP, libc::UDP_GRO, (&raw const on).cast(), len);
    }
}

/// An address of this host.
#[derive(Debug, Clone)]
pub struct Interface {
    /// Name of the interface that has it.
    pub name: String,
    /// The address.
    pub address: IpAddr,
    /// Whether it reaches only this host.
    pub loopback: bool,
}

/// The addresses of the interfaces that are up.
pub fn interfaces() -> Vec<Interface> {
    let mut list: *mut libc::ifaddrs = core::ptr::null_mut();
    let mut all = Vec::new();
    // SAFETY: getifaddrs makes a list, which freeifaddrs frees; its entries are valid in between, an address
    // has the type that its family says, and names are NUL-terminated.
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
                let name = CStr::from_ptr(e.ifa_name).to_string_lossy().into_owned();
                all.push(Interface { name, address, loopback: flags & libc::IFF_LOOPBACK != 0 });
            }
        }
        libc::freeifaddrs(list);
    }
    all
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
