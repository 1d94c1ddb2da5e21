! What images do together. Prints lines `KEY NANOSECONDS`, one a batch.
program together
  use, intrinsic :: iso_fortran_env, only: event_type
  implicit none
  integer, parameter :: batches = 5, rounds = 2000
  type(event_type) :: e[*]
  real(8) :: x
  integer(8) :: begun, rate
  integer :: batch, i
  call system_clock(count_rate=rate)
  do batch = 1, batches
    sync all
    call system_clock(begun)
    do i = 1, rounds
      sync all
    end do
    call told('sync_all')
    do i = 1, rounds
      sync images (*)
    end do
    call told('sync_images')
    do i = 1, rounds
      x = this_image()
      call co_sum(x)
    end do
    call told('co_sum')
    do i = 1, rounds
      select case (this_image())
      case (1)
        event post (e[2])
        event wait (e)
      case (2)
        event wait (e)
        event post (e[1])
      end select
    end do
    call told('event')
  end do
contains
  subroutine told(key)
    character(*), intent(in) :: key
    integer(8) :: now
    call system_clock(now)
    if (this_image() == 1) print '(2a,f0.3)', key, ' ', (now - begun) * 1d9 / rate / rounds
    sync all
    call system_clock(begun)
  end subroutine
end program
