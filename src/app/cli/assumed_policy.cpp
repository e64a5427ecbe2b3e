#include "app/cli/assumed_policy.hpp"

#include <fmt/format.h>

namespace tessera {

std::string assumed_policy_text(std::string_view assumed) {
    return fmt::format(
        "The cluster's policy is unknown, because the Deployment tessera-controller cannot be "
        "read; assuming {} (set --policy, or --tessera-namespace to where Tessera runs)",
        assumed);
}

}  // namespace tessera
