// strcmp is not to be called on the way of a dlsym: a sanitizer stands before it, and calls dlsym
// to find the real one before it can be called itself.
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
