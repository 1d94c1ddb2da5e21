//! Settings: how they are read from the environment, and those of the core.
//!
//! Each crate declares the rows of the settings that it reads. The registry of conduits joins them: for
//! `docs/environment.md`, for `gasnetrun --doctor`, and for a warning about names starting `GASNET_` that are
//! in no table, so that a typo does not pass in silence. `GASNET_TEST_...` belongs to test programs.

use crate::Error;

/// One setting.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// Name of the environment variable.
    pub name: &'static str,
    /// The values that it accepts, and the default.
    pub values: &'static str,
    /// Its effect.
    pub meaning: &'static str,
}

impl Setting {
    /// The words that it takes, if it takes some of a few words.
    pub fn words(&self) -> impl Iterator<Item = &'static str> + use<> {
        let words = self.values.split_once(';').map_or(self.values, |(words, _)| words);
        words.split(", ").map(|word| word.trim_end_matches(" (default)"))
    }
}

/// A row of a table of settings.
pub const fn setting(name: &'static str, values: &'static str, meaning: &'static str) -> Setting {
    Setting { name, values, meaning }
}

/// The settings that the core reads.
pub const SETTINGS: &[Setting] = &[
    setting(
        "GASNET_NEIGHBORHOOD",
        "on (default), off, 1..",
        "Which ranks of a host share memory. `off`: none; everything between them passes through the \
         conduit. A number: groups of at most this many ranks, as if each group were a host.",
    ),
    setting(
        "GASNET_SUPERNODE_MAXSIZE",
        "0 (default), 1..",
        "Largest number of ranks of a host that share memory; 0 is no limit. It is GASNet's name for a \
         number in `GASNET_NEIGHBORHOOD`, and is ignored if that is set.",
    ),
    setting(
        "GASNET_COLL",
        "auto (default), nic",
        "How collective operations on small blocks are carried out. `auto`: the core chooses. `nic`: the \
         NICs do it alone between entry and exit, where the conduit has such NICs (netvm).",
    ),
    setting(
        "GASNET_MAX_SEGSIZE",
        "size: 64M, 2G; default physical memory / ranks of the host",
        "Size of the largest segment that a rank can attach. A fraction such as 0.85 is a share of the \
         physical memory.",
    ),
    setting(
        "GASNET_CHECK",
        "0 (default), 1",
        "Check the calling rules of active messages, locks and barriers at run time.",
    ),
    setting(
        "GASNET_SPIN",
        "0..; default 2000, and 2 when ranks outnumber processors",
        "Number of polls after which a waiting rank starts to give up the processor.",
    ),
    setting(
        "GASNET_PROGRESS",
        "none (default), thread",
        "`thread` starts a thread in every rank that makes progress while the program computes; \
         docs/progress.md says what needs it.",
    ),
    setting(
        "GASNET_STATS",
        "0 (default), 1",
        "Print the counters of the conduit when a rank ends. A program of the crate `pgas` also prints, in one line for each rank, \
         how many calls, sends and far elements it asked for, and how many messages it sent for them. So does a UPC program compiled \
         with `-fupc-aggregate`, of its relaxed writes.",
    ),
    setting(
        "GASNET_CORE",
        "none (default), used",
        "How much of the memory that ranks share a core dump holds. `used`: the pages of segments that hold data, except over netvm. The memory is large \
         where segments are, and every rank of a host that crashes writes it.",
    ),
    setting("GASNET_QUIET", "0 (default), 1", "Print no warnings."),
    setting(
        "GASNET_WAIT_REPORT",
        "seconds; default only when every rank has waited for 10",
        "Wait time after which a report says what every rank waits for, and which rank waits for which. \
         Ranks that wait for each other at different barriers and collective operations end the job without it. \
         The signal `SIGUSR1` to `gasnetrun` prints the report at once.",
    ),
];

/// The settings of one rank, read once at start.
#[derive(Debug, Clone)]
pub struct Config {
    /// `GASNET_NEIGHBORHOOD`: how many ranks of one host share memory at most; 1 for `off`.
    pub neighborhood: u32,
    /// `GASNET_COLL` is `nic`.
    pub coll_nic: bool,
    /// `GASNET_STATS`.
    pub stats: bool,
    /// `GASNET_CORE` is `used`: core dumps hold the used pages of segments.
    pub dump_used: bool,
    /// `GASNET_MAX_SEGSIZE` in bytes.
    pub max_segment: Option<u64>,
    /// `GASNET_CHECK`.
    pub check: bool,
    /// `GASNET_SPIN`.
    pub spin: Option<u32>,
    /// `GASNET_PROGRESS`: whether a thread makes progress.
    pub progress_thread: bool,
    /// `GASNET_QUIET`.
    pub quiet: bool,
    /// `GASNET_WAIT_REPORT` in seconds.
    pub wait_report: Option<u64>,
    /// Not a setting: what the rank does is to follow from what its polls deliver, and not from the time. For
    /// ranks that are recorded or replayed.
    pub repeatable: bool,
    /// Not a setting: how many ranks share the processors of this host, if they are not those of its memory.
    pub sharers: Option<u32>,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            neighborhood: u32::MAX,
            coll_nic: false,
            stats: false,
            dump_used: false,
            max_segment: None,
            check: false,
            spin: None,
            progress_thread: false,
            quiet: false,
            wait_report: None,
            repeatable: false,
            sharers: None,
        }
    }
}

impl Config {
    /// Reads the environment.
    ///
    /// # Errors
    /// A value that cannot be understood: the message names the variable and what it takes.
    pub fn from_env() -> Result<Config, Error> {
        Config::from_lookup(variable)
    }

    /// Reads settings from any source.
    ///
    /// # Errors
    /// As [`Config::from_env`].
    pub fn from_lookup(get: impl Fn(&str) -> Option<String>) -> Result<Config, Error> {
        let env = Reader::of(SETTINGS, &get);
        Ok(Config {
            neighborhood: match (env.text("GASNET_NEIGHBORHOOD"), env.number("GASNET_SUPERNODE_MAXSIZE")?) {
                (None, None | Some(0)) => u32::MAX,
                (None, Some(n)) => u32::try_from(n).unwrap_or(u32::MAX),
                (Some(v), _) => {
                    parse_neighborhood(&v).ok_or_else(|| env.refuse("GASNET_NEIGHBORHOOD", &v))?
                }
            },
            coll_nic: env.word("GASNET_COLL")? == Some("nic"),
            stats: env.flag("GASNET_STATS")?.unwrap_or(false),
            dump_used: env.word("GASNET_CORE")? == Some("used"),
            max_segment: match env.text("GASNET_MAX_SEGSIZE") {
                Some(v) if is_beyond_any_machine(&v) => {
                    return Err(Error::job(format!(
                        "GASNET_MAX_SEGSIZE={v}: larger than any machine's memory"
                    )));
                }
                _ => env.read("GASNET_MAX_SEGSIZE", parse_segsize)?,
            },
            check: env.flag("GASNET_CHECK")?.unwrap_or(false),
            spin: env.number("GASNET_SPIN")?.map(|n| n.min(u64::from(u32::MAX)) as u32),
            progress_thread: env.word("GASNET_PROGRESS")? == Some("thread"),
            quiet: env.flag("GASNET_QUIET")?.unwrap_or(false),
            wait_report: env.number("GASNET_WAIT_REPORT")?,
            repeatable: false,
            sharers: None,
        })
    }
}

/// Reads the settings of one table. An empty value counts as unset. A value that is not understood is
/// refused, with the values that the row lists.
#[derive(Clone, Copy)]
pub struct Reader<'a> {
    rows: &'static [Setting],
    get: &'a dyn Fn(&str) -> Option<String>,
}

impl core::fmt::Debug for Reader<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Reader").field("rows", &self.rows).finish_non_exhaustive()
    }
}

/// A variable. A value that is no UTF-8 is refused like any other invalid value, and not taken for unset.
fn variable(name: &str) -> Option<String> {
    Some(std::env::var_os(name)?.to_string_lossy().into_owned())
}

impl<'a> Reader<'a> {
    /// Of any source.
    pub fn of(rows: &'static [Setting], get: &'a dyn Fn(&str) -> Option<String>) -> Reader<'a> {
        Reader { rows, get }
    }

    /// Of the environment.
    pub fn environment(rows: &'static [Setting]) -> Reader<'static> {
        Reader { rows, get: &variable }
    }

    /// The value as it was given.
    pub fn text(&self, name: &str) -> Option<String> {
        (self.get)(name).map(|v| v.trim().to_string()).filter(|v| !v.is_empty())
    }

    /// The value as `parse` understands it.
    ///
    /// # Errors
    /// It does not.
    pub fn read<T>(&self, name: &str, parse: impl Fn(&str) -> Option<T>) -> Result<Option<T>, Error> {
        self.text(name).map(|v| parse(&v).ok_or_else(|| self.refuse(name, &v))).transpose()
    }

    /// Yes or no.
    ///
    /// # Errors
    /// Neither.
    pub fn flag(&self, name: &str) -> Result<Option<bool>, Error> {
        self.read(name, parse_flag)
    }

    /// A number.
    ///
    /// # Errors
    /// None.
    pub fn number(&self, name: &str) -> Result<Option<u64>, Error> {
        self.read(name, |v| v.parse().ok())
    }

    /// A size in bytes.
    ///
    /// # Errors
    /// None.
    pub fn size(&self, name: &str) -> Result<Option<u64>, Error> {
        self.read(name, parse_size)
    }

    /// A time in nanoseconds.
    ///
    /// # Errors
    /// None.
    pub fn time(&self, name: &str) -> Result<Option<u64>, Error> {
        self.read(name, parse_time)
    }

    /// One of the words that the row has.
    ///
    /// # Errors
    /// Another one.
    pub fn word(&self, name: &str) -> Result<Option<&'static str>, Error> {
        let words = || self.row(name).into_iter().flat_map(Setting::words);
        self.read(name, |v| words().find(|w| w.eq_ignore_ascii_case(v)))
    }

    fn row(&self, name: &str) -> Option<&'static Setting> {
        self.rows.iter().find(|s| s.name == name)
    }

    /// Says that a value is not understood, and what the row takes.
    pub fn refuse(&self, name: &str, value: &str) -> Error {
        let takes = self.row(name).map_or("", |s| s.values);
        Error::job(format!("{name}={value}: not understood; it takes: {takes}"))
    }
}

/// `1`, `yes`, `on`, `true` and their opposites.
pub fn parse_flag(v: &str) -> Option<bool> {
    match v.to_ascii_lowercase().as_str() {
        "1" | "y" | "yes" | "on" | "true" => Some(true),
        "0" | "n" | "no" | "off" | "false" => Some(false),
        _ => None,
    }
}

/// Most ranks in a neighbourhood. `1` is one, and so not `on`.
fn parse_neighborhood(v: &str) -> Option<u32> {
    match (v.parse(), parse_flag(v)) {
        (Ok(n), _) => Some(u32::max(n, 1)),
        (_, Some(on)) => Some(if on { u32::MAX } else { 1 }),
        _ => None,
    }
}

/// A size in bytes: a number with an optional `K`, `M`, `G` or `T` (powers of 1024; `KB`, `KiB` likewise).
pub fn parse_size(v: &str) -> Option<u64> {
    let v = v.trim();
    let digits = v.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(v.len());
    let unit = match v[digits..].trim().to_ascii_lowercase().trim_end_matches("ib").trim_end_matches('b') {
        "" => 1u64,
        "k" => 1 << 10,
        "m" => 1 << 20,
        "g" => 1 << 30,
        "t" => 1 << 40,
        _ => return None,
    };
    if let Ok(n) = v[..digits].parse::<u64>() {
        return n.checked_mul(unit);
    }
    let n = v[..digits].parse::<f64>().ok()? * unit as f64;
    (n.is_finite() && n < 1e18).then_some(n as u64)
}

/// `GASNET_MAX_SEGSIZE` also takes `0.85` (fraction of physical memory) and a `/P` or `/H` suffix, which are
/// read as sizes here.
fn parse_segsize(v: &str) -> Option<u64> {
    let v = v.split('/').next().unwrap_or(v);
    if let Ok(f) = v.parse::<f64>()
        && f > 0.0
        && f < 1.0
    {
        return Some((crate::shm::map::physical_memory() as f64 * f) as u64);
    }
    parse_size(v).filter(|n| *n > 0)
}

/// Whether this is a size that is well written and far too large: beyond what addresses can name.
fn is_beyond_any_machine(v: &str) -> bool {
    let v = v.split('/').next().unwrap_or(v).trim();
    let digits = v.find(|c: char| !c.is_ascii_digit()).unwrap_or(v.len());
    let unit = parse_size(&format!("1{}", &v[digits..]));
    let number = v[..digits].trim_start_matches('0');
    let bytes = number.parse::<u64>().ok().zip(unit).and_then(|(n, unit)| n.checked_mul(unit));
    digits > 0 && unit.is_some() && !number.is_empty() && bytes.is_none_or(|bytes| bytes > 1 << 57)
}

/// A time in nanoseconds: a number with `ns`, `us`, `ms` or `s` (`ns` if none).
pub fn parse_time(v: &str) -> Option<u64> {
    let digits = v.find(|c: char| !c.is_ascii_digit()).unwrap_or(v.len());
    let unit = match v[digits..].trim() {
        "" | "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        _ => return None,
    };
    v[..digits].parse::<u64>().ok()?.checked_mul(unit)
}

/// Prefixes of settings that other software uses as well: their names are doubtful only near a known one.
const SHARED_PREFIXES: [&str; 2] = ["CAF_", "UPC_"];

/// The prefix of a name that is one of ours, and whether it is ours alone.
fn prefix(name: &str) -> Option<(&'static str, bool)> {
    let shared = SHARED_PREFIXES.into_iter().find(|prefix| name.starts_with(prefix));
    if name.starts_with("GASNET_TEST_") {
        return None;
    }
    shared.map(|prefix| (prefix, false)).or_else(|| name.starts_with("GASNET_").then_some(("GASNET_", true)))
}

/// Warnings about `GASNET_*` names that are not among the known ones, with the nearest of these; and about
/// names with the other prefixes that are nearly a known one.
pub fn unknown_names(
    names: impl Iterator<Item = String>,
    known: impl Iterator<Item = &'static Setting> + Clone,
) -> Vec<String> {
    let mut out: Vec<String> = names
        .filter(|n| !known.clone().any(|s| s.name == n))
        .filter_map(|n| {
            let (prefix, own) = prefix(&n)?;
            // The common prefix does not count. A third of the rest may differ, or two letters may have
            // changed places.
            let third = (n.len() - prefix.len()) / 3;
            let most = if own { third.clamp(2, 3) } else { third.clamp(1, 2) };
            let far = |s: &&Setting| strsim::osa_distance(s.name, &n);
            let alike = known.clone().filter(|s| s.name.starts_with(prefix));
            match alike.min_by_key(far).filter(|s| far(s) <= most) {
                Some(s) => Some(format!("unknown setting {n}: did you mean {}?", s.name)),
                None if own => Some(format!(
                    "unknown setting {n} has no effect; docs/environment.md lists the known ones"
                )),
                None => None,
            }
        })
        .collect();
    out.sort();
    out
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn sizes_times_and_flags() {
        assert_eq!(parse_size("64M"), Some(64 << 20));
        assert_eq!(parse_size("1.5 GiB"), Some(3 << 29));
        assert_eq!(parse_size("12"), Some(12));
        assert_eq!(parse_size("12Q"), None);
        assert_eq!(parse_size("99999999999999T"), None);
        assert_eq!(parse_time("20us"), Some(20_000));
        assert_eq!(parse_time("5 min"), None);
        assert_eq!(parse_flag("Yes"), Some(true));
    }

    /// Numbers, units and rubbish put together in every way: parsers answer, and answer in range, whatever
    /// they are given.
    #[test]
    fn any_text_is_handled() {
        let parts = [
            "",
            " ",
            "0",
            "1",
            "7",
            "42",
            "18446744073709551615",
            "99999999999999999999",
            ".",
            ".5",
            "1.5",
            "1e3",
            "-",
            "+",
            "k",
            "K",
            "MB",
            "GiB",
            "tib",
            "ib",
            "b",
            "ns",
            "us",
            "ms",
            "s",
            "/",
            "/P",
            "0.85",
            "inf",
            "nan",
            "yes",
            "oFF",
            "é",
            "\u{0}",
        ];
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..if cfg!(miri) { 30 } else { 200_000 } {
            let count = random.usize(1..5);
            let text: String = (0..count).map(|_| parts[random.usize(..parts.len())]).collect();
            let _ = (parse_flag(&text), parse_time(&text));
            assert!(parse_segsize(&text) != Some(0), "{text}");
            if let (Ok(n), false) = (text.parse::<u64>(), text.starts_with('+')) {
                assert_eq!((parse_size(&text), parse_time(&text)), (Some(n), Some(n)), "{text}");
                assert_eq!(parse_size(&format!("{text}K")), n.checked_mul(1024), "{text}");
                assert_eq!(parse_time(&format!("{text} us")), n.checked_mul(1000), "{text}");
            }
            let settings = Config::from_lookup(|_| Some(text.clone()));
            assert!(settings.is_ok_and(|c| c.max_segment != Some(0)) || !text.trim().is_empty(), "{text}");
        }
    }

    #[test]
    fn a_bad_value_names_the_variable_and_what_it_takes() {
        for (value, most) in [("0", u32::MAX), ("1", 1), ("3", 3)] {
            let c = Config::from_lookup(|n| (n == "GASNET_SUPERNODE_MAXSIZE").then(|| value.into())).unwrap();
            assert_eq!(c.neighborhood, most, "GASNET_SUPERNODE_MAXSIZE={value}");
        }
        let e = Config::from_lookup(|n| (n == "GASNET_NEIGHBORHOOD").then(|| "maybe".into())).unwrap_err();
        assert_eq!(
            e.to_string(),
            "GASNET_NEIGHBORHOOD=maybe: not understood; it takes: on (default), off, 1.."
        );
    }

    #[test]
    fn sizes_beyond_any_machine_are_told_from_nonsense() {
        for (v, says) in [
            ("99999999T", "larger than any machine"),
            ("99999999999999999999999", "larger than any machine"),
            ("99999999999999T", "larger than any machine"),
            ("12Q", "not understood"),
            ("T", "not understood"),
            ("0", "not understood"),
        ] {
            let e = Config::from_lookup(|n| (n == "GASNET_MAX_SEGSIZE").then(|| v.into())).unwrap_err();
            assert!(e.to_string().contains(says), "{v}: {e}");
        }
        let c = Config::from_lookup(|n| (n == "GASNET_MAX_SEGSIZE").then(|| "4096T".into())).unwrap();
        assert_eq!(c.max_segment, Some(1 << 52));
    }

    #[test]
    fn a_typo_is_pointed_out() {
        let w = unknown_names(["GASNET_NEIGHBOURHOOD".into(), "PATH".into()].into_iter(), SETTINGS.iter());
        assert_eq!(w, ["unknown setting GASNET_NEIGHBOURHOOD: did you mean GASNET_NEIGHBORHOOD?"]);
        let swapped = unknown_names(["GASNET_CHEKC".into()].into_iter(), SETTINGS.iter());
        assert_eq!(swapped, ["unknown setting GASNET_CHEKC: did you mean GASNET_CHECK?"]);
        let short = unknown_names(["GASNET_FOO".into()].into_iter(), SETTINGS.iter());
        assert!(short[0].contains("docs/environment.md"), "no other name is near: {short:?}");
        // Other software has names with these prefixes.
        const HEAP: &[Setting] = &[setting("CAF_HEAP", "", "")];
        let names = ["CAF_HEEP", "CAF_FC", "CAF_HEAP", "UPC_NODES"].map(String::from);
        let w = unknown_names(names.into_iter(), HEAP.iter().chain(SETTINGS));
        assert_eq!(w, ["unknown setting CAF_HEEP: did you mean CAF_HEAP?"]);
    }
}
