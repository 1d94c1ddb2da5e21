//! The command line of `upcc`.
//!
//! gcc's options mean what they mean to gcc; Berkeley UPC's long options are taken with one or two dashes;
//! anything else goes to the C compiler, unless it is close to the spelling of an option of ours.

mod parser;
mod spelling;

pub use parser::parse;

use std::path::{Path, PathBuf};

/// The path of the source `-`.
pub const STANDARD_INPUT: &str = "/dev/stdin";

/// How far to go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
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
    #[default]
    Link,
}

/// Kinds of input files, told apart by the file name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputKind {
    /// `.upc`, `.c`: UPC source.
    Source,
    /// `.i`, `.upci`: UPC source, preprocessed.
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
    /// Its kind.
    pub kind: InputKind,
}

/// Information asked for instead of a compilation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Info {
    /// `--help`
    Help,
    /// `--manual`
    Manual,
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

/// A form of the program that can be printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The typed AST.
    Ast,
    /// The intermediate form.
    Ir,
}

/// A parsed command line.
#[derive(Clone, Debug, Default)]
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
    /// All options about warnings that the C compiler knows, in order.
    pub warnings: Vec<String>,
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
    /// `-fupc-aggregate`
    pub aggregate: bool,
    /// `--explain`
    pub explain: bool,
    /// `--dump=ast`, `--dump=ir`: what is printed instead of the translation.
    pub dump: Option<Form>,
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
    /// `-network=NAME` of one that programs elsewhere are built for.
    pub other_network: Option<String>,
    /// `-nochecks`: do not look whether the objects of a program go together.
    pub no_checks: bool,
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
    /// `-embed`: with `-shared`, a whole program with a runtime of its own.
    pub embed: bool,
    /// `-link-with PROG`: links in place of the C compiler.
    pub link_with: Option<String>,
    /// `--cc=PROG`
    pub cc_program: Option<String>,
    /// Asked for.
    pub info: Option<Info>,
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

    /// Whether the C compiler obeys pragmas of OpenMP.
    pub fn openmp(&self) -> bool {
        let last = |on: &str, off: &str| {
            let given = self.cc.iter().chain(&self.cc_only).rev();
            let mut given = given.filter(|f| f.starts_with(on) || *f == off);
            given.next().is_some_and(|f| f != off)
        };
        last("-fopenmp", "-fno-openmp") || last("-fopenacc", "-fno-openacc")
    }

    /// Whether code of a shared object is made.
    pub fn pic(&self) -> bool {
        let code =
            |f: &&String| ["-fpic", "-fpie", "-fno-pic", "-fno-pie"].contains(&&*f.to_ascii_lowercase());
        let last = self.cc.iter().chain(&self.cc_only).rfind(code);
        last.is_some_and(|f| f.eq_ignore_ascii_case("-fpic"))
    }

    /// Whether warnings of the C compiler are asked for.
    pub fn c_warnings(&self) -> bool {
        !self.quiet && self.warnings.iter().any(|w| !w.starts_with("-Wno-"))
    }

    /// The optimisation option for all passes: `-O2` unless told otherwise, `-O0` when debugging.
    pub fn opt_flag(&self) -> String {
        match &self.opt {
            Some(o) => o.clone(),
            None if self.debugging() => "-O0".into(),
            None => "-O2".into(),
        }
    }
    /// Whether there is information for debuggers.
    pub fn debugging(&self) -> bool {
        self.debug.as_ref().is_some_and(|g| g != "-g0")
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

/// The text of `--help`.
pub fn help() -> String {
    spelling::COMMAND.help()
}

/// The manual page.
pub fn manual() -> String {
    spelling::COMMAND.manual(env!("CARGO_PKG_VERSION"))
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

/// The kind of a file, from its name.
pub fn kind_of(path: &Path) -> InputKind {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    match path.extension().and_then(|e| e.to_str()) {
        Some("c") if name.ends_with(".trans.c") => InputKind::Translated,
        Some("upc" | "c" | "UPC") => InputKind::Source,
        Some("i" | "upci") => InputKind::Preprocessed,
        Some("s" | "S" | "sx") => InputKind::Assembler,
        _ => InputKind::Linker,
    }
}

/// The bytes of a size such as `64`, `64MB`, `1GB`, `512k`: megabytes unless a unit is given.
///
/// # Errors
/// A message that begins with the option.
pub fn parse_size(option: &str, s: &str) -> Result<u64, String> {
    let digits = s.find(|c: char| !c.is_ascii_digit()).unwrap_or(s.len());
    let no_size = || format!("'{option}': '{s}' is not a size (examples: 64, 512KB, 2GB)");
    let n: u64 = s[..digits].parse().map_err(|_| no_size())?;
    let shift = match s[digits..].trim().to_ascii_uppercase().as_str() {
        "B" => 0,
        "K" | "KB" => 10,
        "" | "M" | "MB" => 20,
        "G" | "GB" => 30,
        "T" | "TB" => 40,
        _ => return Err(no_size()),
    };
    n.checked_mul(1 << shift).ok_or_else(|| format!("'{option}': '{s}' is too large"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsString;

    fn p(args: &[&str]) -> Result<Options, String> {
        parse(args.iter().map(OsString::from))
    }

    #[test]
    fn the_table_has_no_mistakes() {
        assert_eq!(spelling::COMMAND.mistakes(), [""; 0]);
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
            &["--threads=4"],
            &["--threads", "4"],
        ] {
            assert_eq!(p(a).unwrap().threads, Some(4), "{a:?}");
        }
        assert!(p(&["-T", "0"]).unwrap_err().contains("at least 1"));
        assert!(p(&["-Tx"]).unwrap_err().contains("not a number"));
        assert!(p(&["-T", "2147483647"]).unwrap_err().contains("at most"));
        assert!(p(&["-T"]).unwrap_err().contains("needs an argument"));
        assert!(p(&["--thread", "4"]).unwrap_err().contains("did you mean '-threads'"));
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
        assert!(!o.pic() && p(&["-fPIE", "-fPIC", "a.upc"]).unwrap().pic());
        assert!(!p(&["-fpic", "-fno-PIC", "a.upc"]).unwrap().pic());
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
        assert!(o.no_checks && o.smart_output);
        let other = p(&["-network=aries"]).unwrap();
        assert_eq!((other.network, other.other_network.as_deref()), (None, Some("aries")));
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
