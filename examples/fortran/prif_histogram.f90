! Counting into bins that are dealt out to the images: atomic additions to others' memory, and an event on which image 1 learns that all
! have counted. Both by the runtime interface PRIF, for compilers that do not know atomics and events of coarrays yet.
program prif_histogram
  use, intrinsic :: iso_c_binding
  use prif
  implicit none
  integer, parameter :: bins = 64, values = 20000
  integer(c_size_t), parameter :: word = 8
  type(prif_coarray_handle) :: counters, done
  procedure(prif_coarray_cleanup_interface), pointer :: nothing_to_clean
  type(prif_event_type) :: fresh
  type(prif_event_type), pointer :: event
  type(c_ptr) :: memory, event_memory
  integer(c_int64_t), pointer :: own(:)
  integer(PRIF_ATOMIC_INT_KIND) :: count
  integer(c_int64_t) :: state, expected(0:bins - 1)
  integer(c_int) :: me, images, stat
  integer :: i, bin

  call prif_init(stat)
  if (stat /= 0) error stop "prif_init"
  call prif_this_image_no_coarray(this_image=me)
  call prif_num_images(images)
  nullify (nothing_to_clean)
  call prif_allocate_coarray([1_c_int64_t], [integer(c_int64_t) ::], bins * word, nothing_to_clean, counters, memory)
  call c_f_pointer(memory, own, [bins])
  own = 0
  call prif_allocate_coarray([1_c_int64_t], [integer(c_int64_t) ::], int(storage_size(fresh) / 8, c_size_t), &
                             nothing_to_clean, done, event_memory)
  call c_f_pointer(event_memory, event)
  event = fresh
  call prif_sync_all()

  ! One sequence for all: every image counts its share of it, and all know the whole.
  state = 4711
  expected = 0
  do i = 1, values
    state = mod(state * 16807_c_int64_t, 2147483647_c_int64_t)
    bin = int(mod(state / 7, int(bins, c_int64_t)))
    expected(bin) = expected(bin) + 1
    if (mod(i, images) == me - 1) then
      call prif_atomic_add(int(mod(bin, images) + 1, c_int), counters, (bin / images) * word, 1_PRIF_ATOMIC_INT_KIND)
    end if
  end do
  call prif_event_post(1_c_int, done, 0_c_size_t)

  if (me == 1) then
    call prif_event_wait(c_loc(event), int(images, c_int64_t))
    do bin = 0, bins - 1
      call prif_atomic_ref_int(int(mod(bin, images) + 1, c_int), counters, (bin / images) * word, count)
      if (count /= expected(bin)) then
        write (*, '(a, i0, a, i0, a, i0)') "bin ", bin, ": ", count, " instead of ", expected(bin)
        call prif_error_stop(quiet=.false._c_bool, stop_code_int=1_c_int)
      end if
    end do
    write (*, '(a)') "verification: passed"
  end if
  call prif_sync_all()
  call prif_deallocate_coarray(done)
  call prif_deallocate_coarray(counters)
  call prif_stop(quiet=.true._c_bool)
end program
