//! For tests: memory registered as if the provider demanded it, and looked at as a card would.
//!
//! Providers in software take any memory, registered or not. With `GASNET_TEST_OFI_REGISTER=1` the conduit behaves as where that is not so
//! (FI_MR_LOCAL), and every operation whose memory is not inside the registration it names fails. With `GASNET_TEST_OFI_REGISTER=pin` a registration
//! pins its pages besides, as the driver of a card does: so it costs what such things cost. Segments are left out, which may be nearly all memory there is.
#![expect(unsafe_code, reason = "pins pages")]

use std::collections::BTreeMap;

const NAME: &str = "GASNET_TEST_OFI_REGISTER";

/// What is registered.
#[derive(Debug, Default)]
pub(crate) struct Checked {
    pin: bool,
    /// By region: address, bytes, and what operations say of it.
    regions: BTreeMap<usize, (usize, usize, usize)>,
    /// By what operations say, and region.
    descs: BTreeMap<(usize, usize), (usize, usize)>,
}

impl Checked {
    pub(crate) fn is_wanted() -> bool {
        std::env::var_os(NAME).is_some()
    }

    pub(crate) fn from_environment() -> Option<Checked> {
        let value = std::env::var_os(NAME)?;
        Some(Checked { pin: value == "pin", ..Checked::default() })
    }

    pub(crate) fn add(&mut self, region: usize, at: usize, len: usize, desc: usize, shared: bool) {
        self.regions.insert(region, (at, len, desc));
        self.descs.insert((desc, region), (at, len));
        if self.pin && !shared {
            // SAFETY: mlock reads and writes no memory of the program.
            unsafe { libc::mlock(at as *const libc::c_void, len) };
        }
    }

    pub(crate) fn remove(&mut self, region: usize) {
        if let Some((at, len, desc)) = self.regions.remove(&region) {
            self.descs.remove(&(desc, region));
            if self.pin {
                // SAFETY: as above.
                unsafe { libc::munlock(at as *const libc::c_void, len) };
            }
        }
    }

    /// Whether the bytes are inside a registration of that name.
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
        checked.add(1, 4096, 100, 7, false);
        checked.add(2, 8192, 100, 7, false);
        assert!(checked.has(4096, 100, 7) && checked.has(8200, 10, 7));
        assert!(!checked.has(4096, 101, 7) && !checked.has(4000, 100, 7), "beyond it");
        assert!(!checked.has(4096, 100, 0), "of another name");
        checked.remove(1);
        assert!(!checked.has(4096, 1, 7) && checked.has(8192, 100, 7));
    }
}
