//! For tests: registers memory as if the provider demanded it, and checks it as a card would.
//!
//! Providers in software accept any memory, registered or not. With `GASNET_TEST_OFI_REGISTER=1` the conduit
//! behaves as with a provider that demands registration (FI_MR_LOCAL), and every operation fails whose memory
//! is not inside the registration it names. With `GASNET_TEST_OFI_REGISTER=pin` a registration also pins its
//! pages, as the driver of a card does: so it costs as much, and is subject to `ulimit -l`. With
//! `GASNET_TEST_OFI_REGISTER=limit:BYTES` no more than that is registered at the same time. Segments do not
//! count in either, because they may be nearly all of memory.
#![expect(unsafe_code, reason = "pins pages")]

use std::collections::BTreeMap;

const NAME: &str = "GASNET_TEST_OFI_REGISTER";

/// The registered memory.
#[derive(Debug, Default)]
pub(crate) struct Checked {
    pin: bool,
    /// The limit on registered bytes, and their number.
    limit: Option<usize>,
    used: usize,
    /// Registrations by region.
    regions: BTreeMap<usize, Registered>,
    /// Registrations by descriptor and region.
    descs: BTreeMap<(usize, usize), (usize, usize)>,
}

/// A registered region.
#[derive(Debug, Clone, Copy)]
struct Registered {
    at: usize,
    len: usize,
    /// The descriptor that operations pass.
    desc: usize,
    /// Whether it is a segment.
    shared: bool,
}

impl Checked {
    pub(crate) fn is_wanted() -> bool {
        std::env::var_os(NAME).is_some()
    }

    pub(crate) fn from_environment() -> Option<Checked> {
        let value = std::env::var_os(NAME)?;
        let limit = value.to_str().and_then(|text| text.strip_prefix("limit:")?.parse().ok());
        Some(Checked { pin: value == "pin", limit, ..Checked::default() })
    }

    /// Records a region; an error if the limit forbids it.
    pub(crate) fn add(
        &mut self,
        region: usize,
        at: usize,
        len: usize,
        desc: usize,
        shared: bool,
    ) -> Result<(), String> {
        if !shared {
            if self.limit.is_some_and(|limit| self.used + len > limit) {
                return Err("the test's limit".to_string());
            }
            // SAFETY: mlock reads and writes no memory of the program.
            if self.pin && unsafe { libc::mlock(at as *const libc::c_void, len) } != 0 {
                return Err(format!("mlock: {}", std::io::Error::last_os_error()));
            }
            self.used += len;
        }
        self.regions.insert(region, Registered { at, len, desc, shared });
        self.descs.insert((desc, region), (at, len));
        Ok(())
    }

    pub(crate) fn remove(&mut self, region: usize) {
        let Some(Registered { at, len, desc, shared }) = self.regions.remove(&region) else { return };
        self.descs.remove(&(desc, region));
        if !shared {
            self.used -= len;
            if self.pin {
                // SAFETY: as above.
                unsafe { libc::munlock(at as *const libc::c_void, len) };
            }
        }
    }

    /// Whether the bytes are inside a registration with this descriptor.
    pub(crate) fn has(&self, at: usize, len: usize, desc: usize) -> bool {
        self.descs
            .range((desc, 0)..=(desc, usize::MAX))
            .any(|(_, (start, size))| *start <= at && at + len <= start + size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_inside_or_not() {
        let mut checked = Checked::default();
        checked.add(1, 4096, 100, 7, false).expect("no limit");
        checked.add(2, 8192, 100, 7, false).expect("no limit");
        assert!(checked.has(4096, 100, 7) && checked.has(8200, 10, 7));
        assert!(!checked.has(4096, 101, 7) && !checked.has(4000, 100, 7), "beyond it");
        assert!(!checked.has(4096, 100, 0), "of another name");
        checked.remove(1);
        assert!(!checked.has(4096, 1, 7) && checked.has(8192, 100, 7));
    }

    #[test]
    fn there_is_a_limit() {
        let mut checked = Checked { limit: Some(100), ..Checked::default() };
        checked.add(1, 4096, 60, 7, false).expect("room");
        checked.add(2, 8192, 1000, 8, true).expect("a segment");
        assert!(checked.add(3, 4096, 41, 9, false).is_err() && !checked.has(4096, 1, 9));
        checked.remove(1);
        checked.add(3, 4096, 100, 9, false).expect("room again");
    }
}
