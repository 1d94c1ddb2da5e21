//! Memory of images of this host: mapped here, or private to another process, which the system copies.
#![expect(unsafe_code, reason = "reads and writes segments and memory of other processes")]

use crate::assign::runs;
use crate::descriptor::{Axis, Section};
use crate::walk::Reader;
use gasnet::SegmentEntry;
use gasnet_sys::memory::{read_process, write_process};
use gasnet_sys::process::Pid;
use gasnet_wire::bytes;

/// Most runs for which the system is asked, each by a call.
const MAX_COPIED_RUNS: usize = 16;

/// The memory of an image that is mapped here.
#[derive(Clone, Copy)]
pub struct Near<'a> {
    /// Whether it is this image.
    pub own: bool,
    /// Its segment, which is mapped here.
    pub segment: &'a SegmentEntry,
    /// Its process, if the system copies from and to it.
    pub process: Option<Pid>,
}

impl Near<'_> {
    /// The address at which it knows the start of its segment.
    pub fn start(&self) -> usize {
        if self.own { self.segment.local.expose_provenance() } else { self.segment.addr }
    }

    /// Where an address of the owner is mapped here.
    #[inline]
    pub fn mapped(&self, at: usize) -> Option<*mut u8> {
        if self.own {
            return Some(std::ptr::with_exposed_provenance_mut(at));
        }
        let offset = at.wrapping_sub(self.segment.addr);
        (offset < self.segment.size).then(|| self.segment.local.wrapping_add(offset))
    }
}

impl Reader for Near<'_> {
    #[inline]
    fn words<const N: usize>(&self, at: usize) -> Option<[isize; N]> {
        if let Some(at) = self.mapped(at) {
            let mut words = [0; N];
            for (i, word) in words.iter_mut().enumerate() {
                let at = at.wrapping_add(i * size_of::<isize>());
                // SAFETY: coarrays, components and their descriptors are whole in the segment; the own
                // program knows where its own are.
                unsafe { bytes::load(std::ptr::from_mut(word).cast(), at, size_of::<isize>()) };
            }
            return Some(words);
        }
        let (mut words, process) = ([0; N], self.process?);
        // SAFETY: so many words.
        unsafe { read_process(process, at, words.as_mut_ptr().cast(), size_of::<[isize; N]>()) }.ok()?;
        Some(words)
    }
}

impl Near<'_> {
    /// A copy of elements in the owner's private memory, if the system makes it with few calls.
    pub fn read(&self, section: &Section, bytes: usize) -> Option<Vec<u8>> {
        let (runs, process) = (few_runs(section, bytes)?, self.process?);
        let mut data = vec![0u8; section.count() * bytes];
        let mut rest = &mut data[..];
        for (at, n) in runs {
            let (now, later) = rest.split_at_mut(n);
            // SAFETY: so many bytes.
            unsafe { read_process(process, at, now.as_mut_ptr(), n) }.ok()?;
            rest = later;
        }
        Some(data)
    }

    /// Writes elements to the owner's private memory, if the system does it with few calls.
    pub fn write(&self, section: &Section, bytes: usize, data: &[u8]) -> bool {
        let (Some(runs), Some(process)) = (few_runs(section, bytes), self.process) else { return false };
        let mut rest = data;
        runs.into_iter().all(|(at, n)| {
            let (now, later) = rest.split_at(n);
            rest = later;
            // SAFETY: so many bytes; the program of the other image lets its components be written.
            unsafe { write_process(process, at, now.as_ptr(), n) }.is_ok()
        })
    }
}

/// The runs of elements, if they are few.
fn few_runs(section: &Section, bytes: usize) -> Option<Vec<(usize, usize)>> {
    let mut parts = Vec::new();
    let rows = section.axes.iter().skip_while(|axis| match axis {
        Axis::Regular { count, step } => *count == 1 || *step == bytes as isize,
        Axis::Listed(_) => false,
    });
    if rows.map(Axis::count).product::<usize>() > MAX_COPIED_RUNS {
        return None;
    }
    runs(section, bytes, |at, n| parts.push((at, n)));
    Some(parts)
}
