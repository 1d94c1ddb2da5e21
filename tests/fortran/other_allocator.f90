! Components in a program with an allocator of its own, whose free and realloc come before those of the coarrays library: components are
! memory of that allocator.
! library: other_allocator_part.c
! run: 1 3
! run: 3 | env GASNET_NEIGHBORHOOD=off
program other_allocator
  implicit none
  type :: part
    integer, allocatable :: a(:)
    integer, pointer :: p(:) => null()
  end type
  type(part) :: x[*]
  integer, allocatable :: there(:)
  integer :: i, next
  next = mod(this_image(), num_images()) + 1
  do i = 1, 30
    x%a = [this_image(), i]
    if (mod(i, 2) == 0) x%a = [x%a, i]
    allocate (x%p(i), source=i)
    sync all
    there = x[next]%a(:)
    call check(size(there) == 2 + merge(1, 0, mod(i, 2) == 0) .and. there(1) == next, 'a component of the next image')
    x[next]%p(i) = -i
    sync all
    call check(x%p(i) == -i, 'a component of this image')
    deallocate (x%p)
    if (mod(i, 3) == 0) deallocate (x%a)
    if (mod(i, 5) == 0) call again(x)
  end do
  call passed
contains
  ! An ordinary dummy: compiled code allocates and frees its components by itself.
  subroutine again(y)
    type(part), intent(inout) :: y
    y%a = [1, 2, 3, 4]
  end subroutine

  include 'check.inc'
end program
