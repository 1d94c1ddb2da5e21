//! The common parts of the suites: options, summary, and the main function.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

/// Where things are and what to run.
#[derive(Debug, Clone)]
pub struct Options {
    /// The folder with the programs.
    pub programs: PathBuf,
    /// Where tools, headers and libraries are installed.
    pub prefix: PathBuf,
    /// Scratch folder, of runs in one environment; what a failed test made in it is kept.
    pub scratch: PathBuf,
    /// Folder of [`Kept`] programs, of all environments.
    pub kept: PathBuf,
    /// Only tests whose name contains one of these; empty: all.
    pub filters: Vec<String>,
    /// Only these numbers of ranks, out of those a test asks for; empty: all.
    pub ranks: Vec<u32>,
    /// More flags for every compile command.
    pub flags: Vec<String>,
    /// Environment of every run, such as `GASNET_NEIGHBORHOOD=off`.
    pub env: Vec<(String, String)>,
    /// Counters that must not be zero on any rank of a job that ends well, as `GASNET_STATS=1` prints them.
    pub counts: Vec<String>,
    /// Tests at a time.
    pub jobs: usize,
    /// Time limit of one command.
    pub limit: Duration,
}

/// The test programs with an extension, in order, without those that are parts of others (`NAME_part`).
///
/// # Errors
/// The folder cannot be read.
pub fn sources(options: &Options, extension: &str) -> Result<Vec<PathBuf>, String> {
    let entries = std::fs::read_dir(&options.programs)
        .map_err(|error| format!("{}: {error}", options.programs.display()))?;
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .filter(|path| !path.file_stem().unwrap_or_default().to_string_lossy().ends_with("_part"))
        .collect();
    files.sort();
    Ok(files)
}

impl Options {
    /// Whether the filters let a test through.
    #[must_use]
    pub fn lets_through(&self, name: &str) -> bool {
        self.filters.is_empty() || self.filters.iter().any(|text| name.contains(text.as_str()))
    }
}

/// Programs that one run of a suite leaves for the next, since compiling takes longer than running.
///
/// A run in an environment of its own (`--env`) takes what is newer than the sources and the installation it
/// was compiled for: it is not there to test the compiler. Every other run compiles.
#[derive(Debug)]
pub struct Kept {
    folder: PathBuf,
    /// Older programs are not reused; `None`: no program is.
    since: Option<SystemTime>,
    /// With flags of this run alone, no program is of use to others.
    leaves: bool,
}

impl Kept {
    /// The programs in this suite's scratch folder.
    ///
    /// # Errors
    /// The folder cannot be made, or the sources or the installation cannot be read.
    pub fn open(options: &Options) -> io::Result<Kept> {
        let folder = options.kept.clone();
        // Programs belong to an installation: those of another one go.
        let (of, prefix) = (folder.join("of"), options.prefix.as_os_str().as_encoded_bytes());
        let known = fs::read(&of);
        if known.as_ref().is_ok_and(|known| known != prefix) {
            fs::remove_dir_all(&folder)?;
        }
        // Runs in several environments go on at a time.
        if !known.is_ok_and(|known| known == prefix) {
            fs::create_dir_all(&folder)?;
            fs::write(of, prefix)?;
        }
        let since = match options.env.is_empty() || !options.flags.is_empty() {
            true => None,
            false => Some(newest(&options.programs)?.max(newest(&options.prefix)?)),
        };
        Ok(Kept { folder, since, leaves: options.flags.is_empty() })
    }

    /// Puts the program with this name to `program`, if there is one to take.
    pub fn take(&self, name: &str, program: &Path) -> bool {
        let kept = self.folder.join(name);
        let made = fs::metadata(&kept).and_then(|data| data.modified());
        let fresh = made.is_ok_and(|made| self.since.is_some_and(|since| made > since));
        fresh && fs::hard_link(&kept, program).is_ok()
    }

    /// Leaves a program under this name. Without it, the next run compiles.
    pub fn keep(&self, name: &str, program: &Path) {
        if self.leaves {
            let kept = self.folder.join(name);
            drop(fs::remove_file(&kept));
            drop(fs::hard_link(program, kept));
        }
    }
}

/// When a file below a folder was last changed that programs are made of: jobs load plugins by themselves,
/// and these may be installed while programs are tested.
fn newest(folder: &Path) -> io::Result<SystemTime> {
    let mut newest = SystemTime::UNIX_EPOCH;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_plugin = name.starts_with("libgasnet_") && name.ends_with(".so");
        let changed = match entry.file_type()?.is_dir() {
            true => self::newest(&entry.path())?,
            false if is_plugin => continue,
            false => entry.metadata()?.modified()?,
        };
        newest = newest.max(changed);
    }
    Ok(newest)
}

/// The first rank that has printed its counters and has none of one of these names: a message with its
/// line.
pub fn uncounted(stderr: &str, counts: &[String]) -> Option<String> {
    let of = |line: &str, name: &str| {
        line.split(", ").any(|entry| entry.rsplit_once(' ').is_some_and(|(known, _)| known == name))
    };
    // `gasnet: rank 0 of 2: netvm: hits 5, misses 7`; what is 0 is left out.
    let lines = stderr.lines().filter(|line| line.starts_with("gasnet: rank "));
    let counters = lines.filter_map(|line| line.splitn(4, ": ").nth(3));
    counters
        .flat_map(|line| counts.iter().map(move |name| (line, name)))
        .find_map(|(line, name)| (!of(line, name)).then(|| format!("a rank has counted no {name}: {line}")))
}

/// The result of a suite.
#[derive(Debug, Default)]
pub struct Summary {
    /// Tests that passed.
    pub passed: usize,
    /// Name and report of each test that failed, by name.
    pub failed: Vec<(String, String)>,
    /// Commands that ran, compiles and jobs, where they are counted.
    pub commands: usize,
    /// Compilers that tests ask for and the machine does not have.
    pub missing: Vec<String>,
}

/// The result of a test.
#[derive(Debug)]
pub struct Checked<'a> {
    /// Its name.
    pub name: &'a str,
    /// Lines to note after that of a test that passed, or the report of one that failed.
    pub result: Result<Vec<String>, String>,
    /// Commands that ran, where they are counted.
    pub commands: usize,
}

/// Checks tests, as many at a time as the options say.
pub fn check_all<'a, T: Sync>(
    options: &Options,
    tests: &'a [T],
    note: Note<'_>,
    check: impl Fn(&'a T) -> Checked<'a> + Sync,
) -> Summary {
    let next = AtomicUsize::new(0);
    let summary = Mutex::new(Summary::default());
    thread::scope(|scope| {
        for _ in 0..options.jobs.max(1) {
            scope.spawn(|| {
                // ORDER: Relaxed: hands out numbers.
                while let Some(test) = tests.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let Checked { name, result, commands } = check(test);
                    let mut summary = summary.lock().expect("no panic while holding it");
                    summary.commands += commands;
                    match result {
                        Ok(lines) => {
                            summary.passed += 1;
                            note(&format!("ok      {name}"));
                            lines.iter().for_each(|line| note(line));
                        }
                        Err(report) => {
                            note(&format!("FAILED  {name}"));
                            summary.failed.push((name.to_string(), report));
                        }
                    }
                }
            });
        }
    });
    let mut summary = summary.into_inner().expect("no panic while holding it");
    summary.failed.sort();
    summary
}

/// Gets a line for each test as it ends.
pub type Note<'a> = &'a (dyn Fn(&str) + Sync);

/// A suite: its name, its folder of programs under `tests/`, and how it lists and runs them.
pub struct Suite {
    /// Name of the program.
    pub name: &'static str,
    /// Folder with the programs, under `tests/`.
    pub programs: &'static str,
    /// Time limit of one command unless `--limit` says otherwise.
    pub limit: Duration,
    /// Names of the tests.
    pub list: fn(&Options) -> Result<Vec<String>, String>,
    /// Runs them.
    pub run: fn(&Options, Note<'_>) -> Result<Summary, String>,
}

impl Suite {
    /// The program: reads the command line, runs or lists, reports.
    pub fn main(&self) -> ExitCode {
        match self.options() {
            Ok((options, false)) => self.start(&options),
            Ok((options, true)) => match (self.list)(&options) {
                Ok(names) => {
                    names.iter().for_each(|name| println!("{name}"));
                    ExitCode::SUCCESS
                }
                Err(problem) => self.complain(&problem),
            },
            Err(problem) => self.complain(&format!("{problem}\n{}", self.usage())),
        }
    }

    fn usage(&self) -> String {
        format!(
            "usage: {} [--prefix DIR] [--programs DIR] [--scratch DIR] [--ranks \"1 2 3\"] [--flags \"-O3 ...\"] \
             [--env NAME=value]... [--counts NAME]... [--jobs N] [--limit SECONDS] [--list] [FILTER]...",
            self.name
        )
    }

    fn complain(&self, problem: &str) -> ExitCode {
        eprintln!("{}: {problem}", self.name);
        ExitCode::from(2)
    }

    fn start(&self, options: &Options) -> ExitCode {
        let start = Instant::now();
        let summary = match (self.run)(options, &|line| println!("{line}")) {
            Ok(summary) => summary,
            Err(problem) => return self.complain(&problem),
        };
        for (name, report) in &summary.failed {
            println!("\n---- {name}\n{}", report.trim_end());
        }
        for compiler in &summary.missing {
            println!("not tested: {compiler} is not installed");
        }
        let commands = match summary.commands {
            0 => String::new(),
            n => format!("{n} commands, "),
        };
        let (passed, failed) = (summary.passed, summary.failed.len());
        println!("\n{passed} passed, {failed} failed, {commands}{:.1} s", start.elapsed().as_secs_f64());
        if summary.failed.is_empty() && summary.passed > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }

    fn options(&self) -> Result<(Options, bool), lexopt::Error> {
        use lexopt::prelude::*;
        let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        let target = root.join("../target");
        let mut options = Options {
            programs: root.join(self.programs),
            prefix: target.join("stage"),
            scratch: target.join(self.name),
            kept: PathBuf::new(),
            filters: Vec::new(),
            ranks: Vec::new(),
            flags: Vec::new(),
            env: Vec::new(),
            counts: Vec::new(),
            // Commands wait for a third of their time.
            jobs: std::thread::available_parallelism().map_or(1, |n| (3 * n.get()).div_ceil(2)),
            limit: self.limit,
        };
        let mut list = false;
        let mut parser = lexopt::Parser::from_env();
        while let Some(arg) = parser.next()? {
            match arg {
                Long("prefix") => options.prefix = parser.value()?.into(),
                Long("programs") => options.programs = parser.value()?.into(),
                Long("scratch") => options.scratch = parser.value()?.into(),
                Long("ranks") => {
                    for word in parser.value()?.string()?.split_whitespace() {
                        options.ranks.push(word.parse().map_err(|_| format!("bad number: {word}"))?);
                    }
                }
                Long("flags") => {
                    options.flags.extend(parser.value()?.string()?.split_whitespace().map(String::from));
                }
                Long("env") => {
                    let pair = parser.value()?.string()?;
                    let (name, value) = pair.split_once('=').ok_or("--env needs NAME=value")?;
                    options.env.push((name.into(), value.into()));
                }
                Long("counts") => {
                    options.counts.push(parser.value()?.string()?);
                    options.env.push(("GASNET_STATS".into(), "1".into()));
                }
                Long("jobs") => options.jobs = parser.value()?.parse()?,
                Long("limit") => options.limit = Duration::from_secs(parser.value()?.parse()?),
                Long("list") => list = true,
                Long("help") | Short('h') => {
                    println!("{}", self.usage());
                    std::process::exit(0);
                }
                Value(filter) => options.filters.push(filter.string()?),
                other => return Err(other.unexpected()),
            }
        }
        options.kept = options.scratch.join("kept");
        if !options.env.is_empty() {
            let values: Vec<&str> = options.env.iter().map(|(_, value)| value.as_str()).collect();
            options.scratch.push(values.join("-").replace('/', "-"));
        }
        Ok((options, list))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_that_counted_nothing_are_found() {
        let counts = ["packets received".to_string()];
        let good = "gasnet: rank 0 of 2: netvm: hits 5, packets received 7\n";
        assert_eq!(uncounted(good, &counts), None);
        assert_eq!(uncounted("gasnet: rank 0 of 2: netvm: packets received 1\n", &counts), None);
        let bad = format!("{good}gasnet: rank 1 of 2: netvm: more packets received 5\n");
        assert!(uncounted(&bad, &counts).is_some());
        assert_eq!(uncounted(&bad, &[]), None);
    }

    #[test]
    fn programs_are_kept_until_something_changes() {
        let root = std::env::temp_dir().join(format!("gasnet-kept-{}", std::process::id()));
        let [programs, prefix, other, scratch] =
            ["programs", "prefix", "other", "scratch"].map(|name| root.join(name));
        for folder in [&programs.join("sub"), &prefix.join("lib"), &other, &scratch] {
            fs::create_dir_all(folder).unwrap();
        }
        let mut options = Options {
            programs: programs.clone(),
            prefix,
            kept: scratch.join("kept"),
            scratch: scratch.clone(),
            filters: Vec::new(),
            ranks: Vec::new(),
            flags: Vec::new(),
            env: Vec::new(),
            counts: Vec::new(),
            jobs: 1,
            limit: Duration::from_secs(1),
        };
        // Clocks of file systems are coarse.
        let later = || thread::sleep(Duration::from_millis(30));
        let took = |kept: &Kept, name: &str| {
            let to = scratch.join("took");
            drop(fs::remove_file(&to));
            kept.take(name, &to)
        };
        later();
        let program = scratch.join("program");
        fs::write(&program, "compiled").unwrap();
        let first = Kept::open(&options).unwrap();
        first.keep("a", &program);
        assert!(!took(&first, "a"), "a run without an environment of its own compiles");
        options.env.push(("NAME".into(), "value".into()));
        let second = Kept::open(&options).unwrap();
        assert!(took(&second, "a") && !took(&second, "b"));
        options.prefix = other;
        assert!(!took(&Kept::open(&options).unwrap(), "a"), "compiled for another installation");
        options.prefix = root.join("prefix");
        let third = Kept::open(&options).unwrap();
        third.keep("a", &program);
        assert!(took(&third, "a"));
        later();
        fs::write(root.join("prefix/lib/libgasnet_mpi.so"), "loaded").unwrap();
        assert!(took(&Kept::open(&options).unwrap(), "a"), "a plugin is no part of it");
        fs::write(programs.join("sub/source"), "changed").unwrap();
        assert!(!took(&Kept::open(&options).unwrap(), "a"), "a source is newer");
        fs::remove_dir_all(root).unwrap();
    }
}
