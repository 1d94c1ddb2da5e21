//! The settings of all crates in one table, for the documentation and for warnings about unknown names.

use gasnet::Error;
use gasnet_decorators::record::Kept;
use gasnet_settings::{c, caf, ofi, upc};
use gasnet_wire::config::{Reader, Setting, setting};

/// The rows of this crate's settings.
pub const SETTINGS: &[Setting] = &[
    setting(
        "GASNET_CONDUIT",
        "smp (default on one host), udp (default on several), mpi, ofi, netvm",
        "Network between ranks that share no memory. netvm simulates a NIC in software for every rank, and \
         uses udp between hosts.",
    ),
    setting(
        "GASNET_PLUGIN_PATH",
        "directories, separated by colons; default none",
        "Directories that are searched first for the conduits mpi and ofi, which are loaded at run time. \
         Libraries in these directories are loaded without a check of their owner. Elsewhere a library and \
         its directory must belong to root or to the owner of the program, and nobody else may have \
         permission to write them.",
    ),
    setting(
        "GASNET_RECORD",
        "path; default none",
        "Folder in which to record what every rank gets from the others: the option of `gasnetrun` is \
         `--record`. Ranks share no memory then.",
    ),
    setting(
        "GASNET_RECORD_ORDER",
        "path; default none",
        "Folder in which to record who came when at every rank: the options of `gasnetrun` are `--record` and \
         `--order`. Ranks share no memory then.",
    ),
    setting(
        "GASNET_SIM_SEED",
        "0..; default what the test says",
        "The one seed with which tests of the crate gasnet-simulate run.",
    ),
    setting(
        "GASNET_SIM_RUNS",
        "1..; default what the test says",
        "Number of seeds with which tests of the crate gasnet-simulate run.",
    ),
];

/// The rows of every crate that this build has, in the order of the documentation.
const ALL: &[&[Setting]] = &[
    gasnet_launch::SETTINGS,
    SETTINGS,
    gasnet_wire::config::SETTINGS,
    gasnet_decorators::SETTINGS,
    gasnet_smp::SETTINGS,
    #[cfg(feature = "udp")]
    gasnet_udp::SETTINGS,
    #[cfg(feature = "netvm")]
    gasnet_netvm::SETTINGS,
    ofi::SETTINGS,
    c::SETTINGS,
    upc::SETTINGS,
    caf::SETTINGS,
];

/// Conduits that this build leaves out and whose rows are not in [`ALL`], each after the first letters of its
/// settings.
const ABSENT: &[(&str, &str)] = &[
    #[cfg(not(feature = "udp"))]
    ("GASNET_UDP_", "udp"),
    #[cfg(not(feature = "netvm"))]
    ("GASNET_NETVM_", "netvm"),
];

/// All settings there are in this build.
pub fn settings() -> impl Iterator<Item = &'static Setting> + Clone {
    ALL.iter().copied().flatten()
}

/// The network that the job is asked to use, if one is named: it is not opened where all ranks share memory.
pub fn wanted() -> Option<String> {
    Settings::read().conduit
}

/// The folder in which the ranks are to be recorded, if one is named, and what is to be recorded.
pub(crate) fn recording() -> Option<(String, Kept)> {
    let env = Reader::environment(SETTINGS);
    gasnet_launch::RECORD_VARIABLES.into_iter().find_map(|(name, kept)| Some((env.text(name)?, kept)))
}

/// The values of the settings of this crate.
#[derive(Debug, Default)]
pub(crate) struct Settings {
    pub(crate) conduit: Option<String>,
    #[cfg(any(feature = "mpi", feature = "ofi"))]
    pub(crate) plugin_path: Option<String>,
}

impl Settings {
    pub(crate) fn read() -> Settings {
        let env = Reader::environment(SETTINGS);
        Settings {
            conduit: env.text("GASNET_CONDUIT").map(|v| v.to_ascii_lowercase()),
            #[cfg(any(feature = "mpi", feature = "ofi"))]
            plugin_path: env.text("GASNET_PLUGIN_PATH"),
        }
    }
}

/// Looks at the settings of all crates but the core's, whether or not this job has a use for them.
pub(crate) fn check() -> Result<(), Error> {
    gasnet_decorators::check_settings()?;
    gasnet_smp::delay_ns()?;
    #[cfg(feature = "udp")]
    gasnet_udp::check_settings()?;
    #[cfg(feature = "netvm")]
    gasnet_netvm::check_settings()?;
    ofi::Settings::read()?;
    c::check()?;
    gasnet_launch::check_settings().map_err(|e| Error::job(e.to_string()))
}

/// Warnings about names in the environment that nobody reads, with the nearest known name.
pub fn unknown_settings() -> Vec<String> {
    warnings(std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()))
}

fn warnings(names: impl Iterator<Item = String>) -> Vec<String> {
    let conduit = |name: &String| ABSENT.iter().find(|(start, _)| name.starts_with(start));
    let (absent, others): (Vec<_>, Vec<_>) = names.partition(|name| conduit(name).is_some());
    let mut warnings = gasnet_wire::config::unknown_names(others.into_iter(), settings());
    warnings.extend(absent.iter().filter_map(|name| {
        let (_, conduit) = conduit(name)?;
        Some(format!("{name} has no effect: this program is built without the conduit {conduit}"))
    }));
    warnings
}

/// The text of `docs/environment.md`.
#[cfg(all(test, feature = "netvm"))]
fn environment_markdown() -> String {
    let mut text = String::from(
        "# Environment\n\nThis page is generated from the tables of all crates; `conduits/src/settings.rs` joins them. \
         A name that starts with `GASNET_` and is not in the table causes a warning; one that starts with `UPC_` or `CAF_`, \
         if it is nearly one in the table.\n\n\
         - A *size* is a number of bytes, or a number with the unit K, M, G or T (powers of 1024). \
         In variables that start with `UPC_` a size without a unit counts MB.\n\
         - A *time* is a number of nanoseconds, or a number with the unit ns, us, ms or s.\n\
         - A setting that takes 0 and 1, or yes and no, also takes on and off, true and false.\n\n\
         | Name | Values | Meaning |\n|---|---|---|\n",
    );
    for s in settings() {
        text.push_str(&format!("| `{}` | {} | {} |\n", s.name, s.values.replace('|', "\\|"), s.meaning));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(feature = "netvm")]
    #[test]
    fn the_document_is_current() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/environment.md");
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(path, environment_markdown()).unwrap();
        }
        let text = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            text == environment_markdown(),
            "docs/environment.md is out of date: UPDATE_DOCS=1 cargo test -p gasnet-conduits"
        );
    }

    #[test]
    fn every_setting_is_declared_once() {
        let mut names: Vec<_> = settings().map(|s| s.name).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }

    #[cfg(not(feature = "netvm"))]
    #[test]
    fn settings_of_a_conduit_that_is_left_out_are_no_mistakes() {
        let said = warnings(["GASNET_NETVM_MEMORY", "GASNET_NEIGHBOURHOOD"].map(String::from).into_iter());
        assert!(said[0].contains("GASNET_NEIGHBORHOOD"), "{said:?}");
        assert_eq!(
            said[1..],
            ["GASNET_NETVM_MEMORY has no effect: this program is built without the conduit netvm"]
        );
    }

    #[cfg(feature = "netvm")]
    #[test]
    fn the_words_of_the_registration_mode_are_its_names() {
        let row = gasnet_netvm::SETTINGS.iter().find(|s| s.name == "GASNET_NETVM_REGISTRATION").unwrap();
        let words: Vec<_> = row.words().collect();
        assert_eq!(words, gasnet_netvm::Registration::ALL.map(gasnet_netvm::Registration::name));
    }
}
