//! Rates over the wire: puts of ranks, and a TCP stream.

use gasnet::{GlobalPtr, RankId};
use gasnet_tests::run::Outcome;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::ExitCode;
use std::time::{Duration, Instant};

const PORT: u16 = 7077;
const BYTES: usize = 4 << 20;
/// How long a rate is measured.
const TIME: Duration = Duration::from_secs(3);

/// The number after `rate`.
pub fn read(outcome: &Outcome) -> Result<f64, String> {
    let line = outcome.stdout.lines().find_map(|l| l.strip_prefix("rate "));
    line.and_then(|l| l.trim().parse().ok()).ok_or_else(|| outcome.report())
}

fn say(bytes: f64, since: Instant) {
    println!("rate {:.1}", bytes / 1e6 / since.elapsed().as_secs_f64());
}

/// Rank 0 puts into rank 1's segment.
pub fn puts() -> ! {
    gasnet_conduits::run(|rank| {
        let offset = rank.allocate(BYTES as u64, 64).unwrap_or_else(|e| rank.fatal(&e.to_string()));
        let at: GlobalPtr<u64> = GlobalPtr::new(RankId(1), offset);
        let source = vec![7u64; BYTES / 8];
        rank.barrier();
        if rank.id().0 == 0 {
            rank.write_slice(at, &source);
            let start = Instant::now();
            let mut count = 0;
            while start.elapsed() < TIME {
                rank.write_slice(at, &source);
                count += 1;
            }
            say(f64::from(count) * BYTES as f64, start);
            assert_eq!(rank.read(at.add(BYTES / 8 - 1)), 7);
        }
        rank.barrier();
    })
}

/// Ranks that work with each other until somebody ends the job.
pub fn forever() -> ! {
    gasnet_conduits::run(|rank| {
        loop {
            rank.barrier();
        }
    })
}

fn done(result: std::io::Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("{e}");
            ExitCode::FAILURE
        }
    }
}

/// Takes one stream.
pub fn sink(address: &str) -> ExitCode {
    done((|| {
        let (mut stream, _) = TcpListener::bind((address, PORT))?.accept()?;
        let mut buffer = vec![0; 1 << 20];
        while stream.read(&mut buffer)? > 0 {}
        Ok(())
    })())
}

/// Sends one stream, and says how fast it went.
pub fn source(address: &str) -> ExitCode {
    done((|| {
        let start = Instant::now();
        let mut stream = loop {
            match TcpStream::connect((address, PORT)) {
                Ok(stream) => break stream,
                Err(e) if start.elapsed() > Duration::from_secs(10) => return Err(e),
                Err(_) => std::thread::sleep(Duration::from_millis(50)),
            }
        };
        let buffer = vec![7; 1 << 20];
        let (start, mut bytes) = (Instant::now(), 0.0);
        while start.elapsed() < TIME {
            stream.write_all(&buffer)?;
            bytes += buffer.len() as f64;
        }
        say(bytes, start);
        Ok(())
    })())
}
