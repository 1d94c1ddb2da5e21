! A polymorphic component in a static coarray, allocated with a source: a registration with the coarray's own token.
program source
  implicit none
  type t
    integer :: k = 4
    class(*), allocatable :: u
  end type
  type(t) :: x[*]
  integer :: me, n
  me = this_image()
  n = num_images()
  allocate (x%u, source=17 * me)
  sync all
  select type (u => x%u)
  type is (integer)
    call check(u == 17 * me, 'its value')
  class default
    call check(.false., 'its type')
  end select
  x%k = me
  sync all
  call check(x[n]%k == n, 'the coarray itself is what it was')
  call passed
contains
  include 'check.inc'
end program
