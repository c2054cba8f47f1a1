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

#define ALWAYS(name, status) \
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
#define NONE(name, type) \
    EXPORT fmi3Status FMI(fmi3Get##name)(void *instance, const uint32_t references[], \
        size_t count, type values[], size_t num_values) \
    { \
        (void)instance; (void)references; (void)values; (void)num_values; \
        return count ? fmi3Error : fmi3OK; \
    } \
    NONE_SET(name, type)
#define NONE_SET(name, type) \
    EXPORT fmi3Status FMI(fmi3Set##name)(void *instance, const uint32_t references[], \
        size_t count, const type values[], size_t num_values) \
    { \
        (void)instance; (void)references; (void)values; (void)num_values; \
        return count ? fmi3Error : fmi3OK; \
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
#define NO_CLOCKS(name, arguments, unused) \
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
