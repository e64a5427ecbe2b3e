#include "app/cli/assumed_policy.hpp"

#include <fmt/format.h>

namespace tessera {

std::string assumed_policy_text(std::string_view assumed) {
    return fmt::format(
        "The cluster's policy is not known, since the Deployment tessera-controller cannot be "
        "read; taken to be {} (--policy says another, --controller-namespace where Tessera runs)",
        assumed);
}

}  // namespace tessera
