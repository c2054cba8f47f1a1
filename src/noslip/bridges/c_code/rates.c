static int @P@_finite(const @real@ *values, int count)
{
    int k;
    for (k = 0; k < count; ++k)
        if (!isfinite(values[k])) return 0;
    return 1;
}

int @P@_rates(int basis, @real@ t, const @real@ *x, const @real@ *inputs,
    const @P@_parameters *p, @real@ *xdot)
{
    @real@ out[@nout@];
    int k;
    if (basis < 0 || basis >= @nb@) return @N@_NO_SUCH_BASIS;
    @P@_rates_of(basis, t, x, inputs, p, out);
    for (k = 0; k < @nx@; ++k) xdot[k] = out[k];
    if (!@P@_finite(out, @nx@)) return @N@_NOT_FINITE;
    return @P@_judge(basis, out + @nx@);
}

@real@ @P@_margin(int basis, @real@ t, const @real@ *x, const @P@_parameters *p)
{
    static const int counts[@nb@] = { @counts@ };
    @real@ m[@nm@] = { 0 }, least = INFINITY;
    int k;
    if (basis < 0 || basis >= @nb@) return -INFINITY;
    @P@_measures_of(basis, t, x, p, m);
    for (k = 0; k < counts[basis]; ++k) {
        if (!isfinite(m[k])) return -INFINITY;
        if (fabs@f@(m[k]) < least) least = fabs@f@(m[k]);
    }
    return least - @one@;
}

/* whether the speeds of a basis determine the motion at a margin */
static int @P@_within(@real@ margin)
{
    if (margin >= @zero@) return @N@_OK;
    return margin + @one@ > @near@ ? @N@_BASIS_ENDS : @N@_SINGULAR;
}

int @P@_speeds(int basis, @real@ t, const @real@ *x, const @real@ *inputs,
    const @P@_parameters *p, @real@ *v)
{
    if (basis < 0 || basis >= @nb@) return @N@_NO_SUCH_BASIS;
    @P@_speeds_of(basis, t, x, inputs, p, v);
    if (!@P@_finite(v, @N@_NUM_SPEEDS)) return @N@_NOT_FINITE;
    return @P@_within(@P@_margin(basis, t, x, p));
}

int @P@_generalized_forces(int basis, @real@ t, const @real@ *x, const @real@ *etadot,
    const @real@ *inputs, const @P@_parameters *p, @real@ *generalized)
{
    if (basis < 0 || basis >= @nb@) return @N@_NO_SUCH_BASIS;
    @P@_generalized_of(basis, t, x, etadot, inputs, p, generalized);
    if (!@P@_finite(generalized, @nf@)) return @N@_NOT_FINITE;
    return @P@_within(@P@_margin(basis, t, x, p));
}

int @P@_change_basis(int *basis, @real@ t, @real@ *x, const @real@ *inputs,
    const @P@_parameters *p)
{
    @real@ v[@nv@] = { 0 }, eta[@nf@ + 1] = { 0 }, margin, most = -INFINITY;
    int b, k, best = -1;
    if (*basis < 0 || *basis >= @nb@) return @N@_NO_SUCH_BASIS;
    for (b = 0; b < @nb@; ++b) {
        margin = @P@_margin(b, t, x, p);
        if (margin > most) {
            best = b;
            most = margin;
        }
    }
    if (best < 0 || most + @one@ < @near@) return @N@_SINGULAR;
    if (best == *basis) return @N@_OK;
    if (@P@_within(@P@_margin(*basis, t, x, p)) == @N@_SINGULAR) return @N@_SINGULAR;
    @P@_speeds_of(*basis, t, x, inputs, p, v);
    @P@_eta_of(best, t, x, v, p, eta);
    if (!@P@_finite(eta, @nf@)) return @N@_NOT_FINITE;
    for (k = 0; k < @nf@; ++k) x[@nq@ + k] = eta[k];
    *basis = best;
    return @N@_OK;
}
