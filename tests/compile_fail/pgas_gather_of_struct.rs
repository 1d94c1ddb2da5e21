// error: E0277
// says: `Point` cannot travel to another rank
//! A struct of one's own derives what writes and reads it, for collective calls, too.
#[cfg_attr(fixed, derive(pgas::serde::Serialize, pgas::serde::Deserialize), serde(crate = "pgas::serde"))]
pub struct Point {
    pub x: f64,
}
pub fn case(world: pgas::World, point: Point) -> f64 {
    world.gather_all(point)[0].x
}
