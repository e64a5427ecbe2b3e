#include "domain/container_start/identity.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace tessera {
namespace {

// Goal: auto chooses NRI only where a container gets its GPU by it. A configured value is not
// changed.
TEST(Identity, Choice) {
    struct Case {
        const char* configured;
        bool has_nri;
        const char* runtime;
        Identity chosen;
    };
    const std::vector<Case> cases = {
        {"nri", false, "containerd://1.7.1", Identity::nri},
        {"kubelet", true, "containerd://2.3.7", Identity::kubelet},
        {"auto", true, "containerd://2.3.7", Identity::nri},
        {"auto", true, "containerd://2.0.5-k3s1", Identity::kubelet},
        {"auto", true, "containerd://1.7.30", Identity::nri},
        {"auto", true, "containerd://1.7.29", Identity::kubelet},
        {"auto", true, "cri-o://1.33.1", Identity::kubelet},
        {"auto", true, "cri-o://1.34.0", Identity::nri},
        {"auto", true, "", Identity::nri},
        {"auto", true, "unknown", Identity::nri},
        {"auto", false, "containerd://2.3.7", Identity::kubelet},
        {"auto", false, "", Identity::kubelet},
    };
    for (const Case& c : cases) {
        EXPECT_EQ(choose_identity(c.configured, c.has_nri, c.runtime), c.chosen)
            << c.configured << " " << c.has_nri << " " << c.runtime;
    }
}

}  // namespace
}  // namespace tessera
