//! The driver `upcc`: command line, then preprocess, translate, compile, link.

pub mod conf;
pub mod cpp;
pub mod layout;
pub mod options;
pub mod run;
pub mod temp;
mod warnings;

use crate::cc::{self, Cc};
use crate::emit::abi::{LINKED, PTS_STRUCT, STATIC_THREADS};
use crate::front::ast::{FrontOptions, Warnings};
use crate::front::types::PtsLayout;
use crate::opt::Optimiser;
use crate::{dump, emit, front, link, plain};
use layout::Layout;
use options::{Form, Info, Input, InputKind, LinkItem, Options, Stage};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};
use temp::TempDir;

/// Diagnostics that the C compiler must not raise.
const TOLERATED: &[&str] = &[
    "-Wno-implicit-function-declaration",
    "-Wno-implicit-int",
    "-Wno-int-conversion",
    "-Wno-incompatible-pointer-types",
    "-Wno-return-mismatch",
    "-Wno-declaration-missing-parameter-type",
];

/// Entry point of `upcc`.
pub fn main() -> ExitCode {
    match command_line().and_then(options::parse).and_then(|o| drive(&o)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            if !e.is_empty() {
                eprintln!("upcc: error: {e}");
            }
            ExitCode::FAILURE
        }
    }
}

/// The words of the configuration files, the environment and the command line, which also says which files.
fn command_line() -> Result<Vec<OsString>, String> {
    let mut args = conf::from_environment("UPCC_FLAGS");
    args.extend(std::env::args_os().skip(1));
    let o = options::parse(args.clone())?;
    let mut words = conf::from_files("upcc", &Layout::find()?.etc, o.conf.as_deref(), o.norc)?;
    words.extend(args);
    Ok(words)
}

/// The version line.
pub fn version() -> String {
    format!("upcc (gasnet-rs) {}, UPC 1.3", env!("CARGO_PKG_VERSION"))
}

/// Carries out a command line. `Err("")` means that everything has been said.
pub fn drive(o: &Options) -> Result<(), String> {
    let layout = Layout::find()?;
    if let Some(info) = &o.info {
        return inform(info, o, &layout);
    }
    let mut cc = Cc::find(o.cc_program.as_deref())?;
    cc.verbose = o.verbose;
    cc.dry_run = o.dry_run;
    if o.verbose {
        eprintln!("{}", version());
    }
    if o.show_sizes {
        let (size, threads) =
            if o.pts_struct { (16, options::MAX_THREADS) } else { (8, options::MAX_THREADS_PACKED) };
        println!(
            "pointer-to-shared: {size} bytes, block size up to {}, {threads} threads",
            cpp::max_block(o.pts_struct)
        );
        if o.inputs.is_empty() {
            return Ok(());
        }
    }
    if o.inputs.is_empty() {
        if o.verbose && o.link.is_empty() {
            return Ok(());
        }
        return Err("no input files; 'upcc --help' tells how to use upcc".into());
    }
    let compiled = o.inputs.iter().filter(|i| i.kind != InputKind::Linker).count();
    if o.stage < Stage::Link && o.output.is_some() && compiled > 1 {
        return Err(
            "-o names one output file, but -c, -S, -E or -trans makes one for each source; give one source"
                .into(),
        );
    }
    for i in &o.inputs {
        if !i.path.exists() {
            return Err(format!("no such file: '{}'", i.path.display()));
        }
    }
    layout.check_headers()?;
    let temp = TempDir::new()?;
    let mut d = Driver { o, layout, cc, temp };
    d.all()
}

struct Driver<'a> {
    o: &'a Options,
    layout: Layout,
    cc: Cc,
    temp: TempDir,
}

impl Driver<'_> {
    fn all(&mut self) -> Result<(), String> {
        let o = self.o;
        let mut objects: Vec<Option<PathBuf>> = Vec::new();
        let mut failed = false;
        for (n, input) in o.inputs.iter().enumerate() {
            if input.kind == InputKind::Linker {
                objects.push(None);
                continue;
            }
            match self.compile(n, input) {
                Ok(obj) => objects.push(obj),
                Err(e) => {
                    if !e.is_empty() {
                        eprintln!("upcc: error: {e}");
                    }
                    failed = true;
                    objects.push(None);
                }
            }
        }
        if failed {
            if let Some(out) = &o.output {
                remove_output(out);
            }
            return Err(String::new());
        }
        if o.stage == Stage::Link { self.link(&objects) } else { Ok(()) }
    }

    /// Where the result of compiling `input` goes.
    fn target(&self, n: usize, input: &Input, suffix: &str, last: bool) -> PathBuf {
        if last {
            if let Some(out) = &self.o.output {
                return out.clone();
            }
            return PathBuf::from(input.path.file_name().unwrap_or_default()).with_extension(suffix);
        }
        let stem = input.path.file_stem().unwrap_or_default().to_string_lossy();
        self.temp.path().join(format!("{stem}-{n}.{suffix}"))
    }

    /// Compiles one source as far as asked. The object, if there is one.
    fn compile(&mut self, n: usize, input: &Input) -> Result<Option<PathBuf>, String> {
        let o = self.o;
        let object = self.target(n, input, "o", o.stage == Stage::Object);
        if matches!(input.kind, InputKind::Assembler | InputKind::Translated) {
            if o.stage < Stage::Object {
                return Ok(None);
            }
            let mut a: Vec<OsString> = vec!["-c".into(), "-o".into(), object.clone().into(), "-w".into()];
            if input.kind == InputKind::Translated {
                a.extend(self.for_translated());
            }
            a.extend(o.cc.iter().chain(&o.cpp).map(OsString::from));
            if input.kind == InputKind::Translated {
                // After the user's folders, as for UPC.
                a.extend(["-isystem".into(), self.layout.include.clone().into()]);
            }
            a.push(input.path.clone().into());
            let out = self.cc.run(&a, Stdio::inherit(), Stdio::inherit())?;
            return if out.is_none_or(|r| r.status.success()) {
                Ok(Some(object))
            } else {
                Err(String::new())
            };
        }
        if o.stage == Stage::Preprocess && input.kind == InputKind::Source {
            return cpp::preprocess_to(&self.cc, o, &self.layout, &input.path).map(|()| None);
        }
        let text = if input.kind == InputKind::Preprocessed {
            let b = std::fs::read(&input.path).map_err(|e| format!("{}: {e}", input.path.display()))?;
            Some(crate::front::source::decode(b))
        } else {
            cpp::preprocess(&self.cc, o, &self.layout, &input.path, &object, &[])?
        };
        if o.stage == Stage::Preprocess {
            print!("{}", text.unwrap_or_default());
            return Ok(None);
        }
        let stem = PathBuf::from(input.path.file_stem().unwrap_or_default());
        let c_file = if o.stage == Stage::Translate {
            o.output.clone().unwrap_or_else(|| stem.with_extension("trans.c"))
        } else if o.save_temps {
            stem.with_extension("trans.c")
        } else {
            self.temp.path().join(format!("{}-{n}.trans.c", stem.display()))
        };
        if let Some(text) = &text {
            if o.save_temps {
                write(&stem.with_extension("i"), text)?;
            }
            if let Some(c) = self.translate(text, input, &object)? {
                write(&c_file, &c)?;
            }
        } else {
            eprintln!("upcc -trans '{}' -o '{}'", input.path.display(), c_file.display());
        }
        if o.stage == Stage::Translate {
            return Ok(None);
        }
        let out = if o.stage == Stage::Assembly { self.target(n, input, "s", true) } else { object };
        self.run_cc(&c_file, &out, input)?;
        Ok(Some(out))
    }

    /// Options for C that includes `upcr.h`.
    fn for_translated(&self) -> Vec<OsString> {
        let mut a: Vec<OsString> =
            ["-fcommon", "-D__BERKELEY_UPC_SECOND_PREPROCESS__=1"].map(OsString::from).into();
        a.extend(TOLERATED.iter().map(OsString::from));
        a.push(self.o.opt_flag().into());
        a.extend(self.o.debug.iter().map(OsString::from));
        a.extend(self.o.threads.map(|n| format!("-D{STATIC_THREADS}={n}").into()));
        if self.o.pts_struct {
            a.push(format!("-D{PTS_STRUCT}=1").into());
        }
        a
    }

    /// Front end and emission: UPC text to C text. Prints the diagnostics. `None` if a form was to be printed
    /// instead, which has been done.
    fn translate(&self, text: &str, input: &Input, object: &Path) -> Result<Option<String>, String> {
        let (o, path) = (self.o, &*input.path);
        let settings = FrontOptions {
            static_threads: o.threads,
            max_block: cpp::max_block(o.pts_struct),
            pts: if o.pts_struct { PtsLayout::Struct } else { PtsLayout::Packed },
            warn: Warnings { all: o.wall, upc: o.wupc, none: o.quiet, error: o.werror },
            gnu_void: o.std.as_deref().is_some_and(|s| s.starts_with("-std=gnu")),
            c89: o.c89(),
            c23: o.std.as_deref().is_some_and(|s| ["2x", "23", "2y"].iter().any(|y| s.ends_with(y))),
            aggregate: o.aggregate,
            openmp: o.openmp(),
            dir: PathBuf::new(),
        };
        let how = emit::EmitOptions {
            source: path.display().to_string(),
            threads: o.threads,
            pts_struct: o.pts_struct,
            lines: !o.no_lines || o.sanitize,
            debug: o.debugging(),
            sanitize: o.sanitize,
            aggregate: o.aggregate,
            openmp: o.openmp(),
            pic: o.pic(),
            passes: o.passes(),
            heap_bytes: o.shared_heap,
            own_headers: self.layout.include.clone(),
            extern_main: o.extern_main,
            iso_inline: o.iso_inline(),
        };
        front::on_big_stack(|| {
            let mut r = front::check(text, &settings);
            let headers = match input.kind {
                InputKind::Source if path != Path::new(options::STANDARD_INPUT) => {
                    cpp::promised(&self.layout, &r.undeclared())
                }
                _ => Vec::new(),
            };
            if !headers.is_empty()
                && let Some(text) = cpp::preprocess(&self.cc, o, &self.layout, path, object, &headers)?
            {
                r = front::check(&text, &settings);
            }
            let mut errors = 0;
            for d in &r.diagnostics {
                errors += usize::from(d.is_error());
                eprintln!("{d}");
            }
            if r.failed() {
                if errors > 1 {
                    eprintln!("{}: {errors} errors", path.display());
                }
                return Err(String::new());
            }
            if o.c_warnings() && o.dump.is_none() {
                let said = warnings::ask(self, &plain::plain(&r.unit), &r.diagnostics)?;
                eprint!("{}", said.text);
                if said.errors {
                    return Err(String::new());
                }
            }
            if let Some(form) = o.dump {
                match form {
                    Form::Ast => print!("{}", dump::unit(&r.unit)),
                    Form::Ir => print!("{}", dump::ir::unit(&r.unit, how.passes)),
                }
                return Ok(None);
            }
            let (mut text, remarks) = emit::emit(&r.unit, &Optimiser::new(&r.unit, how.passes), &how);
            // The process ends soon, and takes less time over the tree than we would.
            std::mem::forget(r);
            let neutral = !text.contains(link::SECTION);
            text += &self.idents(path, neutral);
            if o.explain {
                for (file, line, text) in &remarks {
                    println!("{file}:{line}: {text}");
                }
            }
            Ok(Some(text))
        })
    }

    /// The `ident` texts of an object file. A neutral object may be linked with objects of any
    /// configuration.
    fn idents(&self, source: &Path, neutral: bool) -> String {
        let o = self.o;
        let config =
            if neutral { link::ident::any_config() } else { link::ident::config(o.pts_struct, o.threads) };
        let line = format!("upcc {}", o.line);
        let texts = [
            ("UPCRConfig", config),
            ("UPCTranslator", version()),
            ("UPCVersion", env!("CARGO_PKG_VERSION").to_string()),
            ("UPCCompileLine", line),
            ("UPCCompileTime", String::new()),
        ];
        link::ident::in_c(source, &texts)
    }

    /// An object with what was said when linking: settings of the program, and texts like those of objects.
    fn link_object(&self, program: &Path) -> Result<PathBuf, String> {
        let o = self.o;
        let flag = |f: Option<bool>| f.map_or(-1, i32::from);
        let mut c = format!(
            "const struct {{ unsigned long heap; int require, warn; }} {LINKED} = {{ {}ul, {}, {} }};\n",
            o.shared_heap,
            flag(o.require_size),
            flag(o.size_warn)
        );
        // For programs whose main is not UPC.
        if o.shared_heap > 0 {
            c += &format!(
                "unsigned long UPCRL_default_shared_size __attribute__((__weak__)) = {}ul;\n",
                o.shared_heap
            );
        }
        if let Some(network) = &o.network {
            c += &format!(
                "__asm__(\".pushsection {},\\\"a\\\"\\n.asciz \\\"L {network}\\\"\\n.popsection\");\n",
                link::SECTION
            );
        }
        let heap = if o.shared_heap > 0 { format!("{}KB", o.shared_heap >> 10) } else { "all".into() };
        let texts = [
            ("UPCRDefaultHeapSizes", format!("UPC_SHARED_HEAP_SIZE={heap}")),
            ("UPCRDefaultPthreadCount", "0".into()),
            ("UPCLinkLine", format!("upcc {}", o.line)),
        ];
        c += &link::ident::in_c(program, &texts);
        let pic = o.cc.iter().any(|f| f == "-fPIC" || f == "-fpic");
        self.compile_own("upc-link", &c, pic)
    }

    /// Compiles C of ours that is linked into what is made.
    fn compile_own(&self, name: &str, text: &str, pic: bool) -> Result<PathBuf, String> {
        let file = |suffix| self.temp.path().join(format!("{name}{suffix}"));
        let (source, object) = (file(".c"), file(".o"));
        write(&source, text)?;
        let mut a: Vec<OsString> = ["-c", "-w", "-O1"].map(OsString::from).into();
        a.extend(pic.then(|| "-fPIC".into()));
        a.extend(self.o.cc.iter().filter(|f| f.starts_with("-m")).map(OsString::from));
        a.extend(["-isystem".into(), self.layout.include.clone().into()]);
        a.extend(["-o".into(), object.clone().into(), source.into()]);
        match self.cc.run(&a, Stdio::inherit(), Stdio::inherit())? {
            Some(out) if !out.status.success() => Err("the C compiler fails".into()),
            _ => Ok(object),
        }
    }

    /// Compiles emitted C.
    fn run_cc(&self, c_file: &Path, out: &Path, input: &Input) -> Result<(), String> {
        let o = self.o;
        let mut a: Vec<OsString> = vec![(if o.stage == Stage::Assembly { "-S" } else { "-c" }).into()];
        // The text is preprocessed already: only the macros of our own header may be expanded.
        a.extend(["-w".into(), "-undef".into(), "-fcommon".into()]);
        // Newer compilers take for errors what older C allows; upcc has had its say on these already.
        a.extend(TOLERATED.iter().map(OsString::from));
        if o.c89() {
            a.extend(["-std=gnu17".into(), "-fgnu89-inline".into()]);
        } else {
            a.push(cpp::std_flag(o).into());
        }
        a.push(o.opt_flag().into());
        // Structures pass through temporaries of the emitted C; copied member by member they would lose their
        // padding, which programs compare.
        a.push("--param=sra-max-scalarization-size-Ospeed=0".into());
        a.extend(o.debug.iter().map(OsString::from));
        a.extend(o.cc.iter().chain(&o.cc_only).map(OsString::from));
        if o.cc.iter().any(|f| f.starts_with("-flto")) {
            // Proxies of static variables are known by their symbols, which that would rename.
            a.push("-fno-lto".into());
        }
        a.extend(["-isystem".into(), self.layout.include.clone().into()]);
        a.extend(["-o".into(), out.into(), "-x".into(), "c".into(), c_file.into()]);
        let Some(r) = self.cc.run(&a, Stdio::inherit(), Stdio::piped())? else { return Ok(()) };
        if r.status.success() {
            return Ok(());
        }
        remove_output(out);
        let text = String::from_utf8_lossy(&r.stderr);
        eprint!("{text}");
        if !text.ends_with('\n') {
            eprintln!();
        }
        if text.contains("Error: ") && text.contains("Assembler messages") {
            return Err(format!(
                "the assembler rejected '{}': see its messages about asm statements above",
                input.path.display()
            ));
        }
        Err(format!(
            "the C compiler rejected the C that upcc made of '{0}': this is a bug in upcc, or an option that the C compiler does \
             not know.\n  To report it, run upcc again with -save-temps and send the preprocessed '{1}.i' and the emitted \
             '{1}.trans.c' with the messages above.",
            input.path.display(),
            input.path.file_stem().unwrap_or_default().to_string_lossy(),
        ))
    }

    /// The option by which a program has its runtime found by the shared objects that it loads.
    fn exports(&self) -> Result<OsString, String> {
        let list = self.temp.path().join("upc-exports");
        write(&list, EXPORTED)?;
        let mut option = OsString::from("-Wl,--dynamic-list=");
        option.push(&list);
        Ok(option)
    }

    fn link(&self, objects: &[Option<PathBuf>]) -> Result<(), String> {
        let o = self.o;
        if let Some(name) = o.other_network.as_ref().filter(|_| !o.quiet) {
            eprintln!(
                "upcc: note: there is no network '{name}' here: the program runs over the one that upcrun finds, or is given \
                 (upcrun -network=udp, or ofi, which drives the fabrics that libfabric knows)"
            );
        }
        let named = o.inputs.iter().find(|i| i.kind != InputKind::Linker).filter(|_| o.smart_output);
        let named = named.and_then(|i| i.path.file_stem()).map(PathBuf::from);
        let out = o.output.clone().or(named).unwrap_or_else(|| "a.out".into());
        let mut files: Vec<PathBuf> = Vec::new();
        let mut a: Vec<OsString> = vec!["-o".into(), out.clone().into()];
        a.push(o.opt_flag().into());
        a.extend(o.debug.iter().map(OsString::from));
        a.extend(o.cc.iter().map(OsString::from));
        for item in &o.link {
            match item {
                LinkItem::Input(i) => {
                    let f = objects[*i].clone().unwrap_or_else(|| o.inputs[*i].path.clone());
                    files.push(f.clone());
                    a.push(f.into());
                }
                LinkItem::Arg(s) => a.push(s.into()),
            }
        }
        let shared = o.cc.iter().any(|f| f == "-shared");
        let library = shared && !o.embed;
        if !o.no_libs && library {
            // It uses the runtime of the program that loads it, which keeps its variables.
            a.push("-Wl,-z,nodelete".into());
            let constructor = link::constructor(&out, !o.no_checks);
            a.push(self.compile_own("upc-library", &constructor, true)?.into());
        } else if !o.no_libs {
            // A library with an embedded runtime does not export it.
            if !shared {
                a.push(self.exports()?);
            }
            if !o.dry_run {
                self.layout.check_library()?;
            }
            a.push(self.link_object(&out)?.into());
            a.extend(libraries(&self.layout));
            a.push(run_path(&self.layout));
        }
        let mut other = o.link_with.as_deref().map(|program| Cc::find(Some(program))).transpose()?;
        if let Some(cc) = &mut other {
            (cc.verbose, cc.dry_run) = (o.verbose, o.dry_run);
        }
        let linker = other.as_ref().unwrap_or(&self.cc);
        let Some(r) = linker.run(&a, Stdio::inherit(), Stdio::piped())? else { return Ok(()) };
        let text = String::from_utf8_lossy(&r.stderr);
        if !r.status.success() {
            remove_output(&out);
            // upcc's own comparison of the objects gives better messages than the linker, so it comes
            // first.
            if !o.no_checks {
                link::check_objects(&files)?;
            }
            let made = o.inputs.iter().zip(objects);
            let made: Vec<_> = made.filter_map(|(i, made)| Some((made.clone()?, i.path.clone()))).collect();
            eprint!("{}", link::readable(&text, &made));
            return Err("linking failed".into());
        }
        if o.no_libs || o.no_checks {
            return Ok(());
        }
        let words = o.link.iter().map(|item| match item {
            LinkItem::Input(i) => o.inputs[*i].path.as_path(),
            LinkItem::Arg(word) => Path::new(word),
        });
        let checked = link::check_program(&out, &link::libraries(words), o.extern_main || shared);
        if checked.is_err() {
            remove_output(&out);
        }
        checked
    }
}

/// Symbols that a program exports to the UPC shared objects that it loads.
const EXPORTED: &str = "{ __upc*; upc_*; bupc_*; };\n";

/// The libraries of every program, in the order of the link line.
fn libraries(layout: &Layout) -> Vec<OsString> {
    // A main for programs that have none, and the start of those whose main is C.
    let starts = layout.lib.join("libupcmain.a");
    let mut all: Vec<OsString> = starts.is_file().then(|| starts.into()).into_iter().collect();
    all.push(layout.library().into());
    all.extend(["-lpthread", "-ldl", "-lm"].map(OsString::from));
    all
}

/// Where conduits that are loaded at run time lie.
fn run_path(layout: &Layout) -> OsString {
    let mut path = OsString::from("-Wl,-rpath,");
    path.push(&layout.lib);
    path
}

fn inform(info: &Info, o: &Options, layout: &Layout) -> Result<(), String> {
    match info {
        Info::Help => print!("{}", options::help()),
        Info::Manual => print!("{}", options::manual()),
        Info::Version => println!("{}", version()),
        Info::IncludeDir => println!("{}", layout.include.display()),
        Info::MpiCc => println!("{}", Cc::find(Some(&options::mpicc()))?.program.display()),
        Info::Confs => {
            println!("default");
            for (file, _) in conf::conf_files("upcc", &layout.etc, o.conf.as_deref(), o.norc) {
                println!("  {}{}", file.display(), if file.is_file() { "" } else { " (not there)" });
            }
        }
        Info::EchoVar(v) => println!("{}", variable(v, o, layout)?),
        Info::AskCc(opt) => {
            let mut args = vec![OsString::from(opt)];
            args.extend(o.cc.iter().map(OsString::from));
            let cc = Cc::find(o.cc_program.as_deref())?;
            if cc.run(&args, Stdio::inherit(), Stdio::inherit())?.is_some_and(|r| !r.status.success()) {
                return Err(String::new());
            }
        }
    }
    Ok(())
}

/// A variable of the configuration.
fn variable(name: &str, o: &Options, layout: &Layout) -> Result<String, String> {
    let show = |p: &Path| p.display().to_string();
    let line = |words: Vec<OsString>| {
        words.iter().map(|w| cc::quote(&w.to_string_lossy())).collect::<Vec<_>>().join(" ")
    };
    let threads = || o.threads.map(|n| format!("-D{STATIC_THREADS}={n}").into());
    let pointers = || o.pts_struct.then(|| format!("-D{PTS_STRUCT}=1").into());
    Ok(match name {
        // Scripts that call the C compiler themselves use these values: $(GASNET_LD) $(GASNET_LDFLAGS)
        // objects $(LIBS).
        "CC" | "GASNET_CC" | "GASNET_LD" => show(&Cc::find(o.cc_program.as_deref())?.program),
        "GASNET_CFLAGS" => line(vec![o.opt_flag().into()]),
        "GASNET_CPPFLAGS" => {
            let folder = ["-isystem".into(), layout.include.clone().into()];
            line(folder.into_iter().chain(threads()).chain(pointers()).collect())
        }
        "GASNET_LDFLAGS" => line(vec![o.opt_flag().into(), run_path(layout)]),
        "LIBS" | "GASNET_LIBS" => line(libraries(layout)),
        "GASNET_MISC_CFLAGS" | "GASNET_MISC_CPPFLAGS" => String::new(),
        "MPI_CC" | "MPICC" => show(&Cc::find(Some(&options::mpicc()))?.program),
        "CONDUITS" | "conduits" => {
            let there = |c: &str| {
                std::fs::read_dir(&layout.lib).into_iter().flatten().flatten().any(|f| {
                    f.file_name().to_str().is_some_and(|f| {
                        f.strip_prefix(&format!("libgasnet_{c}")).is_some_and(|f| f.starts_with(['.', '-']))
                    })
                })
            };
            let plugins = ["mpi", "ofi"].into_iter().filter(|c| there(c));
            ["smp", "udp"].into_iter().chain(plugins).collect::<Vec<_>>().join(" ")
        }
        "DFLT_CONDUIT" | "default_network" => "smp".into(),
        "VERSION" | "version" => env!("CARGO_PKG_VERSION").into(),
        "PREFIX" | "prefix" => show(layout.bin.parent().unwrap_or(Path::new("/"))),
        "INCLUDEDIR" | "includedir" => show(&layout.include),
        "LIBDIR" | "libdir" => show(&layout.lib),
        "UPCRUN" | "upcrun" => show(&layout.bin.join("upcrun")),
        _ => {
            return Err(format!(
                "no configuration variable '{name}'; there are CC, MPI_CC, CONDUITS, DFLT_CONDUIT, VERSION, PREFIX, INCLUDEDIR, LIBDIR, UPCRUN, GASNET_CC, \
                 GASNET_CFLAGS, GASNET_CPPFLAGS, GASNET_MISC_CFLAGS, GASNET_MISC_CPPFLAGS, GASNET_LD, GASNET_LDFLAGS, LIBS"
            ));
        }
    })
}

/// Removes a failed step's output (a regular file only: never `/dev/null`).
fn remove_output(path: &Path) {
    if std::fs::symlink_metadata(path).is_ok_and(|m| m.is_file()) {
        let _ = std::fs::remove_file(path);
    }
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, crate::front::source::encode(text))
        .map_err(|e| format!("cannot write '{}': {e}", path.display()))
}
