//! Random numbers.
#![expect(unsafe_code, reason = "functions of the C library")]

use std::io::{Error, ErrorKind};

/// 64 random bits. They come by the C library's function, which is another one in ranks that are simulated or
/// recorded: their numbers follow from a seed.
///
/// # Panics
/// The system has no random bytes. Linux from 3.17 on always has.
pub fn random() -> u64 {
    let mut bytes = [0u8; 8];
    // SAFETY: so many bytes to write to.
    fill(&mut bytes, |rest| unsafe { libc::getrandom(rest.as_mut_ptr().cast(), rest.len(), 0) });
    u64::from_ne_bytes(bytes)
}

/// Fills memory with random bytes of the system, which no seed foretells: for the keys of a network. A rank
/// that is replayed has no network, so these take nothing from the sequence of [`random`].
///
/// # Panics
/// As [`random`].
pub fn fill_with_secret(bytes: &mut [u8]) {
    fill(bytes, |rest| {
        // SAFETY: so many bytes to write to.
        unsafe { libc::syscall(libc::SYS_getrandom, rest.as_mut_ptr(), rest.len(), 0) as isize }
    });
}

/// `some` fills the begin of memory, and returns how much.
fn fill(bytes: &mut [u8], some: impl Fn(&mut [u8]) -> isize) {
    let mut filled = 0;
    while filled < bytes.len() {
        match usize::try_from(some(&mut bytes[filled..])) {
            Ok(n) => filled += n,
            Err(_) => {
                let why = Error::last_os_error();
                assert!(why.kind() == ErrorKind::Interrupted, "getrandom: {why}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_numbers_differ() {
        assert_ne!(random(), random());
        let mut secret = [[0; 20]; 2];
        secret.iter_mut().for_each(|bytes| fill_with_secret(bytes));
        assert_ne!(secret[0], secret[1]);
    }
}
