//! All environment settings that this crate reads.

use gasnet::Error;
use gasnet_wire::config::{Reader, parse_size};

/// The values of the settings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// `UPC_SHARED_HEAP_SIZE`: bytes of shared heap per thread (a bare number counts MiB).
    pub heap: Option<u64>,
    /// `UPC_REQUIRE_SHARED_SIZE`: less heap than requested is an error.
    pub require_size: Option<bool>,
    /// `UPC_SIZE_WARN`: less heap than requested causes a warning.
    pub size_warn: Option<bool>,
    /// `UPC_BARRIER_MISMATCH_WARNS`: a barrier mismatch is a warning, not an error.
    pub mismatch_warns: bool,
    /// `UPC_NO_WARN` or `UPC_QUIET`: no warnings.
    pub quiet: bool,
    /// `UPC_QUIET`: no warnings of the layers below either.
    pub quiet_below: bool,
    /// `UPC_POLITE_SYNC`: waiting threads give up the processor.
    pub polite: bool,
    /// `UPC_LOCKS_RR`: successive locks of a thread are placed on all threads in turn.
    pub locks_in_turn: bool,
    /// `UPC_SHARED_ALLOC_ALIGN`: objects of at least this size start at a multiple of it.
    pub align: u64,
    /// `UPC_STACK_SIZE` in bytes.
    pub stack: Option<u64>,
    /// `UPC_FIRSTTOUCH`: threads touch their static shared data at start.
    pub touch_statics: bool,
    /// `UPC_FORCETOUCH`: threads touch their heap at start.
    pub touch_heap: bool,
    /// `UPC_DEBUG_MALLOC`: malloc fills memory that it returns and takes back.
    pub debug_malloc: bool,
    /// `UPC_FREEZE`: this thread waits for a debugger at start.
    pub freeze: Option<u32>,
    /// `UPC_ABORT`: a fatal error leaves a core file.
    pub abort: bool,
}

impl Settings {
    /// Reads the environment. A value that is not UTF-8 is refused like other invalid ones, not taken for
    /// unset.
    pub fn from_env() -> Result<Settings, String> {
        Settings::from_lookup(|name| Some(std::env::var_os(name)?.to_string_lossy().into_owned()))
    }

    /// Reads settings from any source. The error names the variable and the values it accepts.
    pub fn from_lookup(get: impl Fn(&str) -> Option<String>) -> Result<Settings, String> {
        Settings::read(&Reader::of(gasnet_settings::upc::SETTINGS, &get)).map_err(|error| error.to_string())
    }

    fn read(env: &Reader<'_>) -> Result<Settings, Error> {
        let flag = |name: &str| env.flag(name).map(|v| v.unwrap_or(false));
        // From the time when threads of a process shared memory, and heaps had to be away from other
        // mappings: without effect here, but the values are checked.
        env.read("UPC_SHARED_HEAP_OFFSET", heap_size)?;
        env.number("UPC_PTHREADS_PER_PROC")?;
        let align = |v: &str| parse_size(v).filter(|n| n.is_power_of_two() && *n <= crate::heap::PAGE_BYTES);
        Ok(Settings {
            heap: env.read("UPC_SHARED_HEAP_SIZE", heap_size)?,
            require_size: env.flag("UPC_REQUIRE_SHARED_SIZE")?,
            size_warn: env.flag("UPC_SIZE_WARN")?,
            mismatch_warns: flag("UPC_BARRIER_MISMATCH_WARNS")?,
            quiet: flag("UPC_NO_WARN")? | flag("UPC_QUIET")?,
            quiet_below: flag("UPC_QUIET")?,
            polite: flag("UPC_POLITE_SYNC")?,
            locks_in_turn: flag("UPC_LOCKS_RR")?,
            align: env.read("UPC_SHARED_ALLOC_ALIGN", align)?.unwrap_or(1),
            stack: env.read("UPC_STACK_SIZE", heap_size)?,
            touch_statics: flag("UPC_FIRSTTOUCH")?,
            touch_heap: flag("UPC_FORCETOUCH")?,
            debug_malloc: flag("UPC_DEBUG_MALLOC")?,
            freeze: env.number("UPC_FREEZE")?.map(|n| n.min(u32::MAX.into()) as u32),
            abort: flag("UPC_ABORT")?,
        })
    }
}

/// A size in MiB, unless it has a unit.
fn heap_size(v: &str) -> Option<u64> {
    // Old settings of upcc and upcrun have an offset behind a slash, which is ignored.
    let v = v.split('/').next().unwrap_or(v).trim();
    let bare = v.chars().all(|c| c.is_ascii_digit() || c == '.');
    parse_size(&if bare { format!("{v}M") } else { v.to_string() }).filter(|n| *n > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(name: &str, value: &str) -> Result<Settings, String> {
        Settings::from_lookup(|n| (n == name).then(|| value.into()))
    }

    #[test]
    fn heap_sizes_count_in_mebibytes() {
        for (text, want) in [
            ("64", Some(64 << 20)),
            ("64MB", Some(64 << 20)),
            ("2 GB", Some(2 << 30)),
            ("100k", Some(100 << 10)),
            ("1.5", Some(3 << 19)),
            ("0", None),
            ("lots", None),
        ] {
            assert_eq!(heap_size(text), want, "{text}");
        }
        let e = with("UPC_SHARED_HEAP_SIZE", "lots").unwrap_err();
        assert!(e.starts_with("UPC_SHARED_HEAP_SIZE=lots"), "{e}");
    }

    #[test]
    fn flags_default_to_no() {
        let plain = Settings { align: 1, ..Settings::default() };
        assert_eq!(Settings::from_lookup(|_| None).unwrap(), plain);
        assert!(with("UPC_BARRIER_MISMATCH_WARNS", "yes").unwrap().mismatch_warns);
        assert!(with("UPC_QUIET", "1").unwrap().quiet && with("UPC_NO_WARN", "yes").unwrap().quiet);
        assert_eq!(with("UPC_REQUIRE_SHARED_SIZE", "no").unwrap().require_size, Some(false));
        assert_eq!(with("UPC_FREEZE", "3").unwrap().freeze, Some(3));
        assert_eq!(with("UPC_SHARED_ALLOC_ALIGN", "256").unwrap().align, 256);
        for (name, bad) in [
            ("UPC_SHARED_ALLOC_ALIGN", "3"),
            ("UPC_SHARED_ALLOC_ALIGN", "8192"),
            ("UPC_STACK_SIZE", "high"),
            ("UPC_FREEZE", "me"),
            ("UPC_LOCKS_RR", "maybe"),
            ("UPC_PTHREADS_PER_PROC", "two"),
            ("UPC_SHARED_HEAP_OFFSET", "x"),
        ] {
            assert!(
                with(name, bad).unwrap_err().starts_with(&format!("{name}={bad}: not understood; it takes"))
            );
        }
    }
}
