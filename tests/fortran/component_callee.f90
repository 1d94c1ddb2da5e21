! Components of components that a callee has allocated: one image alone allocates them.
module m
  implicit none
  type t
    integer, allocatable :: a(:)
    real(8), allocatable :: s
  end type
  type n
    type(t), allocatable :: in(:)
  end type
contains
  subroutine make(x, i)
    type(n), intent(inout) :: x
    integer, intent(in) :: i
    if (allocated(x%in)) deallocate(x%in)
    allocate(x%in(i))
  end subroutine
end module
program component_callee
  use m
  implicit none
  type(n) :: x[*]
  integer, allocatable :: b(:)
  integer :: i, me, np, k
  me = this_image(); np = num_images(); k = mod(me, np) + 1
  do i = 1, 200
    call make(x, 3)
    if (me == 1) x%in(2)%a = [1, 2, i]
    if (me == 1) allocate(x%in(3)%a(4))
    if (me == 1) x%in(3)%a = 7
    if (me == 1) x%in(3)%s = 3d0
    sync all
    b = x[1]%in(2)%a
    if (any(b /= [1,2,i])) error stop 1
    if (x[1]%in(3)%a(2) /= 7) error stop 2
    if (x[1]%in(3)%s /= 3d0) error stop 3
    if (k /= 1) then
      if (allocated(x[k]%in(2)%a)) error stop 4
    end if
    sync all
    if (me == 1) deallocate(x%in(2)%a)
  end do
  sync all
  if (me == 1) print '(a)', 'passed'
end program
