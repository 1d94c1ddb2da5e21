//! The system calls of all crates of the workspace, behind a safe interface: one thin function each.
//!
//! Calls go through [`rustix`] if it has them, else through `libc`. A function here is safe to call with any
//! arguments; the few that cannot be safe are `unsafe` and state the caller's obligations. Descriptors are
//! owned ([`OwnedFd`]) or borrowed ([`BorrowedFd`]), never numbers, and every descriptor made here is
//! close-on-exec.
//!
//! Errors are [`std::io::Error`]: the caller explains what a refusal means for a job, and what can be done
//! about it.
//!
//! [`OwnedFd`]: std::os::fd::OwnedFd
//! [`BorrowedFd`]: std::os::fd::BorrowedFd

pub mod clock;
pub mod fd;
pub mod futex;
pub mod limits;
pub mod memory;
pub mod network;
pub mod poll;
pub mod process;
pub mod processors;
pub mod signals;
pub mod stdio;
pub mod thread;

/// 64 random bits.
///
/// # Panics
/// The system has no random bits. Linux from 3.17 on always has.
pub fn random() -> u64 {
    let mut bytes = [0; 8];
    let mut filled = 0;
    while filled < bytes.len() {
        let flags = rustix::rand::GetRandomFlags::empty();
        match rustix::rand::getrandom(&mut bytes[filled..], flags) {
            Ok(n) => filled += n,
            Err(rustix::io::Errno::INTR) => {}
            Err(e) => panic!("getrandom: {e}"),
        }
    }
    u64::from_ne_bytes(bytes)
}

#[cfg(test)]
mod tests {
    #[test]
    fn random_numbers_differ() {
        assert_ne!(super::random(), super::random());
    }
}
