! Static coarrays of the main program, a module, a procedure, a submodule: initial values are there before any statement.
module places
  implicit none
  integer, save :: in_module(4)[*] = [1, 2, 3, 4]
  real(8) :: without_value(3)[*]
  character(5) :: text[*] = 'start'
  type pair
    integer :: k = 9
    complex :: z = (1., -2.)
  end type
  type(pair) :: of_type(2)[*]
  interface
    module subroutine in_submodule
    end subroutine
  end interface
contains
  subroutine count_calls(image, calls)
    integer, intent(in) :: image
    integer, intent(out) :: calls
    integer, save :: own[*] = 40
    own = own + 1
    sync all
    calls = own[image]
    sync all
  end subroutine
end module

submodule (places) below
  implicit none
  integer :: hidden[*] = 77
contains
  module subroutine in_submodule
    hidden = hidden + this_image()
    sync all
    if (hidden[num_images()] /= 77 + num_images()) error stop 'a coarray of a submodule'
    sync all
  end subroutine
end submodule

program static
  use places
  implicit none
  integer :: in_main[*] = 5, n, calls
  integer(1) :: small(3)[*] = 1_1
  logical :: flags(2, 2)[*] = .true.
  n = num_images()
  call check(in_main[n] == 5 .and. all(in_module(:)[n] == [1, 2, 3, 4]), 'initial values before any synchronisation')
  call check(all(small(:)[n] == 1_1) .and. all(flags(:, :)[n]), 'initial values of small kinds')
  call check(text[n] == 'start', 'an initial text')
  call check(of_type(2)[n]%k == 9 .and. of_type(1)[n]%z == (1., -2.), 'initial values of components')
  call count_calls(n, calls)
  call check(calls == 41, 'a coarray of a procedure')
  call count_calls(1, calls)
  call check(calls == 42, 'a coarray of a procedure keeps its value')
  without_value = this_image()
  in_module(2) = -this_image()
  sync all
  call check(all(without_value(:)[n] == n) .and. in_module(2)[n] == -n, 'values of the last image')
  call in_submodule
  call passed
contains
  include 'check.inc'
end program
