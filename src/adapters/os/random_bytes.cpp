#include "adapters/os/random_bytes.hpp"

#include <sys/random.h>

#include "base/check.hpp"

namespace tessera {

std::string random_bytes(std::size_t count) {
    std::string out(count, '\0');
    // Up to 256 bytes come at once.
    const auto got = ::getrandom(out.data(), out.size(), 0);
    TESSERA_CHECK(got == static_cast<ssize_t>(count), "the kernel gives random bytes");
    return out;
}

}  // namespace tessera
