/* whether measures of a basis, from what they were before, lead over its end */
static int @P@_leaps(int basis, const @real@ *m, const @real@ *before, @real@ nearest)
{
    static const int counts[@nb@] = { @counts@ };
    int k;
    for (k = 0; k < counts[basis]; ++k)
        if (!(m[k] * before[k] > @zero@) || fabs@f@(m[k]) < nearest) return 1;
    return 0;
}

int @P@_step(int *basis, @real@ t, @real@ step, @real@ *x, const @real@ *inputs,
    const @P@_parameters *p)
{
    @real@ k[4][@nout@], first[@nx@ + 1], y[@nx@ + 1], u[@some_inputs@], m[@nm@] = { 0 }, later;
    int code, stage, j, b = *basis;
    if (b < 0 || b >= @nb@) return @N@_NO_SUCH_BASIS;
    for (j = 0; j < @nx@; ++j) first[j] = x[j];
    if (!(@P@_margin(b, t, first, p) >= @zero@)) {
        code = @P@_change_basis(&b, t, first, inputs, p);
        if (code != @N@_OK) return code;
    }
    for (j = 0; j < @some_inputs@; ++j) u[j] = @zero@;
    for (stage = 0; stage < 4; ++stage) {
        later = stage == 0 ? @zero@ : stage == 3 ? step : @half@ * step;
        for (j = 0; j < @nx@; ++j)
            y[j] = stage == 0 ? first[j] : first[j] + later * k[stage - 1][j];
        for (j = 0; j < @N@_NUM_INPUTS; ++j) u[j] = inputs[j];
        for (j = @nu@; j < @nu@ + @nw@; ++j) u[j] += later * inputs[j + @nw@];
        @P@_rates_of(b, t + later, y, u, p, k[stage]);
        if (!@P@_finite(k[stage], @nx@)) return @N@_NOT_FINITE;
        if (@P@_leaps(b, k[stage] + @nx@, k[0] + @nx@, @limit@)) return @N@_STEP_TOO_LONG;
        if (@P@_judge(b, k[stage] + @nx@) == @N@_SINGULAR) return @N@_SINGULAR;
    }
    for (j = 0; j < @nx@; ++j)
        y[j] = first[j] + step / @six@ * (k[0][j] + @two@ * (k[1][j] + k[2][j]) + k[3][j]);
    code = @P@_project(b, t + step, y, u, p);
    if (code != @N@_OK) return code;
    @P@_measures_of(b, t + step, y, p, m);
    if (@P@_leaps(b, m, k[0] + @nx@, @near@)) return @N@_STEP_TOO_LONG;
    if (!(@P@_margin(b, t + step, y, p) >= @zero@)) {
        code = @P@_change_basis(&b, t + step, y, u, p);
        if (code != @N@_OK) return code;
    }
    for (j = 0; j < @nx@; ++j) x[j] = y[j];
    *basis = b;
    return @N@_OK;
}
