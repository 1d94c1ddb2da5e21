// error: E0507
// says: cannot move out of dereference of `Shared<Vec<u32>>`
//! A shared object stays where it is.
pub fn case(shared: pgas::Shared<Vec<u32>>) {
    #[cfg(not(fixed))]
    {
        let list: Vec<u32> = *shared;
        drop(list);
    }
    #[cfg(fixed)]
    {
        let list: Vec<u32> = shared.to_vec();
        drop(list);
    }
}
