//! The resources and limits of this process and this host.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// A limited resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limited {
    /// Bytes of addresses (`ulimit -v`).
    Addresses,
    /// Bytes of a file (`ulimit -f`).
    FileSize,
    /// Processes of the user (`ulimit -u`).
    Processes,
    /// Bytes of locked memory (`ulimit -l`).
    LockedMemory,
}

/// The soft limit of this process on a resource, if there is one.
pub fn limit(of: Limited) -> Option<u64> {
    if cfg!(miri) {
        return None;
    }
    getrlimit(match of {
        Limited::Addresses => Resource::As,
        Limited::FileSize => Resource::Fsize,
        Limited::Processes => Resource::Nproc,
        Limited::LockedMemory => Resource::Memlock,
    })
    .current
}

/// The limit on open descriptors: (soft, hard).
pub type FileLimit = (u64, u64);

/// Raises the soft limit on open descriptors to at least `wanted`, as far as the hard limit allows; returns
/// the old limits.
pub fn raise_file_limit(wanted: u64) -> FileLimit {
    let limit = getrlimit(Resource::Nofile);
    let (soft, hard) = (limit.current.unwrap_or(u64::MAX), limit.maximum.unwrap_or(u64::MAX));
    if soft < wanted {
        set_file_limit((wanted.min(hard), hard));
    }
    (soft, hard)
}

/// Sets the limits on open descriptors.
pub fn set_file_limit((soft, hard): FileLimit) {
    let finite = |n| (n != u64::MAX).then_some(n);
    // If it fails the old limit stays, which is harmless.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: finite(soft), maximum: finite(hard) });
}

/// Bytes that are free in the file system of a folder.
pub fn free_space(folder: &str) -> io::Result<u64> {
    let space = rustix::fs::statvfs(folder)?;
    Ok(space.f_bavail * space.f_frsize)
}

/// Physical memory of this host in bytes.
pub fn physical_memory() -> u64 {
    if cfg!(miri) {
        return 1 << 34;
    }
    let info = rustix::system::sysinfo();
    // The type of `totalram` is as wide as a pointer.
    (info.totalram as u64).saturating_mul(u64::from(info.mem_unit.max(1)))
}

/// Whether this process belongs to the superuser.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_on_files_is_raised_as_far_as_it_may_be() {
        let (soft, hard) = raise_file_limit(0);
        assert!(soft <= hard);
        raise_file_limit(soft + 1);
        assert_eq!(raise_file_limit(0), (hard.min(soft + 1), hard));
        set_file_limit((soft, hard));
        assert_eq!(raise_file_limit(0), (soft, hard));
    }

    #[test]
    fn the_host_has_as_much_memory_as_it_says_elsewhere() {
        let text = std::fs::read_to_string("/proc/meminfo").unwrap();
        let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:")).unwrap();
        let kib: u64 = total.trim().trim_end_matches("kB").trim().parse().unwrap();
        assert_eq!(physical_memory() >> 20, kib >> 10);
    }
}
