! Heat in a rod, cut into as many pieces as there are images. At each step an image puts its edges into its neighbours. Compilers that refuse
! references to other images' coarrays can do so by calling the runtime interface that they would call, PRIF.
program prif_heat
  use, intrinsic :: iso_c_binding
  use prif
  implicit none
  integer(c_int64_t), parameter :: cells = 50
  integer, parameter :: steps = 200
  integer(c_size_t), parameter :: word = 8
  real(c_double), parameter :: flow = 0.2_c_double
  type(prif_coarray_handle) :: handle
  procedure(prif_coarray_cleanup_interface), pointer :: nothing_to_clean
  type(c_ptr) :: memory
  ! Edges arrive in (side, parity of the step): 1 is from the left, 2 from the right.
  real(c_double), pointer :: edges(:, :)
  real(c_double), target :: u(cells)
  real(c_double), allocatable :: all(:), old(:)
  real(c_double) :: left, right, before, now, worst
  integer(c_int) :: me, images, stat
  integer(c_int64_t) :: first, i
  integer :: step, parity

  call prif_init(stat)
  if (stat /= 0) error stop "prif_init"
  call prif_this_image_no_coarray(this_image=me)
  call prif_num_images(images)
  nullify (nothing_to_clean)
  call prif_allocate_coarray([1_c_int64_t], [integer(c_int64_t) ::], 4 * word, nothing_to_clean, handle, memory)
  call c_f_pointer(memory, edges, [2, 2])
  edges = 0

  first = (me - 1) * cells
  u = [(start(first + i), i = 1, cells)]
  call prif_sync_all()
  do step = 1, steps
    parity = mod(step, 2)
    if (me > 1) call prif_put(me - 1, handle, place(2, parity), c_loc(u(1)), word)
    if (me < images) call prif_put(me + 1, handle, place(1, parity), c_loc(u(cells)), word)
    call prif_sync_all()
    left = merge(edges(1, parity + 1), u(1), me > 1)
    right = merge(edges(2, parity + 1), u(cells), me < images)
    before = left
    do i = 1, cells
      now = u(i)
      if (i < cells) then
        u(i) = now + flow * (before - 2 * now + u(i + 1))
      else
        u(i) = now + flow * (before - 2 * now + right)
      end if
      before = now
    end do
  end do

  ! The whole rod, by this image alone.
  allocate (all(0:images * cells + 1), old(0:images * cells + 1))
  all(1:images * cells) = [(start(i), i = 1, images * cells)]
  do step = 1, steps
    all(0) = all(1)
    all(images * cells + 1) = all(images * cells)
    old = all
    do i = 1, images * cells
      all(i) = old(i) + flow * (old(i - 1) - 2 * old(i) + old(i + 1))
    end do
  end do
  worst = maxval(abs(u - all(first + 1:first + cells)))
  if (worst > 1e-12_c_double) then
    write (*, '(a, i0, a, es9.2)') "image ", me, " is wrong by ", worst
    call prif_error_stop(quiet=.false._c_bool, stop_code_int=1_c_int)
  end if
  call prif_sync_all()
  if (me == 1) write (*, '(a)') "verification: passed"
  call prif_deallocate_coarray(handle)
  call prif_stop(quiet=.true._c_bool)

contains

  pure real(c_double) function start(at)
    integer(c_int64_t), intent(in) :: at
    start = real(mod(at * 37, 101_c_int64_t), c_double)
  end function

  pure integer(c_size_t) function place(side, parity)
    integer, intent(in) :: side, parity
    place = (2 * parity + side - 1) * word
  end function
end program
