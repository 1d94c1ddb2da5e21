//! Arrays of two dimensions, in block rows or tiles.
//!
//! A matrix is an [`Array`] whose blocks are its tiles, one after the other, row of tiles by row of tiles;
//! tiles at the edges are filled up.

use crate::args::Plain;
use crate::array::Array;
use crate::kept::{self, BlockPart};
use crate::layout::{Divisor, Layout};
use crate::phases::{Exchanging, Number, Reading, Updating};
use crate::world::World;
use core::ops::{Index, IndexMut, Range};

/// How a matrix is spread over the ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tiling {
    /// As many consecutive rows on each rank; the last ranks may have fewer.
    Rows,
    /// Tiles of this many rows and columns in turn, row of tiles by row of tiles.
    Tiles {
        /// Rows of a tile; at least 1.
        rows: usize,
        /// Columns of a tile; at least 1.
        columns: usize,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct MatrixShape {
    rows: usize,
    columns: usize,
    /// Of a tile.
    tile_rows: Divisor,
    tile_columns: Divisor,
    /// Tiles beside each other.
    across: usize,
}

impl MatrixShape {
    fn new(rows: usize, columns: usize, ranks: u32, tiling: Tiling) -> MatrixShape {
        let (tile_rows, tile_columns) = match tiling {
            Tiling::Rows => (rows.div_ceil(ranks as usize).max(1), columns.max(1)),
            Tiling::Tiles { rows, columns } => (rows, columns),
        };
        assert!(tile_rows > 0 && tile_columns > 0, "a tile of a matrix has at least one row and one column");
        let across = columns.div_ceil(tile_columns);
        MatrixShape {
            rows,
            columns,
            tile_rows: Divisor::new(tile_rows),
            tile_columns: Divisor::new(tile_columns),
            across,
        }
    }

    /// Elements of a tile.
    fn tile(&self) -> usize {
        self.tile_rows.by() * self.tile_columns.by()
    }

    /// Elements of the array.
    fn len(&self) -> usize {
        self.rows.div_ceil(self.tile_rows.by()) * self.across * self.tile()
    }

    /// The number of an element in the array.
    #[inline]
    #[track_caller]
    fn at(&self, row: usize, column: usize) -> usize {
        if row >= self.rows || column >= self.columns {
            self.no_such_element(row, column);
        }
        let ((down, row), (right, column)) = (self.tile_rows.divide(row), self.tile_columns.divide(column));
        (down * self.across + right) * self.tile() + row * self.tile_columns.by() + column
    }

    #[cold]
    #[track_caller]
    fn no_such_element(&self, row: usize, column: usize) -> ! {
        panic!("element ({row}, {column}) of a matrix of {} x {}", self.rows, self.columns)
    }
}

/// A matrix whose elements are spread over the ranks: see [`World::matrix`]. It is used in phases, as an
/// [`Array`] is.
#[derive(Debug)]
pub struct Matrix<T: Plain> {
    array: Array<T>,
    shape: MatrixShape,
}

impl<T: Plain> Matrix<T> {
    #[track_caller]
    pub(crate) fn new(world: World, rows: usize, columns: usize, tiling: Tiling) -> Matrix<T> {
        let shape = MatrixShape::new(rows, columns, world.size(), tiling);
        Matrix { array: Array::new(world, shape.len(), Layout::BlockCyclic(shape.tile())), shape }
    }

    /// Rows.
    pub fn rows(&self) -> usize {
        self.shape.rows
    }

    /// Columns.
    pub fn columns(&self) -> usize {
        self.shape.columns
    }

    /// The rank that has an element.
    ///
    /// # Panics
    /// There is no such element.
    #[track_caller]
    pub fn owner(&self, row: usize, column: usize) -> u32 {
        self.array.owner(self.shape.at(row, column))
    }

    /// As [`Array::read`].
    ///
    /// # Collective
    pub fn read<R>(&mut self, f: impl FnOnce(&ReadingMatrix<'_, T>) -> R) -> R {
        let shape = self.shape;
        self.array.read(|elements| f(&ReadingMatrix { elements, shape }))
    }

    /// As [`Array::local`]: this rank's tiles.
    ///
    /// # Collective
    pub fn local<R>(&mut self, f: impl FnOnce(&mut [Tile<'_, T>]) -> R) -> R {
        let (shape, me, ranks) =
            (self.shape, self.array.world.rank() as usize, self.array.world.size() as usize);
        self.array.local(|mine| {
            let tile = |(round, values)| {
                let number = round * ranks + me;
                let (row, column) = (
                    number / shape.across * shape.tile_rows.by(),
                    number % shape.across * shape.tile_columns.by(),
                );
                Tile {
                    row,
                    column,
                    rows: shape.tile_rows.by().min(shape.rows - row),
                    columns: shape.tile_columns.by().min(shape.columns - column),
                    stride: shape.tile_columns.by(),
                    values,
                }
            };
            let mut tiles: Vec<Tile<'_, T>> =
                mine.chunks_exact_mut(shape.tile()).enumerate().map(tile).collect();
            f(&mut tiles)
        })
    }

    /// As [`Array::exchange`].
    ///
    /// # Collective
    pub fn exchange<R>(&mut self, f: impl FnOnce(&mut ExchangingMatrix<'_, '_, T>) -> R) -> R {
        let shape = self.shape;
        self.array.exchange(|elements| f(&mut ExchangingMatrix { elements, shape }))
    }
}

impl<T: Number> Matrix<T> {
    /// As [`Array::update`].
    ///
    /// # Collective
    pub fn update<R>(&mut self, f: impl FnOnce(&mut UpdatingMatrix<'_, '_, T>) -> R) -> R {
        let shape = self.shape;
        self.array.update(|elements| f(&mut UpdatingMatrix { elements, shape }))
    }
}

/// A tile of this rank's: a part of the matrix that begins at `row` and `column`. Indexed by row and column
/// in the tile.
#[derive(Debug)]
pub struct Tile<'a, T> {
    /// Of its first element, in the matrix.
    pub row: usize,
    /// Of its first element, in the matrix.
    pub column: usize,
    rows: usize,
    columns: usize,
    stride: usize,
    values: &'a mut [T],
}

impl<T> Tile<'_, T> {
    /// Rows; those at the edge of the matrix have fewer.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// A row.
    ///
    /// # Panics
    /// There is no such row in the tile.
    #[track_caller]
    pub fn row_mut(&mut self, row: usize) -> &mut [T] {
        let at = self.at((row, 0));
        &mut self.values[at..at + self.columns]
    }

    #[inline]
    #[track_caller]
    fn at(&self, (row, column): (usize, usize)) -> usize {
        assert!(
            row < self.rows && column < self.columns,
            "element ({row}, {column}) of a tile of {} x {}",
            self.rows,
            self.columns
        );
        row * self.stride + column
    }
}

impl<T> Index<(usize, usize)> for Tile<'_, T> {
    type Output = T;
    #[track_caller]
    fn index(&self, at: (usize, usize)) -> &T {
        &self.values[self.at(at)]
    }
}

impl<T> IndexMut<(usize, usize)> for Tile<'_, T> {
    #[track_caller]
    fn index_mut(&mut self, at: (usize, usize)) -> &mut T {
        let at = self.at(at);
        &mut self.values[at]
    }
}

/// A phase that reads: see [`Matrix::read`].
#[derive(Debug)]
pub struct ReadingMatrix<'a, T: Plain> {
    elements: &'a Reading<'a, T>,
    shape: MatrixShape,
}

impl<T: Plain> ReadingMatrix<'_, T> {
    /// An element.
    ///
    /// # Panics
    /// There is no such element.
    #[track_caller]
    pub fn get(&self, row: usize, column: usize) -> T {
        self.elements.get(self.shape.at(row, column))
    }

    /// A row, or as much of it as `columns` says.
    ///
    /// # Panics
    /// There are fewer rows or columns.
    #[track_caller]
    pub fn row(&self, row: usize, columns: Range<usize>) -> Vec<T> {
        let mut values = Vec::with_capacity(columns.len());
        let mut column = columns.start;
        while column < columns.end {
            let at = self.shape.at(row, column);
            let (_, inside) = self.shape.tile_columns.divide(column);
            let n = (self.shape.tile_columns.by() - inside).min(columns.end - column);
            // The last of them is one of the matrix, too.
            self.shape.at(row, column + n - 1);
            values.extend(self.elements.slice(at, n));
            column += n;
        }
        values
    }

    /// Reads a block, row by row: a halo, a tile of another rank, a column. The part in each tile is one
    /// transfer, and the transfers of all tiles run at the same time.
    ///
    /// # Panics
    /// There are fewer rows or columns.
    #[track_caller]
    pub fn block(&self, rows: Range<usize>, columns: Range<usize>) -> Vec<T> {
        if rows.is_empty() || columns.is_empty() {
            return Vec::new();
        }
        // Panics if the last element does not exist, before memory is allocated; all others come before it.
        self.shape.at(rows.end - 1, columns.end - 1);
        let mut values = vec![T::zeroed(); rows.len() * columns.len()];
        self.block_into(rows, columns, &mut values);
        values
    }

    /// [`ReadingMatrix::block`] to memory of the caller: what is read again and again needs no new vector.
    ///
    /// # Panics
    /// There are fewer rows or columns, or `values` has another number of elements.
    #[track_caller]
    pub fn block_into(&self, rows: Range<usize>, columns: Range<usize>, values: &mut [T]) {
        let (height, width) = (rows.len(), columns.len());
        let (room, elements) = (values.len(), height.saturating_mul(width));
        assert!(room == elements, "a block of {height} x {width} elements to memory for {room}");
        if elements == 0 {
            return;
        }
        self.shape.at(rows.end - 1, columns.end - 1);
        let left = |of: Divisor, i: usize| of.by() - of.divide(i).1;
        let step = self.shape.tile_columns.by();
        let array = self.elements.array;
        let mut parts = Vec::new();
        let mut row = rows.start;
        while row < rows.end {
            let down = left(self.shape.tile_rows, row).min(rows.end - row);
            let mut column = columns.start;
            while column < columns.end {
                let right = left(self.shape.tile_columns, column).min(columns.end - column);
                let (rank, at) = array.map.place(self.shape.at(row, column));
                let first = (row - rows.start) * width + (column - columns.start);
                let from = array.at(rank, at);
                parts.push(BlockPart { from, step, rows: down, columns: right, first });
                column += right;
            }
            row += down;
        }
        kept::read_block(array.world, &parts, width, values);
    }

    /// These elements, by row and column, in this order. As [`Reading::gather`].
    ///
    /// # Panics
    /// There is no such element.
    #[track_caller]
    pub fn gather(&self, places: &[(usize, usize)]) -> Vec<T> {
        let places: Vec<usize> = places.iter().map(|&(row, column)| self.shape.at(row, column)).collect();
        self.elements.gather(&places)
    }
}

/// A phase that puts: see [`Matrix::exchange`].
#[derive(Debug)]
pub struct ExchangingMatrix<'a, 'b, T: Plain> {
    elements: &'a mut Exchanging<'b, T>,
    shape: MatrixShape,
}

impl<T: Plain> ExchangingMatrix<'_, '_, T> {
    /// As [`Exchanging::put`].
    ///
    /// # Panics
    /// There is no such element.
    #[inline]
    #[track_caller]
    pub fn put(&mut self, row: usize, column: usize, value: T) {
        self.elements.put(self.shape.at(row, column), value);
    }
}

/// A phase that updates: see [`Matrix::update`].
#[derive(Debug)]
pub struct UpdatingMatrix<'a, 'b, T: Number> {
    elements: &'a mut Updating<'b, T>,
    shape: MatrixShape,
}

macro_rules! updates {
    ($($name:ident $what:literal;)*) => {$(
        #[doc = $what]
        ///
        /// # Panics
        /// There is no such element.
        #[inline]
        #[track_caller]
        pub fn $name(&mut self, row: usize, column: usize, value: T) {
            self.elements.$name(self.shape.at(row, column), value);
        }
    )*};
}

impl<T: Number> UpdatingMatrix<'_, '_, T> {
    updates! {
        add "As [`Updating::add`].";
        min "As [`Updating::min`].";
        max "As [`Updating::max`].";
        and "As [`Updating::and`].";
        or "As [`Updating::or`].";
        xor "As [`Updating::xor`].";
    }
}
