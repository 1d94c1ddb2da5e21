! Pi by the midpoint rule, and statistics of a sample of random numbers: every image takes its share, and collectives put them together.
program pi
  use, intrinsic :: iso_fortran_env, only: int64, real64
  implicit none
  integer, parameter :: samples = 10000
  integer :: me, images, code
  integer(int64) :: steps, i, state, total
  real(real64) :: x, part, answer, width, lowest, highest, mean, variance, value
  character(len=32) :: word
  logical :: right

  me = this_image()
  images = num_images()
  steps = 2000000
  if (command_argument_count() > 0) then
    call get_command_argument(1, word)
    read (word, *, iostat=code) steps
    if (code /= 0 .or. steps < 1000) error stop "pi [STEPS]: at least 1000"
  end if

  width = 1.0_real64 / real(steps, real64)
  part = 0
  do i = me, steps, images
    x = (real(i, real64) - 0.5_real64) * width
    part = part + 4.0_real64 / (1.0_real64 + x * x)
  end do
  answer = part * width
  call co_sum(answer)
  right = abs(answer - acos(-1.0_real64)) < 1e-6_real64

  ! One sequence of numbers, dealt out to the images in turn: the results do not depend on how many there are.
  state = 12345
  lowest = 2
  highest = -1
  mean = 0
  variance = 0
  total = 0
  do i = 1, samples
    state = mod(state * 16807_int64, 2147483647_int64)
    if (mod(i, int(images, int64)) /= me - 1) cycle
    value = real(state, real64) / 2147483647.0_real64
    lowest = min(lowest, value)
    highest = max(highest, value)
    mean = mean + value
    variance = variance + value * value
    total = total + 1
  end do
  call co_min(lowest)
  call co_max(highest)
  call co_sum(mean)
  call co_sum(variance)
  call co_sum(total)
  mean = mean / samples
  variance = variance / samples - mean * mean
  right = right .and. total == samples .and. lowest > 0 .and. lowest < 0.01_real64 .and. highest > 0.99_real64 &
          .and. highest < 1 .and. abs(mean - 0.5_real64) < 0.01_real64 .and. abs(variance - 1.0_real64 / 12) < 0.01_real64

  if (me == 1) then
    write (*, '(a, f14.11, a, i0, a)') "pi is about ", answer, " by ", images, " images"
    write (*, '(a, 4f9.5)') "sample: least, greatest, mean, variance ", lowest, highest, mean, variance
  end if
  code = merge(0, 1, right)
  call co_max(code)
  if (code /= 0) error stop "verification: failed"
  if (me == 1) write (*, '(a)') "verification: passed"
end program
