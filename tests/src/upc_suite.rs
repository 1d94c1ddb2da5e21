//! The UPC test programs: each file says at its head how it is built and what must happen.
//! `tests/upc/README.md` explains the comments.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::run::{Outcome, run};
use crate::suite::{Checked, Kept, Options, Summary, check_all, uncounted};

/// Run the suite; `note` gets a line for each test as it ends.
pub fn suite(options: &Options, note: &(dyn Fn(&str) + Sync)) -> Result<Summary, String> {
    let mut tests = find(options)?;
    let mut missing = Vec::new();
    if tests.iter().any(|test| !test.gdb.is_empty()) && run(Command::new("gdb"), "", options.limit).is_err() {
        tests.retain(|test| test.gdb.is_empty());
        missing.push("gdb".to_string());
    }
    let kept = Kept::open(options).map_err(|error| error.to_string())?;
    let kept = &kept;
    let mut summary = check_all(options, &tests, note, |test| {
        let mut bench = Bench { options, test, kept, commands: 0, golden: true, checked: None };
        let result = bench.test().map(|()| {
            let rules = bench.checked.iter().flatten().chain(&test.rules);
            rules.map(|rule| format!("checked {}:{rule}", test.name)).collect()
        });
        Checked { name: &test.name, result, commands: bench.commands }
    });
    summary.missing = missing;
    Ok(summary)
}

/// The names of the tests that the filters let through.
pub fn list(options: &Options) -> Result<Vec<String>, String> {
    Ok(find(options)?.into_iter().map(|test| test.name).collect())
}

/// In which environments a test is compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Static {
    No,
    Some,
    Yes,
    Only,
}

/// A diagnostic that must appear: where (`None`: anywhere), what severity ("diagnostic": either),
/// with what text.
#[derive(Debug, Clone)]
struct Expected {
    line: Option<u32>,
    severity: &'static str,
    text: String,
}

const SEVERITIES: [&str; 3] = ["error", "warning", "diagnostic"];

impl Expected {
    /// Whether it allows for what was found: warnings beside an expected error do no harm.
    fn allows(&self, found: &Found) -> bool {
        self.matches(found)
            || self.severity == "error" && found.severity == "warning" && found.line == self.line
    }

    fn matches(&self, found: &Found) -> bool {
        (self.severity == found.severity || self.severity == "diagnostic")
            && (self.line.is_none() || found.line == self.line)
            && found.text.contains(&self.text)
    }
}

/// The requests in the head of a test file.
#[derive(Debug)]
struct Test {
    name: String,
    path: PathBuf,
    threads: Vec<u32>,
    environment: Static,
    flags: Vec<String>,
    files: Vec<String>,
    objects: Vec<Vec<String>>,
    archive: Vec<String>,
    args: Vec<String>,
    stdin: String,
    /// Commands for gdb, which runs the program then.
    gdb: Vec<String>,
    env: Vec<(String, String)>,
    /// Options of upcrun.
    upcrun: Vec<String>,
    /// A command of the shell after each run.
    then: Option<String>,
    /// Texts that must be on standard error: somewhere, in one line exactly, nowhere.
    said: Vec<String>,
    once: Vec<String>,
    never: Vec<String>,
    expect: Vec<String>,
    exit: Option<i32>,
    runtime_error: Option<String>,
    link_error: Option<String>,
    diagnostics: Vec<Expected>,
    /// The compiler's messages are compared with those in a file.
    golden: bool,
    /// Names of groups of expected diagnostics.
    rules: Vec<String>,
}

impl Test {
    /// Before its file has said anything.
    fn new(path: &Path, name: String) -> Test {
        Test {
            name,
            path: path.to_owned(),
            threads: vec![1, 2, 3, 5, 8],
            environment: Static::Some,
            flags: Vec::new(),
            files: Vec::new(),
            objects: Vec::new(),
            archive: Vec::new(),
            args: Vec::new(),
            stdin: String::new(),
            gdb: Vec::new(),
            env: Vec::new(),
            upcrun: Vec::new(),
            then: None,
            said: Vec::new(),
            once: Vec::new(),
            never: Vec::new(),
            expect: Vec::new(),
            exit: None,
            runtime_error: None,
            link_error: None,
            diagnostics: Vec::new(),
            golden: true,
            rules: Vec::new(),
        }
    }

    /// Takes a line `key: value` of the head.
    fn head(&mut self, key: &str, value: &str) -> Result<(), &'static str> {
        let words = || value.split_whitespace().map(String::from).collect::<Vec<_>>();
        match key {
            "threads" => {
                self.threads = words()
                    .iter()
                    .map(|word| word.parse().map_err(|_| "not a number of threads"))
                    .collect::<Result<_, _>>()?;
            }
            "static" => {
                self.environment = match value {
                    "no" => Static::No,
                    "some" => Static::Some,
                    "yes" => Static::Yes,
                    "only" => Static::Only,
                    _ => return Err("static is no, some, yes or only"),
                };
            }
            "flags" => self.flags.extend(words()),
            "files" => self.files.extend(words()),
            "object" => self.objects.push(words()),
            "archive" => self.archive.extend(words()),
            "args" => self.args.extend(words()),
            "gdb" => self.gdb.push(value.into()),
            "stdin" => self.stdin += &format!("{value}\n"),
            "env" => {
                let (name, value) = value.split_once('=').ok_or("not NAME=value")?;
                self.env.push((name.into(), value.into()));
            }
            "golden" => self.golden = value != "no",
            "upcrun" => self.upcrun.extend(words()),
            "then" => self.then = Some(value.into()),
            "expect-stderr" => self.said.push(value.into()),
            "expect-once" => self.once.push(value.into()),
            "expect-never" => self.never.push(value.into()),
            "expect" => self.expect.push(value.into()),
            "expect-exit" => self.exit = Some(value.parse().map_err(|_| "not a status")?),
            "expect-runtime" => self.runtime_error = Some(value.into()),
            "expect-link-error" => self.link_error = Some(value.into()),
            key => {
                let severity = SEVERITIES.into_iter().find(|s| key == format!("expect-{s}"));
                if let Some(severity) = severity {
                    self.diagnostics.push(Expected { line: None, severity, text: value.into() });
                } else if key.starts_with("expect") {
                    return Err("unknown key");
                }
                // Anything else is prose.
            }
        }
        Ok(())
    }

    fn must_not_compile(&self) -> bool {
        self.diagnostics.iter().any(|expected| expected.severity == "error")
    }

    fn may_fail_to_compile(&self) -> bool {
        self.diagnostics.iter().any(|expected| expected.severity == "diagnostic")
    }

    /// Whether there is a program to run, with one of these numbers of threads (none: with any).
    fn runs_on(&self, ranks: &[u32]) -> bool {
        let compiles = !self.must_not_compile() && !self.may_fail_to_compile() && self.link_error.is_none();
        compiles && (ranks.is_empty() || self.threads.iter().any(|n| ranks.contains(n)))
    }
}

fn find(options: &Options) -> Result<Vec<Test>, String> {
    let mut paths = Vec::new();
    walk(&options.programs, &mut paths)?;
    paths.sort();
    let mut tests = Vec::new();
    for path in paths {
        let name = path.strip_prefix(&options.programs).unwrap_or(&path).display().to_string();
        if options.filters.is_empty() || options.filters.iter().any(|part| name.contains(part)) {
            tests.push(parse(&path, name)?);
        }
    }
    // The compiler does not see the environment of runs.
    tests.retain(|test| options.env.is_empty() || test.runs_on(&options.ranks));
    Ok(tests)
}

fn walk(folder: &Path, paths: &mut Vec<PathBuf>) -> Result<(), String> {
    let problem = |error: std::io::Error| format!("{}: {error}", folder.display());
    for entry in fs::read_dir(folder).map_err(problem)? {
        let path = entry.map_err(problem)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            walk(&path, paths)?;
        } else if name.ends_with(".upc") && !name.starts_with('_') {
            paths.push(path);
        }
    }
    Ok(())
}

fn parse(path: &Path, name: String) -> Result<Test, String> {
    let source = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut test = Test::new(path, name);
    let mut head = true;
    // The group of expected diagnostics that the lines belong to, until it is seen to have one.
    let mut rule = None;
    for (number, line) in (1u32..).zip(source.lines()) {
        let problem = |what: String| format!("{}:{number}: {what}: {line}", path.display());
        head &= (line.trim().is_empty() || line.starts_with("//")) && !line.starts_with("// rule: ");
        if head {
            if let Some((key, value)) = line.trim_start_matches('/').split_once(':') {
                test.head(key.trim(), value.trim()).map_err(|what| problem(what.into()))?;
            }
        } else if let Some(name) = line.trim_start().strip_prefix("// rule: ") {
            if let Some(empty) = rule.replace(name.trim().to_string()) {
                return Err(problem(format!("the rule {empty} before this expects nothing")));
            }
        } else {
            for severity in SEVERITIES {
                if let Some((_, text)) = line.split_once(&format!("// expect-{severity}:")) {
                    let text = text.trim().to_string();
                    test.diagnostics.push(Expected { line: Some(number), severity, text });
                    test.rules.extend(rule.take());
                }
            }
        }
    }
    match rule {
        Some(name) => Err(format!("{}: the rule {name} expects nothing", path.display())),
        None => Ok(test),
    }
}

/// One of two numbers, which a test takes in every run of the suite, and half of the tests each.
fn one_of(test: &str, numbers: [u32; 2]) -> u32 {
    numbers[test.bytes().map(usize::from).sum::<usize>() % 2]
}

/// Texts that no compile may print, whatever it compiles.
const NEVER: [&str; 6] = [
    "panicked at",
    "internal compiler error",
    "Internal compiler error",
    "Segmentation fault",
    "Please submit a full bug report",
    "rejected the emitted",
];

/// One test at work.
struct Bench<'a> {
    options: &'a Options,
    test: &'a Test,
    kept: &'a Kept,
    commands: usize,
    /// This compile is the one whose diagnostics are kept in a file.
    golden: bool,
    /// The names of checks that all runs so far have reported.
    checked: Option<BTreeSet<String>>,
}

impl Bench<'_> {
    fn test(&mut self) -> Result<(), String> {
        let scratch = self.options.scratch.join(self.test.name.replace(['/', '.'], "-"));
        drop(fs::remove_dir_all(&scratch));
        fs::create_dir_all(&scratch).map_err(|e| format!("{}: {e}", scratch.display()))?;
        let test = self.test;
        let fixed = test.flags.iter().chain(test.objects.iter().flatten());
        let fixed = fixed.clone().any(|flag| flag.starts_with("-T"));
        let threads: Vec<u32> = test
            .threads
            .iter()
            .copied()
            .filter(|n| self.options.ranks.is_empty() || self.options.ranks.contains(n))
            .collect();
        if fixed || matches!(test.environment, Static::No | Static::Some | Static::Yes) {
            self.build_and_run(&scratch, None, &threads)?;
        }
        if !fixed {
            for count in match test.environment {
                Static::No => vec![],
                // The network does not see what the compiler knew.
                Static::Some if !self.options.env.is_empty() => vec![],
                Static::Some => vec![one_of(&test.name, [2, 5])],
                Static::Yes | Static::Only => test.threads.clone(),
            } {
                if self.options.ranks.is_empty() || self.options.ranks.contains(&count) {
                    self.build_and_run(&scratch, Some(count), &[count])?;
                }
            }
        }
        drop(fs::remove_dir_all(&scratch));
        Ok(())
    }

    fn build_and_run(&mut self, scratch: &Path, fixed: Option<u32>, threads: &[u32]) -> Result<(), String> {
        let test = self.test;
        let only = test.environment == Static::Only && fixed == test.threads.first().copied();
        self.golden = test.golden && (fixed.is_none() || only);
        let folder = test.path.parent().unwrap_or(Path::new("."));
        let program = scratch.join(match fixed {
            None => "program".to_string(),
            Some(count) => format!("program-T{count}"),
        });
        drop(fs::remove_file(&program));
        let variant = fixed.map(|count| format!("-T{count}")).unwrap_or_default();
        let name = format!("{}{variant}", test.name.replace(['/', '.'], "-"));
        if test.runs_on(&[]) && self.kept.take(&name, &program) {
            return threads.iter().try_for_each(|&count| self.run_program(&program, count));
        }
        let mut common = test.flags.clone();
        common.extend(self.options.flags.iter().cloned());
        common.push(format!("-I{}", self.options.programs.display()));
        if let Some(count) = fixed {
            common.push(format!("-T={count}"));
        }

        let mut link = Vec::new();
        let mut whole = true;
        for (number, object) in test.objects.iter().enumerate() {
            let (file, flags) = object.split_first().ok_or("object: needs a file")?;
            whole &= file != ".";
            let source = if file == "." { test.path.clone() } else { folder.join(file) };
            let output = scratch.join(format!("part{number}.o"));
            let mut args = common.clone();
            args.extend(flags.iter().cloned());
            self.compile_part(&args, &source, &output)?;
            link.push(output);
        }
        if !test.archive.is_empty() {
            let mut ar = Command::new("ar");
            ar.arg("rcs").arg(scratch.join("lib.a"));
            for (number, file) in test.archive.iter().enumerate() {
                let output = scratch.join(format!("member{number}.o"));
                self.compile_part(&common, &folder.join(file), &output)?;
                ar.arg(output);
            }
            drop(fs::remove_file(scratch.join("lib.a")));
            let outcome = self.run(ar, "")?;
            if outcome.status != Some(0) {
                return Err(outcome.report());
            }
            link.push(scratch.join("lib.a"));
        }

        let mut command = Command::new(self.options.prefix.join("bin/upcc"));
        command.args(&common).arg("-o").arg(&program);
        if whole {
            command.arg(&test.path);
        }
        command.args(test.files.iter().map(|file| folder.join(file))).args(&link);
        let outcome = self.run(command, "")?;
        if test.must_not_compile() || test.may_fail_to_compile() && outcome.status != Some(0) {
            return self.judge_rejection(&outcome, &program);
        }
        if test.may_fail_to_compile() {
            return self.judge_clean(&outcome);
        }
        if let Some(text) = &test.link_error {
            let said = format!("{}{}", outcome.stdout, outcome.stderr);
            if matches!(outcome.status, None | Some(0)) || program.exists() {
                return Err(format!("expected a link error\n{}", outcome.report()));
            }
            if !said.contains("error") || !said.contains(text.as_str()) {
                return Err(format!("no error with \"{text}\"\n{}", outcome.report()));
            }
            return refuse(&outcome, &NEVER);
        }
        self.judge_clean(&outcome)?;
        self.kept.keep(&name, &program);
        threads.iter().try_for_each(|&count| self.run_program(&program, count))
    }

    fn compile_part(&mut self, args: &[String], source: &Path, output: &Path) -> Result<(), String> {
        let mut command = Command::new(self.options.prefix.join("bin/upcc"));
        command.args(args).arg("-c").arg(source).arg("-o").arg(output);
        let outcome = self.run(command, "")?;
        self.judge_clean(&outcome)
    }

    /// A compile that has to succeed: silent, but for warnings that the test asks for.
    fn judge_clean(&self, outcome: &Outcome) -> Result<(), String> {
        if outcome.status != Some(0) {
            return Err(outcome.report());
        }
        if self.test.diagnostics.is_empty() {
            if !outcome.stdout.is_empty() || !outcome.stderr.is_empty() {
                return Err(format!("a clean compile prints nothing\n{}", outcome.report()));
            }
            return Ok(());
        }
        self.judge_diagnostics(outcome)
    }

    fn judge_rejection(&self, outcome: &Outcome, program: &Path) -> Result<(), String> {
        if matches!(outcome.status, None | Some(0)) {
            return Err(format!("expected the compiler to fail\n{}", outcome.report()));
        }
        if program.exists() {
            return Err(format!("a failed compile left its output\n{}", outcome.report()));
        }
        refuse(outcome, &NEVER)?;
        self.judge_diagnostics(outcome)
    }

    fn judge_diagnostics(&self, outcome: &Outcome) -> Result<(), String> {
        self.judge_marks(outcome)?;
        if !self.golden {
            return Ok(());
        }
        // The whole text, with line and caret, is a golden file; the marks say what matters in it.
        let golden = self.test.path.with_extension("txt");
        let folder = self.test.path.parent().map(|folder| format!("{}/", folder.display()));
        let said = outcome.stderr.replace(&folder.unwrap_or_default(), "");
        if std::env::var_os("UPCC_BLESS").is_some() {
            return fs::write(&golden, said).map_err(|e| format!("{}: {e}", golden.display()));
        }
        let wanted = fs::read_to_string(&golden).map_err(|e| format!("{}: {e}", golden.display()))?;
        if said == wanted { Ok(()) } else { Err(format!("not as in {}\n{said}", golden.display())) }
    }

    fn judge_marks(&self, outcome: &Outcome) -> Result<(), String> {
        let file = self.test.path.file_name().unwrap_or_default().to_string_lossy();
        let said = diagnostics(&outcome.stderr, &file);
        for expected in &self.test.diagnostics {
            if !said.iter().any(|found| expected.matches(found)) {
                let place = expected.line.map(|l| format!(" at line {l}")).unwrap_or_default();
                let text = &expected.text;
                let what = expected.severity;
                return Err(format!("no {what}{place} with \"{text}\"\n{}", outcome.report()));
            }
        }
        // Where lines are marked, the marks are complete.
        if self.test.diagnostics.iter().all(|expected| expected.line.is_some()) {
            for found in &said {
                if !self.test.diagnostics.iter().any(|expected| expected.allows(found)) {
                    let what = format!("an unexpected {} {:?}", found.severity, found.line);
                    return Err(format!("{what}: {}\n{}", found.text, outcome.report()));
                }
            }
        }
        Ok(())
    }

    fn run_program(&mut self, program: &Path, threads: u32) -> Result<(), String> {
        let test = self.test;
        let scratch = program.parent().unwrap_or(Path::new("/"));
        let mut command = Command::new(self.options.prefix.join("bin/upcrun"));
        command.arg("-n").arg(threads.to_string()).args(&test.upcrun).arg(program).args(&test.args);
        if !test.gdb.is_empty() {
            // One thread is a process of its own without a launcher.
            command = Command::new("gdb");
            command.args(["-q", "-nx", "-batch", "-iex", "set debuginfod enabled off", "-iex"]);
            command.arg(format!("add-auto-load-safe-path {}", scratch.display()));
            for line in &test.gdb {
                command.args(["-ex", line.as_str()]);
            }
            command.arg("--args").arg(program).args(&test.args);
        }
        command.env("SCRATCH", scratch);
        for (name, value) in self.options.env.iter().chain(&test.env) {
            command.env(name, value);
        }
        let outcome = self.run(command, &test.stdin)?;
        if outcome.timed_out {
            return Err(outcome.report());
        }
        self.judge_end(&outcome, threads)?;
        self.judge_output(&outcome)?;
        self.run_shell(scratch, threads)?;
        let said = outcome.stdout.lines().filter_map(|line| line.strip_prefix("checked: "));
        let said: BTreeSet<String> = said.map(String::from).collect();
        self.checked = Some(match self.checked.take() {
            None => said,
            Some(before) => &before & &said,
        });
        Ok(())
    }

    /// How a run must end.
    fn judge_end(&self, outcome: &Outcome, threads: u32) -> Result<(), String> {
        let test = self.test;
        if let Some(text) = &test.runtime_error {
            if matches!(outcome.status, None | Some(0)) {
                return Err(format!("expected a run-time error\n{}", outcome.report()));
            }
            let said = &outcome.stderr;
            if !said.lines().any(|line| line.starts_with("UPC Runtime error:"))
                || !said.contains(text.as_str())
            {
                let what = format!("no line `UPC Runtime error:` with \"{text}\"");
                return Err(format!("{what}\n{}", outcome.report()));
            }
        } else {
            if outcome.status != Some(test.exit.unwrap_or(0)) {
                return Err(outcome.report());
            }
            if threads > 1
                && let Some(why) = uncounted(&outcome.stderr, &self.options.counts)
            {
                return Err(format!("{why}\n{}", outcome.report()));
            }
            refuse(
                outcome,
                &[
                    "UPC Runtime error:",
                    "UPC Runtime: GASNet error",
                    "Caught a fatal signal",
                    "terminated with signal",
                ],
            )?;
        }
        Ok(())
    }

    /// Compares the output of a run with the texts that it must and must not contain.
    fn judge_output(&self, outcome: &Outcome) -> Result<(), String> {
        let test = self.test;
        for text in &test.once {
            let lines = outcome.stderr.lines().filter(|line| line.contains(text.as_str())).count();
            if lines != 1 {
                return Err(format!("{lines} lines with \"{text}\", not one\n{}", outcome.report()));
            }
        }
        for text in &test.said {
            if !outcome.stderr.contains(text.as_str()) {
                return Err(format!("no \"{text}\" on standard error\n{}", outcome.report()));
            }
        }
        let never: Vec<&str> = test.never.iter().map(String::as_str).collect();
        refuse(outcome, &never)?;
        let plain = test.runtime_error.is_none() && test.exit.is_none() && test.expect.is_empty();
        let default = ["passed".to_string()];
        let wanted: &[String] = if plain { &default } else { &test.expect };
        for text in wanted {
            if !outcome.stdout.lines().any(|line| line.contains(text.as_str())) {
                return Err(format!("no line with \"{text}\"\n{}", outcome.report()));
            }
        }
        Ok(())
    }

    /// Runs the command that the test wants after each run.
    fn run_shell(&mut self, scratch: &Path, threads: u32) -> Result<(), String> {
        let test = self.test;
        if let Some(line) = &test.then {
            let mut shell = Command::new("sh");
            shell.args(["-c", line]).env("SCRATCH", scratch).env("COUNT", threads.to_string());
            shell.env("BIN", self.options.prefix.join("bin"));
            shell.env("SOURCES", test.path.parent().unwrap_or(Path::new("/")));
            let after = self.run(shell, "")?;
            if after.status != Some(0) {
                return Err(after.report());
            }
        }
        Ok(())
    }

    fn run(&mut self, command: Command, input: &str) -> Result<Outcome, String> {
        self.commands += 1;
        run(command, input, self.options.limit).map_err(|error| error.to_string())
    }
}

fn refuse(outcome: &Outcome, texts: &[&str]) -> Result<(), String> {
    for text in texts {
        if outcome.stderr.contains(text) || outcome.stdout.contains(text) {
            return Err(format!("the output has \"{text}\"\n{}", outcome.report()));
        }
    }
    Ok(())
}

/// A diagnostic as the compiler printed it.
#[derive(Debug, PartialEq, Eq)]
struct Found {
    severity: &'static str,
    /// The line in the test's file; `None` when it points elsewhere or nowhere.
    line: Option<u32>,
    text: String,
}

/// Find the diagnostics in the compiler's output: `FILE:LINE:COLUMN: error: TEXT`, or
/// `error: TEXT` with `FILE:LINE:COLUMN` on one of the next lines.
fn diagnostics(output: &str, file: &str) -> Vec<Found> {
    let mut all: Vec<Found> = Vec::new();
    for line in output.lines() {
        let head = ["error", "warning"].into_iter().find_map(|severity| {
            // The path may have the word in it.
            line.match_indices(severity).find_map(|(at, _)| {
                let before = &line[..at];
                let after = &line[at + severity.len()..];
                let starts = before.is_empty() || before.ends_with(": ");
                let coded = after.starts_with('[') && after.contains("]:");
                (starts && (after.starts_with(':') || coded)).then_some((severity, before))
            })
        });
        if let Some((severity, before)) = head {
            let line_number = position(before, file);
            all.push(Found { severity, line: line_number, text: line.to_string() });
        } else if let Some(last) = all.last_mut() {
            if last.line.is_none() {
                last.line = position(line, file);
            }
            last.text += "\n";
            last.text += line;
        }
    }
    // Closing remarks such as "error: 3 errors" point nowhere and are no diagnostics.
    let points = |found: &Found| found.line.is_some();
    if all.iter().any(points) {
        all.retain(points);
    }
    all
}

/// The line number in `...FILE:LINE:...`.
fn position(text: &str, file: &str) -> Option<u32> {
    let at = text.find(&format!("{file}:"))?;
    let digits: String = text[at + file.len() + 1..].chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_diagnostics_of_both_shapes() {
        let clang = "/x/a.upc:3:7: error: bad\n  3 | int;\n/x/a.upc:9:1: warning: odd\n";
        let rustc = "error: bad\n  --> /x/a.upc:3:7\n   |\n\nwarning: odd\n  --> a.upc:9:1\n";
        for output in [clang, rustc] {
            let found = diagnostics(output, "a.upc");
            let seen: Vec<_> = found.iter().map(|f| (f.severity, f.line)).collect();
            assert_eq!(seen, [("error", Some(3)), ("warning", Some(9))], "{output}");
        }
    }

    #[test]
    fn reads_the_head_and_the_marks() {
        let folder = std::env::temp_dir().join(format!("upc-suite-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("t.upc");
        fs::write(
            &path,
            "// About this.\n// threads: 2 5\n// static: only\n// env: A=b\n\
             int x; // expect-error: shape\n// threads: 9\n",
        )
        .unwrap();
        let test = parse(&path, "t".into()).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(test.threads, [2, 5]);
        assert_eq!(test.environment, Static::Only);
        assert_eq!(test.env, [("A".to_string(), "b".to_string())]);
        assert_eq!(test.diagnostics[0].line, Some(5));
        assert_eq!(test.diagnostics[0].text, "shape");
    }
}
