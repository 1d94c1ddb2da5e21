! Memory of components that compiled code allocates, copies and frees by itself; bounds after move_alloc.
module m
  implicit none
  type t
    integer, allocatable :: a(:)
    real(8), allocatable :: s
    character(:), allocatable :: c
  end type
  type w
    integer :: k
    class(*), allocatable :: u
  end type
  type n
    type(t), allocatable :: in(:)
  end type
contains
  subroutine touch(x, i)
    type(t), intent(inout) :: x
    integer, intent(in) :: i
    if (allocated(x%a)) deallocate(x%a)
    allocate(x%a(i)); x%a = this_image()
    x%a = [x%a, i]
  end subroutine
end module
program component_memory
  use m
  implicit none
  type(t) :: x[*], l
  type(w) :: y[*]
  type(n), allocatable :: z(:)[:]
  integer :: i, me, np, k
  integer, allocatable :: b(:)
  integer, allocatable :: q(:)[:], r(:)[:]
  me = this_image(); np = num_images(); k = mod(me, np)+1
  do i = 1, 3000
    x = t([me, i], 1.5d0*me, 'abc')
    if (mod(i, 100) == 0) then
      sync all
      b = x[k]%a; if (any(b /= [k, i])) error stop 1
      if (x[k]%s /= 1.5d0*k) error stop 2
      sync all
    end if
    call touch(x, mod(i, 7)+1)
    if (mod(i, 100) == 0) then
      sync all
      b = x[k]%a; if (size(b) /= mod(i,7)+2 .or. b(1) /= k) error stop 3
      sync all
    end if
    x%a = [1,2,3]
    x%a = [x%a, i]
    x%c = 'hello'
    x%c = x%c // 'x'
    deallocate(x%a); deallocate(x%s); deallocate(x%c)
    allocate(x%a(3)); allocate(x%s); x%a = 1; x%s = 2
    l = x
    if (me == 1) then
      allocate(x%c, source='only one')
      deallocate(x%c)
    end if
    if (allocated(l%c)) error stop 4
    l%a = [5]
  end do
  allocate(y%u, source=5)
  y%k = 3
  sync all
  if (y[1]%k /= 3) error stop 5
  if (me == 1) deallocate(y%u)
  allocate(z(2)[*])
  do i = 1, 1000
    allocate(z(1)%in(2)); allocate(z(1)%in(2)%a(i)); z(1)%in(2)%a = i*me
    if (mod(i,50) == 0) then
      sync all
      b = z(1)[k]%in(2)%a; if (size(b) /= i .or. any(b /= i*k)) error stop 6
      sync all
    end if
    deallocate(z(1)%in)
  end do
  deallocate(z)
  do i = 1, 200
    allocate(q(0:i)[*]); q = me*i
    sync all
    if (q(i)[k] /= k*i) error stop 7
    b = q(:)[k]; if (size(b) /= i+1) error stop 8
    sync all
    call move_alloc(q, r)
    if (r(1)[k] /= k*i) error stop 9
    b = r(1:)[k]; if (size(b) /= i .or. any(b /= k*i)) error stop 10
    sync all
    deallocate(r)
  end do
  allocate(q(0)[*]); b = q(:)[k]; if (size(b) /= 0) error stop 11
  sync all
  sync all
  if (me == 1) print '(a)', 'passed'
end program
