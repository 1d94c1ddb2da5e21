//! The command line of `upcc`.
//!
//! gcc's options mean what they mean to gcc; Berkeley UPC's long options are taken with one or two dashes; anything else goes to
//! the C compiler, unless it is close to the spelling of an option of ours.

use super::conf::split_words;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// How far to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// `-E`, `-M`, `-MM`
    Preprocess,
    /// `-trans`: stop with `foo.trans.c`.
    Translate,
    /// `-S`
    Assembly,
    /// `-c`
    Object,
    /// All the way.
    Link,
}

/// What an input file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputKind {
    /// `.upc`, `.c`: UPC source.
    Source,
    /// `.i`: UPC source, preprocessed.
    Preprocessed,
    /// `.s`, `.S`: for the C compiler.
    Assembler,
    /// `.trans.c`: C that a translator made for `upcr.h`.
    Translated,
    /// Anything else goes to the linker.
    Linker,
}

/// Something on the command line whose order matters to the linker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkItem {
    /// An input file: index into [`Options::inputs`].
    Input(usize),
    /// An option: `-lfoo`, `-Wl,...`.
    Arg(String),
}

/// An input file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// Path as given.
    pub path: PathBuf,
    /// What it is.
    pub kind: InputKind,
}

/// Information asked for instead of a compilation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Info {
    /// `--help`
    Help,
    /// `--version`
    Version,
    /// `-print-include-dir`
    IncludeDir,
    /// `-echo-var VAR`
    EchoVar(String),
    /// `-print-mpicc`
    MpiCc,
    /// `-show-confs`
    Confs,
    /// `-dumpversion`, `-dumpmachine`, `-print-file-name=...`: the C compiler answers.
    AskCc(String),
}

/// A parsed command line.
#[derive(Clone, Debug)]
pub struct Options {
    /// How far to go.
    pub stage: Stage,
    /// `-o`
    pub output: Option<PathBuf>,
    /// Input files.
    pub inputs: Vec<Input>,
    /// Files and options for the linker, in order.
    pub link: Vec<LinkItem>,
    /// `-T N`
    pub threads: Option<u32>,
    /// `-fupc-pts=struct`
    pub pts_struct: bool,
    /// The last `-O` option.
    pub opt: Option<String>,
    /// The last `-g` option.
    pub debug: Option<String>,
    /// `-std=...` or `-ansi`
    pub std: Option<String>,
    /// Options for the preprocessor alone.
    pub cpp: Vec<String>,
    /// Dependency options (`-MD`, `-MF file`, ...).
    pub deps: Vec<String>,
    /// `-M` or `-MM`.
    pub deps_only: bool,
    /// Options for all passes of the C compiler, the link included.
    pub cc: Vec<String>,
    /// `-Wc,...`: for the C compiler after translation.
    pub cc_only: Vec<String>,
    /// `-Wall`
    pub wall: bool,
    /// `-Wupc`
    pub wupc: bool,
    /// `-w`
    pub quiet: bool,
    /// `-Werror`
    pub werror: bool,
    /// `-v`
    pub verbose: bool,
    /// `-###`, `-dryrun`
    pub dry_run: bool,
    /// `-save-temps`
    pub save_temps: bool,
    /// `-nolines`: no `#line` in emitted C.
    pub no_lines: bool,
    /// `-show-sizes`
    pub show_sizes: bool,
    /// `-opt-disable=...`: names of optimisations not to make.
    pub disabled: Vec<String>,
    /// `--explain`
    pub explain: bool,
    /// `-fsanitize=upc`
    pub sanitize: bool,
    /// `-shared-heap=SZ` in bytes.
    pub shared_heap: u64,
    /// `-require-size`, `-norequire-size`
    pub require_size: Option<bool>,
    /// `-size-warn`, `-nosize-warn`
    pub size_warn: Option<bool>,
    /// `-network=NAME`
    pub network: Option<String>,
    /// Unless `-nochecks`: look whether the objects of a program go together.
    pub checks: bool,
    /// `-smart-output`: programs are called like their first source.
    pub smart_output: bool,
    /// `-conf=FILE`
    pub conf: Option<PathBuf>,
    /// `-norc`
    pub norc: bool,
    /// The options as given.
    pub line: String,
    /// Link as for `-nostdlib`, `-r`: no library of ours.
    pub no_libs: bool,
    /// `-extern-main`
    pub extern_main: bool,
    /// `-link-with PROG`: links in place of the C compiler.
    pub link_with: Option<String>,
    /// `--cc=PROG`
    pub cc_program: Option<String>,
    /// Asked for.
    pub info: Option<Info>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            stage: Stage::Link,
            output: None,
            inputs: Vec::new(),
            link: Vec::new(),
            threads: None,
            pts_struct: false,
            opt: None,
            debug: None,
            std: None,
            cpp: Vec::new(),
            deps: Vec::new(),
            deps_only: false,
            cc: Vec::new(),
            cc_only: Vec::new(),
            wall: false,
            wupc: false,
            quiet: false,
            werror: false,
            verbose: false,
            dry_run: false,
            save_temps: false,
            no_lines: false,
            show_sizes: false,
            disabled: Vec::new(),
            explain: false,
            sanitize: false,
            shared_heap: 0,
            require_size: None,
            size_warn: None,
            network: None,
            checks: true,
            smart_output: false,
            conf: None,
            norc: false,
            line: String::new(),
            no_libs: false,
            extern_main: false,
            link_with: None,
            cc_program: None,
            info: None,
        }
    }
}

/// The most threads a packed pointer can name.
pub const MAX_THREADS_PACKED: u32 = 1024;
/// The most threads at all.
pub const MAX_THREADS: u32 = 65536;

impl Options {
    /// Whether C of 1989 was asked for.
    pub fn c89(&self) -> bool {
        let old = [
            "-ansi",
            "-std=c89",
            "-std=gnu89",
            "-std=c90",
            "-std=gnu90",
            "-std=iso9899:1990",
            "-std=iso9899:199409",
        ];
        self.std.as_deref().is_some_and(|s| old.contains(&s))
    }

    /// Whether `inline` has the meaning of C99.
    pub fn iso_inline(&self) -> bool {
        !self.c89() && !self.cc.iter().any(|f| f == "-fgnu89-inline")
    }

    /// The optimisation option for all passes: `-O2` unless told otherwise, `-O0` when debugging.
    pub fn opt_flag(&self) -> String {
        match (&self.opt, &self.debug) {
            (Some(o), _) => o.clone(),
            (None, Some(g)) if g != "-g0" => "-O0".into(),
            _ => "-O2".into(),
        }
    }
    /// The UPC optimisations to make: from `-O1` on, but for those switched off.
    pub fn passes(&self) -> crate::opt::Passes {
        let off = |name: &str| self.disabled.iter().any(|d| d == name);
        let mut passes = crate::opt::Passes::all(self.optimising() && !off("all") && !self.sanitize);
        passes.outline &= !matches!(self.opt_flag().as_str(), "-O3" | "-Ofast");
        for name in crate::opt::Passes::NAMES {
            if off(name) {
                passes.set(name, false);
            }
        }
        passes
    }

    /// Whether to optimise at all.
    pub fn optimising(&self) -> bool {
        self.opt_flag() != "-O0"
    }
    /// Largest thread count of this program.
    pub fn max_threads(&self) -> u32 {
        if self.pts_struct { MAX_THREADS } else { MAX_THREADS_PACKED }
    }
}

/// Our long options, taken with one or two dashes: name and whether they take a value (`=V`, or the next argument when it is
/// required).
const LONG: &[(&str, Value)] = &[
    ("help", Value::No),
    ("version", Value::No),
    ("trans", Value::No),
    ("save-temps", Value::Maybe),
    ("nosave-temps", Value::No),
    ("save-all-temps", Value::No),
    ("lines", Value::No),
    ("nolines", Value::No),
    ("checks", Value::No),
    ("nochecks", Value::No),
    ("extern-main", Value::No),
    ("link-with", Value::Must),
    ("uses-mpi", Value::No),
    ("link-cache", Value::No),
    ("nolink-cache", Value::No),
    ("smart-output", Value::No),
    ("explain", Value::No),
    ("show-sizes", Value::No),
    ("echo-var", Value::Must),
    ("print-include-dir", Value::No),
    ("print-mpicc", Value::No),
    ("show-confs", Value::No),
    ("norc", Value::No),
    ("conf", Value::Must),
    ("bupc", Value::No),
    ("gupc", Value::No),
    ("cupc", Value::No),
    ("cupc2c", Value::No),
    ("trace", Value::No),
    ("inst", Value::No),
    ("allow-deprecated", Value::No),
    ("fast-symptr", Value::No),
    ("nofast-symptr", Value::No),
    ("opt", Value::No),
    ("noopt", Value::No),
    ("opt-enable", Value::Must),
    ("opt-disable", Value::Must),
    ("translator", Value::Must),
    ("compress", Value::No),
    ("http-proxy", Value::Must),
    ("nightly", Value::No),
    ("stable", Value::No),
    ("network", Value::Must),
    ("shared-heap", Value::Must),
    ("require-size", Value::No),
    ("norequire-size", Value::No),
    ("no-require-size", Value::No),
    ("size-warn", Value::No),
    ("nosize-warn", Value::No),
    ("no-size-warn", Value::No),
    ("pthreads", Value::Maybe),
    ("nopthreads", Value::No),
    ("dryrun", Value::No),
    ("dry-run", Value::No),
    ("cc", Value::Must),
    ("vv", Value::No),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Value {
    No,
    Maybe,
    Must,
}

/// Options of gcc whose argument is the next word.
const SEPARATE: &[&str] = &[
    "-Xlinker",
    "-Xassembler",
    "-u",
    "-z",
    "-e",
    "-aux-info",
    "--param",
    "-dumpbase",
    "-dumpdir",
    "-wrapper",
    "-B",
    "-target",
    "-b",
    "-arch",
];
const CPP_SEPARATE: &[&str] = &[
    "-include",
    "-imacros",
    "-isystem",
    "-iquote",
    "-idirafter",
    "-isysroot",
    "-iprefix",
    "-iwithprefix",
    "-iwithprefixbefore",
    "-imultilib",
    "-A",
    "-Xpreprocessor",
];

/// Parses the arguments (without the program's name). An error is text for the user.
pub fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Options, String> {
    let mut words = Vec::new();
    for a in args {
        let a = a.into_string().map_err(|a| format!("argument {a:?} is not UTF-8"))?;
        match a.strip_prefix('@') {
            Some(f) if Path::new(f).is_file() => {
                let text = std::fs::read_to_string(f).map_err(|e| format!("{f}: {e}"))?;
                words.extend(split_words(&text));
            }
            _ => words.push(a),
        }
    }
    let o = Options { line: words.join(" "), ..Options::default() };
    let mut p = Parser { o, words: words.into_iter(), lang: None };
    while let Some(w) = p.words.next() {
        p.word(w)?;
    }
    let o = p.o;
    if let Some(n) = o.threads
        && n > o.max_threads()
    {
        let more = if o.pts_struct { "" } else { "; -fupc-pts=struct allows more" };
        return Err(format!("-T {n}: at most {} threads{more}", o.max_threads()));
    }
    Ok(o)
}

struct Parser {
    o: Options,
    words: std::vec::IntoIter<String>,
    /// `-x`
    lang: Option<InputKind>,
}

impl Parser {
    fn value(&mut self, opt: &str, attached: &str) -> Result<String, String> {
        if !attached.is_empty() {
            return Ok(attached.to_string());
        }
        self.words.next().ok_or_else(|| format!("option '{opt}' needs an argument"))
    }

    fn threads(&mut self, opt: &str, v: &str) -> Result<(), String> {
        let n: u64 = v.parse().map_err(|_| format!("'{opt}': '{v}' is not a number of threads"))?;
        if n == 0 {
            return Err(format!("'{opt}': the number of threads must be at least 1"));
        }
        self.o.threads = Some(u32::try_from(n).unwrap_or(u32::MAX));
        Ok(())
    }

    fn input(&mut self, path: String) {
        let kind = self.lang.unwrap_or_else(|| kind_of(Path::new(&path)));
        self.o.link.push(LinkItem::Input(self.o.inputs.len()));
        self.o.inputs.push(Input { path: path.into(), kind });
    }

    fn stage(&mut self, s: Stage) {
        self.o.stage = self.o.stage.min(s);
    }

    fn word(&mut self, w: String) -> Result<(), String> {
        if w == "-" {
            if self.lang.is_none() {
                return Err("standard input as source needs -x upc (or -E -x upc)".into());
            }
            self.input("/dev/stdin".into());
            return Ok(());
        }
        let Some(body) = w.strip_prefix('-') else {
            self.input(w);
            return Ok(());
        };
        if self.long(&w)? {
            return Ok(());
        }
        let rest = &body[body.chars().next().map_or(0, char::len_utf8)..];
        match w.as_str() {
            "-c" => self.stage(Stage::Object),
            "-S" => self.stage(Stage::Assembly),
            "-E" => self.stage(Stage::Preprocess),
            "-v" => self.o.verbose = true,
            "-###" => self.o.dry_run = true,
            "-V" => self.o.info = Some(Info::Version),
            "-h" => self.o.info = Some(Info::Help),
            "-w" => self.o.quiet = true,
            "-C" | "-CC" | "-P" | "-dM" | "-dD" | "-dN" | "-dI" | "-H" | "-undef" | "-nostdinc"
            | "-traditional-cpp" => {
                self.o.cpp.push(w);
            }
            "-M" | "-MM" => {
                self.stage(Stage::Preprocess);
                self.o.deps_only = true;
                self.o.deps.push(w);
            }
            "-MD" | "-MMD" | "-MP" | "-MG" => self.o.deps.push(w),
            "-MF" | "-MT" | "-MQ" => {
                let v = self.value(&w, "")?;
                self.o.deps.extend([w, v]);
            }
            "-ansi" => self.o.std = Some(w),
            "-nostdlib" | "-r" | "-nodefaultlibs" => {
                self.o.no_libs = true;
                self.o.cc.push(w);
            }
            "-dumpversion"
            | "-dumpmachine"
            | "-dumpfullversion"
            | "-print-search-dirs"
            | "-print-libgcc-file-name"
            | "-print-multi-lib"
            | "-print-multiarch"
            | "-print-sysroot" => self.o.info = Some(Info::AskCc(w)),
            _ if w.starts_with("-print-file-name=") || w.starts_with("-print-prog-name=") => {
                self.o.info = Some(Info::AskCc(w));
            }
            _ if w.starts_with("-std=") => self.o.std = Some(w),
            _ if CPP_SEPARATE.contains(&w.as_str()) => {
                let v = self.value(&w, "")?;
                self.o.cpp.extend([w, v]);
            }
            _ if SEPARATE.contains(&w.as_str()) => {
                let v = self.value(&w, "")?;
                if w == "-Xlinker" {
                    self.o.link.push(LinkItem::Arg(w));
                    self.o.link.push(LinkItem::Arg(v));
                } else {
                    self.o.cc.extend([w, v]);
                }
            }
            _ if w.starts_with("-fsanitize=") || w.starts_with("-fno-sanitize=") => {
                let (option, list) = w.split_once('=').unwrap_or((&w, ""));
                let others: Vec<&str> = list.split(',').filter(|what| *what != "upc").collect();
                if others.len() < list.split(',').count() {
                    self.o.sanitize = option == "-fsanitize";
                }
                if !others.is_empty() {
                    self.o.cc.push(format!("{option}={}", others.join(",")));
                }
            }
            _ if w.starts_with("-fupc-") || w.starts_with("-fno-upc-") || w.starts_with("-fthreads") => {
                self.fupc(&w)?;
            }
            _ => match body.chars().next() {
                Some('o') => self.o.output = Some(self.value(&w, rest)?.into()),
                Some('I' | 'D' | 'U') => {
                    let v = self.value(&w, rest)?;
                    self.o.cpp.push(format!("-{}{v}", &body[..1]));
                }
                Some('L' | 'l') => {
                    let v = self.value(&w, rest)?;
                    self.o.link.push(LinkItem::Arg(format!("-{}{v}", &body[..1])));
                }
                Some('O') => self.o.opt = Some(if rest.is_empty() { "-O1".into() } else { w }),
                Some('g') => {
                    self.o.debug = Some(w);
                }
                Some('T') => {
                    let v = self.value("-T", rest.strip_prefix('=').unwrap_or(rest))?;
                    self.threads("-T", &v)?;
                }
                Some('W') => self.warning(w)?,
                Some('x') => {
                    let v = self.value("-x", rest)?;
                    self.lang = match v.as_str() {
                        "none" => None,
                        "c" | "upc" | "c-header" => Some(InputKind::Source),
                        "cpp-output" | "upc-cpp-output" => Some(InputKind::Preprocessed),
                        "assembler" | "assembler-with-cpp" => Some(InputKind::Assembler),
                        _ => return Err(format!("language '{v}' is not one that upcc compiles (c, upc)")),
                    };
                }
                Some('s') if rest.is_empty() => self.o.link.push(LinkItem::Arg(w)),
                _ => {
                    if let Some(near) = near_miss(body.trim_start_matches('-')) {
                        return Err(format!("unknown option '{w}'; did you mean '-{near}'?"));
                    }
                    if w.starts_with("--") && !w.starts_with("--sysroot") && !w.starts_with("--param") {
                        return Err(format!("unknown option '{w}'; 'upcc --help' lists the options"));
                    }
                    self.o.cc.push(w);
                }
            },
        }
        Ok(())
    }

    fn fupc(&mut self, w: &str) -> Result<(), String> {
        for p in ["-fupc-threads", "-fthreads"] {
            if let Some(v) = w.strip_prefix(p).and_then(|r| r.strip_prefix(['-', '='])) {
                return self.threads(p, v);
            }
        }
        for (p, on) in [("-fupc-", true), ("-fno-upc-", false)] {
            let Some(name) = w.strip_prefix(p) else { continue };
            if crate::opt::Passes::NAMES.contains(&name) {
                self.o.disabled.retain(|d| d != name);
                if !on {
                    self.o.disabled.push(name.to_string());
                }
                return Ok(());
            }
        }
        match w {
            "-fupc-pts=struct" => self.o.pts_struct = true,
            "-fupc-pts=packed" => self.o.pts_struct = false,
            _ if w.starts_with("-fupc-pts") => {
                return Err(format!("'{w}': pointers-to-shared are -fupc-pts=packed or -fupc-pts=struct"));
            }
            _ => {
                return Err(format!(
                    "unknown option '{w}'; those of this kind are -fupc-threads-N, -fupc-pts=packed|struct, and -fno-upc-NAME with \
                     NAME among {}",
                    crate::opt::Passes::NAMES.join(", ")
                ));
            }
        }
        Ok(())
    }

    fn warning(&mut self, w: String) -> Result<(), String> {
        let split = |s: &str| s.split(',').filter(|s| !s.is_empty()).map(String::from).collect::<Vec<_>>();
        match w.as_str() {
            "-Wall" | "-Wextra" | "-W" => self.o.wall = true,
            "-Wupc" => self.o.wupc = true,
            "-Wno-upc" => self.o.wupc = false,
            "-Wno-all" => self.o.wall = false,
            "-Werror" => self.o.werror = true,
            "-Wno-error" => self.o.werror = false,
            _ => {
                if let Some(v) = w.strip_prefix("-Wp,") {
                    if v.starts_with("-M") {
                        self.o.deps.extend(wp_deps(v));
                    } else {
                        self.o.cpp.push(w);
                    }
                } else if let Some(v) = w.strip_prefix("-Wc,") {
                    self.o.cc_only.extend(split(v));
                } else if w.starts_with("-Wl,") {
                    self.o.link.push(LinkItem::Arg(w));
                } else if w.starts_with("-Wa,") {
                    self.o.cc.push(w);
                }
                // -Wu, -Ww: for stages of other translators. Warnings of the C compiler: it runs with -w.
            }
        }
        Ok(())
    }

    /// Our long options. Whether it was one.
    fn long(&mut self, w: &str) -> Result<bool, String> {
        let body = w.trim_start_matches('-');
        if w.len() - body.len() > 2 {
            return Ok(false);
        }
        let (name, val) = match body.split_once('=') {
            Some((n, v)) => (n, Some(v)),
            None => (body, None),
        };
        let Some(&(name, takes)) = LONG.iter().find(|(n, _)| *n == name) else { return Ok(false) };
        let val = match (takes, val) {
            (Value::No, Some(_)) => return Err(format!("option '-{name}' takes no value")),
            (Value::Must, None) => Some(self.value(w, "")?),
            (_, v) => v.map(String::from),
        };
        match name {
            "help" => self.o.info = Some(Info::Help),
            "version" => self.o.info = Some(Info::Version),
            "print-include-dir" => self.o.info = Some(Info::IncludeDir),
            "echo-var" => self.o.info = Some(Info::EchoVar(val.unwrap_or_default())),
            "trans" => self.stage(Stage::Translate),
            "save-temps" | "save-all-temps" => self.o.save_temps = true,
            "nosave-temps" => self.o.save_temps = false,
            "lines" => self.o.no_lines = false,
            "nolines" => self.o.no_lines = true,
            "extern-main" => self.o.extern_main = true,
            "explain" => self.o.explain = true,
            "show-sizes" => self.o.show_sizes = true,
            "opt" => self.o.disabled.retain(|d| d != "all"),
            "noopt" => self.o.disabled.push("all".into()),
            "opt-enable" => {
                let value = val.unwrap_or_default();
                self.o.disabled.retain(|d| !value.split(',').any(|name| name == d));
            }
            "opt-disable" => self.o.disabled.extend(val.unwrap_or_default().split(',').map(String::from)),
            "shared-heap" => self.o.shared_heap = parse_size(&val.unwrap_or_default())?,
            "require-size" => self.o.require_size = Some(true),
            "norequire-size" | "no-require-size" => self.o.require_size = Some(false),
            "size-warn" => self.o.size_warn = Some(true),
            "nosize-warn" | "no-size-warn" => self.o.size_warn = Some(false),
            "network" => self.o.network = network(&val.unwrap_or_default())?,
            "checks" => self.o.checks = true,
            "nochecks" => self.o.checks = false,
            "smart-output" => self.o.smart_output = true,
            "conf" => self.o.conf = val.map(PathBuf::from),
            "norc" => self.o.norc = true,
            "show-confs" => self.o.info = Some(Info::Confs),
            "dryrun" | "dry-run" => self.o.dry_run = true,
            "vv" => self.o.verbose = true,
            "cc" => self.o.cc_program = val,
            "link-with" => self.o.link_with = val,
            "print-mpicc" => self.o.info = Some(Info::MpiCc),
            "uses-mpi" => _ = self.o.cc_program.get_or_insert_with(mpicc),
            "pthreads" => {
                if let Some(v) = val {
                    v.parse::<u32>().map_err(|_| format!("'{w}': '{v}' is not a number of threads"))?;
                }
            }
            // The others choose between translators, back ends, builds and caches of which there is one here or none.
            _ => {}
        }
        Ok(true)
    }
}

/// The C compiler of the MPI library.
pub fn mpicc() -> String {
    std::env::var("MPICC").ok().filter(|v| !v.is_empty()).unwrap_or_else(|| "mpicc".into())
}

/// The conduit that a network's name stands for; none for those that are found at run time.
pub fn network(name: &str) -> Result<Option<String>, String> {
    match name {
        "smp" | "udp" | "mpi" | "ofi" | "netvm" => Ok(Some(name.into())),
        "ibv" | "vapi" | "mxm" | "ucx" | "aries" | "gemini" | "psm" | "portals4" | "pami" | "bgq" => Ok(None),
        "" => Err("'-network' needs the name of a network: smp, udp, mpi, ofi or netvm".into()),
        _ => Err(format!("there is no network '{name}': give smp, udp, mpi, ofi or netvm")),
    }
}

/// `-Wp,-MD,file` as kernel-style makefiles write it.
fn wp_deps(v: &str) -> Vec<String> {
    let mut out = Vec::new();
    for part in v.split(',') {
        match part {
            "-MD" | "-MMD" => out.extend([part.to_string(), "-MF".to_string()]),
            p => out.push(p.to_string()),
        }
    }
    if out.last().is_some_and(|l| l == "-MF") {
        out.pop();
    }
    out
}

/// What a file is by its name.
pub fn kind_of(path: &Path) -> InputKind {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    match path.extension().and_then(|e| e.to_str()) {
        Some("c") if name.ends_with(".trans.c") => InputKind::Translated,
        Some("upc" | "c" | "UPC") => InputKind::Source,
        Some("i") => InputKind::Preprocessed,
        Some("s" | "S" | "sx") => InputKind::Assembler,
        _ => InputKind::Linker,
    }
}

/// `64`, `64MB`, `1GB`, `512k`: megabytes unless a unit is given.
pub fn parse_size(s: &str) -> Result<u64, String> {
    let digits = s.find(|c: char| !c.is_ascii_digit()).unwrap_or(s.len());
    let n: u64 =
        s[..digits].parse().map_err(|_| format!("'{s}' is not a size (examples: 64, 512KB, 2GB)"))?;
    let shift = match s[digits..].trim().to_ascii_uppercase().as_str() {
        "B" => 0,
        "K" | "KB" => 10,
        "" | "M" | "MB" => 20,
        "G" | "GB" => 30,
        "T" | "TB" => 40,
        _ => return Err(format!("'{s}' is not a size (examples: 64, 512KB, 2GB)")),
    };
    n.checked_mul(1 << shift).ok_or_else(|| format!("'{s}' is too large"))
}

/// The option of ours that `name` was probably meant to be.
fn near_miss(name: &str) -> Option<&'static str> {
    const GCC: &[&str] = &[
        "static",
        "shared",
        "pipe",
        "pie",
        "no-pie",
        "nopie",
        "pedantic",
        "pedantic-errors",
        "pthread",
        "rdynamic",
        "pg",
        "p",
        "nostartfiles",
        "static-pie",
        "static-libgcc",
        "coverage",
        "symbolic",
        "time",
        "pass-exit-codes",
        "no-integrated-cpp",
        "no-canonical-prefixes",
        "specs",
    ];
    let name = name.split('=').next().unwrap_or(name);
    if name.len() < 4 || GCC.contains(&name) || name.starts_with(['f', 'm']) {
        return None;
    }
    let limit = if name.len() < 6 { 1 } else { 2 };
    LONG.iter()
        .map(|(n, _)| (distance(name, n), *n))
        .filter(|&(d, n)| d <= limit && n.len() >= 4)
        .min()
        .map(|(_, n)| n)
}

/// Edit distance, a swap of neighbours counting as one.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<u8>, Vec<u8>) = (a.bytes().collect(), b.bytes().collect());
    let mut d = vec![vec![0usize; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            d[i][j] = if i == 0 {
                j
            } else if j == 0 {
                i
            } else {
                let mut m = (d[i - 1][j] + 1)
                    .min(d[i][j - 1] + 1)
                    .min(d[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]));
                if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                    m = m.min(d[i - 2][j - 2] + 1);
                }
                m
            };
        }
    }
    d[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn p(args: &[&str]) -> Result<Options, String> {
        parse(args.iter().map(OsString::from))
    }

    #[test]
    fn thread_counts_in_every_spelling() {
        for a in [
            &["-T", "4"][..],
            &["-T4"],
            &["-T=4"],
            &["-fupc-threads-4"],
            &["-fupc-threads=4"],
            &["-fthreads-4"],
        ] {
            assert_eq!(p(a).unwrap().threads, Some(4), "{a:?}");
        }
        assert!(p(&["-T", "0"]).unwrap_err().contains("at least 1"));
        assert!(p(&["-Tx"]).unwrap_err().contains("not a number"));
        assert!(p(&["-T", "2147483647"]).unwrap_err().contains("at most"));
        assert!(p(&["-T"]).unwrap_err().contains("needs an argument"));
        assert_eq!(p(&["-fupc-pts=struct", "-T4096"]).unwrap().threads, Some(4096));
    }

    #[test]
    fn optimisation_follows_debugging() {
        assert_eq!(p(&[]).unwrap().opt_flag(), "-O2");
        assert_eq!(p(&["-g"]).unwrap().opt_flag(), "-O0");
        assert_eq!(p(&["-g", "-O3"]).unwrap().opt_flag(), "-O3");
        assert_eq!(p(&["-O"]).unwrap().opt_flag(), "-O1");
        assert_eq!(p(&["-O1", "-O0"]).unwrap().opt_flag(), "-O0");
    }

    #[test]
    fn berkeley_options_take_one_or_two_dashes() {
        for d in ["-", "--"] {
            assert!(p(&[&format!("{d}save-temps")]).unwrap().save_temps);
            assert_eq!(p(&[&format!("{d}trans")]).unwrap().stage, Stage::Translate);
            assert_eq!(p(&[&format!("{d}shared-heap=2GB")]).unwrap().shared_heap, 2 << 30);
            assert_eq!(p(&[&format!("{d}network"), "smp", "a.upc"]).unwrap().inputs.len(), 1);
        }
        assert_eq!(p(&["-echo-var", "X"]).unwrap().info, Some(Info::EchoVar("X".into())));
        assert_eq!(p(&["--echo-var=X"]).unwrap().info, Some(Info::EchoVar("X".into())));
    }

    #[test]
    fn unknown_options_reach_the_c_compiler_and_typos_do_not() {
        let o = p(&[
            "-march=native",
            "-pthread",
            "-fopenmp",
            "-Wl,-z,now",
            "-static",
            "-m64",
            "-lfoo",
            "-ox",
            "a.c",
        ])
        .unwrap();
        assert_eq!(o.cc, ["-march=native", "-pthread", "-fopenmp", "-static", "-m64"]);
        assert_eq!(o.link[..2], [LinkItem::Arg("-Wl,-z,now".into()), LinkItem::Arg("-lfoo".into())]);
        assert_eq!(o.output.as_deref(), Some(Path::new("x")));
        assert!(p(&["-netwrok=smp"]).unwrap_err().contains("did you mean '-network'"));
        assert!(p(&["--save-temp"]).unwrap_err().contains("did you mean '-save-temps'"));
        assert!(p(&["-fupc-thread-4"]).unwrap_err().contains("-fupc-threads-N"));
        assert!(p(&["--frobnicate"]).unwrap_err().contains("--help"));
    }

    #[test]
    fn inputs_by_suffix_and_language() {
        let o = p(&["a.upc", "b.c", "c.i", "d.o", "e.a", "f.s", "-x", "upc", "g.txt"]).unwrap();
        let kinds: Vec<_> = o.inputs.iter().map(|i| i.kind).collect();
        use InputKind::*;
        assert_eq!(kinds, [Source, Source, Preprocessed, Linker, Linker, Assembler, Source]);
    }

    #[test]
    fn settings_of_programs() {
        let o = p(&["-norequire-size", "--size-warn", "-network=udp", "-nochecks", "-smart-output", "a.o"])
            .unwrap();
        assert_eq!(
            (o.require_size, o.size_warn, o.network.as_deref()),
            (Some(false), Some(true), Some("udp"))
        );
        assert!(!o.checks && o.smart_output);
        assert_eq!(p(&["-network=aries"]).unwrap().network, None);
        assert!(p(&["-network=token-ring"]).unwrap_err().contains("smp, udp, mpi, ofi or netvm"));
        assert_eq!(p(&["-noopt", "-opt"]).unwrap().disabled, Vec::<String>::new());
        assert_eq!(p(&["-opt-disable=hoist,forall", "-opt-enable=forall"]).unwrap().disabled, ["hoist"]);
        assert!(p(&["-pthreads=x"]).unwrap_err().contains("not a number"));
    }

    /// All that other compilers' users write is taken; what has no meaning here leaves the result as it is.
    #[test]
    fn options_of_other_installations() {
        let plain = format!("{:?}", p(&["a.upc"]).unwrap());
        for w in [
            "-pthreads",
            "-pthreads=4",
            "-nopthreads",
            "-link-cache",
            "-nolink-cache",
            "-allow-deprecated",
            "-fast-symptr",
            "-nofast-symptr",
            "-bupc",
            "-gupc",
            "-cupc",
            "-cupc2c",
            "-trace",
            "-inst",
            "-compress",
            "-nightly",
            "-stable",
            "-translator=/x",
            "-http-proxy=h",
            "-Ww,-x",
            "-Wu,-y",
            "-network=ibv",
            "-lines",
            "-checks",
            "-nosave-temps",
        ] {
            for w in [w.to_string(), format!("-{w}")] {
                if w.starts_with("--W") {
                    continue;
                }
                let mut o = p(&[&w, "a.upc"]).unwrap_or_else(|e| panic!("{w}: {e}"));
                o.line = "a.upc".into();
                assert_eq!(format!("{o:?}"), plain, "{w}");
            }
        }
    }

    #[test]
    fn dependency_options_stay_together() {
        assert_eq!(p(&["-MMD", "-MF", "x.d", "-c", "a.c"]).unwrap().deps, ["-MMD", "-MF", "x.d"]);
        assert_eq!(p(&["-Wp,-MD,x.d"]).unwrap().deps, ["-MD", "-MF", "x.d"]);
    }
}
