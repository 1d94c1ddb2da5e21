//! A file whose reads and writes finish later and in any order, as over a network, for tests of the paging
//! thread.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use super::{Begun, FileStore, Page, Store, Tag};
use crate::pager::queue::{Command, Queue};

/// Time after which the thread is told that something may have finished.
const TICK: Duration = Duration::from_micros(60);

enum Request {
    Read(u64, usize),
    Write(Vec<(u64, Box<Page>)>),
}

impl Request {
    fn pages(&self) -> Vec<u64> {
        match self {
            Request::Read(page, count) => (*page..*page + *count as u64).collect(),
            Request::Write(pages) => pages.iter().map(|(page, _)| *page).collect(),
        }
    }
}

pub(in crate::pager) struct Slow {
    file: FileStore,
    pending: Vec<(Tag, Request)>,
    /// Their number, for the thread that wakes the pager.
    left: Arc<AtomicUsize>,
    random: fastrand::Rng,
    /// The read that finished last.
    read: (Tag, Vec<Page>),
}

impl Slow {
    pub(in crate::pager) fn new(file: FileStore, queue: &Arc<Queue>, seed: u64) -> Slow {
        let left = Arc::new(AtomicUsize::new(0));
        let (some, queue) = (left.clone(), Arc::downgrade(queue));
        thread::spawn(move || {
            while let Some(queue) = queue.upgrade() {
                if some.load(Ordering::Relaxed) > 0 && queue.push(Command::Stored).is_err() {
                    return;
                }
                drop(queue);
                thread::sleep(TICK);
            }
        });
        let random = fastrand::Rng::with_seed(seed);
        Slow { file, pending: Vec::new(), left, random, read: (Tag(usize::MAX), Vec::new()) }
    }

    /// # Panics
    /// A page of it is under way already, or its tag is in use.
    fn begin(&mut self, tag: Tag, request: Request) -> Begun {
        let pages = request.pages();
        for (other, pending) in &self.pending {
            assert!(*other != tag && pending.pages().iter().all(|page| !pages.contains(page)));
        }
        self.pending.push((tag, request));
        self.left.fetch_add(1, Ordering::Relaxed);
        Begun::Later
    }
}

impl Store for Slow {
    fn has(&self, page: u64) -> bool {
        self.file.has(page)
    }

    fn run(&self, page: u64, most: usize) -> usize {
        self.file.run(page, most)
    }

    fn read(&mut self, page: u64, count: usize, tag: Tag) -> io::Result<Begun> {
        Ok(self.begin(tag, Request::Read(page, count)))
    }

    fn pages(&self, tag: Tag) -> &[Page] {
        assert_eq!(tag, self.read.0);
        &self.read.1
    }

    #[expect(unsafe_code, reason = "copies pages from their addresses")]
    unsafe fn write(&mut self, pages: &[(u64, u64)], tag: Tag) -> io::Result<Begun> {
        let copy = |&(page, at): &(u64, u64)| {
            let mut bytes = Box::new(Page([0; super::PAGE_BYTES as usize]));
            // SAFETY: the caller guarantees the page, which nobody stores to.
            unsafe { std::ptr::copy_nonoverlapping(at as *const Page, &raw mut *bytes, 1) };
            (page, bytes)
        };
        let request = Request::Write(pages.iter().map(copy).collect());
        Ok(self.begin(tag, request))
    }

    fn forget(&mut self, page: u64) -> bool {
        assert!(self.pending.iter().all(|(_, request)| !request.pages().contains(&page)));
        self.file.forget(page)
    }

    #[expect(unsafe_code, reason = "writes copies of pages to the file")]
    fn finished(&mut self) -> Option<(Tag, io::Result<()>)> {
        if self.pending.is_empty() || self.random.u8(..3) == 0 {
            return None;
        }
        let (tag, request) = self.pending.swap_remove(self.random.usize(..self.pending.len()));
        self.left.fetch_sub(1, Ordering::Relaxed);
        let result = match request {
            Request::Read(page, count) => self.file.read(page, count, tag).map(|begun| {
                assert_eq!(begun, Begun::Done);
                self.read = (tag, self.file.pages(tag).to_vec());
            }),
            Request::Write(pages) => {
                let list: Vec<(u64, u64)> =
                    pages.iter().map(|(page, bytes)| (*page, bytes.0.as_ptr() as u64)).collect();
                // SAFETY: the addresses are those of `pages`.
                unsafe { self.file.write(&list, tag) }.map(drop)
            }
        };
        Some((tag, result))
    }

    fn stored(&self) -> u64 {
        self.file.stored()
    }

    fn file(&self) -> &FileStore {
        &self.file
    }

    fn is_slow(&self) -> bool {
        true
    }
}
