! C = A B with the images in a grid of rows and columns (SUMMA): at each step a column of the grid broadcasts its block of A along
! the rows, a row of the grid its block of B along the columns, and everybody adds the product of what came. Rows and columns are teams.
program matmul_teams
  use, intrinsic :: iso_fortran_env, only: real64, team_type
  implicit none
  type(team_type) :: row_team, column_team
  integer :: me, images, rows, columns, row, column, block, steps, step, n, i, j, code
  real(real64), allocatable :: a(:, :), b(:, :), c(:, :), from_row(:, :), from_column(:, :)
  real(real64) :: worst
  character(len=32) :: word

  me = this_image() - 1
  images = num_images()
  rows = int(sqrt(real(images)))
  do while (mod(images, rows) /= 0)
    rows = rows - 1
  end do
  columns = images / rows
  row = me / columns
  column = mod(me, columns)

  ! A block of the inner dimension for each step; the blocks of A and B go round the columns and the rows of the grid.
  steps = rows * columns
  block = 8
  if (command_argument_count() > 0) then
    call get_command_argument(1, word)
    read (word, *, iostat=code) block
    if (code /= 0 .or. block < 1) error stop "matmul [BLOCK]: a positive number"
  end if
  n = block * steps
  allocate (a(block, block * rows), b(block * columns, block), c(block, block))
  allocate (from_row(block, block), from_column(block, block))

  ! This image has the rows row*block+1.. of A (those inner blocks whose number is its column, modulo columns), and likewise of B.
  do step = 0, rows - 1
    do j = 1, block
      do i = 1, block
        a(i, step * block + j) = a_of(row * block + i, (step * columns + column) * block + j)
      end do
    end do
  end do
  do step = 0, columns - 1
    do j = 1, block
      do i = 1, block
        b(step * block + i, j) = b_of((step * rows + row) * block + i, column * block + j)
      end do
    end do
  end do

  form team (row + 1, row_team, new_index=column + 1)
  form team (column + 1, column_team, new_index=row + 1)
  c = 0
  do step = 0, steps - 1
    if (mod(step, columns) == column) from_row = a(:, (step / columns) * block + 1:(step / columns + 1) * block)
    if (mod(step, rows) == row) from_column = b((step / rows) * block + 1:(step / rows + 1) * block, :)
    change team (row_team)
      call co_broadcast(from_row, source_image=mod(step, columns) + 1)
    end team
    change team (column_team)
      call co_broadcast(from_column, source_image=mod(step, rows) + 1)
    end team
    c = c + matmul(from_row, from_column)
  end do

  worst = 0
  do j = 1, block
    do i = 1, block
      worst = max(worst, abs(c(i, j) - c_of(row * block + i, column * block + j)))
    end do
  end do
  call co_max(worst)
  if (worst > 1e-6_real64) error stop "verification: failed"
  if (me == 0) then
    write (*, '(a, i0, a, i0, a, i0)') "inner dimension ", n, " on a grid of ", rows, " by ", columns
    write (*, '(a)') "verification: passed"
  end if

contains

  pure real(real64) function a_of(i, k)
    integer, intent(in) :: i, k
    a_of = real(mod(i + 2 * k, 7) - 3, real64)
  end function

  pure real(real64) function b_of(k, j)
    integer, intent(in) :: k, j
    b_of = real(mod(3 * k + j, 5) - 2, real64)
  end function

  ! The same number, by the definition of the product.
  pure real(real64) function c_of(i, j)
    integer, intent(in) :: i, j
    integer :: k
    c_of = 0
    do k = 1, n
      c_of = c_of + a_of(i, k) * b_of(k, j)
    end do
  end function
end program
