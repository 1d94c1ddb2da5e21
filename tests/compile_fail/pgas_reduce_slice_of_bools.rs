// error: E0277
// says: `bool` is not plain data
//! Slices are sent as they are in memory; values of any type one by one.
pub fn case(world: pgas::World) {
    #[cfg(not(fixed))]
    let all = world.reduce_slice(vec![true], |a, b| a && b);
    #[cfg(fixed)]
    let all = world.reduce(vec![true], |a, b| a.into_iter().zip(b).map(|(a, b)| a && b).collect());
    println!("{all:?}");
}
