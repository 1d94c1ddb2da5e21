//! Ranks started by another launcher: `mpirun`, `mpiexec`, `srun`. No MPI is involved: the launcher's process
//! management interface tells each process its rank, and carries the exchanges.
//!
//! Two interfaces are supported: **PMI-1**, lines of `name=value` words on a socket (Hydra, MPICH, and their
//! derivatives), and **PMIx**, a library that is loaded if there is such a launcher (Open MPI, PRRTE, Slurm).
//!
//! Both are a store of short texts with a fence. In an exchange every rank stores its bytes, all meet at a
//! fence, and every rank looks up what the others stored. There is no monitor: a rank that ends the job tells
//! the launcher. A PMI-1 launcher then kills the job, and the last output of ranks is lost. So a rank that
//! wants to end the job waits for the others to want that too, and then they leave in order.

use gasnet_sys::mutex::lock;
use std::collections::BTreeMap;
use std::env;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gasnet_wire::Boot;
use gasnet_wire::boot::{Exchange, Overseer, ToMonitor};

use crate::pmix::Pmix;
use crate::{Error, handed};
use gasnet_sys::fd::{self, Access};
use gasnet_sys::poll::wait_readable;
use gasnet_sys::process;

/// How long a rank that ends the job waits for the others to do so.
const END_TOGETHER_TIMEOUT: Duration = Duration::from_secs(1);

/// How long a launcher that will kill the job gets to read the output of ranks.
const OUTPUT_READ_DELAY: Duration = Duration::from_millis(200);

/// A store of texts with a fence.
trait Store: Send {
    /// This rank's number, and the number of ranks.
    fn place(&self) -> (u32, u32);
    /// Length of the longest text that it stores.
    fn longest(&self) -> usize;
    /// Stores a text under a new key.
    fn put(&mut self, key: &str, text: &str) -> Result<(), String>;
    /// Waits for all ranks; what they stored before is then seen by all.
    fn fence(&mut self) -> Result<(), String>;
    /// A text that a rank stored.
    fn get(&mut self, rank: u32, key: &str) -> Result<String, String>;
    /// Ends the whole job.
    fn abort(&mut self, code: i32);
    /// Waits up to `limit` for all ranks to end the job; returns whether they did. Only `abort` and `finish`
    /// may follow.
    fn all_leave(&mut self, limit: Duration) -> bool;
    /// This rank leaves in order.
    fn finish(&mut self);
}

/// The words of a line.
fn words(line: &str) -> BTreeMap<&str, &str> {
    let mut all = BTreeMap::new();
    for word in line.split_whitespace() {
        if let Some((name, value)) = word.split_once('=') {
            all.insert(name, value);
        }
    }
    all
}

/// PMI-1 on a socket.
struct Pmi1 {
    from: BufReader<File>,
    to: File,
    rank: u32,
    size: u32,
    space: String,
    longest: usize,
}

impl Pmi1 {
    fn connect() -> Result<Option<Pmi1>, String> {
        let number = |name: &str| env::var(name).ok()?.trim().parse::<u32>().ok();
        let socket: OwnedFd = if let Some(fd) = number("PMI_FD") {
            handed::copy(fd as i32).map_err(|e| format!("PMI_FD={fd}: {e}"))?
        } else if let Ok(port) = env::var("PMI_PORT") {
            TcpStream::connect(&port).map_err(|e| format!("PMI_PORT={port}: {e}"))?.into()
        } else {
            return Ok(None);
        };
        let to = File::from(socket);
        let from = BufReader::new(to.try_clone().map_err(|e| e.to_string())?);
        let (rank, size) = (number("PMI_RANK"), number("PMI_SIZE"));
        let mut pmi = Pmi1 { from, to, rank: 0, size: 0, space: String::new(), longest: 0 };
        let (mut rank, mut size) = (rank, size);
        if env::var_os("PMI_FD").is_none() {
            let id = number("PMI_ID").unwrap_or(0);
            pmi.ask(&format!("cmd=initack pmiid={id}"), "initack")?;
            for name in ["size", "rank", "debug"] {
                let line = pmi.line()?;
                let value = words(&line).get(name).and_then(|v| v.parse().ok());
                match name {
                    "size" => size = value,
                    "rank" => rank = value,
                    _ => {}
                }
            }
        }
        let init = pmi.ask("cmd=init pmi_version=1 pmi_subversion=1", "response_to_init")?;
        if words(&init).get("rc") != Some(&"0") {
            return Err(format!("the launcher does not speak PMI-1: {init}"));
        }
        let maxes = pmi.ask("cmd=get_maxes", "maxes")?;
        let longest = words(&maxes).get("vallen_max").and_then(|v| v.parse().ok());
        let space = pmi.ask("cmd=get_my_kvsname", "my_kvsname")?;
        let space = words(&space).get("kvsname").map(|v| v.to_string());
        match (rank, size, space) {
            (Some(rank), Some(size), Some(space)) if rank < size => {
                (pmi.rank, pmi.size, pmi.space) = (rank, size, space);
                pmi.longest = longest.unwrap_or(256usize).clamp(64, 4096) - 1;
                Ok(Some(pmi))
            }
            _ => Err("the launcher did not say which rank this is (PMI_RANK, PMI_SIZE)".to_string()),
        }
    }

    fn line(&mut self) -> Result<String, String> {
        let mut line = String::new();
        match self.from.read_line(&mut line) {
            Ok(0) => Err("the launcher is gone".to_string()),
            Ok(_) => Ok(line),
            Err(e) => Err(e.to_string()),
        }
    }

    /// Sends a line. The launcher may have closed the session; that raises no signal.
    fn send(&mut self, line: &str) -> Result<(), String> {
        fd::send_waiting(self.to.as_fd(), format!("{line}\n").as_bytes()).map_err(|e| e.to_string())
    }

    /// Sends a line, and returns the answer, which must be of this kind.
    fn ask(&mut self, line: &str, kind: &str) -> Result<String, String> {
        self.send(line)?;
        let answer = self.line()?;
        if words(&answer).get("cmd") != Some(&kind) {
            return Err(format!("asked '{line}', the launcher answered '{}'", answer.trim_end()));
        }
        Ok(answer)
    }
}

impl Store for Pmi1 {
    fn place(&self) -> (u32, u32) {
        (self.rank, self.size)
    }
    fn longest(&self) -> usize {
        self.longest
    }
    fn put(&mut self, key: &str, text: &str) -> Result<(), String> {
        let line = format!("cmd=put kvsname={} key={key} value={text}", self.space);
        let answer = self.ask(&line, "put_result")?;
        if words(&answer).get("rc") == Some(&"0") { Ok(()) } else { Err(answer.trim_end().to_string()) }
    }
    fn fence(&mut self) -> Result<(), String> {
        self.ask("cmd=barrier_in", "barrier_out").map(drop)
    }
    fn get(&mut self, _rank: u32, key: &str) -> Result<String, String> {
        let answer = self.ask(&format!("cmd=get kvsname={} key={key}", self.space), "get_result")?;
        match words(&answer).get("value") {
            Some(value) => Ok(value.to_string()),
            None => Err(answer.trim_end().to_string()),
        }
    }
    fn abort(&mut self, code: i32) {
        // The launcher drops the output that it has not read, which includes the reason for the end.
        std::thread::sleep(OUTPUT_READ_DELAY);
        let _ = self.send(&format!("cmd=abort exitcode={code}"));
    }
    fn all_leave(&mut self, limit: Duration) -> bool {
        // If the program has called MPI_Finalize, which is collective, MPI has ended the session that it
        // shares with us.
        if self.send("cmd=barrier_in").is_err() {
            return true;
        }
        wait_readable(self.to.as_fd(), limit)
            && self.line().map_or(true, |line| words(&line).get("cmd") == Some(&"barrier_out"))
    }
    fn finish(&mut self) {
        // An MPI that this process has initialised shares the session, and ends it. One that is only loaded,
        // as by a conduit that is not needed, does not; a launcher takes a session that nobody ends for a
        // failure.
        let loaded = || std::fs::read_to_string("/proc/self/maps").unwrap_or_default().contains("/libmpi");
        if !crate::mpi::initialised().unwrap_or_else(loaded) {
            let _ = self.ask("cmd=finalize", "finalize_ack");
        }
    }
}

impl Store for Pmix {
    fn place(&self) -> (u32, u32) {
        (self.rank, self.size)
    }
    fn longest(&self) -> usize {
        1 << 16
    }
    fn put(&mut self, key: &str, text: &str) -> Result<(), String> {
        Pmix::put(self, key, text)
    }
    fn fence(&mut self) -> Result<(), String> {
        Pmix::fence(self)
    }
    fn get(&mut self, rank: u32, key: &str) -> Result<String, String> {
        Pmix::get(self, rank, key)
    }
    fn abort(&mut self, code: i32) {
        Pmix::abort(self, code);
    }
    fn all_leave(&mut self, limit: Duration) -> bool {
        Pmix::all_leave(self, limit)
    }
    fn finish(&mut self) {
        Pmix::finish(self);
    }
}

/// Bytes as text without blanks.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |c: u8| char::from(c).to_digit(16).map(|d| d as u8);
    text.as_bytes().chunks(2).map(|pair| Some(digit(pair[0])? << 4 | digit(*pair.get(1)?)?)).collect()
}

/// Exchanges through a store.
struct Stored {
    store: Box<dyn Store>,
    rounds: u32,
    /// The launcher was told that this rank leaves, or is being told.
    left: Option<Leaving>,
}

/// How a rank leaves.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Leaving {
    InOrder,
    EndsJob,
}

impl Stored {
    fn all_gather(&mut self, mine: &[u8]) -> Result<Vec<Vec<u8>>, String> {
        let ((rank, size), longest) = (self.store.place(), self.store.longest());
        let round = self.rounds;
        self.rounds += 1;
        let key = |rank: u32, part: usize| format!("gasnet-{round}-{rank}-{part}");
        // The first part gives the number of further parts.
        let text = hex(mine);
        let room = longest - 8;
        let parts: Vec<&[u8]> = text.as_bytes().chunks(room).collect();
        for part in 0..parts.len().max(1) {
            let here = parts.get(part).map_or("", |p| std::str::from_utf8(p).unwrap_or(""));
            let text = if part == 0 { format!("{}-{here}", parts.len().max(1)) } else { format!("-{here}") };
            self.store.put(&key(rank, part), &text)?;
        }
        self.store.fence()?;
        let mut all = Vec::with_capacity(size as usize);
        for other in 0..size {
            if other == rank {
                all.push(mine.to_vec());
                continue;
            }
            let broken = || format!("rank {other} stored something that makes no sense");
            let first = self.store.get(other, &key(other, 0))?;
            let (count, here) = first.split_once('-').ok_or_else(broken)?;
            let mut text = here.to_string();
            for part in 1..count.parse::<usize>().map_err(|_| broken())? {
                let next = self.store.get(other, &key(other, part))?;
                text += next.strip_prefix('-').ok_or_else(broken)?;
            }
            all.push(unhex(&text).ok_or_else(broken)?);
        }
        Ok(all)
    }
}

/// The launcher, shared by all its users.
#[derive(Clone)]
struct Launcher(Arc<Mutex<Stored>>);

impl Launcher {
    fn with<R>(&self, f: impl FnOnce(&mut Stored) -> R) -> R {
        f(&mut lock(&self.0))
    }
}

impl Exchange for Launcher {
    fn all_gather(&self, mine: &[u8]) -> Result<Vec<Vec<u8>>, gasnet_wire::Error> {
        self.with(|s| s.all_gather(mine))
            .map_err(|e| gasnet_wire::Error::job(format!("exchange by the launcher: {e}")))
    }
}

impl Overseer for Launcher {
    fn all_leave(&self) -> bool {
        self.with(|s| s.left.is_none() && s.store.all_leave(END_TOGETHER_TIMEOUT))
    }

    fn hear(&self, said: &ToMonitor) {
        self.with(|s| match said {
            ToMonitor::GlobalExit(code) | ToMonitor::Leaves(code) | ToMonitor::Abort(code, _)
                if s.left.is_none() =>
            {
                s.left = Some(Leaving::EndsJob);
                s.store.abort(*code & 255);
            }
            ToMonitor::Done(_) if s.left.is_none() => {
                s.left = Some(Leaving::InOrder);
                s.store.finish();
            }
            _ => {}
        });
    }

    fn leave(&self, code: i32) -> ! {
        if self.with(|s| s.left == Some(Leaving::InOrder)) {
            crate::mpi::finalise();
        }
        process::exit_now(code)
    }
}

/// The rank that another launcher gave this process, if the environment has one.
pub fn number() -> Option<u32> {
    let given = |name: &str| env::var(name).ok()?.trim().parse().ok();
    let pmix = env::var_os("PMIX_NAMESPACE").and_then(|_| given("PMIX_RANK"));
    let pmi = || env::var_os("PMI_FD").or_else(|| env::var_os("PMI_PORT")).and_then(|_| given("PMI_RANK"));
    pmix.or_else(pmi)
}

/// Boots a rank of a job that another launcher started; `None` if there is no such launcher, or only one
/// rank.
pub fn boot() -> Result<Option<Boot>, Error> {
    let wrong = |why: String| Error::Launcher(why);
    let store: Box<dyn Store> = if env::var_os("PMIX_NAMESPACE").is_some() {
        Box::new(Pmix::connect().map_err(wrong)?)
    } else {
        match Pmi1::connect().map_err(wrong)? {
            Some(pmi) => Box::new(pmi),
            None => return Ok(None),
        }
    };
    let (rank, size) = store.place();
    let launcher = Launcher(Arc::new(Mutex::new(Stored { store, rounds: 0, left: None })));
    if size == 1 {
        launcher.with(|s| s.store.finish());
        return Ok(None);
    }
    let gather = |text: String| -> Result<Vec<String>, Error> {
        let all = launcher.with(|s| s.all_gather(text.as_bytes())).map_err(wrong)?;
        Ok(all.into_iter().map(|text| String::from_utf8_lossy(&text).into_owned()).collect())
    };
    // Determine which ranks share a host, and the job's id, which is rank 0's.
    let hosts = gather(format!("{:x} {}", gasnet_sys::random(), host_identity()))?;
    let host_of = |r: u32| hosts[r as usize].split_once(' ').map(|(_, host)| host.to_string());
    let job_id = hosts[0].split_once(' ').and_then(|(id, _)| u64::from_str_radix(id, 16).ok()).unwrap_or(0);
    let mine = host_of(rank);
    let together: Vec<u32> = (0..size).filter(|r| host_of(*r) == mine).collect();
    // The lowest rank of a host makes the memory files, and the others open them.
    let make = || -> Result<[OwnedFd; 2], Error> {
        let file = |name| fd::memory_file(name).map_err(Error::MemoryFile);
        Ok([file("gasnet-shm")?, file("gasnet-segments")?])
    };
    let mut files = make()?;
    let places = gather(format!(
        "{} {}",
        process::pid(),
        files.iter().map(|f| f.as_raw_fd().to_string()).collect::<Vec<_>>().join(" ")
    ))?;
    let mut word = "together";
    if rank != together[0] {
        let opened = || -> Option<[OwnedFd; 2]> {
            let mut words = places[together[0] as usize].split(' ');
            let pid = words.next()?;
            let mut open = || fd::open(&format!("/proc/{pid}/fd/{}", words.next()?), Access::ReadWrite).ok();
            Some([open()?, open()?])
        };
        match opened() {
            Some(shared) => files = shared,
            None => word = "alone",
        }
    }
    // If one rank could not open them, because processes may not look into each other, each rank is treated
    // as on a host of its own.
    let said = gather(word.to_string())?;
    let host_ranks = if together.iter().all(|r| said[*r as usize] == "together") {
        together
    } else {
        files = make()?;
        vec![rank]
    };
    let (shm, segments) = <(OwnedFd, OwnedFd)>::from(files);
    Ok(Some(Boot {
        rank,
        size,
        host_ranks,
        exchange: Some(Box::new(launcher.clone())),
        shm: shm.into(),
        segments: segments.into(),
        link: None,
        overseer: Some(Box::new(launcher)),
        job_id,
    }))
}

/// Equal for processes that can share memory, and different for others: the boot of the kernel, and the
/// namespaces.
fn host_identity() -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let space = |name| std::fs::read_link(format!("/proc/self/ns/{name}")).map(|p| p.display().to_string());
    format!("{} {}", boot.trim(), space("pid").unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_survive_as_text() {
        let bytes: Vec<u8> = (0..=255).collect();
        assert_eq!(unhex(&hex(&bytes)), Some(bytes));
        for text in ["0", "0g", "é0"] {
            assert_eq!(unhex(text), None, "{text}");
        }
        assert_eq!(unhex(""), Some(Vec::new()));
    }

    #[test]
    fn lines_are_taken_apart() {
        let all = words("cmd=get_result rc=0 msg=success value=3-00ff=\n");
        assert_eq!((all["cmd"], all["value"], all["rc"]), ("get_result", "3-00ff=", "0"));
        assert!(words("nonsense").is_empty());
    }

    /// A store in memory that accepts only very short texts.
    struct Toy(u32, Arc<Mutex<BTreeMap<String, String>>>, Arc<std::sync::Barrier>);

    impl Store for Toy {
        fn place(&self) -> (u32, u32) {
            (self.0, 3)
        }
        fn longest(&self) -> usize {
            16
        }
        fn put(&mut self, key: &str, text: &str) -> Result<(), String> {
            assert!(text.len() <= 16);
            assert!(self.1.lock().unwrap().insert(key.into(), text.into()).is_none());
            Ok(())
        }
        fn fence(&mut self) -> Result<(), String> {
            self.2.wait();
            Ok(())
        }
        fn get(&mut self, _: u32, key: &str) -> Result<String, String> {
            self.1.lock().unwrap().get(key).cloned().ok_or_else(|| format!("no {key}"))
        }
        fn all_leave(&mut self, _: Duration) -> bool {
            false
        }
        fn abort(&mut self, _: i32) {}
        fn finish(&mut self) {}
    }

    #[test]
    fn exchanges_of_any_length() {
        let (texts, barrier) = (Arc::default(), Arc::new(std::sync::Barrier::new(3)));
        std::thread::scope(|s| {
            for rank in 0..3u32 {
                let toy = Toy(rank, Arc::clone(&texts), barrier.clone());
                s.spawn(move || {
                    let mut stored = Stored { store: Box::new(toy), rounds: 0, left: None };
                    for round in 0..4usize {
                        let of = |r: u32| vec![r as u8; r as usize * 7 * round];
                        let all = stored.all_gather(&of(rank)).unwrap();
                        assert_eq!(all, [of(0), of(1), of(2)]);
                    }
                });
            }
        });
    }
}
