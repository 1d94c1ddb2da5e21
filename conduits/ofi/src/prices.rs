//! What the ways to registered local memory cost, and which is taken: chosen by measurement.
//!
//! Where a provider reaches registered memory only, a transfer from memory of the program outside the segment has three ways: it is
//! copied through buffers that are registered (*bounce*); it is registered for its time, which a cache of the provider's may make cheap
//! (*provider*); or what was registered is kept (*firehose*, see [`crate::pins`]). At start each is tried on the same memory, again and again, as
//! programs use theirs; the cheapest at [`LARGE`] is taken. Small transfers are copied as far as that is cheaper than the way taken.

use gasnet::config::OfiRegistration;

/// Bytes that are tried; the last but one decides.
pub(crate) const SIZES: [usize; 6] = [1 << 10, 2 << 10, 4 << 10, 8 << 10, 16 << 10, LARGE];
/// What counts as large.
pub(crate) const LARGE: usize = 256 << 10;

/// A way to registered memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Bounce,
    Firehose,
    Provider,
}

/// Nanoseconds of a transfer's memory, by size; `None` for a way that there is not.
#[derive(Debug, Clone, Default)]
pub(crate) struct Prices {
    pub(crate) copy: [f64; SIZES.len()],
    pub(crate) firehose: Option<[f64; SIZES.len()]>,
    pub(crate) provider: Option<[f64; SIZES.len()]>,
}

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Choice {
    pub(crate) way: Way,
    /// Bytes of the largest transfer that is copied whatever the way.
    pub(crate) copies: usize,
}

impl Prices {
    /// Chooses; `Err` says why what the user wants cannot be.
    pub(crate) fn choose(&self, wanted: OfiRegistration) -> Result<Choice, &'static str> {
        let last = SIZES.len() - 1;
        let of = |way| match way {
            Way::Bounce => Some(self.copy),
            Way::Firehose => self.firehose,
            Way::Provider => self.provider,
        };
        let way = match wanted {
            OfiRegistration::Bounce => Way::Bounce,
            OfiRegistration::Firehose if self.firehose.is_none() => {
                return Err(
                    "memory cannot be kept registered: the kernel gives no userfaultfd to hear of unmapped memory by \
                            (vm.unprivileged_userfaultfd=1 allows it), or too little may be locked (ulimit -l); \
                            GASNET_OFI_REGISTRATION=auto takes another way",
                );
            }
            OfiRegistration::Firehose => Way::Firehose,
            OfiRegistration::Provider => Way::Provider,
            // At the same price the one that needs least.
            OfiRegistration::Auto => [Way::Provider, Way::Firehose, Way::Bounce]
                .into_iter()
                .filter_map(|way| Some((way, of(way)?[last])))
                .min_by(|a, b| a.1.total_cmp(&b.1))
                .map_or(Way::Bounce, |(way, _)| way),
        };
        let taken = of(way).unwrap_or(self.copy);
        let small = &SIZES[..last];
        let dear = small.iter().zip(taken).zip(self.copy).find(|((_, taken), copy)| copy > taken);
        let copies = match dear {
            // All of the small ones.
            None => small[last - 1],
            Some(((size, _), _)) => size / 2,
        };
        Ok(Choice { way, copies: if way == Way::Bounce { small[last - 1] } else { copies } })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(fixed: f64, of_kib: f64) -> [f64; SIZES.len()] {
        SIZES.map(|size| fixed + of_kib * size as f64 / 1024.0)
    }

    #[test]
    fn the_cheapest_is_taken() {
        let copy = line(5.0, 50.0);
        // A cache of the provider's: 180 ns.
        let mut prices = Prices { copy, provider: Some(line(180.0, 0.0)), firehose: Some(line(150.0, 10.0)) };
        let choose = |prices: &Prices, wanted| prices.choose(wanted);
        assert_eq!(choose(&prices, OfiRegistration::Auto), Ok(Choice { way: Way::Provider, copies: 2048 }));
        assert_eq!(
            choose(&prices, OfiRegistration::Firehose),
            Ok(Choice { way: Way::Firehose, copies: 2048 })
        );
        // None: microseconds a page.
        prices.provider = Some(line(4000.0, 75.0));
        assert_eq!(choose(&prices, OfiRegistration::Auto), Ok(Choice { way: Way::Firehose, copies: 2048 }));
        assert_eq!(
            choose(&prices, OfiRegistration::Provider),
            Ok(Choice { way: Way::Provider, copies: 16384 })
        );
        // Nobody tells of unmapped memory.
        prices.firehose = None;
        assert_eq!(choose(&prices, OfiRegistration::Auto), Ok(Choice { way: Way::Bounce, copies: 16384 }));
        assert!(choose(&prices, OfiRegistration::Firehose).unwrap_err().contains("userfaultfd"));
    }

    #[test]
    fn memory_that_is_registered_at_once_is_never_copied_for_long() {
        let free = Prices { copy: line(5.0, 50.0), provider: Some([1.0; SIZES.len()]), firehose: None };
        assert_eq!(free.choose(OfiRegistration::Auto), Ok(Choice { way: Way::Provider, copies: 512 }));
    }
}
