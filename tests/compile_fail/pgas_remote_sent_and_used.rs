// error: E0382
// says: borrow of moved value
//! A reference that was sent is there; a clone stays here.
use pgas::Remote;
pub fn case(world: pgas::World, list: Remote<u32>) {
    #[cfg(not(fixed))]
    {
        world.send(1, |_, list: Remote<u32>| drop(list), list);
        println!("{}", list.rank());
    }
    #[cfg(fixed)]
    {
        world.send(1, |_, list: Remote<u32>| drop(list), list.clone());
        println!("{}", list.rank());
    }
}
