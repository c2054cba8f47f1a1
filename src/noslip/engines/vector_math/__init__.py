"""Elementary functions of vectors as LLVM text: sine to hyperbolic tangent, without library calls.

Every lane is computed alike and for itself, so its bits do not depend on the other lanes. The
errors are those of the table, in units in the last place (ulp) of the true value; the tests find
them with many digits. Signs of zeros, infinities and nan are those of the C library, which also
gives sine, cosine and tangent of angles beyond FAR.

    sin, cos, tan, exp, expm1, log, atan, atan2, tanh     below 1 ulp
    asin, acos, sinh, cosh                                below 1.5 ulp

The method is the usual one: an argument is reduced to a small interval with more digits than a
double has, a polynomial is evaluated there, and the result is put together again. The polynomials
are those with the least largest error on their interval, found by Remez' exchange with 50 digits.

What is not here is taken from the C library, lane by lane.

To add one: write it as a function of a :class:`Writer` and vectors, and give it a line in BODIES of
`functions`.
"""
