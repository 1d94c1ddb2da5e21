//! Service: a table that is spread over all ranks, behind a TCP server of rank 0 on the executor tokio. `add
//! KEY` counts a key and answers with its count, `get KEY` answers with the count.
//!
//! Shows: results of remote calls as futures of another executor; the main thread only makes progress.
//!
//! Check: clients of the server, in the same process, add up how often each key has been counted.

use gasnet_examples::{mix, passed, sizes};
use pgas::{DistMap, World};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io;
use std::net::SocketAddr;
use std::time::Instant;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

type Table = DistMap<String, u64>;

/// Answers the lines of one client.
async fn serve(table: Table, client: TcpStream) -> io::Result<()> {
    let (read, mut write) = client.into_split();
    let mut lines = BufReader::new(read).lines();
    while let Some(line) = lines.next_line().await? {
        let answer = match line.split_once(' ') {
            Some(("add", key)) => {
                let count = |entry: Entry<'_, String, u64>, by: u64| {
                    let count = entry.or_default();
                    *count += by;
                    *count
                };
                table.call(key.into(), count, 1).result().await.map(|count| count.to_string())
            }
            Some(("get", key)) => {
                table.get(key.into()).result().await.map(|count| count.unwrap_or(0).to_string())
            }
            _ => Ok("add KEY, or get KEY".into()),
        };
        let answer = answer.unwrap_or_else(|e| format!("error: {e}"));
        write.write_all(format!("{answer}\n").as_bytes()).await?;
    }
    Ok(())
}

/// Sends requests, and says how often it has added each key.
async fn client(server: SocketAddr, number: u64, requests: u64) -> io::Result<HashMap<String, u64>> {
    let (read, mut write) = TcpStream::connect(server).await?.into_split();
    let mut lines = BufReader::new(read).lines();
    let mut added = HashMap::new();
    for i in 0..requests {
        let key = format!("key-{}", mix(number << 32 | i) % 50);
        write.write_all(format!("add {key}\n").as_bytes()).await?;
        let answer = lines.next_line().await?.unwrap_or_default();
        let mine = added.entry(key).or_insert(0);
        *mine += 1;
        assert!(answer.parse::<u64>().is_ok_and(|count| count >= *mine), "the server answers {answer}");
    }
    Ok(added)
}

/// The server, and its clients, which come all at a time.
async fn all(table: Table, clients: u64, requests: u64) -> io::Result<HashMap<String, u64>> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let server = listener.local_addr()?;
    let server_task = tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            tokio::spawn(serve(table, client));
        }
    });
    let tasks: Vec<_> = (0..clients).map(|number| tokio::spawn(client(server, number, requests))).collect();
    let mut added = HashMap::new();
    for task in tasks {
        for (key, count) in task.await.map_err(io::Error::other)?? {
            *added.entry(key).or_insert(0) += count;
        }
    }
    server_task.abort();
    Ok(added)
}

/// Runs tokio in a thread of its own, while this one serves calls.
fn run(world: World, table: Table, clients: u64, requests: u64) -> io::Result<HashMap<String, u64>> {
    let (done, result) = oneshot::channel();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let thread = std::thread::spawn(move || done.send(runtime.block_on(all(table, clients, requests))));
    let added = world.block_on(result).map_err(io::Error::other)?;
    thread.join().ok();
    added
}

fn main() {
    pgas::run(|world| {
        let wanted = [("CLIENTS", 10, 1..=500), ("REQUESTS", 100, 1..=1_000_000)];
        let Some([clients, requests]) = sizes(world, wanted) else { return };
        let table = Table::new(world);
        let start = Instant::now();
        if world.rank() == 0 {
            let added = run(world, table, clients, requests).expect("a server on the loopback network");
            assert_eq!(added.values().sum::<u64>(), clients * requests);
            let keys: Vec<String> = added.keys().cloned().collect();
            for (key, count) in keys.iter().zip(table.get_many(keys.iter().cloned())) {
                assert_eq!(count, Some(added[key]), "{key}");
            }
        }
        world.barrier(); // the others serve meanwhile
        if world.rank() == 0 {
            let (each, size) =
                (start.elapsed().as_secs_f64() * 1e6 / (clients * requests) as f64, world.size());
            println!("service: {clients} clients, {requests} requests each, {size} ranks: {each:.1} us each");
        }
        passed(world);
    })
}
