//! The driver `upcrun`: runs a UPC program, or compiles UPC sources, keeps the program in a cache, and runs it.

use super::layout::Layout;
use super::options::{self, Options};
use crate::cc::{self, Cc};
use crate::{cpp, link};
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// What `upcrun --help` says.
pub const HELP: &str = "\
usage: upcrun [options] program [arguments]
       upcrun [options] [compiler options] file.upc... [arguments]

Runs a UPC program on N threads, or compiles UPC sources (as upcc does; programs are kept in a cache) and runs the result.

  -n N, -np N             threads; may be left out if the program was compiled with -T
  -shared-heap=SIZE       shared heap of each thread (MB; suffixes KB, MB, GB)
  -bind-threads           bind threads to processors
  -polite-sync            yield the processor while waiting
  -backtrace              print a backtrace of a thread that fails
  -freeze-on-error        stop a thread that fails, for a debugger
  -q, -quiet              nothing but the program's own output
  -v                      say what is run
  -t, -show               print the command, run nothing
  -i, -info               print what the program was compiled for
  -version, -help         this text

-O, -g, -D, -I, -U, -T, -l and -L before a source file are for the compiler.
Berkeley UPC's other upcrun options are accepted, with one or two dashes.
";

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
    help: bool,
    version: bool,
}

/// Entry point of `upcrun`.
pub fn main() -> ExitCode {
    let mut args = options::from_environment("UPCRUN_FLAGS");
    args.extend(std::env::args_os().skip(1));
    match parse(args).and_then(go) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            if !e.is_empty() {
                eprintln!("upcrun: error: {e}");
            }
            ExitCode::FAILURE
        }
    }
}

fn parse(args: Vec<OsString>) -> Result<Run, String> {
    let mut r = Run::default();
    let mut it = args.into_iter();
    while let Some(a) = it.next() {
        let Some(w) = a.to_str() else {
            r.rest.push(a);
            r.rest.extend(it);
            break;
        };
        let Some(body) = w.strip_prefix("--").or_else(|| w.strip_prefix('-')).filter(|b| !b.is_empty())
        else {
            if w == "--" {
                r.rest.extend(it);
            } else {
                r.rest.push(a);
                r.rest.extend(it);
            }
            break;
        };
        let (name, attached) = match body.split_once('=') {
            Some((n, v)) => (n, Some(v.to_string())),
            None => (body, None),
        };
        let value = |it: &mut std::vec::IntoIter<OsString>| -> Result<String, String> {
            attached
                .clone()
                .or_else(|| it.next().and_then(|v| v.into_string().ok()))
                .ok_or_else(|| format!("option '{w}' needs an argument"))
        };
        match name {
            "n" | "np" => {
                let v = value(&mut it)?;
                r.ranks = Some(count(w, &v)?);
            }
            "N" | "nodes" | "c" | "cpus-per-node" => {
                let v = value(&mut it)?;
                let n = count(w, &v)?;
                if matches!(name, "N" | "nodes") && n != 1 {
                    return Err(format!("'{w} {v}': programs run on one host, so -N must be 1"));
                }
            }
            "p" | "pthreads" | "pshm-width" => {
                let v = value(&mut it)?;
                count(w, &v)?;
            }
            "shared-heap" => r.heap = Some(options::parse_size(&value(&mut it)?)?),
            "shared-heap-max" | "conf" | "tracefile" | "backtrace-type" => {
                value(&mut it)?;
            }
            "bind-threads" | "bind" => r.bind = true,
            "nobind-threads" => r.bind = false,
            "polite-sync" => r.env.push(("UPC_POLITE_SYNC".into(), "1".into())),
            "backtrace" => r.env.push(("GASNET_BACKTRACE".into(), "1".into())),
            "nobacktrace" => r.env.push(("GASNET_BACKTRACE".into(), "0".into())),
            "freeze" => r.env.push(("GASNET_FREEZE".into(), attached.unwrap_or_else(|| "1".into()))),
            "freeze-on-error" => r.env.push(("GASNET_FREEZE_ON_ERROR".into(), "1".into())),
            "abort" => r.env.push(("UPC_ABORT".into(), "1".into())),
            "q" | "quiet" => r.quiet = true,
            "noquiet" => r.quiet = false,
            "v" | "vv" => r.verbose = true,
            "t" | "show" => r.show = true,
            "noshow" => r.show = false,
            "i" | "info" => r.info = true,
            "noinfo" => r.info = false,
            "version" | "V" => r.version = true,
            "help" | "h" | "help-gasnet" => r.help = true,
            "conduit" | "network" => {
                let v = value(&mut it)?;
                r.launcher.push(format!("--conduit={v}"));
            }
            "norc" | "trace" | "notrace" | "traceall" | "freeze-early" | "freeze-earlier" | "nofreeze"
            | "nofreeze-on-error" | "noabort" | "encode" | "encode-args" | "encode-env" | "nopolite-sync" => {
            }
            _ => {
                let two = |o: &str| matches!(o, "-I" | "-D" | "-U" | "-L" | "-l" | "-T" | "-O");
                let head = w.get(..2).unwrap_or("");
                if two(head)
                    || head == "-g"
                    || w.starts_with("-fupc")
                    || w.starts_with("-std=")
                    || w.starts_with("-W")
                {
                    let alone = w.len() == 2 && !matches!(head, "-O" | "-g");
                    r.compiler.push(a.clone());
                    if alone {
                        r.compiler.extend(it.next());
                    }
                } else {
                    return Err(format!("unknown option '{w}'; 'upcrun --help' lists the options"));
                }
            }
        }
    }
    Ok(r)
}

fn count(opt: &str, v: &str) -> Result<u32, String> {
    match v.parse() {
        Ok(n) if n > 0 => Ok(n),
        _ => Err(format!("'{opt} {v}': a number of at least 1 was expected")),
    }
}

fn go(r: Run) -> Result<(), String> {
    if r.help {
        print!("{HELP}");
        return Ok(());
    }
    if r.version {
        println!("{}", super::version().replacen("upcc", "upcrun", 1));
        return Ok(());
    }
    let layout = Layout::find()?;
    let is_source =
        |a: &OsString| matches!(Path::new(a).extension().and_then(OsStr::to_str), Some("upc" | "c"));
    let sources = r.rest.iter().take_while(|a| is_source(a)).count();
    let (program, args) = if sources > 0 {
        let mut words = r.compiler.clone();
        words.extend(r.rest[..sources].iter().cloned());
        (build(words, &layout)?, &r.rest[sources..])
    } else {
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
        let p = p.canonicalize().unwrap_or(p);
        (p, &r.rest[1..])
    };
    let objects = link::facts(&program);
    let fixed = objects.iter().find_map(|o| o.threads);
    if r.info {
        println!("{}:", program.display());
        for o in &objects {
            let t = o.threads.map_or("dynamic".to_string(), |n| n.to_string());
            println!("  {}: threads {t}, pointers-to-shared {}", o.source, o.pts);
        }
        return Ok(());
    }
    let ranks = match (r.ranks, fixed) {
        (Some(n), _) => n,
        (None, Some(n)) => n,
        (None, None) => {
            return Err("how many threads? give -n N (the program was compiled without -T)".into());
        }
    };
    let launcher = layout.bin.join("gasnetrun");
    if !launcher.is_file() {
        return Err(format!(
            "the launcher is not at '{}'; install with 'cargo xtask install'",
            launcher.display()
        ));
    }
    let mut cmd = Command::new(&launcher);
    cmd.arg("-n").arg(ranks.to_string());
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
    if let Some(h) = r.heap {
        cmd.env("UPC_SHARED_HEAP_SIZE", format!("{h}B"));
    }
    cmd.envs(r.env.iter().map(|(k, v)| (k, v)));
    cmd.arg(&program).args(args);
    if r.show || r.verbose {
        eprintln!("{cmd:?}");
    }
    if r.show {
        return Ok(());
    }
    Err(format!("cannot run '{}': {}", launcher.display(), cmd.exec()))
}

/// Compiles the sources unless the cache has the program already.
fn build(words: Vec<OsString>, layout: &Layout) -> Result<PathBuf, String> {
    let mut o = options::parse(words.clone())?;
    let cc = Cc::find(None)?;
    layout.check_headers()?;
    layout.check_library()?;
    let mut key = Key::new();
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
        let text = cpp::preprocess(&cc, &o, layout, &i.path, Path::new("a.o"))?.unwrap_or_default();
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
struct Key(u128);

impl Key {
    fn new() -> Key {
        Key(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
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
        assert!(p(&["-N", "2", "p"]).unwrap_err().contains("one host"));
    }
}
