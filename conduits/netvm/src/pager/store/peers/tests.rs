//! Random programs on stores that lend to each other, against plain facts.
#![expect(unsafe_code, reason = "writes pages from their addresses")]

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;

use super::net::{Net, NetEnd};
use super::*;

/// Pages of each rank, and batches that each lends.
const PAGES: u64 = 300;
const BATCHES: u32 = 3;

fn page_of(value: u64) -> Page {
    let mut page = Page([0; PAGE_BYTES as usize]);
    page.0.chunks_exact_mut(8).enumerate().for_each(|(i, word)| {
        word.copy_from_slice(&(if value == 0 { 0 } else { value + i as u64 }).to_le_bytes());
    });
    page
}

enum Request {
    Read(u64, usize),
    Write(Vec<(u64, u64, Box<Page>)>),
}

/// A rank: its store, what its pages must be, and what is under way.
struct Peer {
    me: u32,
    net: Arc<Mutex<Net>>,
    store: PeerStore<NetEnd>,
    terms: Arc<Terms>,
    facts: Vec<u64>,
    pending: HashMap<usize, Request>,
    next: usize,
    gone: bool,
}

impl Peer {
    fn new(net: &Arc<Mutex<Net>>, me: u32, ranks: u32, safe: bool) -> Peer {
        let file = FileStore::new(&std::env::temp_dir(), PAGES).expect("a file");
        let terms = Arc::new(Terms::default());
        let share = Share { borrow: 256, safe };
        let carrier = NetEnd::new(net, me, 3);
        let store = PeerStore::new(file, PAGES, carrier, share, terms.clone());
        let to = (0..ranks).filter(|&rank| rank != me).collect();
        terms.offer(net.lock().expect("no panic").offering(me, BATCHES, to));
        Peer {
            me,
            net: net.clone(),
            store,
            terms,
            facts: vec![0; PAGES as usize],
            pending: HashMap::new(),
            next: 0,
            gone: false,
        }
    }

    fn busy(&self, page: u64) -> bool {
        self.pending.values().any(|request| match request {
            Request::Read(first, count) => (*first..*first + *count as u64).contains(&page),
            Request::Write(pages) => pages.iter().any(|(p, ..)| *p == page),
        })
    }

    fn write(&mut self, random: &mut fastrand::Rng) {
        let first = random.u64(..PAGES);
        let pages: Vec<(u64, u64, Box<Page>)> = (first..PAGES.min(first + random.u64(1..40)))
            .filter(|&page| !self.busy(page))
            .map(|page| {
                let value = random.u64(1..1 << 50);
                (page, value, Box::new(page_of(value)))
            })
            .collect();
        if pages.is_empty() {
            return;
        }
        let list: Vec<(u64, u64)> =
            pages.iter().map(|(page, _, bytes)| (*page, bytes.0.as_ptr() as u64)).collect();
        self.next += 1;
        // SAFETY: the pages live in `pending` until the write has finished.
        match unsafe { self.store.write(&list, Tag(self.next)) }.expect("room") {
            Begun::Done => pages.iter().for_each(|(page, value, _)| self.facts[*page as usize] = *value),
            Begun::Later => _ = self.pending.insert(self.next, Request::Write(pages)),
        }
    }

    /// Returns the page and the error, if it cannot be read at once.
    fn read(&mut self, page: u64) -> Option<String> {
        if self.busy(page) {
            return None;
        }
        let most = (page..PAGES.min(page + 20)).take_while(|&page| !self.busy(page)).count();
        let count = self.store.run(page, most);
        if !self.store.has(page) {
            assert_eq!(self.facts[page as usize..page as usize + count], vec![0; count], "page {page}");
            return None;
        }
        self.next += 1;
        match self.store.read(page, count, Tag(self.next)) {
            Ok(Begun::Done) => self.compare(page, count, Tag(self.next)),
            Ok(Begun::Later) => _ = self.pending.insert(self.next, Request::Read(page, count)),
            Err(error) => return Some(error.to_string()),
        }
        None
    }

    fn compare(&self, page: u64, count: usize, tag: Tag) {
        for (i, bytes) in self.store.pages(tag)[..count].iter().enumerate() {
            let fact = self.facts[page as usize + i];
            assert!(bytes.0 == page_of(fact).0, "page {} is not what was written", page + i as u64);
        }
    }

    /// Handles what has finished; returns errors of reads.
    fn finish(&mut self) -> Vec<String> {
        let mut errors = Vec::new();
        while let Some((tag, result)) = self.store.finished() {
            match (self.pending.remove(&tag.0).expect("under way"), result) {
                (Request::Read(page, count), Ok(())) => self.compare(page, count, tag),
                (Request::Read(..), Err(error)) => errors.push(error.to_string()),
                (Request::Write(pages), result) => {
                    result.expect("room");
                    pages.iter().for_each(|(page, value, _)| self.facts[*page as usize] = *value);
                }
            }
        }
        for batch in self.store.take_returned() {
            let key = self.net.lock().expect("no panic").renew(self.me, batch);
            self.store.renewed(batch, key);
        }
        errors
    }

    /// Page counts are conserved (GMS-11).
    fn check(&self) {
        let store = &self.store;
        let at_peers = store.places.iter().filter(|place| matches!(place, PagePlace::Peer(_))).count();
        let used: usize =
            store.batches.iter().map(|(_, b)| b.pages.iter().filter(|page| page.is_some()).count()).sum();
        let free: usize = store.batches.iter().map(|(_, b)| b.free as usize).sum();
        assert_eq!(used + free, store.batches.len() * BATCH_SLOTS);
        let usable = store.batches.iter().filter(|(_, b)| b.is_usable());
        assert_eq!(store.spare, usable.map(|(_, b)| b.free as usize).sum::<usize>());
        assert_eq!(at_peers as u64, self.terms.away.load(Ordering::Relaxed));
        // Writes under way have taken slots that no page is in yet.
        assert!(used >= at_peers && (!self.pending.is_empty() || used == at_peers), "{used} {at_peers}");
    }
}

/// Ranks that write, read and forget, while batches are recalled and ranks leave. Returns how many pages
/// went to peers, and how many came back on recall.
fn program(seed: u64, safe: bool, rounds: u32) -> [u64; 3] {
    let mut random = fastrand::Rng::with_seed(seed);
    let net = Net::new(4, seed);
    let mut peers: Vec<Peer> = (0..4).map(|me| Peer::new(&net, me, 4, safe)).collect();
    for round in 0..rounds {
        let who = random.usize(..4);
        let peer = &mut peers[who];
        assert_eq!(peer.finish(), Vec::<String>::new(), "seed {seed}, round {round}");
        if peer.gone {
            continue;
        }
        match random.u8(..20) {
            0..8 => peer.write(&mut random),
            8..16 => assert_eq!(peer.read(random.u64(..PAGES)), None, "seed {seed}, round {round}"),
            16 => {
                let page = random.u64(..PAGES);
                if !peer.busy(page) {
                    let had = peer.store.forget(page);
                    assert!(had || peer.facts[page as usize] == 0);
                    peer.facts[page as usize] = 0;
                }
            }
            17 => peer.store.recall(random.u32(1..3)),
            18 if who == 3 && round > rounds / 2 => {
                peer.terms.leave();
                peer.gone = true;
            }
            _ => peer.check(),
        }
    }
    for _ in 0..10_000 {
        peers.iter_mut().for_each(|peer| assert_eq!(peer.finish(), Vec::<String>::new(), "seed {seed}"));
        if peers.iter().all(|peer| peer.pending.is_empty() && (!peer.gone || peer.terms.is_over())) {
            break;
        }
    }
    assert!(
        !peers[3].gone || peers[3].terms.is_over(),
        "seed {seed}: {} are not back",
        peers[3].terms.lent()
    );
    for peer in &mut peers {
        assert!(peer.pending.is_empty(), "seed {seed}: a transfer does not end");
        peer.check();
        for page in 0..if peer.gone { 0 } else { PAGES } {
            assert_eq!(peer.read(page), None, "seed {seed}");
            while !peer.pending.is_empty() {
                assert_eq!(peer.finish(), Vec::<String>::new(), "seed {seed}");
            }
        }
    }
    for _ in 0..100 {
        peers.iter_mut().for_each(|peer| drop(peer.finish()));
    }
    let lent: u64 = peers.iter().map(|peer| peer.store.lender.lent()).sum();
    let held: usize = peers.iter().map(|peer| peer.store.batches.len()).sum();
    assert_eq!(lent, held as u64, "seed {seed}: batches are lost");
    // Nobody used a key after its batch was given back.
    assert_eq!(net.lock().expect("no panic").refused, 0, "seed {seed}");
    let of = |count: fn(&Terms) -> &AtomicU64| {
        peers.iter().map(|peer| count(&peer.terms).load(Ordering::Relaxed)).sum::<u64>()
    };
    [of(|terms| &terms.sent), of(|terms| &terms.fetched), of(|terms| &terms.recalled)]
}

#[test]
fn gms_02_pages_are_what_was_written_whoever_recalls_and_leaves() {
    let mut all = [0; 3];
    for seed in 0..30 {
        let counts = program(seed, seed % 3 == 0, 1000);
        all.iter_mut().zip(counts).for_each(|(all, count)| *all += count);
    }
    assert!(all.iter().all(|&count| count > 1000), "{all:?}");
}

/// Three ranks, of which the first has pages at the second; the second dies.
fn death(seed: u64, safe: bool) {
    let net = Net::new(3, seed);
    let mut random = fastrand::Rng::with_seed(seed);
    let mut peers: Vec<Peer> = (0..3).map(|me| Peer::new(&net, me, 3, safe)).collect();
    for _ in 0..400 {
        for peer in &mut peers {
            assert_eq!(peer.finish(), Vec::<String>::new());
        }
        peers[0].write(&mut random);
    }
    while !peers[0].pending.is_empty() {
        peers.iter_mut().for_each(|peer| drop(peer.finish()));
    }
    let at = |page: &u64| match peers[0].store.places[*page as usize] {
        PagePlace::Peer(slot) => peers[0].store.remote(slot).rank == 1,
        _ => false,
    };
    let there: HashSet<u64> = (0..PAGES).filter(at).collect();
    assert!(!there.is_empty() && there.len() < PAGES as usize, "seed {seed}: {}", there.len());
    net.lock().expect("no panic").kill(1);
    peers.remove(1);
    for page in 0..PAGES {
        // One at a time: a read of several would name one of them.
        let mut errors: Vec<String> = peers[0].read(page).into_iter().collect();
        while !peers[0].pending.is_empty() {
            errors.extend(peers[0].finish());
        }
        if safe || !there.contains(&page) {
            // A longer read may meet a lost page behind this one.
            assert!(errors.iter().all(|e| !e.starts_with(&format!("page {page} "))), "{errors:?}");
            assert!(!safe || errors.is_empty(), "seed {seed}: {errors:?}");
        } else {
            let named = format!("page {page} of the segment was in the memory of rank 1,");
            assert!(errors.iter().any(|e| e.starts_with(&named)), "seed {seed}, page {page}: {errors:?}");
        }
    }
    // New values that are written can be read again.
    for _ in 0..50 {
        peers[0].write(&mut random);
        while !peers[0].pending.is_empty() {
            peers.iter_mut().for_each(|peer| drop(peer.finish()));
        }
    }
    peers[0].check();
}

#[test]
fn gms_10_a_dead_donor_loses_named_pages_in_scratch_and_none_in_safe_mode() {
    for seed in 0..6 {
        death(seed, false);
        death(seed, true);
    }
}

/// A donor whose memory changes under its borrower is found out.
#[test]
fn what_is_not_what_was_written_is_never_given_out() {
    let (mut a, mut b) = (page_of(5), page_of(5));
    assert_eq!(sum(&a), sum(&b));
    a.0[4095] ^= 1;
    b.0.swap(0, 8);
    assert!(sum(&a) != sum(&page_of(5)) && sum(&b) != sum(&page_of(5)) && sum(&page_of(0)) != 0);
}

#[test]
fn gms_09_a_page_that_was_read_stays_at_its_donor() {
    let net = Net::new(2, 1);
    let mut peers: Vec<Peer> = (0..2).map(|me| Peer::new(&net, me, 2, false)).collect();
    let mut random = fastrand::Rng::with_seed(1);
    for _ in 0..200 {
        peers[0].write(&mut random);
        peers.iter_mut().for_each(|peer| drop(peer.finish()));
    }
    while !peers[0].pending.is_empty() {
        peers.iter_mut().for_each(|peer| drop(peer.finish()));
    }
    let sent = peers[0].terms.sent.load(Ordering::Relaxed);
    let places = peers[0].store.places.clone();
    for page in (0..PAGES).cycle().take(3 * PAGES as usize) {
        assert_eq!(peers[0].read(page), None);
        while !peers[0].pending.is_empty() {
            peers[0].finish();
        }
    }
    assert!(peers[0].terms.fetched.load(Ordering::Relaxed) > 100);
    assert_eq!((peers[0].terms.sent.load(Ordering::Relaxed), &places), (sent, &peers[0].store.places));
}
