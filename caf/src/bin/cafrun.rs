//! `cafrun`: runs a program on N images, by the `gasnetrun` beside it. See `cafrun --help`.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

const HELP: &str = "\
Runs a Fortran program with coarrays on N images, on this host or on several.

usage: cafrun -n N [options] PROGRAM [arguments]

  -n, -np N             number of images
      --conduit NAME    network: smp (default on one host), udp (default on
                        several), mpi, ofi or netvm
  -H, --hosts A,B:2     hosts on which to start images, by ssh
      --show            print what would be run where, and run nothing
      --wraps           print the path of the launcher
  -h, --help            print this text
  -V, --version         print the version

All other options are those of gasnetrun. --oversubscribe, --allow-run-as-root
and --reenable-ftouch are accepted for other launchers' sake; images may be more
than processors anyway. Image 1 reads standard input.
";

/// Options of gasnetrun whose value is the next word.
const WITH_VALUE: [&str; 14] = [
    "-n",
    "-np",
    "--np",
    "--ranks",
    "--images",
    "-H",
    "--hosts",
    "--nodes",
    "--hostfile",
    "--conduit",
    "-e",
    "--env",
    "-t",
    "--timeout",
];

fn main() -> ExitCode {
    let arguments = std::env::args_os().skip(1).collect::<Vec<_>>();
    let words = match translate(arguments) {
        Ok(words) => words,
        Err(text) => {
            println!("{}", text.trim_end());
            return ExitCode::SUCCESS;
        }
    };
    let launcher = launcher();
    if words.iter().any(|word| word == "--wraps") {
        println!("{}", launcher.to_string_lossy());
        return ExitCode::SUCCESS;
    }
    let error = Command::new(&launcher).args(words).exec();
    eprintln!("cafrun: {}: {error}", launcher.to_string_lossy());
    ExitCode::FAILURE
}

/// The `gasnetrun` of this installation.
fn launcher() -> OsString {
    let own = std::env::current_exe().and_then(|path| path.canonicalize());
    own.map_or_else(|_| "gasnetrun".into(), |path| path.with_file_name("gasnetrun").into())
}

/// What gasnetrun is given; a text to print instead is an error.
fn translate(arguments: Vec<OsString>) -> Result<Vec<OsString>, String> {
    let mut words = Vec::new();
    let mut arguments = arguments.into_iter();
    while let Some(word) = arguments.next() {
        match word.to_str() {
            Some("--help" | "-h") => return Err(HELP.into()),
            Some("--version" | "-V") => {
                return Err(format!("cafrun (gasnet-rs) {}", env!("CARGO_PKG_VERSION")));
            }
            Some("--oversubscribe" | "--allow-run-as-root" | "--reenable-ftouch") => {}
            Some("--show") => words.push("--dry-run".into()),
            Some(text) if WITH_VALUE.contains(&text) => {
                let images = matches!(text, "-np" | "--np" | "--images");
                words.push(if images { "-n".into() } else { word });
                words.extend(arguments.next());
            }
            Some(text) if text.starts_with('-') => words.push(word),
            _ => {
                words.push(word);
                words.extend(arguments.by_ref());
            }
        }
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_other_launchers() {
        let given = |line: &str| translate(line.split_whitespace().map(OsString::from).collect());
        let words = given("--oversubscribe -np 4 --show prog --show -h").unwrap();
        assert_eq!(words, ["-n", "4", "--dry-run", "prog", "--show", "-h"].map(OsString::from));
        assert_eq!(given("--images 2 ./p").unwrap(), ["-n", "2", "./p"].map(OsString::from));
        assert!(given("-n 2 --help").is_err_and(|text| text == HELP));
    }
}
