// TESSERA_CHECK(condition, text): a broken invariant ends the process. The supervisor restarts it
// and it rebuilds everything from the API server; going on with wrong state would not.
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
