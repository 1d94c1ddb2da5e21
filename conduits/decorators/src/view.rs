//! What a debugger sees of a replay, and where it has it stop (`launch/src/see.py`).
//!
//! The library that is loaded into replayed ranks has four words for this. The debugger goes back by
//! processes that it has forked, which must not share memory: so before the first stop the files of the
//! rank's memory are mapped again, as memory of this process only.
#![expect(unsafe_code, reason = "words of a library; maps memory anew")]

use crate::inputs;
use gasnet_wire::boot::HostFile;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The variable in which a debugger says where to stop first: the number of an event, or other text.
const FIRST_STOP: &str = "GASNETI_TAPE";

/// The words and files of a replay.
#[derive(Debug, Default)]
pub(crate) struct View {
    /// The event that comes next; the one to stop before, or 0; the sender of the last message plus one; its
    /// handler.
    words: Option<&'static [AtomicU64; 4]>,
    /// The name and the file of each kind of memory, until it is mapped anew.
    files: Vec<(&'static str, HostFile)>,
}

impl View {
    /// The view of a debugger, if one starts this process.
    pub(crate) fn new() -> View {
        let words = inputs::find(c"gasneti_replay").cast::<[AtomicU64; 4]>();
        // SAFETY: four aligned words, which the library keeps for the rest of the process.
        let words = unsafe { words.as_ref() };
        let first = std::env::var(FIRST_STOP).ok().and_then(|text| text.parse().ok());
        if let (Some(words), Some(event)) = (words, first) {
            words[1].store(event, Relaxed);
        }
        View { words, files: Vec::new() }
    }

    /// Memory of the rank, in a file with this name.
    pub(crate) fn has_memory(&mut self, name: &'static str, file: &HostFile) {
        if self.words.is_some() {
            self.files.push((name, file.clone()));
        }
    }

    /// A message is delivered.
    pub(crate) fn came(&self, from: u32, handler: u8) {
        if let Some(words) = self.words {
            words[2].store(u64::from(from) + 1, Relaxed);
            words[3].store(u64::from(handler), Relaxed);
        }
    }

    /// This event comes next.
    pub(crate) fn comes(&mut self, event: u64) {
        let Some(words) = self.words else { return };
        words[0].store(event, Relaxed);
        let stop = words[1].load(Relaxed);
        if stop > 0 && stop <= event {
            words[1].store(0, Relaxed);
            self.own_memory();
            gasnet_sys::process::kill(gasnet_sys::process::pid(), libc::SIGTRAP);
        }
    }

    /// Maps the files again.
    fn own_memory(&mut self) {
        let files = core::mem::take(&mut self.files);
        if files.is_empty() {
            return;
        }
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
        for line in maps.lines() {
            let mut words = line.split_whitespace();
            let (Some(range), Some("rw-s"), Some(offset)) = (words.next(), words.next(), words.next()) else {
                continue;
            };
            let Some((_, file)) = files.iter().find(|(name, _)| line.contains(&format!("/memfd:{name}")))
            else {
                continue;
            };
            let hex = |text: &str| usize::from_str_radix(text, 16).ok();
            let ends = range.split_once('-').and_then(|(start, end)| Some((hex(start)?, hex(end)?)));
            let (Some((start, end)), Some(offset)) = (ends, hex(offset)) else { continue };
            let Ok(file) = file.file() else { continue };
            let access = libc::PROT_READ | libc::PROT_WRITE;
            let kind = libc::MAP_PRIVATE | libc::MAP_FIXED | libc::MAP_NORESERVE;
            // SAFETY: the range is one mapping of this file at this offset, so its bytes stay the same, and
            // who uses the memory sees no change. Each part of a file is mapped once.
            unsafe {
                libc::mmap(
                    core::ptr::without_provenance_mut(start),
                    end - start,
                    access,
                    kind,
                    file.as_raw_fd(),
                    offset as libc::off_t,
                );
            }
        }
    }
}
