struct undefined object;
