//! `caf`: compiles and links Fortran programs with coarrays by gfortran. See `caf --help`.

use gasnet_options::{Argument, Arguments, CommandTable, Opt, Style, opt};
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// An option of `caf` itself.
#[derive(Clone, Copy)]
enum CafOption {
    Compiler,
    Show,
    Wraps,
    Version,
    Help,
    Manual,
}

/// The options of `caf` itself.
const OPTIONS: &[Opt<CafOption>] = &[
    opt(
        CafOption::Compiler,
        "--compiler PROGRAM",
        "the gfortran to use (default: variable CAF_FC, then FC, then gfortran)",
    ),
    opt(CafOption::Show, "--show", "print the command that would be run, and run nothing"),
    opt(CafOption::Wraps, "--wraps", "print the path of the compiler"),
    opt(CafOption::Version, "--version", "print the versions of caf and of the compiler"),
    opt(CafOption::Help, "-h, --help", "print this text"),
    opt(CafOption::Manual, "--manual", "print the manual page, in the language of man"),
];

const COMMAND: CommandTable<CafOption> = CommandTable {
    name: "caf",
    brief: "compile and link Fortran programs with coarrays",
    about: "Compiles and links Fortran programs with coarrays by gfortran.",
    usage: &["caf [--compiler PROGRAM] [options of gfortran] FILE..."],
    options: OPTIONS,
    notes: "\
All other options and files are passed to gfortran, with -fcoarray=lib before them, and after them, where a program or
shared library is linked, the library libcaf_gasnet. All files of a program that share derived types must be compiled by
caf. Compilers: gfortran 8 to 16.

Run the program by cafrun.",
    style: Style::Compiler,
};

/// Options of gfortran whose value is the next word.
const WITH_VALUE: &str =
    "-o -I -J -L -l -x -D -U -T -u -z -e -include -isystem -iquote -idirafter -MF -MT -MQ -Xlinker --param";
/// Options with which nothing is linked.
const NO_LINK: &str = "-c -S -E -M -MM -fsyntax-only -###";

/// Functions that gfortran's library calls if there are threads, and that a static program has only if
/// somebody asks for them.
const CALLED_WITH_THREADS: &str =
    "mutex_init mutex_lock mutex_trylock mutex_unlock mutex_destroy once key_create";

/// Functions of the library that gfortran 16 calls with other arguments than older ones.
const CHANGED_BY_16: &str = "this_image num_images form_team change_team end_team sync_team";

/// Whether a word is one of a list.
fn is_among(list: &str, word: &OsStr) -> bool {
    list.split(' ').any(|other| word == other)
}

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What the command line asks for.
#[derive(Debug, Default, PartialEq)]
struct Request {
    compiler: Option<OsString>,
    show: bool,
    print: Option<Print>,
    /// What is passed on.
    words: Vec<OsString>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Print {
    Help,
    Manual,
    Compiler,
    Version,
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("caf: {why}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), String> {
    let request = parse(std::env::args_os().skip(1))?;
    match request.print {
        Some(Print::Help) => return say(&COMMAND.help()),
        Some(Print::Manual) => return say(&COMMAND.manual(VERSION)),
        _ => {}
    }
    let own = std::env::current_exe().and_then(|path| path.canonicalize());
    let own = own.map_err(|error| format!("its own place is not known: {error}"))?;
    let prefix = own.parent().and_then(Path::parent).unwrap_or(Path::new("/usr"));
    let compiler = find(request.compiler.as_deref(), &own)?;
    match request.print {
        Some(Print::Compiler) => return say(&format!("{}\n", compiler.display())),
        Some(Print::Version) => {
            println!("caf (gasnet-rs) {VERSION}, over");
            return Err(failed(Command::new(&compiler).arg("--version").exec(), &compiler));
        }
        _ => {}
    }
    let version = check_version(&compiler)?;
    let mut command = Command::new(&compiler);
    if !all_in_c(&request.words) {
        command.arg("-fcoarray=lib");
    }
    command.args(&request.words);
    if links(&request.words) {
        command.args(libraries(prefix, request.words.iter().any(|word| word == "-static")));
        command.args(wraps(version));
    }
    if request.show {
        return say(&format!("{command:?}\n"));
    }
    Err(failed(command.exec(), &compiler))
}

fn say(text: &str) -> Result<(), String> {
    print!("{text}");
    Ok(())
}

fn failed(error: std::io::Error, compiler: &Path) -> String {
    format!("{}: {error}", compiler.display())
}

/// Takes the options of `caf` itself out of the command line.
fn parse(arguments: impl Iterator<Item = OsString>) -> Result<Request, String> {
    let mut request = Request::default();
    let mut words = Arguments::new(&COMMAND, arguments);
    while let Some(word) = words.next_argument()? {
        match word {
            Argument::Option(found) => match found.key {
                CafOption::Compiler => request.compiler = Some(found.value()),
                CafOption::Show => request.show = true,
                CafOption::Wraps => request.print = Some(Print::Compiler),
                CafOption::Version => request.print = Some(Print::Version),
                CafOption::Help => request.print = Some(Print::Help),
                CafOption::Manual => request.print = Some(Print::Manual),
            },
            Argument::Unknown(word) if is_among(WITH_VALUE, &word) => {
                request.words.push(word);
                request.words.extend(words.next_if(|_| true));
            }
            Argument::Unknown(word) | Argument::Operand(word) => request.words.push(word),
        }
    }
    Ok(request)
}

/// The words that are no values of options.
fn without_values(words: &[OsString]) -> impl Iterator<Item = &OsStr> {
    let mut words = words.iter();
    std::iter::from_fn(move || {
        let word = words.next()?;
        if is_among(WITH_VALUE, word) {
            words.next();
        }
        Some(word.as_os_str())
    })
}

/// The words that are neither options nor values of options.
fn files(words: &[OsString]) -> impl Iterator<Item = &OsStr> {
    without_values(words).filter(|word| *word == "-" || !word.as_encoded_bytes().starts_with(b"-"))
}

/// Whether gfortran links: there is a file, and no option says otherwise.
fn links(words: &[OsString]) -> bool {
    !without_values(words).any(|word| is_among(NO_LINK, word)) && files(words).next().is_some()
}

/// Whether there are files and gcc's compiler for C reads all of them: it warns of options for Fortran. CMake
/// has `FC` preprocess such a file to find out which compiler it is.
fn all_in_c(words: &[OsString]) -> bool {
    let is_in_c = |ending: &OsStr| ["c", "h", "i"].iter().any(|c| ending == *c);
    files(words).next().is_some() && files(words).all(|file| Path::new(file).extension().is_some_and(is_in_c))
}

/// The library, and what finds it when the program runs.
fn libraries(prefix: &Path, archive: bool) -> Vec<OsString> {
    let lib = prefix.join("lib");
    let with = |option: &str| {
        let mut word = OsString::from(option);
        word.push(&lib);
        word
    };
    let mut words = Vec::new();
    // The system's own folders are known to linker and loader.
    if prefix != Path::new("/usr") {
        words.extend([with("-L"), with("-Wl,-rpath,")]);
    }
    words.push("-lcaf_gasnet".into());
    if archive {
        words.extend(CALLED_WITH_THREADS.split(' ').map(|name| format!("-Wl,-u,pthread_{name}").into()));
        words.extend(["-lpthread", "-ldl", "-lm"].map(OsString::from));
    }
    words
}

/// Options with which the linker takes the functions of gfortran 16 for names that older ones call with other
/// arguments.
fn wraps(version: u32) -> Vec<OsString> {
    let names = CHANGED_BY_16.split(' ').filter(|_| version >= 16);
    names.map(|name| format!("-Wl,--wrap=_gfortran_caf_{name}").into()).collect()
}

/// The compiler: the first that is named, on the search path unless it is a path; never `caf` itself, which
/// builds put into `FC`.
fn find(wanted: Option<&OsStr>, own: &Path) -> Result<PathBuf, String> {
    let named = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let places = match wanted {
        Some(name) => vec![(name.to_os_string(), "--compiler")],
        None => {
            let variables = ["CAF_FC", "FC"].into_iter().filter_map(|name| Some((named(name)?, name)));
            variables.chain([("gfortran".into(), "PATH")]).collect()
        }
    };
    for (name, place) in places {
        let found = which(&name, own);
        match found {
            Some(path) if path.canonicalize().is_ok_and(|path| path == *own) => {}
            Some(path) => return Ok(path),
            None if place == "FC" => {}
            None if place == "PATH" => {
                return Err("no gfortran found; install it (Debian: gfortran) or name it in CAF_FC".into());
            }
            None => return Err(format!("{place}: there is no compiler '{}'", name.to_string_lossy())),
        }
    }
    Err("the compiler that is named is caf itself".into())
}

fn which(name: &OsStr, own: &Path) -> Option<PathBuf> {
    let path = Path::new(name);
    if path.components().count() > 1 {
        return path.is_file().then(|| path.into());
    }
    let folders = std::env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
    let files = std::env::split_paths(&folders).map(|folder| folder.join(name)).filter(|file| file.is_file());
    let mut files = files.collect::<Vec<_>>().into_iter();
    let other = files.clone().find(|file| file.canonicalize().is_ok_and(|path| path != *own));
    other.or_else(|| files.next())
}

/// The major version of the compiler; refuses those that call another library than this one.
fn check_version(compiler: &Path) -> Result<u32, String> {
    let asked = Command::new(compiler).arg("--version").env("LC_ALL", "C").output();
    let asked = asked.map_err(|error| failed(error, compiler))?;
    let said = String::from_utf8_lossy(&asked.stdout);
    let line = said.lines().next().unwrap_or_default();
    match major(line) {
        Some(version @ 8..=16) => Ok(version),
        Some(other) => Err(format!(
            "{}: gfortran {other} calls the functions of another library interface; gfortran 8 to 16 are known",
            compiler.display()
        )),
        None => Err(format!("{} is no gfortran: it says '{line}'", compiler.display())),
    }
}

/// The major version in `GNU Fortran (Debian 12.2.0-14) 12.2.0`.
fn major(line: &str) -> Option<u32> {
    let version = line.strip_prefix("GNU Fortran ")?.rsplit(") ").next()?;
    version.split(['.', ' ']).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn own_options_are_taken_out() {
        assert_eq!(COMMAND.mistakes(), [""; 0]);
        let request = parse(words("--compiler=gfortran-11 -O2 --show a.f90 -o --show").into_iter()).unwrap();
        assert_eq!(request.compiler, Some("gfortran-11".into()));
        assert!(request.show);
        assert_eq!(request.words, words("-O2 a.f90 -o --show"));
        assert!(parse(words("--compiler").into_iter()).is_err());
    }

    #[test]
    fn programs_are_linked_and_objects_are_not() {
        for line in [
            "a.f90",
            "a.o -o a",
            "-O2 -J mod a.f90",
            "-shared a.o -o a.so",
            "-x f95 -",
            "@rest",
            "-Xlinker -E a.o",
        ] {
            assert!(links(&words(line)), "{line}");
        }
        for line in ["-c a.f90", "a.f90 -fsyntax-only", "-v", "-dumpversion", "-J mod", "-print-prog-name=ld"]
        {
            assert!(!links(&words(line)), "{line}");
        }
    }

    #[test]
    fn files_in_c_are_known() {
        for line in ["-E -o x.f90 /usr/share/CMakeTestGNU.c", "-c a.c b.i"] {
            assert!(all_in_c(&words(line)), "{line}");
        }
        for line in ["a.c b.f90", "a.F -I c.h", "a.o", "-x f95 -", "-v"] {
            assert!(!all_in_c(&words(line)), "{line}");
        }
    }

    #[test]
    fn versions_of_compilers() {
        assert_eq!(major("GNU Fortran (Debian 12.2.0-14+deb12u1) 12.2.0"), Some(12));
        assert_eq!(major("GNU Fortran (GCC) 8.5.0 20210514 (Red Hat 8.5.0-18)"), Some(8));
        assert_eq!(
            major("GNU Fortran (Ubuntu 15-20250404-0ubuntu1) 15.0.1 20250404 (experimental)"),
            Some(15)
        );
        assert_eq!(major("flang version 22.0.0"), None);
    }

    #[test]
    fn installations_in_the_system_need_no_paths() {
        assert_eq!(libraries(Path::new("/usr"), false), words("-lcaf_gasnet"));
        assert_eq!((wraps(15).len(), wraps(16).len()), (0, 6));
        let moved = libraries(Path::new("/opt/x"), false);
        assert_eq!(moved, words("-L/opt/x/lib -Wl,-rpath,/opt/x/lib -lcaf_gasnet"));
    }
}
