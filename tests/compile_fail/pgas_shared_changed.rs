// error: E0594
// says: cannot assign to `*number`, which is behind a `&` reference
//! A shared object is shared: it changes behind a lock or an atomic.
pub fn case(world: pgas::World) {
    let number = world.share(0u32);
    #[cfg(not(fixed))]
    number.send(1, |number, ()| *number += 1, ());
    #[cfg(fixed)]
    number.send(1, |number, ()| println!("{number}"), ());
}
