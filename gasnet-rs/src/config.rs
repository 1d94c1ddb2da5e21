//! Every setting the runtime reads from the environment, in one table; `docs/environment.md` is generated from it.
//!
//! Names starting `GASNET_` that are not in the table earn a warning from rank 0, so that a typo does not pass in silence;
//! `GASNET_TEST_...` belongs to test programs.

use crate::Error;

/// One setting.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// Name of the environment variable.
    pub name: &'static str,
    /// What it takes, and the default.
    pub values: &'static str,
    /// What it does.
    pub meaning: &'static str,
}

const fn s(name: &'static str, values: &'static str, meaning: &'static str) -> Setting {
    Setting { name, values, meaning }
}

/// All settings, in the order of the documentation.
pub const SETTINGS: &[Setting] = &[
    s("GASNET_PSHM_NODES", "1..1024", "Number of ranks of a program started directly, without `gasnetrun`."),
    s(
        "GASNET_BIND",
        "core (default), none",
        "Placement of ranks started with `GASNET_PSHM_NODES`: a core each if there are enough, or anywhere.",
    ),
    s(
        "GASNET_HOSTS",
        "list: a,b or a:2,b:4",
        "Hosts that `gasnetrun` and `upcrun` use, as with `gasnetrun --hosts`.",
    ),
    s("GASNET_HOSTFILE", "file", "The same from a file, as with `gasnetrun --hostfile`."),
    s(
        "GASNET_SSH",
        "words; default `ssh -x -T -o BatchMode=yes -o ConnectTimeout=10`",
        "What runs a command on another host: it is given the host and the command.",
    ),
    s("GASNET_MPIRUN", "words; default `mpirun`", "What starts programs under the mpi conduit."),
    s(
        "GASNET_CONDUIT",
        "smp (default on one host), udp (default on several), mpi, ofi, netvm",
        "Network to use between hosts. netvm is a NIC in software for every rank; udp joins those of several hosts.",
    ),
    s(
        "GASNET_PLUGIN_PATH",
        "directories, separated by colons",
        "Where to look first for conduits that are loaded at run time: mpi, ofi. What is there is loaded unseen, whoever can write it; elsewhere \
         libraries and their folders must be root's or the program's owner's, and nobody else may be able to write them.",
    ),
    s(
        "GASNET_NEIGHBORHOOD",
        "on (default), off, 1..",
        "`off` sends everything between ranks of one host as frames through the conduit instead of shared memory; a number has \
         only so many ranks of a host share memory, as if it were several hosts.",
    ),
    s(
        "GASNET_COLL",
        "auto (default), nic",
        "How collective operations on small blocks go: as the core chooses, or by the NICs alone, without hosts between entry and exit, where the \
         conduit has such NICs (netvm).",
    ),
    s("GASNET_SMP_DELAY", "time: 0 (default), 500ns, 20us, 1ms", "Delay of every frame of the smp conduit."),
    s(
        "GASNET_FAULTY",
        "list: drop=1%,duplicate=1%,reorder=5%,delay=2%,by=200us,corrupt=1%,seed=7; default none",
        "Faults in the frames of any conduit. Programs stand frames that are reordered or delayed.",
    ),
    s(
        "GASNET_TRACED",
        "path; default none",
        "Write what passes through any conduit to the file `path.RANK`, or `path` with the rank for every `%` in it.",
    ),
    s(
        "GASNET_TRACEFILE",
        "path",
        "As GASNET_TRACED. `GASNET_TRACEMASK`, `GASNET_STATSFILE` and `GASNET_STATSMASK` have no effect.",
    ),
    s("GASNET_TRACEMASK", "letters", "No effect."),
    s("GASNET_STATSFILE", "path", "No effect."),
    s("GASNET_STATSMASK", "letters", "No effect."),
    s(
        "GASNET_UDP_FAULTY",
        "as GASNET_FAULTY",
        "Faults in the datagrams of the udp conduit, which it repairs (corrupted bulk data with GASNET_UDP_AUTH=full).",
    ),
    s(
        "GASNET_UDP_INTERFACE",
        "address or name of an interface; default the loop-back's on one host, else the first that leaves it",
        "Where the udp conduit can be reached.",
    ),
    s(
        "GASNET_UDP_AUTH",
        "messages, full; default full between hosts, messages on one host",
        "What the udp conduit authenticates: all but the bulk data of puts and gets, or all.",
    ),
    s(
        "GASNET_UDP_WINDOW",
        "size: 1M (default); at least two of the largest messages",
        "Messages of each peer and kind that may wait at a rank to be handled (udp conduit).",
    ),
    s(
        "GASNET_UDP_TIMEOUT",
        "time: 20s (default), 0: never",
        "Silence after which the udp conduit asks the system of a peer's host whether the peer is there, and ends the job if it is not or nobody answers.",
    ),
    s(
        "GASNET_NETVM_MEMORY",
        "size: 64M, 1G; default a quarter of the rank's share of memory, at least 64M",
        "Memory that the pages of a rank's segment may take at a time; the others are in a file (netvm conduit).",
    ),
    s(
        "GASNET_NETVM_REGISTRATION",
        "shadow-lock (default), firehose, firehose-over-locks, pin-everything, rendezvous, rendezvous-nounpin, bounce, pindown-cache",
        "How the netvm conduit keeps pages in place during a transfer; docs/netvm-live.md compares the modes.",
    ),
    s(
        "GASNET_NETVM_BACKING",
        "folder; default that of temporary files",
        "Where the netvm conduit puts the file with the pages of segments that have no room in memory.",
    ),
    s(
        "GASNET_NETVM_WIRE",
        "rings (default), network",
        "What joins the NICs of one host in the netvm conduit: rings in shared memory, or the network (udp) that joins those of several.",
    ),
    s(
        "GASNET_OFI_PROVIDER",
        "name: tcp, verbs, ...; default the first that all ranks have of cxi, efa, verbs, ucx, psm3, psm2, psm, opx, tcp, net, udp, shm, sockets",
        "Provider of libfabric that the ofi conduit uses; `fi_info -l` lists them.",
    ),
    s(
        "GASNET_OFI_DOMAIN",
        "name: eth0, mlx5_0, ...; default the provider's first",
        "Network device or interface that the ofi conduit uses; `fi_info` shows them as domains.",
    ),
    s(
        "GASNET_OFI_NATIVE",
        "puts (default), all, none",
        "What the ofi conduit leaves to the provider: puts and gets; atomics, too; or nothing, everything goes by messages. Atomics of a \
         network card need not go together with those of processors: `all` is for programs whose processors leave such words alone.",
    ),
    s(
        "GASNET_OFI_REGISTRATION",
        "auto (default), firehose, provider, bounce",
        "Where a provider of libfabric reaches registered memory only (FI_MR_LOCAL): how the ofi conduit comes by memory of the program outside \
         the segment. What was registered is kept (firehose); the provider is asked each time and may have a cache (provider: FI_MR_CACHE_*); it is \
         copied (bounce); or the one that a measurement at start finds cheapest. \
         `GASNET_STATS=1` says which, and what was measured.",
    ),
    s(
        "GASNET_MAX_SEGSIZE",
        "size: 64M, 2G; default physical memory / ranks of the host",
        "Largest segment a rank can attach.",
    ),
    s("GASNET_CHECK", "0 (default), 1", "Check the calling rules of active messages, locks and barriers."),
    s(
        "GASNET_SPIN",
        "0..; default 2000, and 2 when ranks outnumber processors",
        "Polls of a wait before it starts to give up the processor.",
    ),
    s(
        "GASNET_PROGRESS",
        "none (default), thread",
        "`thread` has every rank make progress while the program computes; docs/progress.md says what needs it.",
    ),
    s("GASNET_STATS", "0 (default), 1", "Print what the conduit has counted when a rank ends."),
    s("GASNET_QUIET", "0 (default), 1", "No warnings."),
    s("GASNET_BACKTRACE", "0 (default), 1", "Print a backtrace on a fatal error (C and UPC programs)."),
    s("GASNET_BACKTRACE_TYPE", "list", "How to make the backtrace (C programs)."),
    s("GASNET_BACKTRACE_SIGNAL", "signal name", "Print a backtrace when this signal arrives (C programs)."),
    s("GASNET_FREEZE", "0 (default), 1", "Wait for a debugger at start (C and UPC programs)."),
    s(
        "GASNET_FREEZE_ON_ERROR",
        "0 (default), 1",
        "Wait for a debugger on a fatal error (C and UPC programs).",
    ),
    s(
        "GASNET_CATCH_EXIT",
        "1 (default), 0",
        "Returning from `main` and `exit` end the job in order (C programs).",
    ),
    s("GASNET_NO_CATCH_SIGNAL", "list of signals, or *", "Signals the runtime leaves alone (C programs)."),
    s("GASNET_VERBOSEENV", "0 (default), 1", "Report settings as they are read (C programs)."),
    s(
        "GASNET_WAIT_REPORT",
        "seconds",
        "Report what all ranks are blocked in, and who waits for whom, when a wait takes longer than this. `SIGUSR1` to `gasnetrun` does it at once.",
    ),
    s(
        "UPC_SHARED_HEAP_SIZE",
        "size: 64 (MB), 64MB, 2GB; default physical memory / ranks of the host",
        "Shared heap of every thread (UPC programs).",
    ),
    s(
        "UPC_REQUIRE_SHARED_SIZE",
        "yes (default unless linked with -norequire-size), no",
        "Whether it is an error if there is less shared heap than was asked for (UPC programs).",
    ),
    s(
        "UPC_SIZE_WARN",
        "yes (default unless linked with -nosize-warn), no",
        "Warn if there is less shared heap than was asked for, where that is no error (UPC programs).",
    ),
    s(
        "UPC_SHARED_ALLOC_ALIGN",
        "power of two up to 4096; default 1",
        "Shared objects at least this large are allocated at multiples of it (UPC programs).",
    ),
    s(
        "UPC_LOCKS_RR",
        "no (default), yes",
        "`upc_global_lock_alloc` puts locks on all threads in turn (UPC programs).",
    ),
    s(
        "UPC_POLITE_SYNC",
        "no (default), yes",
        "Give up the processor while waiting, as with `GASNET_SPIN=0` (UPC programs).",
    ),
    s(
        "UPC_STACK_SIZE",
        "size: 64 (MB), 512KB",
        "Let the stacks of threads grow to this size (UPC programs).",
    ),
    s(
        "UPC_FIRSTTOUCH",
        "no (default), yes",
        "Threads touch their part of the static shared data at start (UPC programs).",
    ),
    s(
        "UPC_FORCETOUCH",
        "no (default), yes",
        "Threads touch their whole shared heap at start (UPC programs).",
    ),
    s(
        "UPC_DEBUG_MALLOC",
        "no (default), yes",
        "`malloc` fills what it hands out and takes back (UPC programs).",
    ),
    s(
        "UPC_QUIET",
        "no (default), yes",
        "No warnings of the UPC runtime, nor of what is below it (UPC programs).",
    ),
    s("UPC_NO_WARN", "no (default), yes", "No warnings of the UPC runtime (UPC programs)."),
    s("UPC_FREEZE", "number of a thread", "This thread waits for a debugger before `main` (UPC programs)."),
    s("UPC_ABORT", "no (default), yes", "A fatal error of the runtime leaves a core file (UPC programs)."),
    s(
        "UPC_SHARED_HEAP_OFFSET",
        "size",
        "No effect: heaps lie where there is room. Nor have `UPC_PTHREADS_PER_PROC` (threads are processes), `UPC_QUIET_UPCIO` (files draw \
         no warnings) and `UPC_ENVPREFIX` (the whole environment reaches all threads).",
    ),
    s(
        "UPC_BARRIER_MISMATCH_WARNS",
        "no (default), yes",
        "Values of `upc_notify` and `upc_wait` that do not agree draw a warning, not an error, also with `UPC_QUIET` and `upcrun -q` (UPC programs).",
    ),
];

/// How the ofi conduit comes by registered memory outside the segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OfiRegistration {
    /// What is cheapest, measured at start.
    Auto,
    /// Registered once and kept.
    Firehose,
    /// Registered for each transfer, which the provider may cache.
    Provider,
    /// Copied.
    Bounce,
}

/// What the ofi conduit leaves to its provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OfiNative {
    /// Puts and gets.
    Puts,
    /// Puts, gets and atomics.
    All,
    /// Nothing.
    None,
}

/// The settings of one rank, read once at start.
#[derive(Debug, Clone)]
pub struct Config {
    /// `GASNET_CONDUIT`.
    pub conduit: Option<String>,
    /// `GASNET_PLUGIN_PATH`.
    pub plugin_path: Option<String>,
    /// `GASNET_NEIGHBORHOOD`: how many ranks of one host share memory at most; 1 for `off`.
    pub neighborhood: u32,
    /// `GASNET_COLL` is `nic`.
    pub coll_nic: bool,
    /// `GASNET_SMP_DELAY` in nanoseconds.
    pub smp_delay_ns: u64,
    /// `GASNET_FAULTY`.
    pub faulty: Option<String>,
    /// `GASNET_TRACED`.
    pub traced: Option<String>,
    /// `GASNET_UDP_FAULTY`.
    pub udp_faulty: Option<String>,
    /// `GASNET_UDP_INTERFACE`.
    pub udp_interface: Option<String>,
    /// Whether `GASNET_UDP_AUTH` is `full`, if it is set.
    pub udp_auth_full: Option<bool>,
    /// `GASNET_UDP_WINDOW` in bytes.
    pub udp_window: u64,
    /// `GASNET_UDP_TIMEOUT` in nanoseconds.
    pub udp_timeout_ns: u64,
    /// `GASNET_NETVM_MEMORY` in bytes.
    pub netvm_memory: Option<u64>,
    /// `GASNET_NETVM_REGISTRATION`.
    pub netvm_registration: Option<String>,
    /// `GASNET_NETVM_BACKING`.
    pub netvm_backing: Option<String>,
    /// `GASNET_NETVM_WIRE=network`: NICs of one host are joined as those of several are.
    pub netvm_wire_network: bool,
    /// `GASNET_STATS`.
    pub stats: bool,
    /// `GASNET_OFI_PROVIDER`.
    pub ofi_provider: Option<String>,
    /// `GASNET_OFI_DOMAIN`.
    pub ofi_domain: Option<String>,
    /// `GASNET_OFI_NATIVE`.
    pub ofi_native: OfiNative,
    /// `GASNET_OFI_REGISTRATION`.
    pub ofi_registration: OfiRegistration,
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
}

impl Default for Config {
    fn default() -> Config {
        Config {
            conduit: None,
            plugin_path: None,
            neighborhood: u32::MAX,
            coll_nic: false,
            smp_delay_ns: 0,
            faulty: None,
            traced: None,
            udp_faulty: None,
            udp_interface: None,
            udp_auth_full: None,
            udp_window: 1 << 20,
            udp_timeout_ns: 20_000_000_000,
            netvm_memory: None,
            netvm_registration: None,
            netvm_backing: None,
            netvm_wire_network: false,
            stats: false,
            ofi_provider: None,
            ofi_domain: None,
            ofi_native: OfiNative::Puts,
            ofi_registration: OfiRegistration::Auto,
            max_segment: None,
            check: false,
            spin: None,
            progress_thread: false,
            quiet: false,
            wait_report: None,
        }
    }
}

impl Config {
    /// Reads the environment.
    ///
    /// # Errors
    /// A value that cannot be understood: the message names the variable and what it takes.
    pub fn from_env() -> Result<Config, Error> {
        // What is no UTF-8 is understood by nothing here, and refused like other nonsense rather than taken for unset.
        Config::from_lookup(|name| Some(std::env::var_os(name)?.to_string_lossy().into_owned()))
    }

    /// Reads settings from any source.
    ///
    /// # Errors
    /// As [`Config::from_env`].
    pub fn from_lookup(get: impl Fn(&str) -> Option<String>) -> Result<Config, Error> {
        let get = |name: &str| get(name).map(|v| v.trim().to_string()).filter(|v| !v.is_empty());
        let flag = |name: &str, default: bool| match get(name) {
            None => Ok(default),
            Some(v) => parse_flag(&v).ok_or_else(|| bad(name, &v)),
        };
        let number = |name: &str| match get(name) {
            None => Ok(None),
            Some(v) => v.parse::<u64>().map(Some).map_err(|_| bad(name, &v)),
        };
        let word = |name: &str| match get(name) {
            None => Ok(None),
            Some(v) => {
                words(name).find(|w| w.eq_ignore_ascii_case(&v)).map(Some).ok_or_else(|| bad(name, &v))
            }
        };
        // Read by what is above this crate, and refused here with the others.
        for name in ["GASNET_BACKTRACE", "GASNET_FREEZE", "GASNET_FREEZE_ON_ERROR", "GASNET_VERBOSEENV"] {
            flag(name, false)?;
        }
        flag("GASNET_CATCH_EXIT", true)?;
        Ok(Config {
            conduit: get("GASNET_CONDUIT").map(|v| v.to_ascii_lowercase()),
            plugin_path: get("GASNET_PLUGIN_PATH"),
            neighborhood: match get("GASNET_NEIGHBORHOOD") {
                None => u32::MAX,
                Some(v) => parse_neighborhood(&v).ok_or_else(|| bad("GASNET_NEIGHBORHOOD", &v))?,
            },
            coll_nic: word("GASNET_COLL")? == Some("nic"),
            smp_delay_ns: match get("GASNET_SMP_DELAY") {
                None => 0,
                Some(v) => parse_time(&v).ok_or_else(|| bad("GASNET_SMP_DELAY", &v))?,
            },
            faulty: get("GASNET_FAULTY"),
            traced: get("GASNET_TRACED").or_else(|| get("GASNET_TRACEFILE")),
            udp_faulty: get("GASNET_UDP_FAULTY"),
            udp_interface: get("GASNET_UDP_INTERFACE"),
            udp_auth_full: word("GASNET_UDP_AUTH")?.map(|word| word == "full"),
            udp_window: match get("GASNET_UDP_WINDOW") {
                None => 1 << 20,
                Some(v) => parse_size(&v).ok_or_else(|| bad("GASNET_UDP_WINDOW", &v))?,
            },
            udp_timeout_ns: match get("GASNET_UDP_TIMEOUT") {
                None => 20_000_000_000,
                Some(v) => parse_time(&v).ok_or_else(|| bad("GASNET_UDP_TIMEOUT", &v))?,
            },
            netvm_memory: match get("GASNET_NETVM_MEMORY") {
                None => None,
                Some(v) => {
                    Some(parse_size(&v).filter(|n| *n > 0).ok_or_else(|| bad("GASNET_NETVM_MEMORY", &v))?)
                }
            },
            netvm_registration: word("GASNET_NETVM_REGISTRATION")?.map(String::from),
            netvm_backing: get("GASNET_NETVM_BACKING"),
            netvm_wire_network: word("GASNET_NETVM_WIRE")? == Some("network"),
            stats: flag("GASNET_STATS", false)?,
            ofi_provider: get("GASNET_OFI_PROVIDER"),
            ofi_domain: get("GASNET_OFI_DOMAIN"),
            ofi_registration: match word("GASNET_OFI_REGISTRATION")? {
                Some("firehose") => OfiRegistration::Firehose,
                Some("provider") => OfiRegistration::Provider,
                Some("bounce") => OfiRegistration::Bounce,
                _ => OfiRegistration::Auto,
            },
            ofi_native: match word("GASNET_OFI_NATIVE")? {
                Some("all") => OfiNative::All,
                Some("none") => OfiNative::None,
                _ => OfiNative::Puts,
            },
            max_segment: match get("GASNET_MAX_SEGSIZE") {
                None => None,
                Some(v) if is_beyond_any_machine(&v) => {
                    return Err(Error::job(format!(
                        "GASNET_MAX_SEGSIZE={v}: larger than any machine's memory"
                    )));
                }
                Some(v) => Some(parse_segsize(&v).ok_or_else(|| bad("GASNET_MAX_SEGSIZE", &v))?),
            },
            check: flag("GASNET_CHECK", false)?,
            spin: match number("GASNET_SPIN")? {
                Some(n) => Some(n.min(u64::from(u32::MAX)) as u32),
                None => flag("UPC_POLITE_SYNC", false)?.then_some(0),
            },
            progress_thread: word("GASNET_PROGRESS")? == Some("thread"),
            quiet: flag("GASNET_QUIET", false)? | flag("UPC_QUIET", false)?,
            wait_report: number("GASNET_WAIT_REPORT")?,
        })
    }
}

/// The words a setting takes, as the table has them.
pub fn words(name: &str) -> impl Iterator<Item = &'static str> {
    let values = SETTINGS.iter().find(|s| s.name == name).map_or("", |s| s.values);
    let values = values.split_once(';').map_or(values, |(words, _)| words);
    values.split(", ").map(|word| word.trim_end_matches(" (default)"))
}

fn bad(name: &str, value: &str) -> Error {
    let takes = SETTINGS.iter().find(|s| s.name == name).map_or("", |s| s.values);
    Error::job(format!("{name}={value}: not understood; it takes: {takes}"))
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

/// `GASNET_MAX_SEGSIZE` also takes `0.85` (fraction of physical memory) and a `/P` or `/H` suffix, which are read as sizes here.
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

/// Warnings about `GASNET_*` names nobody reads, with the nearest known name.
pub fn unknown_names(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut out: Vec<String> = names
        .filter(|n| {
            n.starts_with("GASNET_")
                && !n.starts_with("GASNET_TEST_")
                && !SETTINGS.iter().any(|s| s.name == n)
        })
        .map(|n| {
            // What both begin with says nothing; a third of the rest may differ, and two letters that changed places.
            let most = (n.len().saturating_sub("GASNET_".len()) / 3).clamp(2, 3);
            let far = |s: &&Setting| distance(s.name, &n);
            let near = SETTINGS.iter().min_by_key(far).filter(|s| far(s) <= most);
            match near {
                Some(s) => format!("unknown setting {n}: did you mean {}?", s.name),
                None => {
                    format!("unknown setting {n} has no effect; docs/environment.md lists the known ones")
                }
            }
        })
        .collect();
    out.sort();
    out
}

/// Edit distance: how many characters to insert, delete or replace make one word of the other.
pub fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let substitute = diagonal + usize::from(ca != *cb);
            diagonal = row[j + 1];
            row[j + 1] = substitute.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

/// The text of `docs/environment.md`.
pub fn environment_markdown() -> String {
    let mut text = String::from(
        "# Environment\n\nGenerated from `gasnet-rs/src/config.rs`. An unknown name that starts `GASNET_` earns a warning.\n\n\
         | Name | Values | Meaning |\n|---|---|---|\n",
    );
    for s in SETTINGS {
        text.push_str(&format!("| `{}` | {} | {} |\n", s.name, s.values.replace('|', "\\|"), s.meaning));
    }
    text
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

    /// Numbers, units and rubbish put together in every way: parsers answer, and answer in range, whatever they are given.
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
        let mut x = 1usize;
        for _ in 0..200_000 {
            let mut text = String::new();
            for _ in 0..1 + x % 4 {
                x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                text += parts[(x >> 33) % parts.len()];
            }
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
        let w = unknown_names(["GASNET_NEIGHBOURHOOD".into(), "PATH".into()].into_iter());
        assert_eq!(w, ["unknown setting GASNET_NEIGHBOURHOOD: did you mean GASNET_NEIGHBORHOOD?"]);
        let swapped = unknown_names(["GASNET_CHEKC".into()].into_iter());
        assert_eq!(swapped, ["unknown setting GASNET_CHEKC: did you mean GASNET_CHECK?"]);
        let short = unknown_names(["GASNET_FOO".into()].into_iter());
        assert!(short[0].contains("docs/environment.md"), "no other name is near: {short:?}");
    }

    #[test]
    fn the_document_is_current() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/environment.md");
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(path, environment_markdown()).unwrap();
        }
        let text = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            text == environment_markdown(),
            "docs/environment.md is out of date: UPDATE_DOCS=1 cargo test -p gasnet"
        );
    }
}
