static int inner_part = 4;
