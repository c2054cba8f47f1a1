@real@ @P@_residual(int basis, @real@ t, const @real@ *x, const @real@ *inputs,
    const @P@_parameters *p)
{
    (void)t;
    (void)x;
    (void)inputs;
    (void)p;
    return basis < 0 || basis >= @nb@ ? INFINITY : @zero@;
}

int @P@_project(int basis, @real@ t, @real@ *x, const @real@ *inputs, const @P@_parameters *p)
{
    (void)t;
    (void)x;
    (void)inputs;
    (void)p;
    return basis < 0 || basis >= @nb@ ? @N@_NO_SUCH_BASIS : @N@_OK;
}
