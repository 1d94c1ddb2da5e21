//! From words to [`Options`].

use super::super::conf::split_words;
use super::spelling::{COMMAND, CPP_SEPARATE, CompilerOption, SEPARATE, near_miss};
use super::*;
use gasnet_options::{Argument, Arguments, FoundOption};
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
    let words = Arguments::new(&COMMAND, words.into_iter().map(OsString::from));
    let mut p = Parser { o, words, lang: None };
    while let Some(word) = p.words.next_argument()? {
        let text = |word: OsString| word.to_string_lossy().into_owned();
        match word {
            Argument::Option(found) => p.option(&found)?,
            Argument::Operand(word) => p.operand(text(word))?,
            Argument::Unknown(word) => p.compilers_option(&text(word))?,
        }
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
    words: Arguments<'static, CompilerOption>,
    /// `-x`
    lang: Option<InputKind>,
}

impl Parser {
    fn value(&mut self, opt: &str, attached: &str) -> Result<String, String> {
        if !attached.is_empty() {
            return Ok(attached.to_string());
        }
        let next = self.words.next_if(|_| true).map(|word| word.to_string_lossy().into_owned());
        next.ok_or_else(|| format!("option '{opt}' needs an argument"))
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

    fn operand(&mut self, word: String) -> Result<(), String> {
        if word == "-" {
            if self.lang.is_none() {
                return Err("standard input as source needs -x upc (or -E -x upc)".into());
            }
            self.input(STANDARD_INPUT.into());
        } else {
            self.input(word);
        }
        Ok(())
    }

    /// An option that is not in the table.
    fn compilers_option(&mut self, w: &str) -> Result<(), String> {
        if self.whole(w)? || self.prefixed(w)? {
            return Ok(());
        }
        let mut rest = w.strip_prefix('-').unwrap_or(w).chars();
        let letter = rest.next();
        self.lettered(w, letter, rest.as_str())
    }

    /// Options that are one word, with or without a further word as argument. Whether it was one.
    fn whole(&mut self, w: &str) -> Result<bool, String> {
        match w {
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

    /// Parses an option that is one letter followed by `rest`. Unknown options are passed to the C
    /// compiler, unless the spelling is close to one of upcc's own options.
    fn lettered(&mut self, w: &str, letter: Option<char>, rest: &str) -> Result<(), String> {
        match letter {
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
                    return Err(format!("unknown option '{w}'; did you mean '{near}'?"));
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
            "-Wupcc" | "-WUPC" | "-Wno-upcc" | "-Wno-UPC" => {
                return Err(format!("unknown option '{w}'; did you mean '-Wupc'?"));
            }
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

    /// An option of the table.
    fn option(&mut self, found: &FoundOption<CompilerOption>) -> Result<(), String> {
        let (value, w) = (found.text(), &found.written);
        let o = &mut self.o;
        match found.key {
            CompilerOption::Stop(stage) => self.stage(stage),
            CompilerOption::Output => o.output = Some(value.into()),
            CompilerOption::Threads => self.threads(w, &value)?,
            CompilerOption::Heap => o.shared_heap = parse_size(w, &value)?,
            CompilerOption::Quiet => o.quiet = true,
            CompilerOption::Explain => o.explain = true,
            CompilerOption::Dump => {
                o.dump = match value.as_str() {
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
            CompilerOption::SaveTemps(on) => o.save_temps = on,
            CompilerOption::Lines(on) => o.no_lines = !on,
            CompilerOption::RequireSize(on) => o.require_size = Some(on),
            CompilerOption::SizeWarn(on) => o.size_warn = Some(on),
            CompilerOption::Network => {
                o.network = network(&value)?;
                o.other_network = o.network.is_none().then_some(value);
            }
            CompilerOption::UsesMpi => _ = o.cc_program.get_or_insert_with(mpicc),
            CompilerOption::Embed => o.embed = true,
            CompilerOption::ExternMain => o.extern_main = true,
            CompilerOption::Checks(on) => o.no_checks = !on,
            CompilerOption::SmartOutput => o.smart_output = true,
            CompilerOption::ShowSizes => o.show_sizes = true,
            CompilerOption::CCompiler => o.cc_program = Some(value),
            CompilerOption::LinkWith => o.link_with = Some(value),
            CompilerOption::Verbose => o.verbose = true,
            CompilerOption::DryRun => o.dry_run = true,
            CompilerOption::Conf => o.conf = Some(value.into()),
            CompilerOption::NoConf => o.norc = true,
            CompilerOption::Version => o.info = Some(Info::Version),
            CompilerOption::Help => o.info = Some(Info::Help),
            CompilerOption::Manual => o.info = Some(Info::Manual),
            CompilerOption::IncludeDir => o.info = Some(Info::IncludeDir),
            CompilerOption::MpiCc => o.info = Some(Info::MpiCc),
            CompilerOption::Confs => o.info = Some(Info::Confs),
            CompilerOption::EchoVariable => o.info = Some(Info::EchoVar(value)),
            CompilerOption::Optimise(true) => o.disabled.retain(|d| d != "all"),
            CompilerOption::Optimise(false) => o.disabled.push("all".into()),
            CompilerOption::Passes(true) => o.disabled.retain(|d| !value.split(',').any(|name| name == d)),
            CompilerOption::Passes(false) => o.disabled.extend(value.split(',').map(String::from)),
            CompilerOption::Pthreads if found.value.is_some() => {
                _ = value
                    .parse::<u32>()
                    .map_err(|_| format!("'{w}': '{value}' is not a number of threads"))?;
            }
            CompilerOption::Pthreads | CompilerOption::Ignored => {}
        }
        Ok(())
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
