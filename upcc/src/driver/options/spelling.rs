//! The spelling of options: the table of ours, those of gcc that take a word, and misspelled ones.

use super::Stage;
use gasnet_options::{CommandTable, Opt, Style, hidden, opt, shown};

/// An option of `upcc` itself.
#[derive(Clone, Copy)]
pub(super) enum CompilerOption {
    Stop(Stage),
    Output,
    Threads,
    Heap,
    Quiet,
    Explain,
    Dump,
    SaveTemps(bool),
    Lines(bool),
    RequireSize(bool),
    SizeWarn(bool),
    Network,
    UsesMpi,
    Embed,
    ExternMain,
    Checks(bool),
    SmartOutput,
    ShowSizes,
    CCompiler,
    LinkWith,
    Verbose,
    DryRun,
    Conf,
    NoConf,
    Version,
    Help,
    Manual,
    IncludeDir,
    MpiCc,
    Confs,
    EchoVariable,
    /// Whether there are optimisations at all.
    Optimise(bool),
    /// These optimisations are made, or not.
    Passes(bool),
    /// A number of threads for another kind of runtime.
    Pthreads,
    /// Chooses between translators, back ends, builds and caches of which there is one here or none.
    Ignored,
}

/// The options of `upcc`. Those without a key are gcc's, or have a parser of their own.
const OPTIONS: &[Opt<CompilerOption>] = &[
    opt(CompilerOption::Stop(Stage::Object), "-c", "stop after compiling: an object file"),
    opt(CompilerOption::Stop(Stage::Assembly), "-S", "stop at assembly"),
    opt(CompilerOption::Stop(Stage::Preprocess), "-E", "stop after preprocessing"),
    opt(CompilerOption::Stop(Stage::Translate), "-trans", "stop after translation to C (foo.trans.c)"),
    opt(CompilerOption::Output, "-o FILE", "output file; for a program a.out by default"),
    opt(
        CompilerOption::Threads,
        "-T N",
        "fix the number of threads (static environment); by default it is chosen at each run",
    )
    .or(&["-threads"]),
    shown("-fupc-threads-N", "the same"),
    shown(
        "-O0 ... -O3, -g",
        "level of optimisation (default -O2, or -O0 with -g) and information for debuggers: gdb prints shared \
         variables by their names",
    ),
    shown("-I, -D, -U, -L, -l", "as for a C compiler"),
    shown(
        "-fupc-pts=struct",
        "pointers-to-shared of 16 bytes (default 8) in all objects of a program: no limits on blocks and heaps",
    ),
    opt(
        CompilerOption::Heap,
        "-shared-heap=SIZE",
        "shared heap of each thread, in MB or with KB, MB or GB (default: physical memory / threads of the host)",
    ),
    shown("-Wall, -Wextra, -Werror, -W..., -Wno-...", "warnings, as of a C compiler, about the UPC program"),
    shown("-Wupc", "warnings about what is wrong in UPC alone"),
    opt(CompilerOption::Quiet, "-w", "no warnings"),
    opt(
        CompilerOption::Optimise(false),
        "-noopt",
        "no UPC optimisations; -fno-upc-NAME turns off one of them: forall, privatise, coalesce, split-phase, \
         arithmetic, hoist, outline, vector",
    ),
    shown(
        "-fupc-aggregate",
        "relaxed writes to threads that share no memory with the writer, and relaxed atomic operations without a \
         result, travel together until the next synchronisation",
    ),
    opt(
        CompilerOption::Explain,
        "--explain",
        "print, for each source line, the shared accesses that are not optimised, and the reason",
    ),
    opt(
        CompilerOption::Dump,
        "--dump=FORM",
        "make no file, and print: with FORM ir, each shared access in the intermediate form, and how passes change \
         it; with FORM ast, the syntax tree",
    ),
    shown(
        "-fsanitize=upc",
        "find, while the program runs, accesses outside of shared objects or to freed ones, pointers that wrap \
         around, and casts of other threads' memory; slower",
    ),
    opt(
        CompilerOption::SaveTemps(true),
        "-save-temps[=HOW]",
        "keep the emitted C (foo.trans.c) and the preprocessed text (foo.i)",
    ),
    opt(CompilerOption::Lines(false), "-nolines", "no #line in the emitted C"),
    opt(
        CompilerOption::RequireSize(true),
        "-require-size",
        "(linking) fail at start if the shared heap is smaller than requested (default); -norequire-size accepts it",
    ),
    opt(
        CompilerOption::Network,
        "-network=NAME",
        "(linking) default network of the program for upcrun: smp, udp, mpi, ofi, netvm",
    ),
    opt(CompilerOption::UsesMpi, "-uses-mpi", "compile and link with mpicc: the program calls MPI itself"),
    shown(
        "-shared",
        "(linking, with -fPIC) a shared object, which uses the runtime of the program that loads it and may define \
         shared variables; dlopen of it is collective then",
    ),
    opt(
        CompilerOption::Embed,
        "-embed",
        "(linking, with -shared) a whole program with a runtime of its own, for what starts it in its own process",
    ),
    opt(
        CompilerOption::Checks(false),
        "-nochecks",
        "do not check whether the objects of a program are compatible",
    ),
    opt(CompilerOption::SmartOutput, "-smart-output", "name the program after its first source, not a.out"),
    opt(CompilerOption::ShowSizes, "-show-sizes", "print the sizes of pointers-to-shared and their limits"),
    opt(CompilerOption::CCompiler, "--cc=PROG", "the C compiler to use"),
    opt(CompilerOption::LinkWith, "-link-with=PROG", "link with PROG in place of the C compiler"),
    opt(CompilerOption::NoConf, "-norc", "do not read ~/.upccrc"),
    opt(CompilerOption::Conf, "-conf=FILE", "read FILE, too"),
    opt(CompilerOption::Verbose, "-v", "print the commands and run them").or(&["-vv"]),
    opt(CompilerOption::DryRun, "-###", "print the commands and run none").or(&["-dryrun", "-dry-run"]),
    opt(CompilerOption::Version, "--version", "print the version").or(&["-V"]),
    opt(CompilerOption::Help, "--help", "print this text").or(&["-h"]),
    opt(CompilerOption::Manual, "--manual", "print the manual page, in the language of man"),
    hidden(CompilerOption::SaveTemps(true), "-save-all-temps"),
    hidden(CompilerOption::SaveTemps(false), "-nosave-temps"),
    hidden(CompilerOption::Lines(true), "-lines"),
    hidden(CompilerOption::RequireSize(false), "-norequire-size, -no-require-size"),
    hidden(CompilerOption::SizeWarn(true), "-size-warn"),
    hidden(CompilerOption::SizeWarn(false), "-nosize-warn, -no-size-warn"),
    hidden(CompilerOption::Checks(true), "-checks"),
    hidden(CompilerOption::ExternMain, "-extern-main"),
    hidden(CompilerOption::Optimise(true), "-opt"),
    hidden(CompilerOption::Passes(true), "-opt-enable=NAMES"),
    hidden(CompilerOption::Passes(false), "-opt-disable=NAMES"),
    hidden(CompilerOption::EchoVariable, "-echo-var=NAME"),
    hidden(CompilerOption::IncludeDir, "-print-include-dir"),
    hidden(CompilerOption::MpiCc, "-print-mpicc"),
    hidden(CompilerOption::Confs, "-show-confs"),
    hidden(CompilerOption::Pthreads, "-pthreads[=N]"),
    hidden(
        CompilerOption::Ignored,
        "-nopthreads, -link-cache, -nolink-cache, -allow-deprecated, -fast-symptr, -nofast-symptr",
    )
    .or(&["-bupc", "-gupc", "-cupc", "-cupc2c", "-trace", "-inst", "-compress", "-nightly", "-stable"]),
    hidden(CompilerOption::Ignored, "-translator=PROG, -http-proxy=HOST"),
];

/// The command `upcc`.
pub(super) const COMMAND: CommandTable<CompilerOption> = CommandTable {
    name: "upcc",
    brief: "compile and link UPC programs",
    about: "Compiles UPC 1.3 (.upc, .c, preprocessed .i) and links it with objects and libraries (.o, .a) into a \
            program.",
    usage: &["upcc [options] file..."],
    options: OPTIONS,
    notes: "\
Other options (-std=, -march=, -MD, -Wl,..., -pthread, -f..., -m...) go to the C compiler. Options of Berkeley UPC's upcc
are accepted with one or two dashes. Further options are read from the line `default_options = ...` of ~/.upccrc (unless
-norc is given) and from the variable UPCC_FLAGS. Run the program with: upcrun -n N program arguments",
    style: Style::Compiler,
};

/// Options of gcc whose argument is the next word.
pub(super) const SEPARATE: &[&str] = &[
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
/// Those that are the preprocessor's.
pub(super) const CPP_SEPARATE: &[&str] = &[
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

/// The option of ours that `name` was probably meant to be.
pub(super) fn near_miss(name: &str) -> Option<&'static str> {
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
    COMMAND.nearest(name)
}
