! needs: 12
! Components of components, two and three levels deep, through types with and without allocatable parts.
program nested
  implicit none
  type leaf
    integer :: v = 0
    integer, allocatable :: w(:)
  end type
  type branch
    type(leaf), allocatable :: leaves(:)
    type(leaf) :: one
    integer :: label = 0
  end type
  type flat
    integer :: a = 1
    real(8) :: b(2, 2) = 2d0
  end type
  type outer
    type(flat) :: inner(3)
    character(2) :: name = 'no'
  end type
  type(branch) :: tree[*]
  type(outer) :: o(2)[*]
  integer :: me, n, i, j, next, from
  me = this_image()
  n = num_images()
  next = mod(me, n) + 1
  from = mod(me + n - 2, n) + 1
  allocate (tree%leaves(me + 1))
  do i = 1, me + 1
    tree%leaves(i)%v = 10 * me + i
    tree%leaves(i)%w = [(100 * me + 10 * i + j, j=1, i)]
  end do
  allocate (tree%one%w(2))
  tree%one%w = [me, -me]
  tree%label = me
  do i = 1, 2
    o(i)%name = char(64 + me) // char(96 + i)
    do j = 1, 3
      o(i)%inner(j)%a = 100 * me + 10 * i + j
      o(i)%inner(j)%b = reshape([1, 2, 3, 4] * 1d0 * me + i + j / 10d0, [2, 2])
    end do
  end do
  sync all
  do i = 1, n
    call check(tree[i]%label == i .and. all(tree[i]%one%w == [i, -i]), 'beside the tree')
    do j = 1, i + 1
      call check(tree[i]%leaves(j)%v == 10 * i + j, 'a scalar of a leaf')
      call check(tree[i]%leaves(j)%w(j) == 100 * i + 11 * j, 'an element of a leaf')
      call check(sum(tree[i]%leaves(j)%w(:)) == j * (100 * i + 10 * j) + j * (j + 1) / 2, 'an array of a leaf')
    end do
    call check(all(tree[i]%leaves(:)%v == [(10 * i + j, j=1, i + 1)]), 'a component of all leaves')
    call check(allocated(tree[i]%leaves) .and. allocated(tree[i]%leaves(1)%w), 'allocated leaves')
    call check(o(2)[i]%name == char(64 + i) // 'b' .and. o(1)[i]%inner(3)%a == 100 * i + 13, 'fixed components')
    call check(all(o(2)[i]%inner(:)%a == 100 * i + 20 + [1, 2, 3]), 'a component of all inner objects')
    call check(all(o(2:1:-1)[i]%name == char(64 + i) // ['b', 'a']), 'a component of all outer objects')
    call check(all(abs(o(2)[i]%inner(3)%b(:, 2) - ([3, 4] * i + 2.3d0)) < 1d-9), 'a column of an inner matrix')
  end do
  sync all
  tree[next]%leaves(2)%v = -me
  tree[next]%leaves(2)%w = [me, 2 * me]
  tree[next]%leaves(:)%v = tree[next]%leaves(:)%v + 1
  tree[next]%one%w(2) = 7 * me
  o(2)[next]%inner(1:3:2)%a = [me, -me]
  o(1)[next]%inner(2)%b(2, :) = [me + 0.5d0, me + 0.25d0]
  sync all
  call check(tree%leaves(2)%v == 1 - from .and. tree%leaves(1)%v == 10 * me + 2, 'written leaves')
  call check(all(tree%leaves(2)%w == [from, 2 * from]) .and. tree%one%w(2) == 7 * from, 'written arrays of leaves')
  call check(o(2)%inner(1)%a == from .and. o(2)%inner(3)%a == -from .and. o(2)%inner(2)%a == 100 * me + 22, &
      'written inner objects')
  call check(all(o(1)%inner(2)%b(2, :) == from + [0.5d0, 0.25d0]), 'a written row of an inner matrix')
  call passed
contains
  include 'check.inc'
end program
