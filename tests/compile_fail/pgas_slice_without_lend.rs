// error: E0277
// says: `&[u32]` cannot travel to another rank
//! A slice is lent, or sent as a `Vec`.
pub fn case(world: pgas::World, numbers: &'static [u32]) {
    #[cfg(not(fixed))]
    world.send(1, |_, _| (), numbers);
    #[cfg(fixed)]
    world.send_lent(1, |_, numbers| println!("{numbers:?}"), numbers);
}
