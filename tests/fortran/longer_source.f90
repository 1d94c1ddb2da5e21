! A section of a component is assigned more elements than it has: the first ones, and a warning; under GASNET_CHECK a message.
! run: 1 2 | says passed | says bounds mismatch
! run: 2 | env GASNET_NEIGHBORHOOD=off | says passed | says bounds mismatch
! run: 2 | env GASNET_CHECK=1 | status 1 | says bounds mismatch | never passed
program longer_source
  implicit none
  type t
    integer, allocatable :: a(:)
  end type
  type(t) :: d[*]
  integer :: v(5) = [5, 4, 3, 2, 1]
  allocate (d%a(5), source=-1)
  sync all
  if (this_image() == 1) d[num_images()]%a(::2) = v
  sync all
  if (this_image() == num_images()) call check(all(d%a == [5, -1, 4, -1, 3]), 'the first elements')
  call passed()
contains
  include 'check.inc'
end program
