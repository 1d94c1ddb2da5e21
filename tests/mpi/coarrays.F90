! Coarrays and MPI in one program, over the conduit mpi: nobody but the runtime initialises MPI, and images are its processes in
! the same order, also in a team.
program coarrays
  use, intrinsic :: iso_fortran_env, only: team_type
  use opencoarrays, only: get_communicator, team_number
  implicit none
  integer :: x[*], next
  type(team_type) :: half

  call same(get_communicator())
  next = mod(this_image(), num_images()) + 1
  x = this_image()
  sync all
  if (x[next] /= next) error stop 'a coarray'
  form team (1 + mod(this_image(), 2), half)
  change team (half)
    call same(get_communicator())
    call same(get_communicator())
    if (team_number() /= 1 + mod(x, 2)) error stop 'the number of the team'
  end team
  call same(get_communicator())
  sync all
  if (this_image() == 1) print '(a)', 'coarrays: passed'
contains
  subroutine same(communicator)
    include 'mpif.h'
    integer, intent(in) :: communicator
    integer :: n, error
    call MPI_Comm_size(communicator, n, error)
    if (n /= num_images()) error stop 'how many processes'
    call MPI_Comm_rank(communicator, n, error)
    if (n /= this_image() - 1) error stop 'which process'
    call MPI_Allreduce(MPI_IN_PLACE, n, 1, MPI_INTEGER, MPI_SUM, communicator, error)
    if (n /= num_images() * (num_images() - 1) / 2) error stop 'a sum'
  end subroutine
end program
