! needs: 12
! Every way to end a program, and the status that comes of it.
! run: 1 2 3 | args stop | status 0 | never STOP
! run: 1 2 3 | args stop-text | status 0 | says STOP all is well
! run: 1 2 3 | args stop-number | status 3 | says STOP 3
! run: 1 3 | args stop-quiet | status 5 | never STOP
! run: 1 2 3 | args error-stop | status 1 | says ERROR STOP
! run: 1 2 3 | args error-stop-text | status 1 | says ERROR STOP nothing works
! run: 1 2 3 | args error-stop-number | status 4 | says ERROR STOP 4
! run: 2 3 | args one-stops | status 7 | says the others go on
! run: 2 3 | args one-error-stops | status 9 | never the others go on
! run: 2 3 | args one-fails-at-run-time | status 2 | never the others go on
! run: 2 3 | args one-exits | status 6 | never the others go on
! run: 3 | args one-is-killed | status 137 | says image 3 (pid
! run: 1 2 | args end | says passed
program ends
  use, intrinsic :: iso_c_binding, only: c_int
  implicit none
  interface
    subroutine c_exit(status) bind(c, name='exit')
      import :: c_int
      integer(c_int), value :: status
    end subroutine
    integer(c_int) function c_raise(signal) bind(c, name='raise')
      import :: c_int
      integer(c_int), value :: signal
    end function
  end interface
  character(40) :: how
  integer, allocatable :: a(:)
  integer :: last
  last = num_images()
  call get_command_argument(1, how)
  select case (how)
  case ('stop')
    stop
  case ('stop-text')
    stop 'all is well'
  case ('stop-number')
    stop 3
  case ('stop-quiet')
    stop 5, quiet=.true.
  case ('error-stop')
    error stop
  case ('error-stop-text')
    error stop 'nothing works'
  case ('error-stop-number')
    error stop 4
  case ('one-stops')
    if (this_image() == last) stop 7
    call wait_a_while
    if (this_image() == 1) print '(a)', 'the others go on'
  case ('one-error-stops')
    if (this_image() == last) error stop 9
    call wait_for_ever
  case ('one-fails-at-run-time')
    allocate (a(3))
    if (this_image() == last) allocate (a(4))
    call wait_for_ever
  case ('one-exits')
    if (this_image() == last) call c_exit(6)
    call wait_for_ever
  case ('one-is-killed')
    if (this_image() == last) last = c_raise(9)
    call wait_for_ever
  case ('end')
    if (this_image() == 1) print '(a)', 'passed'
  end select
contains
  subroutine wait_a_while
    integer(8) :: start, now, rate
    call system_clock(start, rate)
    do
      call system_clock(now)
      if (now - start > rate / 10) exit
    end do
  end subroutine

  ! The end of the job ends this.
  subroutine wait_for_ever
    if (num_images() > 1) then
      sync images (last)
      sync all
    end if
    print '(a)', 'the others go on'
  end subroutine
end program
