! Reads and writes of image 2 by image 1. Prints lines `KEY NANOSECONDS`, one a batch; a key of 1 MiB prints nanoseconds a MiB. Keys that begin
! with `plain` are copies by C between the same variables of image 1: where these lie decides much of the times. What is copied is in the
! cache before.
program near
  use, intrinsic :: iso_c_binding, only: c_size_t
  use, intrinsic :: iso_fortran_env, only: atomic_int_kind, lock_type
  implicit none
  interface
    subroutine memcpy(to, from, bytes) bind(c)
      import :: c_size_t
      real(8), intent(inout) :: to(*)
      real(8), intent(in) :: from(*)
      integer(c_size_t), value :: bytes
    end subroutine
  end interface
  integer, parameter :: batches = 5, elements = 131072, stride = 32
  type :: tree
    integer :: k
    real(8), allocatable :: z(:)
  end type
  real(8) :: s[*], big(elements)[*]
  integer(atomic_int_kind) :: counter[*]
  type(lock_type) :: door[*]
  type(tree) :: d[*]
  real(8) :: fixed(elements)
  real(8), allocatable :: made(:)
  real(8) :: v
  integer(8) :: begun, rate
  integer :: batch, i, k
  character(16) :: word

  call get_command_argument(1, word)
  call system_clock(count_rate=rate)
  s = this_image(); big = 1; counter = 0; fixed = 2
  allocate (d%z(1000), source=3d0); d%k = 4
  allocate (made(elements), source=0d0)
  sync all
  do batch = 1, merge(batches, 0, this_image() == 1)
    call start
    do i = 1, 20000
      v = v + s[2]
    end do
    call told('get8', 20000)
    do i = 1, 20000
      s[2] = v
    end do
    sync memory
    call told('put8', 20000)
    if (word == 'words') cycle
    fixed = big(:)[2]
    call start
    do i = 1, 20
      fixed = big(:)[2]
    end do
    call told('get_fixed', 20)
    call memcpy(fixed, big, 8_c_size_t * elements)
    call start
    do i = 1, 20
      call memcpy(fixed, big, 8_c_size_t * elements)
    end do
    call told('plain_get_fixed', 20)
    made = big(:)[2]
    call start
    do i = 1, 20
      made = big(:)[2]
    end do
    call told('get_allocatable', 20)
    call memcpy(made, big, 8_c_size_t * elements)
    call start
    do i = 1, 20
      call memcpy(made, big, 8_c_size_t * elements)
    end do
    call told('plain_get_allocatable', 20)
    do i = 1, 20
      fixed = 2 * big(:)[2]
    end do
    call told('get_expression', 20)
    big(:)[2] = fixed
    call start
    do i = 1, 20
      big(:)[2] = fixed
    end do
    sync memory
    call told('put_1m', 20)
    call memcpy(big, fixed, 8_c_size_t * elements)
    call start
    do i = 1, 20
      call memcpy(big, fixed, 8_c_size_t * elements)
    end do
    call told('plain_put_1m', 20)
    do i = 1, 20
      fixed(1:elements/stride) = big(::stride)[2]
    end do
    call told('get_strided', 20 * elements / stride)
    do i = 1, 20
      big(::stride)[2] = fixed(1:elements/stride)
    end do
    sync memory
    call told('put_strided', 20 * elements / stride)
    do i = 1, 5000
      call atomic_add(counter[2], 1)
    end do
    call told('atomic_add', 5000)
    do i = 1, 5000
      lock (door[2])
      unlock (door[2])
    end do
    call told('lock', 5000)
    do i = 1, 5000
      k = d[2]%k
    end do
    call told('part', 5000)
    do i = 1, 5000
      v = d[2]%z(7)
    end do
    call told('component', 5000)
  end do
  if (v < 0 .or. k < 0 .or. any(made < 0)) error stop 'never'
  sync all
contains
  subroutine start
    call system_clock(begun)
  end subroutine

  ! The time since the last call, by the number of operations.
  subroutine told(key, operations)
    character(*), intent(in) :: key
    integer, intent(in) :: operations
    integer(8) :: now
    call system_clock(now)
    print '(2a,f0.3)', key, ' ', (now - begun) * 1d9 / rate / operations
    call start
  end subroutine
end program
