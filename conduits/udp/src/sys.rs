//! System calls that have no safe wrapper elsewhere.
#![expect(unsafe_code, reason = "system calls")]

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::os::fd::{AsRawFd, BorrowedFd};

/// Lets the kernel hand over datagrams of one sender that arrived together as one, or no longer.
pub(crate) fn merge_arriving(socket: &UdpSocket, on: bool) {
    let on = libc::c_int::from(on);
    // SAFETY: passes an integer by address. Without it, which older kernels do not know, they come one by one.
    unsafe {
        let len = size_of_val(&on) as libc::socklen_t;
        libc::setsockopt(socket.as_raw_fd(), libc::SOL_UDP, libc::UDP_GRO, (&raw const on).cast(), len);
    }
}

/// Gives this thread a table of open files of its own, with these alone. The others of the process, if there is but one, then look
/// files up without counting who uses them, which saves 10 ns a system call. Where the system refuses nothing changes.
pub(crate) fn own_files(keep: &[BorrowedFd<'_>]) {
    let mut keep: Vec<u32> = keep.iter().map(|fd| fd.as_raw_fd() as u32).collect();
    keep.sort_unstable();
    keep.push(1 << 31);
    let (mut from, mut flags) = (0, libc::CLOSE_RANGE_UNSHARE);
    for fd in keep {
        if fd > from {
            // SAFETY: the first call makes the copy that it and the others close files of. Nothing on this thread uses those.
            if unsafe { libc::syscall(libc::SYS_close_range, from, fd - 1, flags) } != 0 {
                return;
            }
            flags = 0;
        }
        from = fd + 1;
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
