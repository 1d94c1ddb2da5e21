//! Ranks that somebody else's launcher starts: a small PMI-1 server made here, and `mpirun` where there is
//! one.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Barrier, Mutex};

const RANK: &str = env!("CARGO_BIN_EXE_gasnet-launch-test-rank");
/// Longest text the server takes: short, so that exchanges take several.
const LONGEST: usize = 80;

/// The ranks' last messages: `finalize`, or `abort` with a code.
type Ends = Arc<Mutex<BTreeMap<u32, String>>>;

/// Serves one rank until it leaves.
fn serve(
    stream: TcpStream,
    (rank, size): (u32, u32),
    texts: &Mutex<BTreeMap<String, String>>,
    all: &Barrier,
    ends: &Ends,
) {
    let mut to = stream.try_clone().unwrap();
    for line in BufReader::new(stream).lines() {
        let Ok(line) = line else { return };
        let word = |name: &str| -> String {
            let found = line.split(' ').find_map(|w| w.strip_prefix(&format!("{name}=")));
            found.unwrap_or_default().to_string()
        };
        let answer = match word("cmd").as_str() {
            "initack" => {
                format!("cmd=initack rc=0\ncmd=set size={}\ncmd=set rank={rank}\ncmd=set debug=0", size)
            }
            "init" => "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0".to_string(),
            "get_maxes" => format!("cmd=maxes kvsname_max=64 keylen_max=64 vallen_max={LONGEST} rc=0"),
            "get_my_kvsname" => "cmd=my_kvsname kvsname=space rc=0".to_string(),
            "put" => {
                assert!(word("value").len() < LONGEST && word("kvsname") == "space");
                texts.lock().unwrap().insert(word("key"), word("value"));
                "cmd=put_result rc=0 msg=success".to_string()
            }
            "barrier_in" => {
                all.wait();
                "cmd=barrier_out rc=0".to_string()
            }
            "get" => match texts.lock().unwrap().get(&word("key")) {
                Some(value) => format!("cmd=get_result rc=0 msg=success value={value}"),
                None => "cmd=get_result rc=-1 msg=unknown".to_string(),
            },
            "finalize" => {
                ends.lock().unwrap().insert(rank, "finalize".to_string());
                "cmd=finalize_ack rc=0".to_string()
            }
            "abort" => {
                ends.lock().unwrap().insert(rank, format!("abort {}", word("exitcode")));
                return;
            }
            other => panic!("asked for {other}"),
        };
        if to.write_all(format!("{answer}\n").as_bytes()).is_err() {
            return;
        }
    }
}

/// Runs ranks under the server; returns the lines of each, and how they ended.
fn pmi1(ranks: u32, role: &[&str]) -> (Vec<String>, BTreeMap<u32, String>) {
    pmi1_with(ranks, role, None)
}

/// As [`pmi1`], with a library loaded into each rank.
fn pmi1_with(ranks: u32, role: &[&str], library: Option<&Path>) -> (Vec<String>, BTreeMap<u32, String>) {
    let (texts, all, ends): (_, _, Ends) =
        (Arc::new(Mutex::default()), Arc::new(Barrier::new(ranks as usize)), Ends::default());
    let mut children: Vec<Child> = Vec::new();
    for rank in 0..ranks {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().to_string();
        let mut child = Command::new(RANK);
        child.args(role).env("PMI_PORT", port).env("PMI_ID", rank.to_string());
        child.envs(library.map(|library| ("LD_PRELOAD", library)));
        children.push(child.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap());
        let (texts, all, ends) = (Arc::clone(&texts), all.clone(), ends.clone());
        std::thread::spawn(move || serve(listener.accept().unwrap().0, (rank, ranks), &texts, &all, &ends));
    }
    // As a launcher does: who aborts takes the others along.
    let aborted = |ends: &Ends| ends.lock().unwrap().values().any(|e| e.starts_with("abort"));
    let until = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while !aborted(&ends)
        && std::time::Instant::now() < until
        && children.iter_mut().any(|c| c.try_wait().unwrap().is_none())
    {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    if aborted(&ends) || std::time::Instant::now() >= until {
        children.iter_mut().for_each(|c| _ = c.kill());
    }
    let lines = children.iter_mut().map(|child| {
        let mut text = String::new();
        child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
        child.wait().unwrap();
        text
    });
    let lines = lines.collect();
    let ends = ends.lock().unwrap().clone();
    (lines, ends)
}

#[test]
fn ranks_of_a_pmi1_launcher_share_memory_and_exchange() {
    for role in ["memory", "exchange"] {
        let (lines, ends) = pmi1(4, &[role, "500"]);
        for (rank, line) in lines.iter().enumerate() {
            let expected = match role {
                "memory" => format!("rank {rank} sees all 4\n"),
                _ => format!("rank {rank} has all of 4\n"),
            };
            assert_eq!(line, &expected);
        }
        assert!(ends.len() == 4 && ends.values().all(|e| e == "finalize"), "{ends:?}");
    }
}

#[test]
fn the_launcher_is_told_who_ends_the_job() {
    let (_, ends) = pmi1(3, &["exit", "0", "3", "0"]);
    assert!(ends.values().all(|e| e == "finalize"), "{ends:?}");
    let (_, ends) = pmi1(3, &["abort", "1"]);
    assert_eq!(ends[&1], "abort 7", "{ends:?}");
}

/// A library that has the name of an MPI, and answers whether MPI is initialised, and finalised.
fn toy_mpi(initialised: bool) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (code, library) =
        (folder.join(format!("mpi_{initialised}.c")), folder.join(format!("libmpi_{initialised}.so")));
    let query = |name: &str| {
        format!("int {name}(int *answer) {{ *answer = {}; return 0; }}\n", i32::from(initialised))
    };
    std::fs::write(&code, query("MPI_Initialized") + &query("MPI_Finalized")).unwrap();
    let compiled =
        Command::new("cc").args(["-shared", "-fPIC", "-o"]).args([&library, &code]).status().unwrap();
    assert!(compiled.success());
    library
}

/// An MPI that was initialised shares the session with this runtime and ends it; nobody else ends it for one
/// that is only loaded.
#[test]
fn the_session_is_ended_once_whether_or_not_mpi_is_used() {
    let (_, ends) = pmi1_with(3, &["exchange", "500"], Some(&toy_mpi(false)));
    assert!(ends.len() == 3 && ends.values().all(|e| e == "finalize"), "{ends:?}");
    let (_, ends) = pmi1_with(3, &["exchange", "500"], Some(&toy_mpi(true)));
    assert!(ends.is_empty(), "{ends:?}");
}

/// Commands of launchers that are installed here.
fn launchers() -> Vec<&'static str> {
    let there = |name: &&str| {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
    };
    ["mpirun.openmpi", "mpiexec.hydra"].into_iter().filter(there).collect()
}

#[test]
fn mpirun_starts_ranks() {
    for launcher in launchers() {
        let run = |role: &[&str]| {
            let mut command = Command::new("timeout");
            command.args(["-k1", "40", launcher]);
            if launcher.contains("openmpi") {
                command.arg("--oversubscribe");
                command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
            }
            command.args(["-n", "3", RANK]).args(role).stdin(Stdio::null()).output().unwrap()
        };
        let output = run(&["memory"]);
        assert!(output.status.success(), "{launcher}: {output:?}");
        assert_eq!(
            String::from_utf8_lossy(&output.stdout).matches("sees all 3").count(),
            3,
            "{launcher}: {output:?}"
        );
        assert!(run(&["exchange", "2000"]).status.success(), "{launcher}");
        let refused = run(&["refuse"]);
        assert!(!refused.status.success(), "{launcher}");
        assert_eq!(
            String::from_utf8_lossy(&refused.stderr).matches("no such thing").count(),
            1,
            "{refused:?}"
        );
        assert_eq!(run(&["exit", "0", "5", "0"]).status.code(), Some(5), "{launcher}");
        assert_eq!(run(&["abort", "1"]).status.code(), Some(7), "{launcher}");
    }
}
