// error: E0277
// says: `Point` cannot travel to another rank
//! A struct of one's own derives what writes and reads it.
#[cfg_attr(fixed, derive(pgas::serde::Serialize, pgas::serde::Deserialize), serde(crate = "pgas::serde"))]
pub struct Point {
    pub x: f64,
}
pub fn case(world: pgas::World, point: Point) {
    world.send(1, |_, point: Point| println!("{}", point.x), point);
}
