//! Random numbers.
#![expect(unsafe_code, reason = "a function of the C library")]

/// 64 random bits. They come by the C library's function, which is another one in ranks that are simulated or
/// recorded: their numbers follow from a seed.
///
/// # Panics
/// The system has no random bits. Linux from 3.17 on always has.
pub fn random() -> u64 {
    let mut bytes = [0u8; 8];
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
