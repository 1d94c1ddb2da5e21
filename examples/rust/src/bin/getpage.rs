//! Getpage: a file that all ranks read, cached in the memories of all, as GMS does it (the paper on Trapeze,
//! section 4). A page comes from the disk once. From then on some rank, its *site*, keeps it; a rank chosen
//! by the page's number, its *directory*, knows which.
//!
//! ```text
//!   reader  ---- getpage ---->  directory     1
//!   site   <----- forward ----  directory     2, with the right to answer
//!   reader <------ page ------  site          3
//! ```
//! The reader keeps a copy in a small cache of its own, and drops it without telling anybody: the site has
//! the page still. On the first getpage the directory chooses a site and sends the disk's rank there.
//!
//! Shows: a call that others answer ([`pgas::Reply`] sent on, or kept until the page has come), pages that
//! are put in place ([`Bulk`]), read-ahead by calls that nobody waits for yet.
//!
//! Check: the bytes of each page; the disk read each page once; a getpage takes three messages.

use gasnet_examples::{mix, passed, sizes};
use pgas::{Bulk, Pending, Reply, Shared, World};
use std::collections::{HashMap, VecDeque};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

const PAGE_BYTES: usize = 8192;
/// The rank that has the disk.
const DISK: u32 = 0;

type Page = Bulk<u8>;

/// A page at its site.
enum Held {
    Here(Page),
    /// It was asked for before it has come; who asks is answered then.
    Coming(Vec<Reply<Page>>),
}

/// The state of one rank's cache.
#[derive(Default)]
struct Node {
    file: Option<File>,
    /// The sites of the pages whose directory this rank is.
    sites: Mutex<HashMap<u64, u32>>,
    /// The pages whose site this rank is.
    held: Mutex<HashMap<u64, Held>>,
    disk_reads: AtomicU64,
    /// Messages of getpages that this rank has sent.
    messages: AtomicU64,
}

/// The directory of a page, and the site that it gets: both are spread evenly.
fn directory(world: World, page: u64) -> u32 {
    (mix(page) % u64::from(world.size())) as u32
}
fn new_site(world: World, page: u64) -> u32 {
    (mix(mix(page)) % u64::from(world.size())) as u32
}

/// A step of a getpage, sent on to whoever takes the next one.
type Step = (Shared<Node>, u64, Reply<Page>);

/// The first message: asks the directory.
fn get_page(cache: Shared<Node>, page: u64) -> Pending<Page> {
    cache.messages.fetch_add(1, Relaxed);
    let look_up = |node: &'static Node, reply, (cache, page): (Shared<Node>, u64)| {
        let (world, mut new) = (cache.world(), false);
        let site = *node.sites.lock().unwrap().entry(page).or_insert_with(|| {
            new = true;
            new_site(world, page)
        });
        node.messages.fetch_add(1, Relaxed);
        let step = (cache, page, reply);
        if new { world.send(DISK, from_disk, step) } else { world.send(site, from_site, step) }
    };
    cache.ask(directory(cache.world(), page), look_up, (cache, page))
}

/// The second message has come to the site.
fn from_site(_: World, (cache, page, reply): Step) {
    let page = match cache.held.lock().unwrap().entry(page).or_insert(Held::Coming(Vec::new())) {
        Held::Here(page) => page.clone(),
        Held::Coming(replies) => return replies.push(reply),
    };
    answer(&cache, reply, &page);
}

/// The second message of a page's first getpage has come to the disk's rank. The site gets the page, too.
fn from_disk(world: World, (cache, page, reply): Step) {
    let mut bytes = vec![0; PAGE_BYTES];
    let file = cache.file.as_ref().expect("the disk's rank has the file");
    file.read_exact_at(&mut bytes, page * PAGE_BYTES as u64).expect("the file has the page");
    cache.disk_reads.fetch_add(1, Relaxed);
    let bytes = Bulk::from(bytes);
    answer(&cache, reply, &bytes);
    world.send(new_site(world, page), keep, (cache, page, bytes));
}

/// A page has come to its site.
fn keep(_: World, (cache, page, bytes): (Shared<Node>, u64, Page)) {
    let before = cache.held.lock().unwrap().insert(page, Held::Here(bytes.clone()));
    if let Some(Held::Coming(replies)) = before {
        replies.into_iter().for_each(|reply| answer(&cache, reply, &bytes));
    }
}

/// The third message.
fn answer(node: &Node, reply: Reply<Page>, page: &Page) {
    node.messages.fetch_add(1, Relaxed);
    reply.answer(page);
}

/// The reader's own cache: the last pages that it has read.
struct Reader {
    cache: Shared<Node>,
    room: usize,
    pages: HashMap<u64, Page>,
    oldest_first: VecDeque<u64>,
    hits: u64,
    fetches: u64,
}

impl Reader {
    /// Calls `f` with these pages in order, and asks for up to `ahead` of them before they are wanted.
    fn read(&mut self, mut wanted: impl Iterator<Item = u64>, ahead: u64, f: impl Fn(u64, &Page)) {
        let mut coming = VecDeque::new();
        loop {
            while coming.len() as u64 <= ahead
                && let Some(page) = wanted.next()
            {
                let under_way = coming.iter().any(|(number, _)| *number == page);
                let ask = !under_way && !self.pages.contains_key(&page);
                coming.push_back((page, ask.then(|| get_page(self.cache, page))));
            }
            let Some((number, pending)) = coming.pop_front() else { return };
            if self.pages.contains_key(&number) {
                self.hits += 1;
            } else {
                self.fetches += 1;
                // A page that was here when its turn was far may have left since.
                let pending = pending.unwrap_or_else(|| get_page(self.cache, number));
                self.insert(number, pending.wait());
            }
            f(number, &self.pages[&number]);
        }
    }

    fn insert(&mut self, number: u64, page: Page) {
        if self.oldest_first.len() == self.room
            && let Some(oldest) = self.oldest_first.pop_front()
        {
            self.pages.remove(&oldest);
        }
        self.pages.insert(number, page);
        self.oldest_first.push_back(number);
    }
}

/// The word at a place of the file: eight bytes from `at * 8` on.
fn content(at: u64) -> u64 {
    mix(at ^ 0x6765_7470_6167_6500)
}

/// A file that has no name any more when this returns, so nothing is left of it.
fn make_file(pages: u64) -> io::Result<File> {
    let path = std::env::temp_dir().join(format!("getpage-{}", std::process::id()));
    let file = File::options().read(true).write(true).create_new(true).open(&path)?;
    fs::remove_file(&path)?;
    let mut out = io::BufWriter::new(&file);
    for at in 0..pages * PAGE_BYTES as u64 / 8 {
        out.write_all(&content(at).to_le_bytes())?;
    }
    out.flush()?;
    drop(out);
    Ok(file)
}

fn check(number: u64, page: &Page) {
    let first = number * PAGE_BYTES as u64 / 8;
    let right = |(at, bytes): (u64, &[u8])| bytes == content(at).to_le_bytes();
    assert!((first..).zip(page.chunks_exact(8)).all(right), "page {number} has other bytes than the file");
}

fn main() {
    pgas::run(|world| {
        let wanted = [
            ("PAGES", 256, 1..=1_000_000),
            ("READ_AHEAD", 8, 0..=1000),
            ("CACHE", 32, 1..=1_000_000), // pages that a rank keeps for itself
        ];
        let Some([pages, ahead, room]) = sizes(world, wanted) else { return };
        let file = (world.rank() == DISK).then(|| match make_file(pages) {
            Ok(file) => file,
            Err(error) => world.abort(&format!("no temporary file of {pages} pages can be made: {error}")),
        });
        let cache = world.share(Node { file, ..Node::default() });
        let mut reader = Reader {
            cache,
            room: room as usize,
            pages: HashMap::new(),
            oldest_first: VecDeque::new(),
            hits: 0,
            fetches: 0,
        };

        let start = Instant::now();
        reader.read(0..pages, ahead, check);
        world.settle();
        let cold = start.elapsed().as_secs_f64();
        // Again, from the memories of all ranks: in order, then at random, then the last ones once more.
        let start = Instant::now();
        reader.read(0..pages, ahead, check);
        let seed = u64::from(world.rank()) << 32;
        reader.read((0..pages).map(|i| mix(seed + i) % pages), ahead, check);
        reader.read(pages - pages.min(room.div_ceil(2))..pages, 0, check);
        reader.read(pages - pages.min(room.div_ceil(2))..pages, 0, check);
        world.settle();
        let warm = start.elapsed().as_secs_f64();

        let sum = |mine: u64| world.reduce(mine, |a, b| a + b);
        let fetches = sum(reader.fetches);
        let hits = sum(reader.hits);
        assert_eq!(sum(cache.disk_reads.load(Relaxed)), pages, "the disk reads each page once");
        assert_eq!(sum(cache.messages.load(Relaxed)), 3 * fetches, "three messages for each page");
        assert!(hits > 0, "what was just read is here");
        if world.rank() == 0 {
            println!(
                "getpage: {pages} pages of 8 KiB, {} ranks: first pass {cold:.4} s, then {warm:.4} s; \
                 {fetches} pages fetched, {hits} found here, {pages} read from the disk",
                world.size()
            );
        }
        passed(world);
    })
}
