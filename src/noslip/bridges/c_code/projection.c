@real@ @P@_residual(int basis, @real@ t, const @real@ *x, const @real@ *inputs,
    const @P@_parameters *p)
{
    @real@ out[@nx@ + 1] = { 0 };
    if (basis < 0 || basis >= @nb@) return INFINITY;
    @P@_projected_of(basis, t, x, inputs, p, out);
    return out[@nx@];
}

int @P@_project(int basis, @real@ t, @real@ *x, const @real@ *inputs, const @P@_parameters *p)
{
    @real@ y[@nx@ + 1] = { 0 }, out[@nx@ + 1] = { 0 }, size = @one@;
    int k, turn;
    if (basis < 0 || basis >= @nb@) return @N@_NO_SUCH_BASIS;
    for (k = 0; k < @nx@; ++k) y[k] = x[k];
    for (k = 0; k < @nq@; ++k)
        if (fabs@f@(x[k]) > size) size = fabs@f@(x[k]);
    for (turn = 0; turn < 8; ++turn) {
        @P@_projected_of(basis, t, y, inputs, p, out);
        if (!@P@_finite(out, @nx@ + 1)) return @N@_NOT_FINITE;
        if (out[@nx@] <= @tol@ * size) {
            for (k = 0; k < @nx@; ++k) x[k] = y[k];
            return @N@_OK;
        }
        for (k = 0; k < @nx@; ++k) y[k] = out[k];
    }
    return @N@_OFF_CONSTRAINTS;
}
