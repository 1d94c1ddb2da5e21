! needs: 12
! Allocatable coarrays: bounds, stat, scopes that deallocate, sizes of zero, many in turn.
program allocation
  implicit none
  integer, allocatable :: a(:)[:], s[:], two(:, :)[:], none(:)[:]
  character(:), allocatable :: text[:]
  class(*), allocatable :: any[:]
  character(200) :: message
  integer :: n, me, i, status
  me = this_image()
  n = num_images()
  call check(.not. allocated(a), 'not allocated at first')
  allocate (a(-1:4)[*], s[*], two(3, 0:2)[*], stat=status)
  call check(status == 0 .and. allocated(a) .and. allocated(s), 'stat of allocate')
  call check(lbound(a, 1) == -1 .and. ubound(a, 1) == 4 .and. size(two) == 9, 'bounds')
  a = [(i * me, i=-1, 4)]
  s = me
  two = 100 * me
  two(2, 1) = me
  sync all
  call check(all(a(:)[n] == [(i * n, i=-1, 4)]) .and. a(3)[1] == 3, 'elements by declared subscripts')
  call check(s[n] == n .and. two(2, 1)[n] == n .and. two(3, 2)[n] == 100 * n, 'scalars and two dimensions')
  deallocate (a, s, stat=status)
  call check(status == 0 .and. .not. allocated(a) .and. .not. allocated(s), 'stat of deallocate')
  message = 'untouched'
  deallocate (a, stat=status, errmsg=message)
  call check(status /= 0 .and. message /= 'untouched', 'deallocate what is not allocated')
  allocate (two(1, 1)[*], stat=status)
  call check(status /= 0, 'allocate what is allocated')
  allocate (none(0)[*])
  call check(allocated(none) .and. size(none) == 0 .and. size(none(:)[n]) == 0, 'no elements')
  deallocate (none, two)
  do i = 1, 200
    allocate (a(i * 50)[*], source=i + me)
    call check(a(i * 50)[n] == i + n, 'allocated with a source')
    sync all
    deallocate (a)
  end do
  allocate (character(len=3 + n) :: text[*])
  text = 'ab' // char(64 + me)
  sync all
  call check(text[n] == 'ab' // char(64 + n) .and. len(text) == 3 + n, 'a text of deferred length')
  deallocate (text)
  do i = 1, 3
    call scope(10 * i)
  end do
  block
    integer, allocatable :: inner(:)[:]
    allocate (inner(2)[*])
    inner = me
    sync all
    call check(all(inner(:)[n] == n), 'a coarray of a block')
  end block
  call check(.not. allocated(any), 'a polymorphic coarray')
  call passed
contains
  ! Its coarray goes at the end.
  subroutine scope(count)
    integer, intent(in) :: count
    real, allocatable :: own(:)[:]
    call check(.not. allocated(own), 'deallocated by the last call')
    allocate (own(count)[*])
    own = this_image() + count
    sync all
    call check(own(count)[num_images()] == num_images() + count, 'a coarray of a call')
  end subroutine

  include 'check.inc'
end program
