//! Functions as numbers that mean the same on all ranks.
//!
//! All ranks run the same executable, at different addresses. Records therefore name services and functions
//! by their distance from the first byte of the executable's image, which is the same on all ranks.
//!
//! **Services** are constants of the executable. A record brings the distance of one and a check word. Who
//! receives it looks whether a service lies there: inside the image, aligned, with the mark that all services
//! begin with, and whose check word is that one. So a number that was damaged on its way does not run what it
//! should not.
//!
//! **Functions of the program** that a service is to call are pointers to functions. No mark stands before
//! them, so their name ([`Named`]) is signed: it has a word that is made of the distance, of the service that
//! it is for, and of a key that the ranks draw at the start and that no program can read. Only
//! [`Engine::name`] makes such words, and it takes a pointer of the type that the service calls. So one who
//! sends records of its own making does not get the service to call something else.
//!
//! A pointer, and not the type of a closure: a closure without bytes may still have captured something, a
//! token that stands for what is true on its rank only. Such a closure does not become a pointer.
#![expect(unsafe_code, reason = "finds constants and functions of the executable by their address")]

use crate::{Engine, Incoming};
use gasnet::Rank;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::OnceLock;

/// The mark at the start of every service, inverted here so that the mark itself is found in services only.
const INVERTED_MARK: [u64; 2] = [0x834e_aa5c_6f2d_1790, 0x1eb0_f482_9c37_d56a];

/// The function of a service.
pub trait Serve {
    /// Serves a record.
    fn serve(incoming: Incoming<'_>);
}

/// A service that applies a function of the program.
///
/// # Safety
/// `Function` is a type of pointers to functions. `serve` gives what comes to no other service.
pub unsafe trait Apply: Serve {
    /// The function, as it is called.
    type Function: Copy;
}

/// The name of a function that a service is to call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Named {
    /// Its distance from the first byte of the executable.
    pub distance: u32,
    /// Made of that, of the service and of the job's key.
    pub signature: u64,
}

/// The key that signs names of functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key([u64; 2]);

impl Key {
    /// A rank's share of the key.
    pub(crate) fn share() -> [u64; 2] {
        let word = |_| RandomState::new().build_hasher().finish();
        [0, 1].map(word)
    }

    /// The shares of two groups of ranks together.
    pub(crate) fn add([a, b]: [u64; 2], [c, d]: [u64; 2]) -> [u64; 2] {
        [a.wrapping_add(c), b.wrapping_add(d)]
    }

    /// The key of the shares of all ranks together.
    pub(crate) fn of_shares(all: [u64; 2]) -> Key {
        Key(all)
    }

    fn sign(self, service: u32, function: u32) -> u64 {
        let fold = |a: u64, b: u64| {
            let product = u128::from(a) * u128::from(b);
            product as u64 ^ (product >> 64) as u64
        };
        let name = u64::from(service) << 32 | u64::from(function);
        fold(fold(name ^ self.0[0], self.0[1] | 1) ^ self.0[1], self.0[0] | 1)
    }
}

/// A service that records can name.
#[repr(C)]
pub struct Service {
    mark: [u64; 2],
    run: fn(Incoming<'_>),
    name: fn() -> &'static str,
}

impl core::fmt::Debug for Service {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.name())
    }
}

impl Service {
    /// The service that does what `S` does.
    pub const fn of<S: Serve>() -> &'static Service {
        const { &Service::new(S::serve, core::any::type_name::<S>) }
    }

    const fn new(run: fn(Incoming<'_>), name: fn() -> &'static str) -> Service {
        Service { mark: [!INVERTED_MARK[0], !INVERTED_MARK[1]], run, name }
    }

    /// Runs it.
    pub fn run(&self, incoming: Incoming<'_>) {
        (self.run)(incoming);
    }

    /// The name in messages.
    pub fn name(&self) -> &'static str {
        (self.name)()
    }
}

impl Engine {
    /// The service `S`, and the name that a function has for it.
    #[inline]
    pub fn name<S: Apply>(&self, function: S::Function) -> (&'static Service, Named) {
        const { assert!(size_of::<S::Function>() == size_of::<usize>()) }
        // SAFETY: by the contract of `Apply` it is a pointer to a function: it has an address.
        let at =
            unsafe { core::mem::transmute_copy::<S::Function, *const ()>(&function) }.expose_provenance();
        let service = Service::of::<S>();
        let distance = image().distance(self.rank, at, service);
        let [by, _] = number(self.rank, service);
        (service, Named { distance, signature: self.key().sign(by, distance) })
    }

    #[inline]
    fn key(&self) -> Key {
        self.key.get().copied().unwrap_or_else(|| self.rank.fatal("remote calls before their start"))
    }
}

impl Incoming<'_> {
    /// The function of a name that has come to the service `S`, by that service. `None` for a name that no
    /// rank has made for it.
    #[inline]
    pub fn function<S: Apply>(&self, named: Named) -> Option<S::Function> {
        const { assert!(size_of::<S::Function>() == size_of::<usize>()) }
        let [by, _] = number(self.engine.rank, self.service);
        if named.signature != self.engine.key().sign(by, named.distance) {
            return None;
        }
        let at = core::ptr::with_exposed_provenance::<()>(image().from + named.distance as usize);
        // SAFETY: by the contract of `Apply` this service is `S`, and `Function` is an address. Who signed
        // the name with this job's key had such a pointer, and ranks run the same executable, so the function
        // is at the same distance here.
        Some(unsafe { core::mem::transmute_copy::<*const (), S::Function>(&at) })
    }
}

/// The executable in memory.
#[derive(Debug)]
struct Image {
    /// Its first byte and the one after its last.
    from: usize,
    to: usize,
    /// Parts of it that can be read, by first and last address.
    readable: Vec<(usize, usize)>,
    identity: u64,
}

/// Distance of a service, and its check word.
#[inline]
pub(crate) fn number(rank: &Rank, service: &'static Service) -> [u32; 2] {
    let image = image();
    let distance = image.distance(rank, core::ptr::from_ref(service) as usize, service);
    [distance, check(image, distance)]
}

/// The check word of a number.
#[inline]
fn check(image: &Image, distance: u32) -> u32 {
    let mixed = (image.identity ^ u64::from(distance)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 32) as u32
}

/// The service of a number.
pub(crate) fn find([distance, word]: [u32; 2]) -> Option<&'static Service> {
    let image = image();
    let at = image.from + distance as usize;
    if distance == 0
        || word != check(image, distance)
        || !at.is_multiple_of(align_of::<Service>())
        || !image.has(at)
    {
        return None;
    }
    // SAFETY: the words are inside a readable part of the executable, which stays mapped, and aligned.
    let mark = unsafe { (at as *const [u64; 2]).read_volatile() };
    let is_service = [!mark[0], !mark[1]] == core::hint::black_box(INVERTED_MARK);
    // SAFETY: what begins with the mark, which stands nowhere else in the executable, is a service.
    is_service.then(|| unsafe { &*(at as *const Service) })
}

/// A number that is the same for ranks that run the same build, and as good as never for others.
pub(crate) fn identity() -> u64 {
    image().identity
}

fn image() -> &'static Image {
    static IMAGE: OnceLock<Image> = OnceLock::new();
    IMAGE.get_or_init(Image::find)
}

impl Image {
    /// How far into the executable an address is that a service has, or that it is to call.
    #[inline]
    fn distance(&self, rank: &Rank, at: usize, service: &Service) -> u32 {
        if at < self.from || at >= self.to {
            Image::is_of_a_library(rank, service);
        }
        (at - self.from) as u32
    }

    #[cold]
    fn is_of_a_library(rank: &Rank, service: &Service) -> ! {
        rank.fatal(&format!(
            "remote call of {}: only functions of the executable itself can be called, this one belongs to a shared library",
            service.name()
        ));
    }

    /// Whether a service could lie at an address.
    fn has(&self, at: usize) -> bool {
        let end = at.saturating_add(size_of::<Service>());
        self.readable.iter().any(|&(from, to)| at >= from && end <= to)
    }

    /// For Miri, which has no executable: the addresses that it gives to constants and functions, the lowest
    /// of which are never given.
    #[cfg(miri)]
    fn find() -> Image {
        let (from, to) = (1, u32::MAX as usize);
        Image { from, to, readable: vec![(from, to)], identity: mix(0, b"miri") }.checked()
    }

    /// Looks at the program headers of the executable.
    #[cfg(not(miri))]
    fn find() -> Image {
        unsafe extern "C" fn first(
            info: *mut libc::dl_phdr_info,
            _: libc::size_t,
            data: *mut libc::c_void,
        ) -> libc::c_int {
            // SAFETY: the C library gives valid headers, and `data` is the vector below.
            unsafe {
                let (info, out) = (&*info, &mut *data.cast::<Vec<(usize, usize, u32)>>());
                let headers = core::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum));
                for header in headers.iter().filter(|header| header.p_type == libc::PT_LOAD) {
                    let from = info.dlpi_addr as usize + header.p_vaddr as usize;
                    out.push((from, from + header.p_memsz as usize, header.p_flags));
                }
            }
            // The executable comes first: no more.
            1
        }
        let mut parts: Vec<(usize, usize, u32)> = Vec::new();
        // SAFETY: `first` has the signature, and the vector outlives the call.
        unsafe { libc::dl_iterate_phdr(Some(first), (&raw mut parts).cast()) };
        parts.retain(|&(_, _, flags)| flags & libc::PF_R != 0);
        let from = parts.iter().map(|part| part.0).min().unwrap_or(0);
        let to = parts.iter().map(|part| part.1).max().unwrap_or(0);
        let mut identity = 0xcbf2_9ce4_8422_2325u64;
        for &(start, end, _) in parts.iter().filter(|part| part.2 & libc::PF_W == 0) {
            // SAFETY: a part of the executable that can be read and that nobody writes.
            let bytes = unsafe { core::slice::from_raw_parts(start as *const u8, end - start) };
            identity = mix(identity, bytes);
        }
        let readable = parts.iter().map(|part| (part.0, part.1)).collect();
        Image { from, to, readable, identity }.checked()
    }

    /// Distances are numbers of 32 bits.
    fn checked(self) -> Image {
        assert!(self.to - self.from <= u32::MAX as usize, "an executable of 4 GiB and more");
        self
    }
}

/// Adds bytes to a checksum.
fn mix(mut sum: u64, bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        sum = (sum ^ u64::from_le_bytes(*word)).wrapping_mul(0x2127_599b_f432_5c37).rotate_left(29);
    }
    for byte in rest {
        sum = (sum ^ u64::from(*byte)).wrapping_mul(0x2127_599b_f432_5c37).rotate_left(29);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_for_one_function_of_one_service() {
        let key = Key::of_shares(Key::add([3, 5], [u64::MAX, 1 << 60]));
        let signature = key.sign(0x1234, 0x5678);
        for bit in 0..32 {
            assert_ne!(signature, key.sign(0x1234 ^ 1 << bit, 0x5678), "bit {bit} of the service");
            assert_ne!(signature, key.sign(0x1234, 0x5678 ^ 1 << bit), "bit {bit} of the function");
        }
        for bit in 0..64 {
            assert_ne!(signature, Key([key.0[0] ^ 1 << bit, key.0[1]]).sign(0x1234, 0x5678), "bit {bit}");
            // The lowest bit of either word is set where it is a factor.
            if bit > 0 {
                assert_ne!(signature, Key([key.0[0], key.0[1] ^ 1 << bit]).sign(0x1234, 0x5678), "bit {bit}");
            }
        }
        assert_ne!(Key::share(), Key::share());
    }

    fn nothing(_: Incoming<'_>) {}
    fn name() -> &'static str {
        "nothing"
    }
    static SERVICE: Service = Service::new(nothing, name);

    #[test]
    #[cfg_attr(miri, ignore = "reads the executable's image")]
    fn only_services_are_found() {
        let image = image();
        let distance = (core::ptr::from_ref(&SERVICE) as usize - image.from) as u32;
        let found = find([distance, check(image, distance)]).expect("it is one");
        assert!(core::ptr::eq(found, &SERVICE));
        assert_eq!(found.name(), "nothing");
        for bit in 0..32 {
            assert!(find([distance ^ 1 << bit, check(image, distance)]).is_none(), "bit {bit} of the number");
            assert!(
                find([distance, check(image, distance) ^ 1 << bit]).is_none(),
                "bit {bit} of the check word"
            );
            let other = distance ^ 1 << bit;
            assert!(
                find([other, check(image, other)]).is_none(),
                "what lies {other:#x} into the executable is none"
            );
        }
        assert_eq!(identity(), Image::find().identity);
    }
}
