//! Ends as its argument says, on rank 1: for tests of those who have to say how.
#![expect(unsafe_code, reason = "does what crashes a program")]

use core::hint::black_box;

fn main() {
    gasnet_conduits::run(|rank| {
        let how = std::env::args().nth(1).unwrap_or_default();
        rank.barrier();
        if rank.id().0 == 1 {
            match how.as_str() {
                // SAFETY: none: the program is to crash. Nothing is mapped in the first page.
                "crash" => unsafe {
                    core::ptr::without_provenance_mut::<u8>(black_box(16)).write_volatile(1)
                },
                "panic" => panic!("as asked"),
                "loop" => while black_box(true) {},
                "deadlock" => rank.wait_until("what nobody does", || false),
                _ => {}
            }
        }
        rank.barrier();
    });
}
