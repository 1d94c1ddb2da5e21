//! All environment settings that this crate reads.

use gasnet_wire::config::{Reader, parse_size};

/// The values of the settings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// `CAF_HEAP`: most bytes for coarrays of an image.
    pub heap: Option<u64>,
}

impl Settings {
    /// Reads the environment.
    ///
    /// # Errors
    /// A value that is not understood; the text names the variable and the values it accepts.
    pub fn from_env() -> Result<Settings, String> {
        Settings::from_lookup(|name| Some(std::env::var_os(name)?.to_string_lossy().into_owned()))
    }

    /// Reads settings from any source. The error names the variable and the values it accepts.
    fn from_lookup(get: impl Fn(&str) -> Option<String>) -> Result<Settings, String> {
        let env = Reader::of(gasnet_settings::caf::SETTINGS, &get);
        let heap = env.read("CAF_HEAP", |v| parse_size(v).filter(|n| *n > 0)).map_err(|e| e.to_string())?;
        Ok(Settings { heap })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        let with = |value: &str| Settings::from_lookup(|n| (n == "CAF_HEAP").then(|| value.into()));
        assert_eq!(with("64M").unwrap().heap, Some(64 << 20));
        assert_eq!(Settings::from_lookup(|_| None).unwrap(), Settings::default());
        let e = with("lots").unwrap_err();
        assert!(e.starts_with("CAF_HEAP=lots"), "{e}");
    }
}
