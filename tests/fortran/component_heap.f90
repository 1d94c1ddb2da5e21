! Memory of components comes and goes in turn with coarrays, from several threads, through C's free and realloc.
! flags: -fopenmp
! with: component_heap_part.c
! run: 1 2 3 | env CAF_HEAP=24M
! run: 2 | env CAF_HEAP=24M | env GASNET_NEIGHBORHOOD=off
program component_heap
  use, intrinsic :: iso_c_binding, only: c_loc, c_ptr, c_size_t, c_sizeof
  implicit none
  interface
    function longer(at, bytes) result(moved) bind(c)
      import :: c_ptr, c_size_t
      type(c_ptr), value :: at
      integer(c_size_t), value :: bytes
      type(c_ptr) :: moved
    end function
    subroutine gone(at) bind(c)
      import :: c_ptr
      type(c_ptr), value :: at
    end subroutine
  end interface
  type :: part
    integer, allocatable :: a(:)
  end type
  type :: row
    integer, pointer :: p(:)
    type(part) :: parts(4)
  end type
  type(row) :: x[*]
  integer, allocatable :: big(:)[:]
  integer :: i, j, k, me, next
  me = this_image()
  next = mod(me, num_images()) + 1
  do i = 1, 60
    ! Coarrays of up to 8 MB beside components of up to 4 MB: all fits only if both come back.
    allocate (big(20000 * mod(7 * i, 100) + 1)[*])
    !$omp parallel do num_threads(4) private(k)
    do j = 1, 4
      do k = 1, 20
        x%parts(j)%a = [(k, k=1, mod(37 * i + 11 * j + k, 600) + 1)]
      end do
      x%parts(j)%a = [(me * j, k=1, merge(250000, 10, mod(i, 10) == j))]
    end do
    big = me
    sync all
    do j = 1, 4
      if (x[next]%parts(j)%a(10) /= next * j) error stop 'a component of the next image'
    end do
    if (big(1)[next] /= next) error stop 'a coarray of the next image'
    sync all
    x[next]%parts(1)%a(2) = 5 * me
    sync all
    if (x%parts(1)%a(2) /= 5 * merge(num_images(), me - 1, me == 1)) error stop 'a write to this image'
    deallocate (big)
    if (mod(i, 3) == 0) then
      do j = 1, 4
        deallocate (x%parts(j)%a)
      end do
    end if
  end do
  ! Memory of a component that C reallocates and frees; memory of C that a component gets.
  allocate (x%p(100))
  x%p = [(i, i=1, 100)]
  if (c_sizeof(x%p(1)) /= 4) error stop 'integers of 4 bytes'
  call gone(longer(c_loc(x%p(1)), 40000_c_size_t))
  nullify (x%p)
  sync all
  if (me == 1) print '(a)', 'passed'
end program
