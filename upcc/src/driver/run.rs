//! The driver `upcrun`: runs a UPC program, or compiles UPC sources, keeps the program in a cache, and runs
//! it.

use super::conf;
use super::cpp;
use super::layout::Layout;
use super::options::{self, Options};
use crate::cc::{self, Cc};
use crate::link;
use gasnet_options::{Argument, Arguments, FoundOption, Opt, Style, hidden, opt};
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// An option of `upcrun`.
#[derive(Clone, Copy)]
enum RunOption {
    Ranks,
    Hosts,
    Network,
    Width,
    Simulate,
    Heap,
    /// A number that has no meaning here: a thread is a process, and processors are found.
    Count,
    /// The same of a size.
    Size,
    Bind(bool),
    Label,
    BacktraceType,
    Freeze,
    Trace,
    TraceFile,
    TraceAll,
    NoTrace,
    Quiet(bool),
    Verbose,
    Show(bool),
    Info(bool),
    Conf,
    NoConf,
    Version,
    Help,
    Manual,
    /// Sets a variable of the program to a value.
    Set(&'static str, &'static str),
    /// Arguments and environment reach all threads as they are.
    Ignored,
}

/// The options of `upcrun`.
const OPTIONS: &[Opt<RunOption>] = &[
    opt(
        RunOption::Ranks,
        "-n N, -np N",
        "number of threads; may be omitted if the program was compiled with -T, or in a batch job that has tasks",
    ),
    opt(
        RunOption::Hosts,
        "-N HOSTS",
        "number of hosts: the first HOSTS of those in GASNET_HOSTS or GASNET_HOSTFILE (default: all)",
    )
    .or(&["-nodes"]),
    opt(
        RunOption::Network,
        "-network=NAME",
        "network: smp (default on one host), udp (default on several), mpi, ofi, netvm",
    )
    .or(&["-conduit"]),
    opt(
        RunOption::Width,
        "-pshm-width N",
        "largest number of threads of a host that share memory (default: all of the host)",
    ),
    opt(
        RunOption::Heap,
        "-shared-heap=SIZE",
        "size of the shared heap of each thread, in MB or with KB, MB or GB",
    ),
    opt(RunOption::Bind(true), "-bind-threads", "bind threads to processors").or(&["-bind"]),
    opt(RunOption::Set("UPC_POLITE_SYNC", "yes"), "-polite-sync", "yield the processor while waiting"),
    opt(RunOption::Label, "-label", "write the number of the thread before each line"),
    opt(RunOption::Set("GASNET_BACKTRACE", "1"), "-backtrace", "print a backtrace of a thread that fails"),
    opt(RunOption::Set("UPC_ABORT", "yes"), "-abort", "end a thread that fails with a core file"),
    opt(RunOption::Freeze, "-freeze[=T]", "thread T (default 0) waits for a debugger at start"),
    opt(
        RunOption::Set("GASNET_FREEZE", "1"),
        "-freeze-early",
        "all threads wait for a debugger, before anything else",
    )
    .or(&["-freeze-earlier"]),
    opt(
        RunOption::Set("GASNET_FREEZE_ON_ERROR", "1"),
        "-freeze-on-error",
        "a thread that fails waits for a debugger",
    ),
    opt(RunOption::Trace, "-trace", "write a trace of the network to upc_trace.T for each thread T"),
    opt(
        RunOption::TraceFile,
        "-tracefile FILE",
        "write it to FILE.T for each thread T (a % in FILE is replaced by T)",
    ),
    opt(RunOption::TraceAll, "-traceall", "trace all accesses between threads"),
    opt(
        RunOption::Simulate,
        "-simulate",
        "as the first word: simulated threads, in virtual time; see gasnetrun --simulate --help",
    ),
    opt(RunOption::Quiet(true), "-q, -quiet", "print only the output of the program"),
    opt(RunOption::Verbose, "-v", "print the command and run it").or(&["-vv"]),
    opt(RunOption::Show(true), "-t, -show", "print the command and run nothing"),
    opt(RunOption::Info(true), "-i, -info", "print what the program was compiled for"),
    opt(RunOption::NoConf, "-norc", "do not read ~/.upcrunrc"),
    opt(RunOption::Conf, "-conf=FILE", "read FILE, too"),
    opt(RunOption::Version, "-version", "print the version").or(&["-V"]),
    opt(RunOption::Help, "-help", "print this text").or(&["-h", "-help-gasnet"]),
    opt(RunOption::Manual, "-manual", "print the manual page, in the language of man"),
    hidden(RunOption::Set("UPC_POLITE_SYNC", "no"), "-nopolite-sync"),
    hidden(RunOption::Set("GASNET_BACKTRACE", "0"), "-nobacktrace"),
    hidden(RunOption::BacktraceType, "-backtrace-type=TYPE"),
    hidden(RunOption::Set("UPC_ABORT", "no"), "-noabort"),
    hidden(RunOption::Set("UPC_FREEZE", ""), "-nofreeze"),
    hidden(RunOption::Set("GASNET_FREEZE_ON_ERROR", "0"), "-nofreeze-on-error"),
    hidden(RunOption::NoTrace, "-notrace"),
    hidden(RunOption::Bind(false), "-nobind-threads"),
    hidden(RunOption::Quiet(false), "-noquiet"),
    hidden(RunOption::Show(false), "-noshow"),
    hidden(RunOption::Info(false), "-noinfo"),
    hidden(RunOption::Count, "-c N, -cpus-per-node N, -p N, -pthreads N"),
    hidden(RunOption::Size, "-shared-heap-max SIZE"),
    hidden(RunOption::Ignored, "-encode, -encode-args, -encode-env"),
];

const COMMAND: gasnet_options::CommandTable<RunOption> = gasnet_options::CommandTable {
    name: "upcrun",
    brief: "run UPC programs",
    about: "Runs a UPC program on N threads. Given UPC sources, it first compiles them as upcc does; the programs are \
            kept in a cache.",
    usage: &[
        "upcrun [options] program [arguments]",
        "upcrun [options] [compiler options] file.upc... [arguments]",
        "upcrun --simulate -n N [options] program [arguments]",
    ],
    options: OPTIONS,
    notes: "\
-O, -g, -D, -I, -U, -T, -l and -L before a source file are for the compiler. Berkeley UPC's other upcrun options are
accepted, with one or two dashes. Further options are read from the line `default_options = ...` of ~/.upcrunrc (unless
-norc is given) and from the variable UPCRUN_FLAGS. The variable UPC_MPI_SPAWNCMD, for instance 'mpirun -np %N %C', is
the command that starts programs with -network=mpi.",
    style: Style::Berkeley,
};

#[derive(Debug, Default)]
struct Run {
    ranks: Option<u32>,
    heap: Option<u64>,
    quiet: bool,
    verbose: bool,
    show: bool,
    info: bool,
    bind: bool,
    env: Vec<(String, String)>,
    launcher: Vec<String>,
    compiler: Vec<OsString>,
    rest: Vec<OsString>,
    /// A text to print instead of running anything.
    print: Option<String>,
    /// `-conf=FILE`
    conf: Option<PathBuf>,
    norc: bool,
    /// Where traces go, and whether everything is to pass where they are made.
    trace: Option<String>,
    trace_all: bool,
    /// The network asked for.
    network: Option<String>,
}

/// Entry point of `upcrun`.
pub fn main() -> ExitCode {
    let simulated =
        std::env::args_os().nth(1).is_some_and(|word| word == "--simulate" || word == "-simulate");
    match if simulated { simulate() } else { command_line().and_then(parse).and_then(go) } {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            if !e.is_empty() {
                eprintln!("upcrun: error: {e}");
            }
            ExitCode::FAILURE
        }
    }
}

/// Becomes `gasnetrun --simulate`, which has options of its own.
fn simulate() -> Result<(), String> {
    use std::os::unix::process::CommandExt;
    let launcher = launcher(&Layout::find()?)?;
    let why = Command::new(&launcher).arg("--simulate").args(std::env::args_os().skip(2)).exec();
    Err(format!("{}: {why}", launcher.display()))
}

/// The words of the configuration files, the environment and the command line, which also says which files.
fn command_line() -> Result<Vec<OsString>, String> {
    let mut args = conf::from_environment("UPCRUN_FLAGS");
    args.extend(std::env::args_os().skip(1));
    let r = parse(args.clone())?;
    let mut words = conf::from_files("upcrun", &Layout::find()?.etc, r.conf.as_deref(), r.norc)?;
    words.extend(args);
    Ok(words)
}

fn parse(args: Vec<OsString>) -> Result<Run, String> {
    let mut r = Run::default();
    let mut words = Arguments::new(&COMMAND, args);
    while let Some(word) = words.next_argument()? {
        match word {
            Argument::Option(found) => r.option(found)?,
            Argument::Unknown(word) => r.compiler_option(word, &mut words)?,
            Argument::Operand(word) => {
                r.rest.push(word);
                r.rest.extend(words.rest());
                break;
            }
        }
    }
    Ok(r)
}

impl Run {
    fn set(&mut self, name: &str, value: &str) {
        self.env.push((name.into(), value.into()));
    }

    fn option(&mut self, found: FoundOption<RunOption>) -> Result<(), String> {
        let (value, written) = (found.text(), &found.written);
        match found.key {
            RunOption::Set(variable, value) => self.set(variable, value),
            RunOption::Ranks => self.ranks = Some(count(written, &value)?),
            RunOption::Hosts => self.launcher.push(format!("--nodes={}", count(written, &value)?)),
            RunOption::Width => {
                let width = count(written, &value)?;
                self.set("GASNET_NEIGHBORHOOD", &width.to_string());
            }
            RunOption::Count => _ = count(written, &value)?,
            RunOption::Heap => self.heap = Some(options::parse_size(written, &value)?),
            RunOption::Size => _ = options::parse_size(written, &value)?,
            RunOption::Conf => self.conf = Some(value.into()),
            RunOption::NoConf => self.norc = true,
            RunOption::Trace => _ = self.trace.get_or_insert_with(|| "upc_trace".into()),
            RunOption::TraceAll => {
                self.trace.get_or_insert_with(|| "upc_trace".into());
                self.trace_all = true;
            }
            RunOption::TraceFile => self.trace = Some(value),
            RunOption::NoTrace => self.trace = None,
            RunOption::Label => self.launcher.push("--label".into()),
            RunOption::Bind(on) => self.bind = on,
            RunOption::BacktraceType => self.set("GASNET_BACKTRACE_TYPE", &value),
            RunOption::Freeze => {
                let thread = if found.value.is_none() { "0" } else { &value };
                thread.parse::<u32>().map_err(|_| format!("'{written}': '{thread}' is not a thread"))?;
                self.set("UPC_FREEZE", thread);
            }
            RunOption::Simulate => {
                return Err(format!("{written} is the first word: upcrun {written} -n 4 PROGRAM"));
            }
            RunOption::Quiet(on) => self.quiet = on,
            RunOption::Verbose => self.verbose = true,
            RunOption::Show(on) => self.show = on,
            RunOption::Info(on) => self.info = on,
            RunOption::Version => self.print = Some(super::version().replacen("upcc", "upcrun", 1) + "\n"),
            RunOption::Help => self.print = Some(COMMAND.help()),
            RunOption::Manual => self.print = Some(COMMAND.manual(env!("CARGO_PKG_VERSION"))),
            RunOption::Network => self.network = options::network(&value)?,
            RunOption::Ignored => {}
        }
        Ok(())
    }

    /// An option for the compiler, before the name of a source file.
    fn compiler_option(
        &mut self,
        word: OsString,
        words: &mut Arguments<'_, RunOption>,
    ) -> Result<(), String> {
        let text = word.to_string_lossy();
        let head = text.get(..2).unwrap_or("");
        let known = matches!(head, "-I" | "-D" | "-U" | "-L" | "-l" | "-T" | "-O" | "-g")
            || ["-fupc", "-std=", "-W"].iter().any(|head| text.starts_with(head));
        if !known {
            return Err(COMMAND.unknown(&text));
        }
        let argument_follows = text.len() == 2 && !matches!(head, "-O" | "-g");
        self.compiler.push(word);
        if argument_follows {
            self.compiler.extend(words.next_if(|_| true));
        }
        Ok(())
    }
}

fn count(opt: &str, v: &str) -> Result<u32, String> {
    match v.parse() {
        Ok(n) if n > 0 => Ok(n),
        _ => Err(format!("'{opt} {v}': a number of at least 1 was expected")),
    }
}

fn go(r: Run) -> Result<(), String> {
    if let Some(text) = &r.print {
        print!("{text}");
        return Ok(());
    }
    let layout = Layout::find()?;
    let (program, args) = program(&r, &layout)?;
    let objects = link::facts(&program);
    let fixed = objects.iter().find_map(|o| o.threads);
    if r.info {
        say_what_is_known(&program, &objects);
        return Ok(());
    }
    let ranks = r.ranks.or(fixed);
    if ranks.is_none() && !in_batch_job() {
        return Err("how many threads? give -n N (the program was compiled without -T)".into());
    }
    let network = r.network.clone().or_else(|| link::network(&program));
    let mut cmd =
        match network.as_ref().and_then(|n| std::env::var(format!("UPC_{}_SPAWNCMD", n.to_uppercase())).ok())
        {
            Some(spawn) if !spawn.trim().is_empty() => {
                let ranks = ranks.ok_or("how many threads? give -n N")?;
                spawn_command(&spawn, ranks, &program, args)?
            }
            _ => launch(&r, &layout, ranks, network.as_deref(), &program, args)?,
        };
    if let Some(h) = r.heap {
        cmd.env("UPC_SHARED_HEAP_SIZE", format!("{h}B"));
    }
    if r.quiet {
        cmd.env("UPC_QUIET", "yes");
    }
    if let Some(path) = &r.trace {
        cmd.env("GASNET_TRACED", path);
        if r.trace_all {
            cmd.env("GASNET_NEIGHBORHOOD", "off");
        }
    }
    cmd.envs(r.env.iter().map(|(k, v)| (k, v)));
    if r.show || r.verbose {
        eprintln!("{cmd:?}");
    }
    if r.show {
        return Ok(());
    }
    let name = cmd.get_program().to_string_lossy().into_owned();
    if Path::new(&name).file_name().is_some_and(|name| name == "gasnetrun") {
        // Its messages about mistakes begin with the command that the user has typed.
        cmd.arg0("upcrun");
    }
    Err(format!("cannot run '{name}': {}", cmd.exec()))
}

/// Whether a batch system has started this process, whose tasks the launcher then counts.
fn in_batch_job() -> bool {
    let variables = [
        "SLURM_JOB_NODELIST",
        "SLURM_NODELIST",
        "PBS_NODEFILE",
        "PE_HOSTFILE",
        "LSB_MCPU_HOSTS",
        "FLUX_JOB_SIZE",
    ];
    variables.iter().any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
}

/// The program to run, built first if sources are given, and its arguments.
fn program<'a>(r: &'a Run, layout: &Layout) -> Result<(PathBuf, &'a [OsString]), String> {
    let is_source =
        |a: &OsString| matches!(Path::new(a).extension().and_then(OsStr::to_str), Some("upc" | "c"));
    let sources = r.rest.iter().take_while(|a| is_source(a)).count();
    if sources > 0 {
        let mut words = r.compiler.clone();
        words.extend(r.rest[..sources].iter().cloned());
        return Ok((build(words, layout)?, &r.rest[sources..]));
    }
    let Some(p) = r.rest.first() else {
        return Err(
            "which program? 'upcrun -n 4 program arguments' or 'upcrun -n 4 file.upc arguments'".into()
        );
    };
    let p = Path::new(p);
    let p = if p.components().count() == 1 && !p.exists() {
        cc::which(&p.to_string_lossy()).unwrap_or_else(|| p.to_path_buf())
    } else {
        p.to_path_buf()
    };
    if !p.is_file() {
        return Err(format!("no such program: '{}'", p.display()));
    }
    Ok((p.canonicalize().unwrap_or(p), &r.rest[1..]))
}

/// Prints the configuration that each object of a program was compiled for (`upcrun -info`).
fn say_what_is_known(program: &Path, objects: &[link::Object]) {
    println!("{}:", program.display());
    for o in objects {
        let t = o.threads.map_or("dynamic".to_string(), |n| n.to_string());
        println!("  {}: threads {t}, pointers-to-shared {}", o.source, o.pts);
    }
    let mut said = std::fs::read(program).map(|bytes| link::ident::find(&bytes)).unwrap_or_default();
    said.sort();
    said.dedup();
    for link::ident::Ident { name, file, value } in said {
        println!("  {name}: ({file}) {value}");
    }
}

/// The launcher of this installation.
fn launcher(layout: &Layout) -> Result<PathBuf, String> {
    let launcher = layout.bin.join("gasnetrun");
    if launcher.is_file() {
        return Ok(launcher);
    }
    Err(format!("the launcher is not at '{}'; install with 'cargo xtask install'", launcher.display()))
}

/// The command that runs a program by it.
fn launch(
    r: &Run,
    layout: &Layout,
    ranks: Option<u32>,
    network: Option<&str>,
    program: &Path,
    args: &[OsString],
) -> Result<Command, String> {
    let mut cmd = Command::new(launcher(layout)?);
    if let Some(ranks) = ranks {
        cmd.arg("-n").arg(ranks.to_string());
    }
    if r.bind {
        cmd.arg("--bind=core");
    }
    if r.quiet {
        cmd.arg("-q");
    }
    if r.verbose {
        cmd.arg("-v");
    }
    cmd.args(&r.launcher);
    cmd.args(network.map(|n| format!("--conduit={n}")));
    cmd.arg(program).args(args);
    Ok(cmd)
}

/// The command that the user gave for a network: `%N` stands for the number of threads, `%P` for the program,
/// `%A` for its arguments, `%C` for both, `%%` for a percent sign.
fn spawn_command(text: &str, ranks: u32, program: &Path, args: &[OsString]) -> Result<Command, String> {
    let mut words: Vec<OsString> = Vec::new();
    let mut named = false;
    for word in conf::split_words(text) {
        match word.as_str() {
            "%C" | "%P" | "%A" => {
                if word != "%A" {
                    words.push(program.into());
                    named = true;
                }
                if word != "%P" {
                    words.extend(args.iter().cloned());
                }
            }
            _ => {
                let program = program.to_string_lossy();
                named |= word.contains("%P");
                words.push(
                    word.replace("%N", &ranks.to_string()).replace("%P", &program).replace("%%", "%").into(),
                );
            }
        }
    }
    if !named {
        words.push(program.into());
        words.extend(args.iter().cloned());
    }
    let (first, rest) = words.split_first().ok_or("the spawn command is empty")?;
    let mut cmd = Command::new(first);
    cmd.args(rest);
    Ok(cmd)
}

/// Compiles the sources unless the cache has the program already.
fn build(words: Vec<OsString>, layout: &Layout) -> Result<PathBuf, String> {
    let mut o = options::parse(words.clone())?;
    let cc = Cc::find(None)?;
    layout.check_headers()?;
    layout.check_library()?;
    let mut key = ContentHash::new();
    key.add(super::version().as_bytes());
    key.add(cc.program.to_string_lossy().as_bytes());
    for f in
        [layout.library(), layout.include.join("upcc_abi.h"), std::env::current_exe().unwrap_or_default()]
    {
        if let Ok(m) = f.metadata() {
            key.add(format!("{} {} {:?}", f.display(), m.len(), m.modified().ok()).as_bytes());
        }
    }
    for w in &words {
        key.add(w.as_encoded_bytes());
    }
    for i in &o.inputs {
        if !i.path.is_file() {
            return Err(format!("no such file: '{}'", i.path.display()));
        }
        let text = cpp::preprocess(&cc, &o, layout, &i.path, Path::new("a.o"), &[])?.unwrap_or_default();
        key.add(text.as_bytes());
    }
    let stem = o.inputs[0].path.file_stem().unwrap_or_default().to_os_string();
    let cache = cache_dir().ok_or("no place for the cache: set HOME or XDG_CACHE_HOME")?;
    let dir = cache.join(key.hex());
    let program = dir.join(&stem);
    if program.is_file() {
        return Ok(program);
    }
    std::fs::create_dir_all(&dir)
        .map_err(|e| format!("cannot make the cache directory '{}': {e}", dir.display()))?;
    prune(&cache, &dir);
    // Made under another name, then moved: another upcrun may be doing the same.
    let fresh = dir.join(format!("{}.{}", stem.to_string_lossy(), std::process::id()));
    o.output = Some(fresh.clone());
    compile(&o)?;
    std::fs::rename(&fresh, &program).map_err(|e| format!("cannot write '{}': {e}", program.display()))?;
    Ok(program)
}

fn compile(o: &Options) -> Result<(), String> {
    super::drive(o)
}

fn cache_dir() -> Option<PathBuf> {
    let base = match std::env::var_os("XDG_CACHE_HOME").filter(|v| Path::new(v).is_absolute()) {
        Some(d) => PathBuf::from(d),
        None => PathBuf::from(std::env::var_os("HOME").filter(|h| !h.is_empty())?).join(".cache"),
    };
    Some(base.join("gasnet-rs/upcrun"))
}

/// Keeps the cache to its youngest programs.
fn prune(cache: &Path, keep: &Path) {
    const MOST: usize = 64;
    let Ok(list) = std::fs::read_dir(cache) else { return };
    let mut dirs: Vec<_> = list
        .flatten()
        .filter(|e| e.path() != keep)
        .filter_map(|e| Some((e.metadata().ok()?.modified().ok()?, e.path())))
        .collect();
    if dirs.len() < MOST {
        return;
    }
    dirs.sort();
    for (_, d) in &dirs[..dirs.len() - MOST / 2] {
        let _ = std::fs::remove_dir_all(d);
    }
}

/// A 128-bit FNV-1a hash: a name for contents, not a defence.
struct ContentHash(u128);

impl ContentHash {
    fn new() -> ContentHash {
        ContentHash(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }
    fn add(&mut self, b: &[u8]) {
        for &x in b.iter().chain(&[0xff]) {
            self.0 = (self.0 ^ u128::from(x)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
        }
    }
    fn hex(&self) -> String {
        format!("{:032x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn p(args: &[&str]) -> Result<Run, String> {
        parse(args.iter().map(OsString::from).collect())
    }

    #[test]
    fn the_table_has_no_mistakes() {
        assert_eq!(COMMAND.mistakes(), [""; 0]);
        assert_eq!(p(&["-label", "prog"]).unwrap().launcher, ["--label"]);
    }

    #[test]
    fn options_end_at_the_program() {
        let r = p(&["-q", "-n", "4", "prog", "-n", "7"]).unwrap();
        assert_eq!((r.ranks, r.quiet), (Some(4), true));
        assert_eq!(r.rest, ["prog", "-n", "7"]);
        assert_eq!(p(&["--np=3", "p"]).unwrap().ranks, Some(3));
    }

    #[test]
    fn compiler_options_are_kept_apart() {
        let r = p(&["-n", "2", "-O3", "-DX=1", "-I", "inc", "-T2", "a.upc", "-x"]).unwrap();
        assert_eq!(r.compiler, ["-O3", "-DX=1", "-I", "inc", "-T2"]);
        assert_eq!(r.rest, ["a.upc", "-x"]);
    }

    #[test]
    fn mistakes_are_explained() {
        assert!(p(&["-n", "0"]).unwrap_err().contains("at least 1"));
        assert!(p(&["-n"]).unwrap_err().contains("needs an argument"));
        assert!(p(&["-nope"]).unwrap_err().contains("--help"));
        assert!(p(&["-N", "x", "p"]).unwrap_err().contains("at least 1"));
        assert!(p(&["-freeze=x", "p"]).unwrap_err().contains("not a thread"));
        assert!(p(&["-network=x", "p"]).unwrap_err().contains("udp"));
    }

    #[test]
    fn options_become_settings() {
        let options =
            ["-polite-sync", "-abort", "-freeze=3", "-pshm-width", "2", "-backtrace", "-tracefile=t%"];
        let r = p(&[&options[..], &["-N2", "p"]].concat());
        assert!(r.is_err(), "-N and its number are two words");
        let r = p(&[&options[..], &["-N", "2", "p"]].concat()).unwrap();
        let has = |n: &str, v: &str| r.env.contains(&(n.into(), v.into()));
        assert!(
            has("UPC_POLITE_SYNC", "yes") && has("UPC_ABORT", "yes") && has("UPC_FREEZE", "3"),
            "{:?}",
            r.env
        );
        assert!(has("GASNET_NEIGHBORHOOD", "2") && has("GASNET_BACKTRACE", "1"), "{:?}", r.env);
        assert_eq!((r.trace.as_deref(), &r.launcher[..]), (Some("t%"), &["--nodes=2".to_string()][..]));
        let all = [
            "-c",
            "4",
            "-p",
            "2",
            "-notrace",
            "-noabort",
            "-nofreeze",
            "-nofreeze-on-error",
            "-encode-args",
            "-encode-env",
            "-encode",
        ];
        assert_eq!(
            p(&[&all[..], &["-nobacktrace", "-nopolite-sync", "-noshow", "-noinfo", "-noquiet", "p"]]
                .concat())
            .unwrap()
            .rest,
            ["p"]
        );
    }

    #[test]
    fn spawn_commands() {
        let words = |text| {
            let cmd = spawn_command(text, 4, Path::new("/p/prog"), &["a b".into()]).unwrap();
            let args = cmd.get_args().map(|a| a.to_string_lossy().into_owned());
            [vec![cmd.get_program().to_string_lossy().into_owned()], args.collect()].concat()
        };
        assert_eq!(words("mpirun -np %N %C"), ["mpirun", "-np", "4", "/p/prog", "a b"]);
        assert_eq!(words("srun -n%N --x='50%% y'"), ["srun", "-n4", "--x=50% y", "/p/prog", "a b"]);
        assert_eq!(words("env X=%N %P - %A"), ["env", "X=4", "/p/prog", "-", "a b"]);
    }
}
