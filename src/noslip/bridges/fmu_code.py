"""The C code of FMUs around `c_source.py`: FMI 3.0 (model exchange, co-simulation) and FMI 2.0.

[FMI 3.0.2], [FMI 2.0.4]: types and functions are declared here as the standards print them, so that
the sources need no other files. @name@ stands for what a model fills in.

Values are found by their references: the time is 0, then come states, their derivatives, inputs,
outputs, parameters, the number of the basis, and the margin of the basis (its event indicator).
"""

from __future__ import annotations

CORE = """\
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
    case @N@_SINGULAR: return "no independent speeds determine the motion here";
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
"""

#: What every function begins with, for either version.
EXPORT = """\
#if defined(@F@_FUNCTION_PREFIX)
#define FMI_PASTE_(a, b) a##b
#define FMI_PASTE(a, b) FMI_PASTE_(a, b)
#define FMI(name) FMI_PASTE(@F@_FUNCTION_PREFIX, name)
#else
#define FMI(name) name
#endif
#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#elif defined(__GNUC__)
#define EXPORT __attribute__((visibility("default")))
#else
#define EXPORT
#endif
"""

#: Saving and restoring states, the same in both versions but for the spelling of names.
STATES = """\
EXPORT @fmi@Status FMI(@fmi@Get@State@)(void *instance, void **state)
{
    if (!*state) *state = malloc(sizeof(Values));
    if (!*state) return @fmi@Error;
    memcpy(*state, VALUES, sizeof(Values));
    return @fmi@OK;
}

EXPORT @fmi@Status FMI(@fmi@Set@State@)(void *instance, void *state)
{
    memcpy(VALUES, state, sizeof(Values));
    return @fmi@OK;
}

EXPORT @fmi@Status FMI(@fmi@Free@State@)(void *instance, void **state)
{
    (void)instance;
    free(*state);
    *state = NULL;
    return @fmi@OK;
}

EXPORT @fmi@Status FMI(@fmi@Serialized@State@Size)(void *instance, void *state, size_t *size)
{
    (void)instance; (void)state;
    *size = sizeof(Values);
    return @fmi@OK;
}

EXPORT @fmi@Status FMI(@fmi@Serialize@State@)(void *instance, void *state, @Byte@ bytes[],
    size_t size)
{
    (void)instance;
    if (size != sizeof(Values)) return @fmi@Error;
    memcpy(bytes, state, size);
    return @fmi@OK;
}

EXPORT @fmi@Status FMI(@fmi@@Deserialize@@State@)(void *instance, const @Byte@ bytes[], size_t size,
    void **state)
{
    (void)instance;
    if (size != sizeof(Values)) return @fmi@Error;
    if (!*state) *state = malloc(sizeof(Values));
    if (!*state) return @fmi@Error;
    memcpy(*state, bytes, size);
    if (((Values *)*state)->basis < 0 || ((Values *)*state)->basis >= @N@_NUM_BASES)
        return @fmi@Error;
    return @fmi@OK;
}
"""

#: What `STATES` spells differently in each version.
SPELLINGS = {
    2: {"fmi": "fmi2", "State": "FMUstate", "Deserialize": "DeSerialize", "Byte": "char"},
    3: {"fmi": "fmi3", "State": "FMUState", "Deserialize": "Deserialize", "Byte": "uint8_t"},
}

FMI3 = """\
#include <stdbool.h>
#include <stdint.h>

typedef enum { fmi3OK, fmi3Warning, fmi3Discard, fmi3Error, fmi3Fatal } fmi3Status;
typedef void (*LogMessage)(void *environment, fmi3Status status, const char *category,
    const char *message);
typedef void (*Callback)(void);

static void log_message(void *given, const char *name, int status, const char *message)
{
    Instance *i = (Instance *)given;
    LogMessage send;
    (void)name;
    memcpy(&send, &i->logger, sizeof send);
    if (send) send(i->environment, (fmi3Status)status, "logStatusError", message);
}

static Instance *instantiate(const char *name, const char *token, void *environment,
    LogMessage send)
{
    Instance *i = new_instance(name, token);
    if (!i) {
        if (send)
            send(environment, fmi3Error, "logStatusError", "the instantiation token is another's");
        return NULL;
    }
    i->environment = environment;
    memcpy(&i->logger, &send, sizeof send);
    i->log = log_message;
    return i;
}

#define VALUES (&((Instance *)instance)->values)
#define STATUS(code) ((fmi3Status)status_of((Instance *)instance, (code), fmi3OK, fmi3Error))

EXPORT const char *FMI(fmi3GetVersion)(void) { return "3.0"; }

EXPORT fmi3Status FMI(fmi3SetDebugLogging)(void *instance, bool on, size_t count,
    const char *const categories[])
{
    (void)instance; (void)on; (void)count; (void)categories;
    return fmi3OK;
}

EXPORT void *FMI(fmi3InstantiateModelExchange)(const char *name, const char *token,
    const char *resources, bool visible, bool logging, void *environment, LogMessage send)
{
    (void)resources; (void)visible; (void)logging;
    return instantiate(name, token, environment, send);
}

EXPORT void *FMI(fmi3InstantiateCoSimulation)(const char *name, const char *token,
    const char *resources, bool visible, bool logging, bool events, bool early,
    const uint32_t required[], size_t num_required, void *environment, LogMessage send,
    Callback intermediate)
{
    (void)resources; (void)visible; (void)logging; (void)events; (void)early; (void)required;
    (void)num_required; (void)intermediate;
    return instantiate(name, token, environment, send);
}

EXPORT void *FMI(fmi3InstantiateScheduledExecution)(const char *name, const char *token,
    const char *resources, bool visible, bool logging, void *environment, LogMessage send,
    Callback clock, Callback lock, Callback unlock)
{
    (void)name; (void)token; (void)resources; (void)visible; (void)logging; (void)environment;
    (void)send; (void)clock; (void)lock; (void)unlock;
    return NULL;
}

EXPORT void FMI(fmi3FreeInstance)(void *instance) { free(instance); }

EXPORT fmi3Status FMI(fmi3EnterInitializationMode)(void *instance, bool has_tolerance,
    double tolerance, double start, bool has_stop, double stop)
{
    (void)has_tolerance; (void)tolerance; (void)has_stop; (void)stop;
    VALUES->time = start;
    VALUES->is_evaluated = 0;
    return fmi3OK;
}

EXPORT fmi3Status FMI(fmi3ExitInitializationMode)(void *instance)
{
    return STATUS(evaluate(VALUES));
}

EXPORT fmi3Status FMI(fmi3Reset)(void *instance) { reset(VALUES); return fmi3OK; }

#define ALWAYS(name, status) \\
    EXPORT fmi3Status FMI(name)(void *instance) { (void)instance; return status; }
ALWAYS(fmi3EnterEventMode, fmi3OK)
ALWAYS(fmi3Terminate, fmi3OK)
ALWAYS(fmi3EnterContinuousTimeMode, fmi3OK)
ALWAYS(fmi3EnterStepMode, fmi3OK)
ALWAYS(fmi3EnterConfigurationMode, fmi3Error)
ALWAYS(fmi3ExitConfigurationMode, fmi3Error)
ALWAYS(fmi3EvaluateDiscreteStates, fmi3OK)

EXPORT fmi3Status FMI(fmi3GetFloat64)(void *instance, const uint32_t references[], size_t count,
    double values[], size_t num_values)
{
    size_t k;
    int code, worst = @N@_OK;
    if (count != num_values) return fmi3Error;
    for (k = 0; k < count; ++k) {
        if (get_real(VALUES, references[k], &values[k], &code)) return fmi3Error;
        if (!is_good(code)) worst = code;
    }
    return STATUS(worst);
}

EXPORT fmi3Status FMI(fmi3SetFloat64)(void *instance, const uint32_t references[], size_t count,
    const double values[], size_t num_values)
{
    size_t k;
    if (count != num_values) return fmi3Error;
    for (k = 0; k < count; ++k)
        if (set_real(VALUES, references[k], values[k])) return fmi3Error;
    return fmi3OK;
}

EXPORT fmi3Status FMI(fmi3GetInt32)(void *instance, const uint32_t references[], size_t count,
    int32_t values[], size_t num_values)
{
    size_t k;
    if (count != num_values) return fmi3Error;
    for (k = 0; k < count; ++k) {
        if (references[k] != BASIS) return fmi3Error;
        values[k] = VALUES->basis;
    }
    return fmi3OK;
}

/* there are no variables of these types */
#define NONE(name, type) \\
    EXPORT fmi3Status FMI(fmi3Get##name)(void *instance, const uint32_t references[], \\
        size_t count, type values[], size_t num_values) \\
    { \\
        (void)instance; (void)references; (void)values; (void)num_values; \\
        return count ? fmi3Error : fmi3OK; \\
    } \\
    NONE_SET(name, type)
#define NONE_SET(name, type) \\
    EXPORT fmi3Status FMI(fmi3Set##name)(void *instance, const uint32_t references[], \\
        size_t count, const type values[], size_t num_values) \\
    { \\
        (void)instance; (void)references; (void)values; (void)num_values; \\
        return count ? fmi3Error : fmi3OK; \\
    }
typedef const char *Text;
NONE(Float32, float)
NONE(Int8, int8_t)
NONE(UInt8, uint8_t)
NONE(Int16, int16_t)
NONE(UInt16, uint16_t)
NONE_SET(Int32, int32_t)
NONE(UInt32, uint32_t)
NONE(Int64, int64_t)
NONE(UInt64, uint64_t)
NONE(Boolean, bool)
NONE(String, Text)

EXPORT fmi3Status FMI(fmi3GetBinary)(void *instance, const uint32_t references[], size_t count,
    size_t sizes[], const uint8_t *values[], size_t num_values)
{
    (void)instance; (void)references; (void)sizes; (void)values; (void)num_values;
    return count ? fmi3Error : fmi3OK;
}

EXPORT fmi3Status FMI(fmi3SetBinary)(void *instance, const uint32_t references[], size_t count,
    const size_t sizes[], const uint8_t *const values[], size_t num_values)
{
    (void)instance; (void)references; (void)sizes; (void)values; (void)num_values;
    return count ? fmi3Error : fmi3OK;
}

EXPORT fmi3Status FMI(fmi3GetClock)(void *instance, const uint32_t references[], size_t count,
    bool values[])
{
    (void)instance; (void)references; (void)values;
    return count ? fmi3Error : fmi3OK;
}

EXPORT fmi3Status FMI(fmi3SetClock)(void *instance, const uint32_t references[], size_t count,
    const bool values[])
{
    (void)instance; (void)references; (void)values;
    return count ? fmi3Error : fmi3OK;
}

EXPORT fmi3Status FMI(fmi3GetNumberOfVariableDependencies)(void *instance, uint32_t reference,
    size_t *count)
{
    (void)instance; (void)reference; (void)count;
    return fmi3Error;
}

EXPORT fmi3Status FMI(fmi3GetVariableDependencies)(void *instance, uint32_t dependent,
    size_t elements[], uint32_t independents[], size_t others[], int kinds[], size_t count)
{
    (void)instance; (void)dependent; (void)elements; (void)independents; (void)others;
    (void)kinds; (void)count;
    return fmi3Error;
}

EXPORT fmi3Status FMI(fmi3GetDirectionalDerivative)(void *instance, const uint32_t unknowns[],
    size_t num_unknowns, const uint32_t knowns[], size_t num_knowns, const double seed[],
    size_t num_seed, double sensitivity[], size_t num_sensitivity)
{
    if (num_seed != num_knowns || num_sensitivity != num_unknowns) return fmi3Error;
    return directional(VALUES, unknowns, num_unknowns, knowns, num_knowns, seed, sensitivity)
        ? fmi3Error : fmi3OK;
}

EXPORT fmi3Status FMI(fmi3GetAdjointDerivative)(void *instance, const uint32_t unknowns[],
    size_t num_unknowns, const uint32_t knowns[], size_t num_knowns, const double seed[],
    size_t num_seed, double sensitivity[], size_t num_sensitivity)
{
    (void)instance; (void)unknowns; (void)num_unknowns; (void)knowns; (void)num_knowns;
    (void)seed; (void)num_seed; (void)sensitivity; (void)num_sensitivity;
    return fmi3Error;
}

/* there are no clocks */
#define NO_CLOCKS(name, arguments, unused) \\
    EXPORT fmi3Status FMI(name) arguments { (void)instance; unused return fmi3Error; }
NO_CLOCKS(fmi3GetIntervalDecimal, (void *instance, const uint32_t r[], size_t n, double a[],
    int q[]), (void)r; (void)n; (void)a; (void)q;)
NO_CLOCKS(fmi3GetIntervalFraction, (void *instance, const uint32_t r[], size_t n, uint64_t a[],
    uint64_t b[], int q[]), (void)r; (void)n; (void)a; (void)b; (void)q;)
NO_CLOCKS(fmi3GetShiftDecimal, (void *instance, const uint32_t r[], size_t n, double a[]),
    (void)r; (void)n; (void)a;)
NO_CLOCKS(fmi3GetShiftFraction, (void *instance, const uint32_t r[], size_t n, uint64_t a[],
    uint64_t b[]), (void)r; (void)n; (void)a; (void)b;)
NO_CLOCKS(fmi3SetIntervalDecimal, (void *instance, const uint32_t r[], size_t n, const double a[]),
    (void)r; (void)n; (void)a;)
NO_CLOCKS(fmi3SetIntervalFraction, (void *instance, const uint32_t r[], size_t n,
    const uint64_t a[], const uint64_t b[]), (void)r; (void)n; (void)a; (void)b;)
NO_CLOCKS(fmi3SetShiftDecimal, (void *instance, const uint32_t r[], size_t n, const double a[]),
    (void)r; (void)n; (void)a;)
NO_CLOCKS(fmi3SetShiftFraction, (void *instance, const uint32_t r[], size_t n, const uint64_t a[],
    const uint64_t b[]), (void)r; (void)n; (void)a; (void)b;)
NO_CLOCKS(fmi3ActivateModelPartition, (void *instance, uint32_t r, double t), (void)r; (void)t;)

EXPORT fmi3Status FMI(fmi3UpdateDiscreteStates)(void *instance, bool *again, bool *terminate,
    bool *nominals, bool *states, bool *has_next, double *next)
{
    int changed;
    const int code = update(VALUES, &changed);
    *again = false;
    *terminate = false;
    *nominals = false;
    *states = changed != 0;
    *has_next = false;
    *next = 0.0;
    return STATUS(code);
}

EXPORT fmi3Status FMI(fmi3CompletedIntegratorStep)(void *instance, bool no_return, bool *event,
    bool *terminate)
{
    Values *s = VALUES;
    (void)no_return;
    *event = @P@_residual(s->basis, s->time, s->x, s->u, parameters_of(s)) > LARGEST_RESIDUAL;
    *terminate = false;
    return fmi3OK;
}

EXPORT fmi3Status FMI(fmi3SetTime)(void *instance, double time)
{
    VALUES->time = time;
    VALUES->is_evaluated = 0;
    return fmi3OK;
}

EXPORT fmi3Status FMI(fmi3SetContinuousStates)(void *instance, const double states[], size_t count)
{
    if (count != NX) return fmi3Error;
    memcpy(VALUES->x, states, sizeof(double) * NX);
    VALUES->is_evaluated = 0;
    return fmi3OK;
}

EXPORT fmi3Status FMI(fmi3GetContinuousStates)(void *instance, double states[], size_t count)
{
    if (count != NX) return fmi3Error;
    memcpy(states, VALUES->x, sizeof(double) * NX);
    return fmi3OK;
}

EXPORT fmi3Status FMI(fmi3GetContinuousStateDerivatives)(void *instance, double rates[],
    size_t count)
{
    int code;
    if (count != NX) return fmi3Error;
    code = evaluate(VALUES);
    memcpy(rates, VALUES->xdot, sizeof(double) * NX);
    return STATUS(code);
}

EXPORT fmi3Status FMI(fmi3GetNominalsOfContinuousStates)(void *instance, double nominals[],
    size_t count)
{
    size_t k;
    (void)instance;
    if (count != NX) return fmi3Error;
    for (k = 0; k < count; ++k) nominals[k] = 1.0;
    return fmi3OK;
}

EXPORT fmi3Status FMI(fmi3GetEventIndicators)(void *instance, double indicators[], size_t count)
{
    if (count != NE) return fmi3Error;
    if (NE) indicators[0] = margin_of(VALUES);
    return fmi3OK;
}

EXPORT fmi3Status FMI(fmi3GetNumberOfEventIndicators)(void *instance, size_t *count)
{
    (void)instance;
    *count = NE;
    return fmi3OK;
}

EXPORT fmi3Status FMI(fmi3GetNumberOfContinuousStates)(void *instance, size_t *count)
{
    (void)instance;
    *count = NX;
    return fmi3OK;
}

EXPORT fmi3Status FMI(fmi3GetOutputDerivatives)(void *instance, const uint32_t references[],
    size_t count, const int32_t orders[], double values[], size_t num_values)
{
    (void)instance; (void)references; (void)count; (void)orders; (void)values; (void)num_values;
    return fmi3Error;
}

EXPORT fmi3Status FMI(fmi3DoStep)(void *instance, double time, double step, bool no_return,
    bool *event, bool *terminate, bool *early, double *last)
{
    int changed, code;
    (void)no_return;
    VALUES->time = time;
    code = update(VALUES, &changed);
    if (code == @N@_OK) code = advance(VALUES, step);
    *event = false;
    *terminate = false;
    *early = false;
    *last = VALUES->time;
    return STATUS(code);
}
"""

FMI2 = """\
typedef enum { fmi2OK, fmi2Warning, fmi2Discard, fmi2Error, fmi2Fatal, fmi2Pending } fmi2Status;
typedef void (*Logger)(void *environment, const char *name, fmi2Status status,
    const char *category, const char *message, ...);
typedef struct {
    Logger logger;
    void *(*allocate)(size_t count, size_t size);
    void (*release)(void *memory);
    void (*finished)(void *environment, fmi2Status status);
    void *environment;
} Callbacks;

static void log_message(void *given, const char *name, int status, const char *message)
{
    Instance *i = (Instance *)given;
    Logger send;
    memcpy(&send, &i->logger, sizeof send);
    if (send) send(i->environment, name, (fmi2Status)status, "logStatusError", "%s", message);
}

#define VALUES (&((Instance *)instance)->values)
#define STATUS(code) ((fmi2Status)status_of((Instance *)instance, (code), fmi2OK, fmi2Error))

EXPORT const char *FMI(fmi2GetTypesPlatform)(void) { return "default"; }
EXPORT const char *FMI(fmi2GetVersion)(void) { return "2.0"; }

EXPORT fmi2Status FMI(fmi2SetDebugLogging)(void *instance, int on, size_t count,
    const char *const categories[])
{
    (void)instance; (void)on; (void)count; (void)categories;
    return fmi2OK;
}

EXPORT void *FMI(fmi2Instantiate)(const char *name, int type, const char *guid,
    const char *resources, const Callbacks *functions, int visible, int logging)
{
    Instance *i;
    (void)resources; (void)visible; (void)logging;
    if (type != 1) return NULL;
    i = new_instance(name, guid);
    if (!i) return NULL;
    if (functions) {
        i->environment = functions->environment;
        memcpy(&i->logger, &functions->logger, sizeof functions->logger);
        i->log = log_message;
    }
    return i;
}

EXPORT void FMI(fmi2FreeInstance)(void *instance) { free(instance); }

EXPORT fmi2Status FMI(fmi2SetupExperiment)(void *instance, int has_tolerance, double tolerance,
    double start, int has_stop, double stop)
{
    (void)has_tolerance; (void)tolerance; (void)has_stop; (void)stop;
    VALUES->time = start;
    VALUES->is_evaluated = 0;
    return fmi2OK;
}

EXPORT fmi2Status FMI(fmi2EnterInitializationMode)(void *instance)
{
    (void)instance;
    return fmi2OK;
}

EXPORT fmi2Status FMI(fmi2ExitInitializationMode)(void *instance)
{
    return STATUS(evaluate(VALUES));
}

EXPORT fmi2Status FMI(fmi2Terminate)(void *instance) { (void)instance; return fmi2OK; }
EXPORT fmi2Status FMI(fmi2Reset)(void *instance) { reset(VALUES); return fmi2OK; }

EXPORT fmi2Status FMI(fmi2GetReal)(void *instance, const unsigned int vr[], size_t count,
    double value[])
{
    size_t k;
    int code, worst = @N@_OK;
    for (k = 0; k < count; ++k) {
        if (get_real(VALUES, vr[k], &value[k], &code)) return fmi2Error;
        if (!is_good(code)) worst = code;
    }
    return STATUS(worst);
}

EXPORT fmi2Status FMI(fmi2SetReal)(void *instance, const unsigned int vr[], size_t count,
    const double value[])
{
    size_t k;
    for (k = 0; k < count; ++k)
        if (set_real(VALUES, vr[k], value[k])) return fmi2Error;
    return fmi2OK;
}

EXPORT fmi2Status FMI(fmi2GetInteger)(void *instance, const unsigned int vr[], size_t count,
    int value[])
{
    size_t k;
    for (k = 0; k < count; ++k) {
        if (vr[k] != BASIS) return fmi2Error;
        value[k] = VALUES->basis;
    }
    return fmi2OK;
}

/* there are no variables of these types */
#define NONE(name, type) \\
    EXPORT fmi2Status FMI(name)(void *instance, const unsigned int vr[], size_t count, \\
        type value[]) \\
    { \\
        (void)instance; (void)vr; (void)value; \\
        return count ? fmi2Error : fmi2OK; \\
    }
typedef const char *Text;
NONE(fmi2GetBoolean, int)
NONE(fmi2GetString, Text)
NONE(fmi2SetInteger, const int)
NONE(fmi2SetBoolean, const int)
NONE(fmi2SetString, const Text)

EXPORT fmi2Status FMI(fmi2GetDirectionalDerivative)(void *instance, const unsigned int unknowns[],
    size_t num_unknowns, const unsigned int knowns[], size_t num_knowns, const double seed[],
    double result[])
{
    return directional(VALUES, unknowns, num_unknowns, knowns, num_knowns, seed, result)
        ? fmi2Error : fmi2OK;
}

EXPORT fmi2Status FMI(fmi2SetRealInputDerivatives)(void *instance, const unsigned int vr[],
    size_t count, const int order[], const double value[])
{
    (void)instance; (void)vr; (void)count; (void)order; (void)value;
    return fmi2Error;
}

EXPORT fmi2Status FMI(fmi2GetRealOutputDerivatives)(void *instance, const unsigned int vr[],
    size_t count, const int order[], double value[])
{
    (void)instance; (void)vr; (void)count; (void)order; (void)value;
    return fmi2Error;
}

EXPORT fmi2Status FMI(fmi2DoStep)(void *instance, double time, double step, int no_return)
{
    int changed, code;
    (void)no_return;
    VALUES->time = time;
    code = update(VALUES, &changed);
    if (code == @N@_OK) code = advance(VALUES, step);
    return STATUS(code);
}

EXPORT fmi2Status FMI(fmi2CancelStep)(void *instance) { (void)instance; return fmi2Error; }

/* steps are never pending */
#define NO_STATUS(name, type) \\
    EXPORT fmi2Status FMI(name)(void *instance, int kind, type *value) \\
    { \\
        (void)instance; (void)kind; (void)value; \\
        return fmi2Discard; \\
    }
NO_STATUS(fmi2GetStatus, int)
NO_STATUS(fmi2GetIntegerStatus, int)
NO_STATUS(fmi2GetStringStatus, Text)

EXPORT fmi2Status FMI(fmi2GetRealStatus)(void *instance, int kind, double *value)
{
    if (kind != 2) return fmi2Discard;
    *value = VALUES->time;
    return fmi2OK;
}

EXPORT fmi2Status FMI(fmi2GetBooleanStatus)(void *instance, int kind, int *value)
{
    (void)instance;
    if (kind != 3) return fmi2Discard;
    *value = 0;
    return fmi2OK;
}
"""
