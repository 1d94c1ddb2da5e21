//! `cafrun`: runs a program on N images, by the `gasnetrun` beside it. See `cafrun --help`.

use gasnet_launch::cli;
use gasnet_options::{Argument, Arguments, CommandTable, Opt, Style, hidden, opt, shown};
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

/// An option of `cafrun` itself.
#[derive(Clone, Copy)]
enum CafrunOption {
    Images,
    Show,
    Wraps,
    Help,
    Manual,
    Version,
    /// An option of other launchers that means nothing here.
    Ignored,
}

/// The options of `cafrun` itself.
const OPTIONS: &[Opt<CafrunOption>] = &[
    opt(CafrunOption::Images, "-n N, -np N", "number of images").or(&["--np", "--images"]),
    shown(
        "--conduit NAME",
        "network: smp (default on one host), udp (default on several), mpi, ofi or netvm",
    ),
    shown("-H, --hosts A,B:2", "hosts on which to start images, by ssh"),
    shown(
        "--simulate",
        "as the first word: simulated images, in virtual time; see gasnetrun --simulate --help",
    ),
    opt(CafrunOption::Show, "--show", "print what would be run where, and run nothing"),
    opt(CafrunOption::Wraps, "--wraps", "print the path of the launcher"),
    opt(CafrunOption::Help, "-h, --help", "print this text"),
    opt(CafrunOption::Manual, "--manual", "print the manual page, in the language of man"),
    opt(CafrunOption::Version, "-V, --version", "print the version"),
    hidden(CafrunOption::Ignored, "--oversubscribe, --allow-run-as-root, --reenable-ftouch"),
];

const COMMAND: CommandTable<CafrunOption> = CommandTable {
    name: "cafrun",
    brief: "run Fortran programs with coarrays",
    about: "Runs a Fortran program with coarrays on N images, on this host or on several.",
    usage: &["cafrun -n N [options] PROGRAM [arguments]", "cafrun --simulate -n N [options] PROGRAM [arguments]"],
    options: OPTIONS,
    notes: "\
All other options are those of gasnetrun. --oversubscribe, --allow-run-as-root and --reenable-ftouch are accepted for
other launchers' sake; images may be more than processors anyway. Image 1 reads standard input.",
    style: Style::Gnu,
};

fn main() -> ExitCode {
    match translate(std::env::args_os().skip(1).collect()) {
        Ok(Request::Print(text)) => {
            println!("{}", text.trim_end());
            ExitCode::SUCCESS
        }
        Ok(Request::Run(words)) => {
            let launcher = launcher();
            // By this name it calls ranks images.
            let error = Command::new(&launcher).arg0("cafrun").args(words).exec();
            eprintln!("cafrun: {}: {error}", launcher.to_string_lossy());
            ExitCode::FAILURE
        }
        Err(why) => {
            eprintln!("cafrun: {why}");
            ExitCode::from(2)
        }
    }
}

/// The request on the command line.
#[derive(Debug, PartialEq)]
enum Request {
    Print(String),
    /// Run gasnetrun with these words.
    Run(Vec<OsString>),
}

/// The `gasnetrun` of this installation.
fn launcher() -> OsString {
    let own = std::env::current_exe().and_then(|path| path.canonicalize());
    own.map_or_else(|_| "gasnetrun".into(), |path| path.with_file_name("gasnetrun").into())
}

/// From options of `cafrun` to those of `gasnetrun`.
fn translate(arguments: Vec<OsString>) -> Result<Request, String> {
    if arguments.first().is_some_and(|word| word == "--simulate") {
        // A command of its own, with options of its own.
        return Ok(Request::Run(arguments));
    }
    let mut all = Vec::new();
    let mut words = Arguments::new(&COMMAND, arguments);
    while let Some(word) = words.next_argument()? {
        match word {
            Argument::Option(found) => match found.key {
                CafrunOption::Images => all.extend(["-n".into(), found.value()]),
                CafrunOption::Show => all.push("--dry-run".into()),
                CafrunOption::Wraps => return Ok(Request::Print(launcher().to_string_lossy().into_owned())),
                CafrunOption::Help => return Ok(Request::Print(COMMAND.help())),
                CafrunOption::Manual => return Ok(Request::Print(COMMAND.manual(env!("CARGO_PKG_VERSION")))),
                CafrunOption::Version => {
                    return Ok(Request::Print(format!("cafrun (gasnet-rs) {}", env!("CARGO_PKG_VERSION"))));
                }
                CafrunOption::Ignored => {}
            },
            // The launcher's own options pass with their values.
            Argument::Unknown(word) => match cli::COMMAND.in_a_word(&word) {
                Some(whole) => {
                    all.push(word);
                    all.extend((!whole).then(|| words.next_if(|_| true)).flatten());
                }
                None => {
                    let word = word.to_string_lossy();
                    let meant = COMMAND.nearest(&word).or_else(|| cli::COMMAND.nearest(&word));
                    return Err(match meant {
                        Some(meant) => format!("unknown option '{word}'; did you mean '{meant}'?"),
                        None => COMMAND.unknown(&word),
                    });
                }
            },
            Argument::Operand(program) => {
                all.push(program);
                all.extend(words.rest());
                break;
            }
        }
    }
    Ok(Request::Run(all))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_other_launchers() {
        assert_eq!(COMMAND.mistakes(), [""; 0]);
        let given = |line: &str| translate(line.split_whitespace().map(OsString::from).collect());
        for (line, expected) in [
            ("--oversubscribe -np 4 --show prog --show -h", "-n 4 --dry-run prog --show -h"),
            ("--images 2 ./p", "-n 2 ./p"),
            ("--simulate -n 2 --runs 9 ./p --show", "--simulate -n 2 --runs 9 ./p --show"),
            (
                "-n2 --conduit udp -lv --bind -t=3 -e A=b --ranks=4 p -x",
                "-n 2 --conduit udp -lv --bind -t=3 -e A=b --ranks=4 p -x",
            ),
        ] {
            let expected = expected.split_whitespace().map(OsString::from).collect();
            assert_eq!(given(line), Ok(Request::Run(expected)), "{line}");
        }
        assert_eq!(given("-n 2 --help"), Ok(Request::Print(COMMAND.help())));
        for (line, meant) in
            [("--imges 2 p", "did you mean '--images'?"), ("--condiut udp p", "did you mean '--conduit'?")]
        {
            assert!(given(line).is_err_and(|text| text.contains(meant)), "{line}");
        }
    }
}
