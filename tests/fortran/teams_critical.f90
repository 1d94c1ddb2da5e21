! critical and locks inside teams: a critical construct excludes all images of the program, not those of a team.
program teams_critical
  use, intrinsic :: iso_fortran_env, only: team_type, lock_type
  implicit none
  type(team_type) :: parity
  type(lock_type) :: gate[*]
  integer :: total[*], i
  total = 0
  form team (mod(this_image(), 2) + 1, parity)
  sync all
  change team (parity)
    do i = 1, 20
      critical
        call alone
      end critical
      lock (gate[1])
      total[1] = total[1] + 1
      unlock (gate[1])
    end do
    sync all
    call check(total[1] == 20 * num_images(), 'a lock of the team')
  end team
  call passed
contains
  ! Images of other teams are reached by no coarray here: a file that only one can make stands for a word of all.
  subroutine alone
    integer :: unit, status
    open (newunit=unit, file='alone', status='new', iostat=status)
    call check(status == 0, 'nobody else is inside')
    close (unit, status='delete')
  end subroutine

  include 'check.inc'
end program
