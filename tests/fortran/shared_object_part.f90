! A shared library with coarrays of its own: a static one, and one that is allocated.
module shared_part
  implicit none
  integer, save :: kept(4)[*] = 7
  real(8), allocatable, save :: made(:)[:]
contains
  subroutine fill(image)
    integer, intent(in) :: image
    kept(:)[image] = this_image() + 10
    made(2)[image] = this_image() / 4d0
  end subroutine

  subroutine make(n)
    integer, intent(in) :: n
    allocate (made(n)[*], source = -1d0)
  end subroutine
end module
