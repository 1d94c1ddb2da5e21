//! Random numbers.
#![expect(unsafe_code, reason = "a function of the C library")]

/// Fills memory with random bytes. They come by the C library's function, which is another one in ranks that
/// are simulated or recorded: their numbers follow from a seed.
///
/// # Panics
/// The system has no random bytes. Linux from 3.17 on always has.
pub fn fill_with_random(bytes: &mut [u8]) {
    let mut filled = 0;
    while filled < bytes.len() {
        let rest = &mut bytes[filled..];
        // SAFETY: so many bytes to write to.
        let n = unsafe { libc::getrandom(rest.as_mut_ptr().cast(), rest.len(), 0) };
        match usize::try_from(n) {
            Ok(n) => filled += n,
            Err(_) => {
                let why = std::io::Error::last_os_error();
                assert!(why.kind() == std::io::ErrorKind::Interrupted, "getrandom: {why}");
            }
        }
    }
}

/// 64 random bits, as [`fill_with_random`] has them.
///
/// # Panics
/// As [`fill_with_random`].
pub fn random() -> u64 {
    let mut bytes = [0u8; 8];
    fill_with_random(&mut bytes);
    u64::from_ne_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::random;

    #[test]
    fn random_numbers_differ() {
        assert_ne!(random(), random());
    }
}
