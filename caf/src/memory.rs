//! Memory that compiled code registers: coarrays, and the memory of their allocatable and pointer components.
//!
//! **Coarrays** lie in the segments, at the same offset on all images of their team. Static ones are
//! registered before the program begins, in one order on all images, so that these find the same places by
//! themselves. For an `allocate` the images of the team agree ([`crate::heap`]).
//!
//! **Components** have memory that compiled code frees and reallocates by itself ([`crate::blocks`]).
//! Compiled code also copies and forgets their tokens, so that these say nothing: nobody follows them.
#![expect(unsafe_code, reason = "writes to variables of compiled code, and calls its allocator")]

use crate::coarray::{Coarray, CoarrayKind};
use crate::descriptor::{Class, DIMENSION_BYTES, Descriptor, Dimension, HEAD_BYTES, MAX_RANK, Section};
use crate::image::{Block, Image, Level, Tables, lock};
use crate::joint::{ALLOCATE, How, unless_failed};
use crate::stat::{Failure, code};
use gasnet::RankId;
use gasnet::atomics::{Function, Operation, WordType};
use std::ffi::c_void;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering::Relaxed};

/// Bytes of a lock, and of an event.
pub const CELL_BYTES: u64 = 16;

/// Bytes of a pointer.
const WORD_BYTES: usize = size_of::<usize>();
/// Bytes of a page.
const PAGE_BYTES: usize = 4096;
/// How far in front of its token the pointer of a component is looked for.
const MAX_TYPE_BYTES: usize = 4096;

/// Bytes of the memory of another image, as an access finds them.
#[derive(Debug, Clone, Copy)]
pub struct Location {
    /// Whose.
    pub rank: RankId,
    /// From the start of the segment.
    pub offset: u64,
    /// Where it is mapped here, or null.
    pub mapped: *mut u8,
}

/// The kind of object that a call registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    /// A coarray, or locks or events, of so many bytes or elements.
    Coarray(CoarrayKind, u64),
    /// A component that has no memory yet.
    Component,
    /// Memory of a component.
    Block(usize),
    /// Another name for a coarray, or for a part of it that ends with it.
    Alias,
}

/// The token behind a handle of compiled code.
///
/// # Errors
/// There is none: the coarray is not allocated.
///
/// # Safety
/// 1. `token` is null or was made by [`Image::register`], and not deregistered (owed by the caller).
#[inline]
pub unsafe fn coarray<'a>(token: *mut u8) -> Result<&'a Coarray, Failure> {
    // SAFETY: (1).
    unsafe { token.cast::<Coarray>().as_ref() }.ok_or_else(unallocated)
}

#[cold]
fn unallocated() -> Failure {
    Failure::other("a coarray is accessed that is not allocated")
}

impl Coarray {
    /// Without memory, by the descriptor and the variable of the token that compiled code has.
    fn of(descriptor: Descriptor, home: *mut u8) -> Coarray {
        Coarray {
            offset: 0,
            bytes: 0,
            kind: CoarrayKind::Alias,
            count: 0,
            is_bare: false,
            has_components: AtomicBool::new(false),
            shape: OnceLock::new(),
            descriptor: AtomicPtr::new(descriptor.address()),
            home: AtomicPtr::new(home),
        }
    }

    /// Its token, and the address of that.
    fn leak(self) -> (&'static Coarray, usize) {
        let token: &'static Coarray = Box::leak(Box::new(self));
        (token, std::ptr::from_ref(token).expose_provenance())
    }

    /// Whether so many bytes from `offset` on are part of it.
    #[inline]
    pub fn holds(&self, offset: usize, bytes: usize) -> bool {
        let bytes = bytes as u64;
        bytes <= self.bytes && offset as u64 <= self.bytes - bytes
    }

    /// Where compiled code means elements to be that it says are at `offset`.
    ///
    /// # Errors
    /// They are not all part of it.
    pub fn elements_at(&self, offset: usize, section: &Section, bytes: usize) -> Result<usize, Failure> {
        let Some((low, high)) = section.reach(bytes) else { return Ok(offset) };
        let start = (offset as isize).wrapping_add(low) as usize;
        if self.holds(start, (high - low) as usize) {
            return Ok(offset);
        }
        if section.axes.is_empty() && bytes as u64 == self.bytes {
            // Of a scalar of type complex that a value is assigned to, compiled code hands over a copy.
            return Ok(0);
        }
        Err(Failure::other(format!(
            "elements outside of the coarray, which has {} bytes, are accessed: a subscript is out of bounds (-fcheck=bounds finds it); or \
             the compiler has handed over a copy of this image's elements, as it does for a vector subscript in an expression, and for \
             an element of type complex that a value is assigned to: use a variable of its own there",
            self.bytes
        )))
    }

    /// The dimensions with which it was allocated; `None` for others. The descriptor may be gone later.
    pub fn shape(&self) -> Option<&[Dimension]> {
        if self.kind != CoarrayKind::Allocated {
            return None;
        }
        let shape = self.shape.get_or_init(|| {
            // SAFETY: compiled code has registered the coarray with this descriptor, a variable of
            // the part of the program that allocates it.
            let descriptor = unsafe { Descriptor::at(self.descriptor.load(Relaxed)) };
            (0..descriptor.rank()).map(|i| descriptor.dimension(i)).collect()
        });
        Some(shape)
    }
}

impl Image {
    /// Where so many bytes of a coarray are mapped here, on an image of the current team; `None` if they are
    /// not, for whatever reason.
    ///
    /// # Safety
    /// As [`coarray`].
    #[inline]
    pub unsafe fn near(&self, token: *mut u8, offset: usize, image: i32, bytes: usize) -> Option<*mut u8> {
        // SAFETY: owed by the caller.
        let coarray = unsafe { token.cast::<Coarray>().as_ref() }?;
        let base = self.level().bases.get((image as usize).wrapping_sub(1))?.load(Relaxed);
        if base.is_null() || !coarray.holds(offset, bytes) || coarray.has_components.load(Relaxed) {
            return None;
        }
        Some(base.wrapping_add(coarray.offset as usize).wrapping_add(offset))
    }

    /// Where byte `offset` of a coarray is on an image of the current team.
    ///
    /// # Errors
    /// There is no such image.
    #[inline]
    pub fn locate(&self, coarray: &Coarray, offset: usize, image: i32) -> Result<Location, Failure> {
        locate(self.level(), coarray, offset, image)
    }

    /// The team of `team=`, by its handle.
    ///
    /// # Errors
    /// There is no such team.
    #[cold]
    pub fn level_of(&self, team: *const c_void) -> Result<&'static Level, Failure> {
        let found = lock(&self.tables).teams.get(&team.addr()).copied();
        found.ok_or_else(|| Failure::other("team= names a team that was not formed"))
    }

    /// Registers memory: sets `token`, and the base of `descriptor`.
    ///
    /// # Collective
    /// Coarrays: over the current team; static ones over all images, which do not wait for each other before
    /// the program has begun.
    ///
    /// # Errors
    /// No room, or sizes that differ between images.
    ///
    /// # Safety
    /// 1. `home` is the token's variable. 2. `descriptor` is one of compiled code, perhaps without
    ///    dimensions (both owed by the caller).
    pub unsafe fn register(
        &self,
        request: Request,
        home: *mut *mut u8,
        descriptor: Descriptor,
    ) -> Result<(), Failure> {
        self.learn();
        match request {
            Request::Component => {
                // SAFETY: (1).
                unsafe { home.write(std::ptr::null_mut()) };
                Ok(())
            }
            Request::Block(_) if is_coarray(home, descriptor) && !self.is_in_coarray(home.addr()) => {
                Err(Failure::other(
                    "an allocatable coarray is assigned a value of another shape: deallocate and allocate it, on all images",
                ))
            }
            Request::Block(bytes) => self.register_block(bytes, home, descriptor),
            Request::Alias => {
                // SAFETY: (1); the variable holds the token of the coarray itself.
                unsafe {
                    let token = self.register_alias(coarray(home.read())?, home.cast(), descriptor)?;
                    home.write(std::ptr::from_ref(token).cast_mut().cast());
                }
                Ok(())
            }
            // Compiled code registers memory of components as coarrays, too: one image alone may do so.
            Request::Coarray(CoarrayKind::Allocated, bytes)
                if !is_coarray(home, descriptor) || self.is_in_coarray(home.addr()) =>
            {
                self.register_block(bytes as usize, home, descriptor)
            }
            Request::Coarray(kind, count) => {
                let token = self.register_coarray(kind, count, home.cast(), descriptor)?;
                let own = self.rank.table().get(self.rank.id()).map_or(std::ptr::null_mut(), |e| e.local);
                descriptor.set_base(own.wrapping_add(token.offset as usize));
                // SAFETY: (1).
                unsafe { home.write(std::ptr::from_ref(token).cast_mut().cast()) };
                Ok(())
            }
        }
    }

    fn register_coarray(
        &self,
        kind: CoarrayKind,
        n: u64,
        home: *mut u8,
        descriptor: Descriptor,
    ) -> Result<&'static Coarray, Failure> {
        let cells = matches!(kind, CoarrayKind::Locks | CoarrayKind::Events | CoarrayKind::Critical);
        let bytes = if cells { n.saturating_mul(CELL_BYTES) } else { n };
        let begun = self.begun.load(Relaxed);
        let offset = if begun { self.agree(n, bytes)? } else { self.take_alone(bytes)? };
        let count = if cells { n } else { 0 };
        let is_bare = Class::of(descriptor.class()) != Class::Derived;
        let (token, address) =
            Coarray { offset, bytes, kind, count, is_bare, ..Coarray::of(descriptor, home) }.leak();
        let mut tables = lock(&self.tables);
        tables.coarrays.insert(address);
        tables.places.insert(offset, (bytes, address));
        if kind == CoarrayKind::Allocated {
            self.fresh.store(true, Relaxed);
        }
        if !begun {
            tables.statics = mix(mix(tables.statics, bytes), kind as u64);
        } else if kind == CoarrayKind::Allocated || cells {
            lock(&self.level().coarrays).insert(address);
        }
        drop(tables);
        if cells && begun {
            // Memory that was used before; others come after a synchronisation of the images.
            // SAFETY: just allocated, in the own segment.
            unsafe { self.rank.memset(self.rank.id(), offset, 0, bytes as usize) };
        }
        Ok(token)
    }

    /// Another token for the memory of a coarray from the address in the descriptor on, until the end of the
    /// current team.
    fn register_alias(
        &self,
        of: &Coarray,
        home: *mut u8,
        descriptor: Descriptor,
    ) -> Result<&'static Coarray, Failure> {
        let own = self.rank.table().get(self.rank.id()).map_or(0, |e| e.local.addr());
        let offset = descriptor.base().addr().wrapping_sub(own) as u64;
        let skipped = offset.wrapping_sub(of.offset);
        if skipped > of.bytes {
            return Err(Failure::other(
                "an association with memory that is not in the coarray that it names",
            ));
        }
        let (token, address) = Coarray {
            offset,
            bytes: of.bytes - skipped,
            is_bare: of.is_bare,
            has_components: AtomicBool::new(of.has_components.load(Relaxed)),
            ..Coarray::of(descriptor, home)
        }
        .leak();
        lock(&self.tables).coarrays.insert(address);
        lock(&self.level().coarrays).insert(address);
        Ok(token)
    }

    /// A place for a static coarray: all images take the same steps in the same order.
    fn take_alone(&self, bytes: u64) -> Result<u64, Failure> {
        let mut heap = lock(&self.heap);
        let at = heap.find(bytes, 0).ok_or_else(|| no_room(bytes))?;
        heap.take(at, bytes);
        Ok(at)
    }

    /// A place that all images of the current team have free but those that have failed.
    fn agree(&self, n: u64, bytes: u64) -> Result<u64, Failure> {
        let max = Operation { function: Function::Max, word: WordType::U64 };
        let how =
            How { element: 8, signature: ALLOCATE.into(), known: Some(max), combine: None, commutes: true };
        let mut from = 0;
        loop {
            let mine = lock(&self.heap).find(bytes, from).unwrap_or(u64::MAX);
            // The highest and, as complements, the lowest of the proposals and of the sizes. The zeros of
            // images that have failed do not count among them.
            let mut said = [mine, !mine, n, !n].map(u64::to_ne_bytes);
            if let Err(failure) = self.combine(self.level(), None, said.as_flattened_mut(), &how) {
                unless_failed(Err(failure))?;
                // Compiled code does not set the bounds of what it is told this of.
                self.peers.told.store(true, Relaxed);
            }
            let said = said.map(u64::from_ne_bytes);
            if said[2] != !said[3] {
                return Err(self.different_sizes(n)?);
            }
            if said[0] == u64::MAX {
                return Err(no_room(bytes).shared());
            }
            if said[0] == !said[1] {
                let mut heap = lock(&self.heap);
                // Another thread may have taken it meanwhile, for a component.
                if heap.find(bytes, mine) != Some(mine) {
                    return Err(no_room(bytes));
                }
                heap.take(mine, bytes);
                return Ok(mine);
            }
            from = said[0];
        }
    }

    #[cold]
    fn different_sizes(&self, n: u64) -> Result<Failure, Failure> {
        let all = self.tell_all(self.level(), &[n])?;
        let other = all.iter().position(|other| *other != all[0]).unwrap_or(0);
        let text = format!(
            "allocate of a coarray with different sizes: {} bytes on image 1, {} bytes on image {}",
            all[0],
            all[other],
            other + 1
        );
        Ok(Failure::other(text).shared())
    }

    /// Deregisters what `home` belongs to: a coarray, or the memory of a component. With `keep` the
    /// component stays, without memory.
    ///
    /// # Collective
    /// Coarrays: over the current team.
    ///
    /// # Safety
    /// 1. `home` is the variable of a token (owed by the caller).
    pub unsafe fn deregister(&self, home: *mut *mut u8, keep: bool) -> Result<(), Failure> {
        self.learn();
        // SAFETY: (1).
        let old = unsafe { home.read() };
        if self.is_in_coarray(home.addr()) || !lock(&self.tables).coarrays.contains(&old.addr()) {
            // SAFETY: (1).
            unsafe { self.deregister_block(home, keep) };
            return Ok(());
        }
        // SAFETY: it is among the coarrays.
        if unsafe { coarray(old) }?.kind != CoarrayKind::Alias {
            // The others may still use it. Compiled code does so at the end of a procedure, too, where there
            // is no `stat=`.
            unless_failed(self.meet(self.level()))?;
        }
        // SAFETY: see above; (1).
        unsafe {
            self.release(old.addr());
            home.write(std::ptr::null_mut());
        }
        Ok(())
    }

    /// Takes note of the bounds of coarrays that were allocated: compiled code sets them after it has
    /// registered the coarray, and before the images meet.
    pub fn note_shapes(&self) {
        if !self.fresh.load(Relaxed) {
            return;
        }
        self.fresh.store(false, Relaxed);
        for address in &lock(&self.tables).coarrays {
            // SAFETY: it is among the coarrays, so it is a token.
            let coarray = unsafe { &*std::ptr::with_exposed_provenance::<Coarray>(*address) };
            let _ = coarray.shape();
        }
    }

    /// Frees a coarray that no image uses any more.
    ///
    /// # Safety
    /// 1. The address of a token in the tables (owed by the caller).
    pub unsafe fn release(&self, address: usize) {
        let mut tables = lock(&self.tables);
        tables.coarrays.remove(&address);
        let mut level = Some(self.level());
        while let Some(l) = level {
            lock(&l.coarrays).remove(&address);
            level = l.outer;
        }
        // SAFETY: (1); made by `register_coarray`, and in no table any more.
        let token = unsafe { Box::from_raw(std::ptr::with_exposed_provenance_mut::<Coarray>(address)) };
        if token.kind == CoarrayKind::Alias {
            return;
        }
        tables.places.remove(&token.offset);
        let own = self.rank.table().get(self.rank.id()).map_or(0, |e| e.local.addr());
        let start = own + token.offset as usize;
        let gone = start..start + token.bytes as usize;
        tables.pointers.retain(|token, _| !gone.contains(token));
        tables.latest = None;
        lock(&self.heap).give(token.offset, token.bytes);
    }

    /// Frees all coarrays that were allocated in a team and are not deallocated. No image uses them any more.
    /// Their variables become unallocated.
    pub fn release_all(&self, level: &Level) {
        let own = self.rank.table().get(self.rank.id()).map_or(std::ptr::null_mut(), |e| e.local);
        let all: Vec<usize> = lock(&level.coarrays).iter().copied().collect();
        for address in all {
            // SAFETY: what a team lists is in the tables. Variables whose scope has ended have deallocated
            // their coarrays, so these are there; one that has changed is left alone.
            unsafe {
                let coarray = &*std::ptr::with_exposed_provenance::<Coarray>(address);
                let home = coarray.home.load(Relaxed).cast::<*mut u8>();
                let descriptor = Descriptor::at(coarray.descriptor.load(Relaxed));
                if home.read().addr() == address {
                    home.write(std::ptr::null_mut());
                    if descriptor.base() == own.wrapping_add(coarray.offset as usize) {
                        descriptor.set_base(std::ptr::null_mut());
                    }
                }
                self.release(address);
            }
        }
    }

    /// Whether an address of this image lies in a coarray, or in a component of one.
    fn is_in_coarray(&self, address: usize) -> bool {
        self.container(&lock(&self.tables), address).is_some()
    }

    /// The first byte of the coarray or component that an address lies in.
    fn container(&self, tables: &Tables, address: usize) -> Option<usize> {
        let own = self.rank.table().get(self.rank.id())?;
        let offset = address.wrapping_sub(own.local.addr()) as u64;
        if let Some(start) = coarray_at(tables, offset) {
            return Some(own.local.addr() + start as usize);
        }
        let (start, block) = tables.blocks.range(..=address).next_back()?;
        (address - start < block.bytes && self.is_held(tables, *start, block.token)).then_some(*start)
    }

    /// Whether the component with this token still has this memory: compiled code may have freed it.
    fn is_held(&self, tables: &Tables, block: usize, token: usize) -> bool {
        self.holder(tables, block, token).is_some()
    }

    /// Where the component with this token holds this memory, if it does: its pointer comes before the token,
    /// in the same type.
    fn holder(&self, tables: &Tables, block: usize, token: usize) -> Option<usize> {
        let start = self.container(tables, token)?;
        let start = start.next_multiple_of(WORD_BYTES).max(token.saturating_sub(MAX_TYPE_BYTES));
        // Between the start of a coarray, or of a component that is held, and an address in it.
        (start..token).step_by(WORD_BYTES).rev().find(|at| word(*at) == block)
    }

    /// Finds out where the component that got memory last has its pointer, which compiled code has set since.
    fn learn(&self) {
        let mut tables = lock(&self.tables);
        if let Some((token, block)) = tables.latest.take()
            && let Some(at) = self.holder(&tables, block, token)
        {
            tables.pointers.insert(token, at);
        }
    }

    fn register_block(
        &self,
        bytes: usize,
        home: *mut *mut u8,
        descriptor: Descriptor,
    ) -> Result<(), Failure> {
        let at = self.new_block(bytes);
        if at.is_null() {
            return Err(no_room(bytes as u64));
        }
        let mut tables = lock(&self.tables);
        let local = self.rank.table().get(self.rank.id()).map_or(0, |e| e.local.addr());
        let offset = home.addr().wrapping_sub(local) as u64;
        if let Some((start, (bytes, token))) = tables.places.range(..=offset).next_back()
            && offset - start < *bytes
        {
            // SAFETY: it is among the coarrays, so it is a token.
            let coarray = unsafe { &*std::ptr::with_exposed_provenance::<Coarray>(*token) };
            coarray.has_components.store(true, Relaxed);
        }
        // In memory that compiled code may free, others may follow at the same place.
        tables.latest = coarray_at(&tables, offset).map(|_| (home.addr(), at.addr()));
        if let Some(old) = tables.by_token.insert(home.addr(), at.addr()) {
            tables.blocks.remove(&old);
        }
        tables.blocks.insert(at.expose_provenance(), Block { bytes, token: home.expose_provenance() });
        descriptor.set_base(at);
        Ok(())
    }

    /// Frees the memory of a component. Memory that compiled code has allocated itself is in no table.
    ///
    /// # Safety
    /// 1. `home` is the token of a component: it is none of a coarray (checked by the caller).
    unsafe fn deregister_block(&self, home: *mut *mut u8, keep: bool) {
        let mut tables = lock(&self.tables);
        // Of a component in memory that compiled code has allocated by itself, the page is there.
        let start = self.container(&tables, home.addr()).unwrap_or(home.addr() & !(PAGE_BYTES - 1));
        let known = tables.by_token.remove(&home.addr());
        // The token follows the dimensions of a descriptor, if the component is an array.
        let array = (1..=MAX_RANK).find_map(|rank| {
            let head = home.cast::<u8>().wrapping_sub(HEAD_BYTES + DIMENSION_BYTES * rank);
            // SAFETY: the head lies in the same coarray, component or page, in front of the token.
            (head.addr() >= start && unsafe { Descriptor::at(head) }.could_be(rank)).then_some(head)
        });
        let at = match array {
            // SAFETY: as above.
            Some(head) => unsafe { Descriptor::at(head) }.base(),
            None => {
                let holder = known.and_then(|known| self.holder(&tables, known, home.addr()));
                let holder = holder.or_else(|| tables.pointers.get(&home.addr()).copied());
                std::ptr::with_exposed_provenance_mut(holder.map_or(0, word))
            }
        };
        if let Some(known) = known {
            tables.blocks.remove(&known);
        }
        tables.blocks.remove(&at.addr());
        // SAFETY: memory of a component, by this library or by compiled code, which has its only address.
        unsafe { libc::free(at.cast()) };
        if let (Some(head), false) = (array, keep) {
            // SAFETY: as above.
            unsafe { Descriptor::at(head) }.set_base(std::ptr::null_mut());
        }
    }
}

/// Whether memory is registered for a coarray. Its descriptor has codimensions behind its dimensions, and the
/// token behind these; that of a component has it behind its dimensions, or elsewhere.
fn is_coarray(home: *mut *mut u8, descriptor: Descriptor) -> bool {
    let behind = home.addr().wrapping_sub(descriptor.address().addr()).wrapping_sub(HEAD_BYTES);
    let dimensions = behind / DIMENSION_BYTES;
    behind.is_multiple_of(DIMENSION_BYTES) && (descriptor.rank() + 1..=MAX_RANK).contains(&dimensions)
}

/// Where byte `offset` of a coarray is on an image of a team.
///
/// # Errors
/// There is no such image.
#[inline]
pub fn locate(level: &Level, coarray: &Coarray, offset: usize, image: i32) -> Result<Location, Failure> {
    let member = (image as usize).wrapping_sub(1);
    let Some((base, rank)) = level.bases.get(member).zip(level.ranks.get(member)) else {
        return Err(crate::image::no_image(image, level));
    };
    let offset = coarray.offset.wrapping_add(offset as u64);
    let base = base.load(Relaxed);
    let mapped = if base.is_null() { base } else { base.wrapping_add(offset as usize) };
    Ok(Location { rank: RankId(*rank), offset, mapped })
}

/// The word at an address in a coarray or in a component.
fn word(at: usize) -> usize {
    // SAFETY: memory of this image, as its callers have found out.
    unsafe { std::ptr::with_exposed_provenance::<usize>(at).read() }
}

/// Where the coarray begins that a place of the segment lies in, if it is one.
fn coarray_at(tables: &Tables, place: u64) -> Option<u64> {
    let (start, (bytes, _)) = tables.places.range(..=place).next_back()?;
    (place - start < *bytes).then_some(*start)
}

#[cold]
fn no_room(bytes: u64) -> Failure {
    Failure::new(
        code::ALLOCATION,
        format!("not enough memory for {bytes} bytes of a coarray (CAF_HEAP limits it)"),
    )
}

/// A step of a checksum.
fn mix(sum: u64, word: u64) -> u64 {
    (sum ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
}
