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
#define NONE(name, type) \
    EXPORT fmi2Status FMI(name)(void *instance, const unsigned int vr[], size_t count, \
        type value[]) \
    { \
        (void)instance; (void)vr; (void)value; \
        return count ? fmi2Error : fmi2OK; \
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
#define NO_STATUS(name, type) \
    EXPORT fmi2Status FMI(name)(void *instance, int kind, type *value) \
    { \
        (void)instance; (void)kind; (void)value; \
        return fmi2Discard; \
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
