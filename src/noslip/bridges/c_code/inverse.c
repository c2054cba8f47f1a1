int @P@_inverse_dynamics(int basis, @real@ t, const @real@ *x, const @real@ *etadot,
    const @real@ *inputs, const @P@_parameters *p, @real@ *forces)
{
    if (basis < 0 || basis >= @nb@) return @N@_NO_SUCH_BASIS;
    @P@_inverse_of(basis, t, x, etadot, inputs, p, forces);
    if (!@P@_finite(forces, @nu@)) return @N@_NOT_FINITE;
    return @P@_within(@P@_margin(basis, t, x, p));
}
