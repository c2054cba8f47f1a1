
    @P@_update_of(basis, t, x, z, p, later);
    for (j = 0; j < @nz@; ++j) z[j] = later[j];
