//! From words to [`Options`].

use super::super::conf::split_words;
use super::spelling::{CPP_SEPARATE, LONG, SEPARATE, Value, near_miss};
use super::*;
use std::ffi::OsString;

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
            self.input(STANDARD_INPUT.into());
            return Ok(());
        }
        let Some(body) = w.strip_prefix('-') else {
            self.input(w);
            return Ok(());
        };
        if self.long(&w)? || self.whole(&w)? || self.prefixed(&w)? {
            return Ok(());
        }
        let mut rest = body.chars();
        let letter = rest.next();
        self.lettered(&w, letter, rest.as_str())
    }

    /// Options that are one word, with or without a further word as argument. Whether it was one.
    fn whole(&mut self, w: &str) -> Result<bool, String> {
        match w {
            "-c" => self.stage(Stage::Object),
            "-S" => self.stage(Stage::Assembly),
            "-E" => self.stage(Stage::Preprocess),
            "-v" => self.o.verbose = true,
            "-###" => self.o.dry_run = true,
            "-V" => self.o.info = Some(Info::Version),
            "-h" => self.o.info = Some(Info::Help),
            "-w" => self.o.quiet = true,
            "-C" | "-CC" | "-P" | "-dM" | "-dD" | "-dN" | "-dI" | "-H" | "-undef" | "-nostdinc"
            | "-traditional-cpp" => self.o.cpp.push(w.into()),
            "-M" | "-MM" => {
                self.stage(Stage::Preprocess);
                self.o.deps_only = true;
                self.o.deps.push(w.into());
            }
            "-MD" | "-MMD" | "-MP" | "-MG" => self.o.deps.push(w.into()),
            "-MF" | "-MT" | "-MQ" => {
                let v = self.value(w, "")?;
                self.o.deps.extend([w.into(), v]);
            }
            "-ansi" => self.o.std = Some(w.into()),
            "-nostdlib" | "-r" | "-nodefaultlibs" => {
                self.o.no_libs = true;
                self.o.cc.push(w.into());
            }
            "-dumpversion"
            | "-dumpmachine"
            | "-dumpfullversion"
            | "-print-search-dirs"
            | "-print-libgcc-file-name"
            | "-print-multi-lib"
            | "-print-multiarch"
            | "-print-sysroot" => self.o.info = Some(Info::AskCc(w.into())),
            "-s" => self.o.link.push(LinkItem::Arg(w.into())),
            "-Xlinker" => {
                let v = self.value(w, "")?;
                self.o.link.extend([w.into(), v].map(LinkItem::Arg));
            }
            _ if CPP_SEPARATE.contains(&w) => {
                let v = self.value(w, "")?;
                self.o.cpp.extend([w.into(), v]);
            }
            _ if SEPARATE.contains(&w) => {
                let v = self.value(w, "")?;
                self.o.cc.extend([w.into(), v]);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Options known by how they begin. Whether it was one.
    fn prefixed(&mut self, w: &str) -> Result<bool, String> {
        let begins = |heads: &[&str]| heads.iter().any(|head| w.starts_with(head));
        if begins(&["-print-file-name=", "-print-prog-name="]) {
            self.o.info = Some(Info::AskCc(w.into()));
        } else if begins(&["-std="]) {
            self.o.std = Some(w.into());
        } else if CPP_SEPARATE.iter().any(|o| o.starts_with("-i") && w.starts_with(o)) {
            // Their arguments may be attached.
            self.o.cpp.push(w.into());
        } else if begins(&["-fsanitize=", "-fno-sanitize="]) {
            let (option, list) = w.split_once('=').unwrap_or((w, ""));
            let others: Vec<&str> = list.split(',').filter(|what| *what != "upc").collect();
            if others.len() < list.split(',').count() {
                self.o.sanitize = option == "-fsanitize";
            }
            if !others.is_empty() {
                self.o.cc.push(format!("{option}={}", others.join(",")));
            }
        } else if begins(&["-fupc-", "-fno-upc-", "-fthreads"]) {
            self.fupc(w)?;
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    /// Options that are a letter, with `rest` behind it. What is not known goes to the C compiler, unless it
    /// is near to an option of ours.
    fn lettered(&mut self, w: &str, letter: Option<char>, rest: &str) -> Result<(), String> {
        match letter {
            Some('o') => self.o.output = Some(self.value(w, rest)?.into()),
            Some(c @ ('I' | 'D' | 'U')) => {
                let v = self.value(w, rest)?;
                self.o.cpp.push(format!("-{c}{v}"));
            }
            Some(c @ ('L' | 'l')) => {
                let v = self.value(w, rest)?;
                self.o.link.push(LinkItem::Arg(format!("-{c}{v}")));
            }
            Some('O') => self.o.opt = Some(if rest.is_empty() { "-O1" } else { w }.into()),
            Some('g') => self.o.debug = Some(w.into()),
            Some('T') => {
                let v = self.value("-T", rest.strip_prefix('=').unwrap_or(rest))?;
                self.threads("-T", &v)?;
            }
            Some('W') => self.warning(w.into())?,
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
            _ => {
                if let Some(near) = near_miss(w.trim_start_matches('-')) {
                    return Err(format!("unknown option '{w}'; did you mean '-{near}'?"));
                }
                if w.starts_with("--") && !w.starts_with("--sysroot") && !w.starts_with("--param") {
                    return Err(format!("unknown option '{w}'; 'upcc --help' lists the options"));
                }
                self.o.cc.push(w.into());
            }
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
            "-fupc-aggregate" => self.o.aggregate = true,
            "-fno-upc-aggregate" => self.o.aggregate = false,
            "-fupc-pts=struct" => self.o.pts_struct = true,
            "-fupc-pts=packed" => self.o.pts_struct = false,
            _ if w.starts_with("-fupc-pts") => {
                return Err(format!("'{w}': pointers-to-shared are -fupc-pts=packed or -fupc-pts=struct"));
            }
            _ => {
                return Err(format!(
                    "unknown option '{w}'; those of this kind are -fupc-threads-N, -fupc-pts=packed|struct, -fupc-aggregate, and -fno-upc-NAME with \
                     NAME among {}",
                    crate::opt::Passes::NAMES.join(", ")
                ));
            }
        }
        Ok(())
    }

    fn warning(&mut self, w: String) -> Result<(), String> {
        let split = |s: &str| s.split(',').filter(|s| !s.is_empty()).map(String::from).collect::<Vec<_>>();
        let stages = ["-Wp,", "-Wc,", "-Wl,", "-Wa,", "-Wu,", "-Ww,"];
        if !matches!(w.as_str(), "-Wupc" | "-Wno-upc") && !stages.iter().any(|s| w.starts_with(s)) {
            self.o.warnings.push(w.clone());
        }
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
                // -Wu, -Ww: for stages of other translators.
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
            "embed" => self.o.embed = true,
            "extern-main" => self.o.extern_main = true,
            "explain" => self.o.explain = true,
            "dump" => {
                self.o.dump = match val.unwrap_or_default().as_str() {
                    "ast" => Some(Form::Ast),
                    "ir" => Some(Form::Ir),
                    other => {
                        return Err(format!(
                            "there is no form '{other}' to dump: '--dump=ast' or '--dump=ir'"
                        ));
                    }
                };
                self.stage(Stage::Translate);
            }
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
            "network" => {
                let name = val.unwrap_or_default();
                self.o.network = network(&name)?;
                self.o.other_network = self.o.network.is_none().then_some(name);
            }
            "checks" => self.o.no_checks = false,
            "nochecks" => self.o.no_checks = true,
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
            // The others choose between translators, back ends, builds and caches of which there is one here
            // or none.
            _ => {}
        }
        Ok(true)
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
