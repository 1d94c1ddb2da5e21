! The module opencoarrays, for programs that call MPI beside coarrays; OpenCoarrays has one of this name. It is compiled with such a
! program, which runs over the conduit mpi: cafrun --conduit mpi.
module opencoarrays
  use, intrinsic :: iso_c_binding, only: c_int, c_null_ptr, c_ptr
  implicit none
  private
  public :: get_communicator, team_number

  interface
    function number_of(team) bind(c, name='_gfortran_caf_team_number') result(number)
      import :: c_int, c_ptr
      type(c_ptr), value :: team
      integer(c_int) :: number
    end function
  end interface

  ! The team that a communicator was made for last, by the ranks of its images in MPI_COMM_WORLD.
  integer, allocatable, save :: known(:)
  integer, save :: known_communicator

contains

  ! A communicator of the images of the current team, in their order: MPI_COMM_WORLD, or one that stays valid until another team asks.
  ! Collective over the team.
  function get_communicator() result(communicator)
    include 'mpif.h'
    integer :: communicator
    integer :: ranks(num_images()), images, everything, members, error
    call MPI_Comm_size(MPI_COMM_WORLD, images, error)
    if (images == num_images()) then
      communicator = MPI_COMM_WORLD
      return
    end if
    ranks = 0
    call MPI_Comm_rank(MPI_COMM_WORLD, ranks(this_image()), error)
    call co_sum(ranks)
    if (allocated(known)) then
      if (size(known) == size(ranks)) then
        if (all(known == ranks)) then
          communicator = known_communicator
          return
        end if
      end if
      call MPI_Comm_free(known_communicator, error)
    end if
    call MPI_Comm_group(MPI_COMM_WORLD, everything, error)
    call MPI_Group_incl(everything, size(ranks), ranks, members, error)
    call MPI_Comm_create_group(MPI_COMM_WORLD, members, number_of(c_null_ptr), communicator, error)
    call MPI_Group_free(members, error)
    call MPI_Group_free(everything, error)
    known = ranks
    known_communicator = communicator
  end function

  ! The number of the current team, which older compilers do not know themselves.
  function team_number() result(number)
    integer :: number
    number = number_of(c_null_ptr)
  end function
end module
