//! A program that plays ranks by hand for the tests: `gasnet-launch-test-rank ROLE [arguments]`.

use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::process::{Command, Stdio, exit};
use std::time::Duration;

use gasnet::Boot;
use gasnet_launch::{BootOptions, Booted, boot};
use gasnet_sys::fd::{self, Standard};
use gasnet_sys::process::{kill, parent_pid, pid};
use gasnet_sys::processors;
use gasnet_wire::boot::ToMonitor;

struct Rank {
    boot: Boot,
    arguments: Vec<String>,
}

impl Rank {
    fn say(&self, packet: ToMonitor) {
        if let Some(overseer) = &self.boot.overseer {
            overseer.hear(&packet);
        }
        if let Some(link) = &self.boot.link {
            let bytes = packet.encode();
            assert_eq!(fd::send(link.as_fd(), &bytes).unwrap(), bytes.len());
        }
    }

    /// Leaves in order.
    fn done(&self, code: i32) -> ! {
        self.say(ToMonitor::Done(code));
        exit(code)
    }

    fn number(&self, at: usize) -> i64 {
        self.arguments[at].parse().unwrap()
    }

    fn is(&self, at: usize) -> bool {
        i64::from(self.boot.rank) == self.number(at)
    }
}

/// Writes in pieces of all sizes, straight to the descriptor.
fn write_pieces(to: Standard, text: &str, seed: usize) {
    let mut bytes = text.as_bytes();
    let mut n = seed;
    while !bytes.is_empty() {
        n = n * 31 % 977;
        let written = fd::write(to.fd(), &bytes[..(n + 1).min(bytes.len())]).unwrap();
        bytes = &bytes[written..];
    }
}

fn wait_for_the_end() -> ! {
    std::thread::sleep(Duration::from_secs(60));
    exit(99)
}

/// The part of sshd: runs the command in the first line of each connection, with the connection as its
/// input and output.
fn relay(address: &str) -> ! {
    let listener = std::net::TcpListener::bind(address).unwrap();
    println!("listening");
    for stream in listener.incoming() {
        let mut stream = stream.unwrap();
        let (mut line, mut byte) = (Vec::new(), [0]);
        while stream.read(&mut byte).unwrap() == 1 && byte[0] != b'\n' {
            line.push(byte[0]);
        }
        let fd = |s: &std::net::TcpStream| Stdio::from(std::os::fd::OwnedFd::from(s.try_clone().unwrap()));
        let command = String::from_utf8(line).unwrap();
        let child = Command::new("sh").args(["-c", &command]).stdin(fd(&stream)).stdout(fd(&stream)).spawn();
        drop(child.unwrap());
    }
    exit(0)
}

/// The part of ssh: sends a command to the relay of a host, and passes input and output on.
fn through(port: &str, host: &str, command: &str) -> ! {
    let mut stream = std::net::TcpStream::connect(format!("{host}:{port}")).unwrap();
    stream.write_all(format!("{command}\n").as_bytes()).unwrap();
    let mut other = stream.try_clone().unwrap();
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut std::io::stdin().lock(), &mut other);
        let _ = other.shutdown(std::net::Shutdown::Write);
    });
    let mut out = std::io::stdout().lock();
    let mut buffer = [0; 1 << 16];
    while let Ok(n @ 1..) = stream.read(&mut buffer) {
        out.write_all(&buffer[..n]).unwrap();
        out.flush().unwrap();
    }
    exit(0)
}

/// Roles that write lines. Returns whether it is one of these.
fn writes(role: &str, rank: &Rank) -> bool {
    let (me, size) = (rank.boot.rank, rank.boot.size);
    match role {
        "hello" | "static" => println!("hello {me} of {size} job {:x}", rank.boot.job_id),
        "lines" => {
            for i in 0..rank.number(0) {
                let text = "abcdefghij".repeat((i as usize * 7 + me as usize) % 60);
                write_pieces(Standard::Output, &format!("out {me} {i} {text} end\n"), i as usize + 1);
                write_pieces(Standard::Error, &format!("err {me} {i} {text} end\n"), i as usize + 2);
            }
        }
        "long" => {
            let length = rank.number(0) as usize;
            let letter = char::from(b'a' + me as u8).to_string();
            write_pieces(Standard::Output, &format!("{}\n", letter.repeat(length)), 5);
        }
        "torrent" => {
            // Rank 0 stops in a long line until the reader has seen everything from rank 1.
            if me == 0 {
                print!("{}", "x".repeat(3 << 20));
                std::io::stdout().flush().unwrap();
                std::fs::write(&rank.arguments[1], "").unwrap();
                std::io::stdin().read_line(&mut String::new()).unwrap();
                println!("end");
            } else {
                while !std::path::Path::new(&rank.arguments[1]).exists() {
                    std::thread::sleep(Duration::from_millis(1));
                }
                let line = format!("{}\n", "y".repeat(1023));
                for _ in 0..rank.number(0) {
                    write_pieces(Standard::Output, &line.repeat(64), 1);
                }
            }
        }
        "rest" => print!("rest of {me}"),
        "late" => {
            // A child that prints after the rank has ended.
            Command::new("sh").args(["-c", "(sleep 0.05; echo late) &"]).status().unwrap();
        }
        "forever" => loop {
            println!("{}", "x".repeat(100));
        },
        "stdin" => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).unwrap();
            println!("rank {me} read {} bytes", text.len());
        }
        _ => return false,
    }
    true
}

/// Roles that end or leave the job. Returns only if it is none of these.
fn ends(role: &str, rank: &Rank) -> bool {
    let (me, size) = (rank.boot.rank, rank.boot.size);
    match role {
        "exit" => rank.done(rank.number(me as usize) as i32),
        "unattached" | "silent" => exit(rank.number(me as usize) as i32),
        "kill" => {
            println!("alive {me}");
            if rank.is(0) {
                // Twice: Rust's own handler for SIGSEGV lets one pass that is not a stack overflow.
                kill(pid(), rank.number(1) as i32);
                kill(pid(), rank.number(1) as i32);
            }
            wait_for_the_end();
        }
        "global" => {
            if !rank.is(0) {
                println!("line of {me}");
                // Its lines are out once this file exists.
                std::fs::write(format!("{}.{me}", rank.arguments[2]), "").unwrap();
                wait_for_the_end();
            }
            for other in (0..size).filter(|&other| other != me) {
                while !std::path::Path::new(&format!("{}.{other}", rank.arguments[2])).exists() {
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
            let code = rank.number(1) as i32;
            rank.say(ToMonitor::GlobalExit(code));
            exit(code);
        }
        // As a program of the C interface ends; each rank takes the longer the higher its number.
        "together" => {
            println!("before {me}");
            std::thread::sleep(Duration::from_millis(u64::from(me) * 20));
            println!("hello {me}");
            let code = rank.arguments.get(me as usize).map_or(0, |code| code.parse().unwrap());
            rank.say(ToMonitor::Leaves(code));
            exit(code);
        }
        "together-crash" => {
            rank.say(ToMonitor::Leaves(0));
            if rank.is(0) {
                kill(pid(), libc::SIGKILL);
            }
            exit(0);
        }
        // The others do not come.
        "alone" => {
            if rank.is(0) {
                rank.say(ToMonitor::Leaves(0));
                exit(0);
            }
            println!("hello {me}");
            wait_for_the_end();
        }
        "abort" => {
            if rank.is(0) {
                eprintln!("fatal: no more");
                rank.say(ToMonitor::Abort(7, "no more".into()));
                std::process::abort();
            }
            wait_for_the_end();
        }
        "cannot" => {
            rank.say(ToMonitor::Refused("no such network".into()));
            exit(1);
        }
        "sleep" => {
            println!("pid {} parent {}", pid(), parent_pid());
            wait_for_the_end();
        }
        "exec" => {
            use std::os::unix::process::CommandExt;
            if rank.is(0) {
                panic!("{}", Command::new("sleep").arg("60").exec());
            }
            wait_for_the_end();
        }
        _ => false,
    }
}

/// Roles with child processes. Returns whether it is one of these.
fn has_children(role: &str, rank: &Rank) -> bool {
    let me = rank.boot.rank;
    match role {
        "family" => {
            // One that nobody waits for, in a session of its own, and one below it.
            let script = "sleep 70 & echo pid $! of $$; exec sleep 70";
            let mut child = Command::new("setsid").args(["sh", "-c", script]).spawn().unwrap();
            println!("pid {} parent {}", pid(), parent_pid());
            child.wait().unwrap();
        }
        "children" => {
            // One that holds the pipes and outlives everything, one that dies by a signal, one through a
            // pipe.
            Command::new("sh").args(["-c", "sleep 50 & echo orphan $!; kill -9 $$"]).status().unwrap();
            let mut cat = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
            cat.stdin.take().unwrap().write_all(format!("through cat {me}\n").as_bytes()).unwrap();
            cat.wait().unwrap();
        }
        "nested" => {
            let me = std::env::current_exe().unwrap();
            let child = Command::new(me).arg("hello").env_remove("GASNET_PSHM_NODES").output().unwrap();
            print!("{}", String::from_utf8(child.stdout).unwrap());
        }
        "descriptors" => {
            let child = Command::new("ls").args(["-m", "/proc/self/fd"]).output().unwrap();
            println!("child {}", String::from_utf8(child.stdout).unwrap().trim());
            let own = std::fs::read_dir("/proc/self/fd").unwrap().count() - 1;
            println!("own {own}");
        }
        _ => return false,
    }
    true
}

/// Roles that tell what the launcher has given them. Returns whether it is one of these.
fn looks_around(role: &str, rank: &Rank) -> bool {
    let (me, size) = (rank.boot.rank, rank.boot.size);
    match role {
        "threads" => {
            println!("hello {me} of {size} {:?} job", rank.arguments);
            // With other threads the variable stays, without a value.
            assert_eq!(std::env::var_os("GASNETI_BOOT"), Some("".into()));
        }
        "environment" => {
            println!("rank {me} args {:?} X {:?}", rank.arguments, std::env::var("LAUNCH_TEST_X").ok());
            assert!(std::env::var_os("GASNETI_BOOT").is_none());
        }
        "affinity" => {
            println!("rank {me} on {:?}", processors::numbers(&processors::allowed()).collect::<Vec<_>>())
        }
        "exchange" => {
            let exchange = rank.boot.exchange.as_ref().expect("several hosts");
            let text = |of: u32, round: usize| {
                vec![of as u8 + 1; (of as usize * rank.number(0) as usize) / (round + 1)]
            };
            for round in 0..3 {
                let all = exchange.all_gather(&text(me, round)).unwrap();
                assert!((0..size).all(|r| all[r as usize] == text(r, round)));
            }
            println!("rank {me} has all of {size}");
        }
        "memory" => {
            // The memory files are the same in all ranks: the last to come finds everybody's byte.
            use std::os::unix::fs::FileExt;
            let file = std::fs::File::from(rank.boot.shm.file().unwrap().try_clone().unwrap());
            file.write_all_at(&[1], u64::from(me)).unwrap();
            let mut all = vec![0; size as usize];
            while file.read_at(&mut all, 0).unwrap() < all.len() || all.contains(&0) {
                std::thread::sleep(Duration::from_millis(1));
            }
            println!("rank {me} sees all {}", all.len());
        }
        _ => return false,
    }
    true
}

fn main() {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let role = arguments.remove(0);
    if role == "before" {
        // Ends before it joins.
        exit(arguments[0].parse().unwrap());
    }
    if role == "relay" {
        relay(&arguments[0]);
    }
    if role == "through" {
        through(&arguments[0], &arguments[1], &arguments[2]);
    }
    if role == "refuse" {
        gasnet_launch::refuse("no such thing");
        eprintln!("test rank: no such thing");
        exit(1);
    }
    if role == "threads" {
        std::thread::spawn(|| std::thread::sleep(Duration::from_secs(5)));
    }
    let static_ranks = (role == "static").then(|| arguments[0].parse().unwrap());
    let place = boot(BootOptions { default_ranks: 1, static_ranks }).unwrap_or_else(|error| {
        eprintln!("test rank: {error}");
        exit(1)
    });
    let Booted::Rank(boot) = place else { panic!("a replacement") };
    let boot = *boot;
    let rank = Rank { boot, arguments };
    if role != "unattached" {
        rank.say(ToMonitor::Attached);
    }
    let roles = [writes, ends, has_children, looks_around];
    assert!(roles.iter().any(|plays| plays(&role, &rank)), "unknown role {role}");
    let _ = std::io::stdout().flush();
    rank.done(0)
}
