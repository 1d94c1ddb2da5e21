! flags: -fsanitize=address,undefined -fno-sanitize-recover=all
! run: 1 3
! run: 3 | env GASNET_NEIGHBORHOOD=off
! Components under the sanitizers: the library allocates them, compiled code frees them, and nothing is left of either.
module objects
  implicit none
  type part
    real(8), allocatable :: values(:)
  end type
  type(part) :: own[*]
contains
  subroutine again(p, n)
    type(part), intent(inout) :: p
    integer, intent(in) :: n
    if (allocated(p%values)) deallocate (p%values)
    allocate (p%values(n), source = real(n, 8))
  end subroutine

  subroutine rounds
    real(8), allocatable :: there(:)
    integer :: round, next
    next = mod(this_image(), num_images()) + 1
    do round = 1, 40
      select case (mod(round, 3))
      case (0)
        own%values = [real(8) :: round, round]
      case (1)
        own = part([real(8) :: round, round])
      case default
        call again(own, 2)
        own%values = round
      end select
      sync all
      there = own[next]%values(:)
      call check(size(there) == 2 .and. all(there == round), 'values')
      own[next]%values(2) = -round
      sync all
      call check(own%values(2) == -round, 'a value')
    end do
    deallocate (own%values)
  end subroutine

  include 'check.inc'
end module

program sanitized
  use objects
  implicit none
  call rounds
  call passed
end program
