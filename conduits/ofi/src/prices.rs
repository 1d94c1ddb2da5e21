//! The costs of the ways to registered local memory; the way is chosen by measurement.
//!
//! If a provider reaches registered memory only, a transfer from memory of the program outside the segment
//! has three ways. It is copied through registered buffers (*bounce*). It is registered for its duration,
//! which a cache of the provider may make cheap (*provider*). Or earlier registrations are kept (*firehose*,
//! see [`crate::pins`]). At the start each way is tried on the same memory, repeatedly, as programs use
//! theirs, and the cheapest at [`LARGE_BYTES`] is chosen. Small transfers are copied as long as that is
//! cheaper than the chosen way.

use gasnet_settings::ofi::Registration;

/// Sizes that are measured, in bytes; the last decides, the others find the largest copied transfer.
pub(crate) const MEASURED_BYTES: [usize; 6] = [1 << 10, 2 << 10, 4 << 10, 8 << 10, 16 << 10, LARGE_BYTES];
/// Bytes of a large transfer.
pub(crate) const LARGE_BYTES: usize = 256 << 10;

/// A way to registered memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Bounce,
    Firehose,
    Provider,
}

/// Nanoseconds for a transfer's memory, by size; `None` if the way does not exist.
#[derive(Debug, Clone, Default)]
pub(crate) struct Prices {
    pub(crate) copy: [f64; MEASURED_BYTES.len()],
    pub(crate) firehose: Option<[f64; MEASURED_BYTES.len()]>,
    pub(crate) provider: Option<[f64; MEASURED_BYTES.len()]>,
}

/// The chosen way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Choice {
    pub(crate) way: Way,
    /// Bytes of the largest transfer that is copied in every case.
    pub(crate) copies: usize,
}

impl Prices {
    /// Chooses; `Err` has the reason why the user's choice is impossible.
    pub(crate) fn choose(&self, wanted: Registration) -> Result<Choice, &'static str> {
        let last = MEASURED_BYTES.len() - 1;
        let of = |way| match way {
            Way::Bounce => Some(self.copy),
            Way::Firehose => self.firehose,
            Way::Provider => self.provider,
        };
        let way = match wanted {
            Registration::Bounce => Way::Bounce,
            Registration::Firehose if self.firehose.is_none() => {
                return Err(
                    "memory cannot be kept registered: the kernel gives no userfaultfd to hear of unmapped memory by \
                            (vm.unprivileged_userfaultfd=1 allows it), or too little may be locked (ulimit -l); \
                            GASNET_OFI_REGISTRATION=auto takes another way",
                );
            }
            Registration::Firehose => Way::Firehose,
            Registration::Provider => Way::Provider,
            // At equal cost, the way that needs least.
            Registration::Auto => [Way::Provider, Way::Firehose, Way::Bounce]
                .into_iter()
                .filter_map(|way| Some((way, of(way)?[last])))
                .min_by(|a, b| a.1.total_cmp(&b.1))
                .map_or(Way::Bounce, |(way, _)| way),
        };
        let taken = of(way).unwrap_or(self.copy);
        let small = &MEASURED_BYTES[..last];
        let expensive = small.iter().zip(taken).zip(self.copy).find(|((_, taken), copy)| copy > taken);
        let copies = match expensive {
            // All small transfers are copied.
            None => small[last - 1],
            Some(((size, _), _)) => size / 2,
        };
        Ok(Choice { way, copies: if way == Way::Bounce { small[last - 1] } else { copies } })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(fixed: f64, of_kib: f64) -> [f64; MEASURED_BYTES.len()] {
        MEASURED_BYTES.map(|size| fixed + of_kib * size as f64 / 1024.0)
    }

    #[test]
    fn the_cheapest_is_taken() {
        let copy = line(5.0, 50.0);
        // With a cache of the provider: 180 ns.
        let mut prices = Prices { copy, provider: Some(line(180.0, 0.0)), firehose: Some(line(150.0, 10.0)) };
        let choose = |prices: &Prices, wanted| prices.choose(wanted);
        assert_eq!(choose(&prices, Registration::Auto), Ok(Choice { way: Way::Provider, copies: 2048 }));
        assert_eq!(choose(&prices, Registration::Firehose), Ok(Choice { way: Way::Firehose, copies: 2048 }));
        // Without one: microseconds for each page.
        prices.provider = Some(line(4000.0, 75.0));
        assert_eq!(choose(&prices, Registration::Auto), Ok(Choice { way: Way::Firehose, copies: 2048 }));
        assert_eq!(choose(&prices, Registration::Provider), Ok(Choice { way: Way::Provider, copies: 16384 }));
        // Unmapped memory is not reported.
        prices.firehose = None;
        assert_eq!(choose(&prices, Registration::Auto), Ok(Choice { way: Way::Bounce, copies: 16384 }));
        assert!(choose(&prices, Registration::Firehose).unwrap_err().contains("userfaultfd"));
    }

    #[test]
    fn memory_that_is_registered_at_once_is_never_copied_for_long() {
        let free =
            Prices { copy: line(5.0, 50.0), provider: Some([1.0; MEASURED_BYTES.len()]), firehose: None };
        assert_eq!(free.choose(Registration::Auto), Ok(Choice { way: Way::Provider, copies: 512 }));
    }
}
