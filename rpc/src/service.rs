//! Functions as numbers that mean the same on all ranks.
//!
//! All ranks run the same executable, at different addresses. A [`Service`] is a constant of it; its number
//! is its distance from the first byte of the executable's image. A record brings the number and a check
//! word. Who receives it looks whether a service lies there: inside the image, aligned, with the mark that
//! all services begin with, and whose check word is that one. So a number that was damaged on its way does
//! not run what it should not.
#![expect(unsafe_code, reason = "finds constants of the executable by their address")]

use crate::Incoming;
use gasnet::Rank;
use std::sync::OnceLock;

/// What every service begins with, inverted: the mark itself shall stand in services only.
const INVERTED_MARK: [u64; 2] = [0x834e_aa5c_6f2d_1790, 0x1eb0_f482_9c37_d56a];

/// A function that records can name.
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
    /// The service that calls `f`, a function item or a closure that captures nothing: each rank calls its
    /// own copy of the code.
    ///
    /// It may have captured values without bytes that are `Copy` and `Send`. `Send` promises that any thread
    /// may have such a value; here that means any thread of any rank, on which it is made from nothing.
    ///
    /// # Panics
    /// Does not compile where `f` captures something.
    pub fn of<F: Fn(Incoming<'_>) + Copy + Send + 'static>(f: F) -> &'static Service {
        fn run<F: Fn(Incoming<'_>) + Copy + Send + 'static>(incoming: Incoming<'_>) {
            // SAFETY: a value without bytes, that can be copied and sent, of a type that has a value: some
            // rank had one when it named this service, and all run the same program. Such a value may lie at
            // any address that is aligned.
            let f = unsafe { core::ptr::NonNull::<F>::dangling().as_ref() };
            f(incoming);
        }
        let _ = f;
        const {
            assert!(
                size_of::<F>() == 0,
                "a remote function must not capture anything: pass it as an argument"
            )
        }
        const { &Service::new(run::<F>, core::any::type_name::<F>) }
    }

    const fn new(run: fn(Incoming<'_>), name: fn() -> &'static str) -> Service {
        Service { mark: [!INVERTED_MARK[0], !INVERTED_MARK[1]], run, name }
    }

    /// Runs it.
    pub fn run(&self, incoming: Incoming<'_>) {
        (self.run)(incoming);
    }

    /// What it is called in messages.
    pub fn name(&self) -> &'static str {
        (self.name)()
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
pub(crate) fn number(rank: &Rank, service: &'static Service) -> [u32; 2] {
    let image = image();
    let at = core::ptr::from_ref(service) as usize;
    if at < image.from || at >= image.to {
        rank.fatal(&format!(
            "remote call of {}: only functions of the executable itself can be called, this one belongs to a shared library",
            service.name()
        ));
    }
    let distance = (at - image.from) as u32;
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
    /// Whether a service could lie at an address.
    fn has(&self, at: usize) -> bool {
        let end = at.saturating_add(size_of::<Service>());
        self.readable.iter().any(|&(from, to)| at >= from && end <= to)
    }

    /// Looks at the program headers of the executable.
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

    fn nothing(_: Incoming<'_>) {}
    fn name() -> &'static str {
        "nothing"
    }
    static SERVICE: Service = Service::new(nothing, name);

    #[test]
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
