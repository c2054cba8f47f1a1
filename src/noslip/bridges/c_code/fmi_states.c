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
