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
