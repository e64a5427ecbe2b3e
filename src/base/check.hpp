// TESSERA_CHECK(condition, text): a broken invariant aborts the process. The supervisor restarts
// it, and it rebuilds all state from the API server. To continue with wrong state would be worse.
#pragma once

#include <cstdio>
#include <cstdlib>

#define TESSERA_CHECK(condition, text)                                                           \
    do {                                                                                         \
        if (!(condition)) {                                                                      \
            std::fprintf(stderr, "%s:%d: broken invariant: %s (%s)\n", __FILE__, __LINE__, text, \
                         #condition);                                                            \
            std::abort();                                                                        \
        }                                                                                        \
    } while (false)
