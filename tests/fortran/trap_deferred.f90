! Texts of deferred length as components, which compiled code reallocates and frees itself.
program deferred
  implicit none
  type t
    character(:), allocatable :: s
    integer :: k = 1
  end type
  type(t) :: d[*]
  type(t), allocatable :: a(:)[:]
  character(:), allocatable :: word
  integer :: me, n, i
  me = this_image()
  n = num_images()
  allocate (a(3)[*])
  do i = 1, 500
    d%s = repeat('a', mod(i * 7, 60) + 1)
    a(2)%s = 'image'
    a(2)%s = a(2)%s // d%s // a(2)%s
    call check(len(a(2)%s) == 10 + len(d%s), 'a local text')
    word = a(2)%s
    a(3)%s = word
    if (mod(i, 50) == 0) then
      deallocate (a(2)%s, a(3)%s)
      a(1)%k = i + me
      sync all
      call check(a(1)[n]%k == i + n, 'another component')
      sync all
      deallocate (a)
      allocate (a(3)[*])
    end if
  end do
  call check(allocated(d[n]%s), 'allocated on another image')
  call passed
contains
  include 'check.inc'
end program
