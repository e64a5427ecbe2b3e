// strcmp must not be called during a dlsym: a sanitizer intercepts it, and calls dlsym to find the
// real one before its own can be called.
#pragma once

namespace tessera::guard {

inline bool same_text(const char* one, const char* other) {
    while (*one != '\0' && *one == *other) {
        one++;
        other++;
    }
    return *one == *other;
}

}  // namespace tessera::guard
