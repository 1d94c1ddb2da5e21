// error: E0277
// says: `&Vec<u32>` is given to a function that takes `Vec<u32>`
//! Arguments are given as the function takes them; what is lent is borrowed on both sides.
async fn sum(_: pgas::World, all: Vec<u32>) -> u32 {
    all.iter().sum()
}
pub fn case(world: pgas::World, all: Vec<u32>) {
    #[cfg(not(fixed))]
    let _ = world.call_async(1, sum, &all);
    #[cfg(fixed)]
    let _ = world.call_lent(1, |_, all: &[u32]| all.iter().sum::<u32>(), &all[..]);
}
