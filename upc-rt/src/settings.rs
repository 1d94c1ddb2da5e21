//! Settings read from the environment: everything this crate reads is here.

use gasnet::config::{parse_flag, parse_size};

/// What the environment says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// `UPC_SHARED_HEAP_SIZE`: bytes of shared heap per thread (a bare number counts MiB).
    pub heap: Option<u64>,
    /// `UPC_BARRIER_MISMATCH_WARNS`: a barrier mismatch is a warning, not an error.
    pub mismatch_warns: bool,
}

impl Settings {
    /// Reads settings from any source. The error names the variable and what it takes.
    pub fn from_lookup(get: impl Fn(&str) -> Option<String>) -> Result<Settings, String> {
        let get = |name: &str| get(name).map(|v| v.trim().to_string()).filter(|v| !v.is_empty());
        let flag = |name: &str| match get(name) {
            None => Ok(false),
            Some(v) => {
                parse_flag(&v).ok_or_else(|| format!("{name}={v}: not understood; it takes yes or no"))
            }
        };
        let heap = match get("UPC_SHARED_HEAP_SIZE") {
            None => None,
            Some(v) => Some(heap_size(&v).ok_or_else(|| {
                format!("UPC_SHARED_HEAP_SIZE={v}: not understood; it takes a size per thread such as 64, 64MB or 2GB")
            })?),
        };
        Ok(Settings { heap, mismatch_warns: flag("UPC_BARRIER_MISMATCH_WARNS")? })
    }
}

/// A size whose unit is MiB unless it names one.
fn heap_size(v: &str) -> Option<u64> {
    // The upcc and upcrun options mark the offset part of old settings with a slash; it has no meaning here.
    let v = v.split('/').next().unwrap_or(v).trim();
    let bare = v.chars().all(|c| c.is_ascii_digit() || c == '.');
    parse_size(&if bare { format!("{v}M") } else { v.to_string() }).filter(|n| *n > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let e = Settings::from_lookup(|n| (n == "UPC_SHARED_HEAP_SIZE").then(|| "lots".into())).unwrap_err();
        assert!(e.starts_with("UPC_SHARED_HEAP_SIZE=lots"), "{e}");
    }

    #[test]
    fn flags_default_to_no() {
        assert_eq!(Settings::from_lookup(|_| None).unwrap(), Settings::default());
        let yes =
            Settings::from_lookup(|n| (n == "UPC_BARRIER_MISMATCH_WARNS").then(|| "yes".into())).unwrap();
        assert!(yes.mismatch_warns);
    }
}
