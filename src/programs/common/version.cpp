#include "programs/common/version.hpp"

#include <fmt/format.h>

#include "commit.inc"  // cmake/commit.cmake

namespace tessera {

std::string version_text(std::string_view program) {
    return fmt::format("{} {} ({})", program, TESSERA_VERSION, TESSERA_COMMIT);
}

}  // namespace tessera
