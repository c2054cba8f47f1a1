int @P@_control(int basis, @real@ t, @real@ step, const @real@ *x, const @P@_parameters *p,
    @P@_controller *controller, @real@ *inputs)
{
    @real@ k[4][@ninputs@ + @some_z@], z[@some_z@] = { 0 }, later[@some_z@] = { 0 };
    int j, stage;
    if (basis < 0 || basis >= @nb@) return @N@_NO_SUCH_BASIS;
    for (j = 0; j < @some_z@; ++j) z[j] = later[j] = controller->z[j];@update@
    @P@_law_of(basis, t, x, z, p, k[0]);
    for (j = 0; j < @N@_NUM_INPUTS; ++j) inputs[j] = k[0][j];
    for (stage = 1; stage < 4; ++stage) {
        const @real@ h = stage == 3 ? step : @half@ * step;
        for (j = 0; j < @nz@; ++j) later[j] = z[j] + h * k[stage - 1][@ninputs@ + j];
        @P@_law_of(basis, t + h, x, later, p, k[stage]);
    }
    for (j = 0; j < @nz@; ++j)
        z[j] += step / @six@ * (k[0][@ninputs@ + j] + @two@ * (k[1][@ninputs@ + j]
            + k[2][@ninputs@ + j]) + k[3][@ninputs@ + j]);
    if (!@P@_finite(inputs, @N@_NUM_INPUTS) || !@P@_finite(z, @nz@)) return @N@_NOT_FINITE;
    for (j = 0; j < @nz@; ++j) controller->z[j] = z[j];
    return @P@_margin(basis, t, x, p) >= @zero@ ? @N@_OK : @N@_BASIS_ENDS;
}
