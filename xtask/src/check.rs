//! `cargo xtask check`: finds most mistakes of a change within two minutes.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use gasnet_house::workspace::{self, Member};
use gasnet_options::{Argument, opt};

use crate::sh;
use crate::task::{Task, read, task};

const CHECK: Task<()> = task(
    "cargo xtask check",
    "Checks a change within two minutes: the format, lints and unit tests of the crates with changed files, the rules \
     for sources and documents, and a short job on each network that needs nothing. 'cargo xtask test' is the whole \
     test.",
    &["cargo xtask check [--since REVISION] [CRATE]..."],
    &[opt(
        (),
        "--since REVISION",
        "changed since this revision of git (default HEAD: what is not committed yet)",
    )],
    "With a CRATE: these crates, whatever has changed.",
);

/// Longest time of a part, which is long only after a change of everything.
const LIMIT: Duration = Duration::from_secs(1500);
/// Longest time of a job.
const JOB_LIMIT: Duration = Duration::from_secs(60);
/// Sections of the conformance program: puts and gets, pieces, messages, barriers, collectives.
const SECTIONS: &[&str] = &["rma", "vis", "am", "flood-mixed", "barriers", "collectives"];
/// Networks, as settings.
const NETWORKS: &[(&str, &[(&str, &str)])] = &[
    ("smp", &[("GASNET_CONDUIT", "smp")]),
    ("smp, by messages", &[("GASNET_CONDUIT", "smp"), ("GASNET_NEIGHBORHOOD", "off")]),
    ("udp", &[("GASNET_CONDUIT", "udp"), ("GASNET_NEIGHBORHOOD", "off")]),
    ("netvm", &[("GASNET_CONDUIT", "netvm"), ("GASNET_NEIGHBORHOOD", "off")]),
];

pub fn main(words: Vec<std::ffi::OsString>) -> Result<(), String> {
    let members = workspace::members(&sh::root())?;
    let (mut since, mut chosen) = ("HEAD".to_string(), Vec::new());
    let going_on = read(&CHECK, words, |word, _| {
        match word {
            Argument::Option(found) => since = found.text(),
            Argument::Operand(name) | Argument::Unknown(name) => {
                let name = name.to_string_lossy();
                let member = members.iter().find(|member| member.name == name);
                chosen.push(member.cloned().ok_or_else(|| {
                    let names: Vec<&str> = members.iter().map(|member| &member.name[..]).collect();
                    format!("no crate '{name}'; there are: {}", names.join(", "))
                })?);
            }
        }
        Ok(())
    })?;
    if !going_on {
        return Ok(());
    }
    let chosen = if chosen.is_empty() { touched(&members, &changed(&since)?) } else { chosen };
    let names: Vec<&str> = chosen.iter().map(|member| &member.name[..]).collect();
    say!("changed: {}", if names.is_empty() { "no crate".to_string() } else { names.join(", ") });
    let mut failed = Vec::new();
    for (name, part) in parts(&chosen) {
        let begun = Instant::now();
        let result = part();
        let time = sh::seconds(begun.elapsed());
        match result {
            Ok(()) => say!("{name:<24} {time:>8}  passed"),
            Err(why) => {
                say!("{name:<24} {time:>8}  FAILED: {}", why.trim_end());
                failed.push(name);
            }
        }
    }
    if failed.is_empty() { Ok(()) } else { Err(format!("failed: {}", failed.join(", "))) }
}

type Part<'a> = (String, Box<dyn Fn() -> Result<(), String> + 'a>);

/// The parts of the check, in the order in which they run.
fn parts(chosen: &[Member]) -> Vec<Part<'_>> {
    let cargo = |arguments: Vec<&str>| quiet(sh::cargo(&arguments), LIMIT);
    let of = |has: &dyn Fn(&Path) -> bool| {
        let those = chosen.iter().filter(|member| has(&sh::root().join(&member.folder).join("src")));
        those.flat_map(|member| ["-p", &member.name[..]]).collect::<Vec<_>>()
    };
    let mut parts: Vec<Part<'_>> =
        vec![("format".into(), Box::new(move || cargo(vec!["fmt", "--all", "--check"])))];
    let all = of(&|_| true);
    if !all.is_empty() {
        let lints = [&["clippy", "--quiet", "--all-targets"][..], &all, &["--", "-D", "warnings"]].concat();
        parts.push(("lints".into(), Box::new(move || cargo(lints.clone()))));
    }
    parts.push((
        "sources and documents".into(),
        Box::new(move || cargo(vec!["test", "--quiet", "-p", "gasnet-house"])),
    ));
    for (name, kind, those) in [
        ("units", "--lib", of(&|src| src.join("lib.rs").is_file())),
        ("units of programs", "--bins", of(&|src| src.join("main.rs").is_file())),
    ] {
        if !those.is_empty() {
            let tests = [&["test", "--quiet", kind][..], &those].concat();
            parts.push((name.into(), Box::new(move || cargo(tests.clone()))));
        }
    }
    parts.push((
        "build of jobs".into(),
        Box::new(move || cargo(vec!["build", "--quiet", "-p", "gasnet-tests", "--bin", "conformance"])),
    ));
    for (name, settings) in NETWORKS {
        let job = move || {
            let mut command = Command::new(sh::target().join("debug/conformance"));
            command
                .arg("--quick")
                .args(SECTIONS)
                .envs(settings.iter().copied())
                .env("GASNET_PSHM_NODES", "3");
            quiet(command, JOB_LIMIT)
        };
        parts.push((format!("3 ranks, {name}"), Box::new(job)));
    }
    parts
}

/// Runs a command whose output matters only if it fails.
fn quiet(command: Command, limit: Duration) -> Result<(), String> {
    let shown = sh::show(&command);
    let outcome = sh::capture(command, limit)?;
    if outcome.status == Some(0) { Ok(()) } else { Err(format!("{shown}\n{}", outcome.report())) }
}

/// Files that differ from a revision, and new ones.
fn changed(since: &str) -> Result<Vec<PathBuf>, String> {
    let mut files = Vec::new();
    for arguments in [&["diff", "--name-only", since][..], &["ls-files", "--others", "--exclude-standard"]] {
        let mut git = Command::new("git");
        git.arg("-C").arg(sh::root()).args(arguments);
        let outcome = sh::capture(git, LIMIT)?;
        if outcome.status != Some(0) {
            return Err(format!("git {}:\n{}name crates instead", arguments.join(" "), outcome.report()));
        }
        files.extend(outcome.stdout.lines().map(PathBuf::from));
    }
    Ok(files)
}

/// The crates that these files belong to, in the order of the workspace: of those whose folder has a file,
/// the innermost.
fn touched(members: &[Member], files: &[PathBuf]) -> Vec<Member> {
    let home = |file: &PathBuf| {
        let those = members.iter().filter(|member| file.starts_with(&member.folder));
        those.max_by_key(|member| member.folder.components().count())
    };
    members.iter().filter(|member| files.iter().any(|file| home(file) == Some(member))).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_file_belongs_to_the_innermost_crate() {
        let member = |name: &str, folder: &str| Member {
            name: name.into(),
            folder: folder.into(),
            needs: BTreeSet::new(),
        };
        let members =
            [member("conduits", "conduits"), member("udp", "conduits/udp"), member("docs-of", "doc")];
        let files = ["conduits/udp/src/lib.rs", "docs/a.md", "Cargo.toml"].map(PathBuf::from);
        assert_eq!(touched(&members, &files), [members[1].clone()]);
        assert_eq!(touched(&members, &["conduits/src/lib.rs".into()]), [members[0].clone()]);
    }
}
