#include "@header@"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    NX = @nx@, /* states */
    NU = @nu@, /* inputs */
    NW = @nw@, /* of them, given speeds whose rates come with them */
    NF = @nf@, /* of them, forces */
    NY = @ny@, /* outputs that are no states */
    NP = @np@, /* parameters */
    NE = @ne@, /* event indicators */
    FIRST_X = 1,
    FIRST_XDOT = FIRST_X + NX,
    FIRST_U = FIRST_XDOT + NX,
    FIRST_Y = FIRST_U + NU,
    FIRST_P = FIRST_Y + NY,
    BASIS = FIRST_P + NP,
    MARGIN = BASIS + 1
};

#define TOKEN "@token@"

/* a residual above this is projected on the constraints in event mode */
static const double LARGEST_RESIDUAL = @residual@;
/* longest internal step of co-simulation, s */
static const double LONGEST_STEP = @step@;
/* largest local error of a pair of steps, of 1 + the size of a state */
static const double TOLERANCE = @tolerance@;
/* shortest step over the longest, taken whatever its error is, as across a jump of a force; so
 * many in a row are no jump */
static const double SHORTEST = 1.0 / 16384.0;
enum { LARGEST_COUNT = 1000, TOO_STIFF = -1000 };

@printed@
typedef struct {
    double time;
    int basis;
    double x[NX + 1], u[NU + 1], p[NP + 1];
    double span; /* length of the next pair of steps, 0 for the longest */
    int is_evaluated;
    double xdot[NX + 1], y[NY + 1];
    int code;
} Values;

typedef struct {
    Values values;
    void *environment;
    void (*log)(void *environment, const char *name, int status, const char *message);
    void *logger;
    char name[64];
} Instance;

static const char *message_of(int code)
{
    switch (code) {
    case @N@_BASIS_ENDS: return "the independent speeds are near their end";
    case @N@_SINGULAR: return "the independent speeds do not determine the motion here";
    case @N@_NOT_FINITE: return "a result is nan or infinite";
    case @N@_STEP_TOO_LONG: return "a step leaps over the end of its independent speeds";
    case TOO_STIFF: return "the motion needs steps too short for co-simulation";
    case @N@_OFF_CONSTRAINTS: return "the state is too far off the constraints";
    default: return "there is no such basis";
    }
}

static void reset(Values *s)
{
    memset(s, 0, sizeof *s);
    @P@_start(&s->basis, s->x);
    memcpy(s->p, &@P@_nominal, sizeof(double) * NP);
}

static const @P@_parameters *parameters_of(const Values *s)
{
    return (const @P@_parameters *)(const void *)s->p;
}

static int evaluate(Values *s)
{
    if (!s->is_evaluated) {
        s->code = @P@_rates(s->basis, s->time, s->x, s->u, parameters_of(s), s->xdot);
        outputs_of(s->basis, s->time, s->x, s->u, parameters_of(s), s->y);
        s->is_evaluated = 1;
    }
    return s->code;
}

static double margin_of(const Values *s)
{
    return @P@_margin(s->basis, s->time, s->x, parameters_of(s));
}

/* whether results hold */
static int is_good(int code)
{
    return code == @N@_OK || code == @N@_BASIS_ENDS;
}

/* 0, or 1 if there is no such variable; *code is that of the evaluation */
static int get_real(Values *s, unsigned int reference, double *value, int *code)
{
    const int k = (int)reference;
    *code = @N@_OK;
    if (k == 0) *value = s->time;
    else if (k < FIRST_XDOT) *value = s->x[k - FIRST_X];
    else if (k < FIRST_U) {
        *code = evaluate(s);
        *value = s->xdot[k - FIRST_XDOT];
    } else if (k < FIRST_Y) *value = s->u[k - FIRST_U];
    else if (k < FIRST_P) {
        *code = evaluate(s);
        *value = s->y[k - FIRST_Y];
    } else if (k < BASIS) *value = s->p[k - FIRST_P];
    else if (k == MARGIN && NE) {
        *value = margin_of(s);
    } else return 1;
    return 0;
}

static int set_real(Values *s, unsigned int reference, double value)
{
    const int k = (int)reference;
    s->is_evaluated = 0;
    if (k >= FIRST_X && k < FIRST_XDOT) s->x[k - FIRST_X] = value;
    else if (k >= FIRST_U && k < FIRST_Y) s->u[k - FIRST_U] = value;
    else if (k >= FIRST_P && k < BASIS) s->p[k - FIRST_P] = value;
    else return 1;
    return 0;
}

/* projection above a residual, and change of basis where it ends */
static int update(Values *s, int *is_changed)
{
    const @P@_parameters *p = parameters_of(s);
    int code, before = s->basis;
    *is_changed = 0;
    if (@P@_residual(s->basis, s->time, s->x, s->u, p) > LARGEST_RESIDUAL) {
        code = @P@_project(s->basis, s->time, s->x, s->u, p);
        if (code != @N@_OK) return code;
        *is_changed = 1;
    }
    /* an event may be found on the near side of its zero */
    if (!(margin_of(s) >= 0.01)) {
        code = @P@_change_basis(&s->basis, s->time, s->x, s->u, p);
        if (code != @N@_OK) return code;
        if (s->basis != before) *is_changed = 1;
    }
    if (*is_changed) s->is_evaluated = 0;
    return @N@_OK;
}

/* steps of one length; speed inputs move at their rates */
static int take(Values *s, double step, int count)
{
    int i, j, code = @N@_OK;
    for (i = 0; i < count && code == @N@_OK; ++i) {
        code = @P@_step(&s->basis, s->time, step, s->x, s->u, parameters_of(s));
        for (j = NF; j < NF + NW; ++j) s->u[j] += step * s->u[j + NW];
        s->time += step;
    }
    return code;
}

/* largest error of a pair of steps over what is allowed, from one step of the same length: its
 * error is 16 times as large; infinite where that has none */
static double error_of(const Values *pair, const Values *one)
{
    double largest = 0.0;
    int j;
    /* independent speeds of two bases are not the same quantities */
    for (j = 0; j < (pair->basis == one->basis ? NX : 0); ++j) {
        const double off = fabs(pair->x[j] - one->x[j]) / 15.0;
        const double share = off / (TOLERANCE * (1.0 + fabs(pair->x[j])));
        if (!(share <= largest)) largest = share;
    }
    return largest;
}

/* pairs of steps to a later time, as long as their errors allow; shorter where a basis ends */
static int advance(Values *s, double step)
{
    const double end = s->time + step, longest = 2.0 * LONGEST_STEP, least = longest * SHORTEST;
    int bad = 0;
    if (!(s->span > 0.0)) s->span = longest;
    while (s->time < end) {
        Values pair = *s, one = *s;
        const double left = end - s->time, parts = ceil(left / s->span - 1e-9);
        const double now = parts > 1.0 ? left / parts : left;
        const int code = take(&pair, 0.5 * now, 2);
        double error = HUGE_VAL, factor, next;
        if (code == @N@_OK && take(&one, now, 1) == @N@_OK) error = error_of(&pair, &one);
        /* of order 4: the error of a step goes with the fifth power of its length */
        factor = error > 0.0 ? 0.9 * pow(error, -0.2) : 4.0;
        next = now * (factor > 4.0 ? 4.0 : factor > 0.1 ? factor : 0.1);
        next = next > longest ? longest : next > least ? next : least;
        if (now > least && !(error <= 1.0)) {
            s->span = next;
            continue;
        }
        if (code == @N@_OK) bad = error <= 1.0 ? 0 : bad + 1;
        if (code != @N@_OK || bad > LARGEST_COUNT) {
            s->is_evaluated = 0;
            return code == @N@_OK ? TOO_STIFF : code;
        }
        /* a pair that the end of a step cuts short says little of the next */
        pair.span = now >= 0.5 * s->span ? next : s->span;
        pair.is_evaluated = 0;
        pair.time = parts > 1.0 ? s->time + now : end;
        *s = pair;
    }
    return @N@_OK;
}

/* derivatives of state derivatives and outputs by states and inputs; 1 for others */
static int directional(Values *s, const unsigned int *unknowns, size_t num_unknowns,
    const unsigned int *knowns, size_t num_knowns, const double *seed, double *result)
{
    double dx[NX + 1] = { 0 }, du[NU + 1] = { 0 }, out[NX + NY + 1] = { 0 };
    size_t j;
    for (j = 0; j < num_knowns; ++j) {
        const int k = (int)knowns[j];
        if (k >= FIRST_X && k < FIRST_XDOT) dx[k - FIRST_X] = seed[j];
        else if (k >= FIRST_U && k < FIRST_Y) du[k - FIRST_U] = seed[j];
        else return 1;
    }
    directional_of(s->basis, s->time, s->x, s->u, dx, du, parameters_of(s), out);
    for (j = 0; j < num_unknowns; ++j) {
        const int k = (int)unknowns[j];
        if (k >= FIRST_X && k < FIRST_XDOT) result[j] = dx[k - FIRST_X];
        else if (k >= FIRST_XDOT && k < FIRST_U) result[j] = out[k - FIRST_XDOT];
        else if (k >= FIRST_Y && k < FIRST_P) result[j] = out[NX + k - FIRST_Y];
        else return 1;
    }
    return 0;
}

static Instance *new_instance(const char *name, const char *token)
{
    Instance *made;
    if (!token || strcmp(token, TOKEN) != 0) return NULL;
    made = (Instance *)calloc(1, sizeof *made);
    if (!made) return NULL;
    if (name) strncpy(made->name, name, sizeof made->name - 1);
    reset(&made->values);
    return made;
}

/* OK, or the status that a code means, with its message */
static int status_of(Instance *i, int code, int ok, int failed)
{
    if (is_good(code)) return ok;
    if (i->log) i->log(i, i->name, failed, message_of(code));
    return failed;
}
