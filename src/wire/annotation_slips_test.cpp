#include "wire/annotation_slips.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

std::vector<std::string> slips_of(const std::string& annotations) {
    const auto document = JsonDocument::parse(annotations);
    EXPECT_TRUE(document) << annotations;
    return annotation_slips(document->root());
}

std::string slip_of(const std::string& name) {
    const auto slips = slips_of(R"({"tessera.dev/)" + name + R"(": "A100"})");
    EXPECT_EQ(slips.size(), 1U) << name;
    return slips.empty() ? "" : slips.front();
}

// Goal: who slips reads what he meant, be it another letter, a singular, a part of the name, or a
// resource that he took for an annotation.
TEST(AnnotationSlips, NameWhatWasMeant) {
    struct Case {
        std::string slip;
        std::string meant;
    };
    for (const Case& of : std::vector<Case>{{"gpu-model", "tessera.dev/gpu-models?"},
                                            {"gpu_models", "tessera.dev/gpu-models?"},
                                            {"GPU-Models", "tessera.dev/gpu-models?"},
                                            {"models", "tessera.dev/gpu-models?"},
                                            {"gpu-link", "tessera.dev/gpu-links?"},
                                            {"gpu-uuid", "tessera.dev/gpu-uuids?"},
                                            {"gpu-appart", "tessera.dev/gpu-apart?"},
                                            {"policy", "tessera.dev/placement-policy?"},
                                            {"gangs", "tessera.dev/gang?"},
                                            {"gangsize", "tessera.dev/gang-size?"},
                                            {"moveable", "tessera.dev/movable?"}}) {
        EXPECT_EQ(slip_of(of.slip),
                  "annotation tessera.dev/" + of.slip + " is not known: did you mean " + of.meant);
    }
    EXPECT_EQ(slip_of("gpu-memori"),
              "annotation tessera.dev/gpu-memori is not known: did you mean the resource "
              "tessera.dev/gpu-memory?");
    EXPECT_EQ(slip_of("gpu-memory"),
              "annotation tessera.dev/gpu-memory does nothing: it is a resource, for a container's "
              "limits");
}

// Goal: what is like none of ours is told with all that there are.
TEST(AnnotationSlips, NameAllWhereNothingIsNear) {
    EXPECT_EQ(slip_of("team"),
              "annotation tessera.dev/team is not known; known are tessera.dev/gpu-models, "
              "tessera.dev/gpu-uuids, tessera.dev/gpu-apart, tessera.dev/gpu-together, "
              "tessera.dev/gpu-links, tessera.dev/gpu-cores-ceiling, "
              "tessera.dev/placement-policy, tessera.dev/gang, tessera.dev/gang-size, "
              "tessera.dev/movable, tessera.dev/resize");
}

// Goal: what users may write, what Tessera writes and what is others' is no slip.
TEST(AnnotationSlips, OthersAreNone) {
    EXPECT_TRUE(slips_of(R"({
        "tessera.dev/gpu-models": "A100", "tessera.dev/gpu-uuids": "GPU-1",
        "tessera.dev/gpu-apart": "a", "tessera.dev/gpu-together": "b",
        "tessera.dev/gpu-links": "nvlink", "tessera.dev/gpu-cores-ceiling": "50",
        "tessera.dev/placement-policy": "fgd", "tessera.dev/gang": "g",
        "tessera.dev/gang-size": "2", "tessera.dev/movable": "true", "tessera.dev/resize": "{}",
        "tessera.dev/allocation": "{}", "tessera.dev/allocation-mac": "m",
        "tessera.dev/enforced-by": "guard", "tessera.dev/resize-refused": "no",
        "example.com/gpu-model": "A100", "gpu-model": "A100"})")
                    .empty());
    EXPECT_TRUE(slips_of("[]").empty());
}

// Goal: a pod full of slips makes no endless event.
TEST(AnnotationSlips, AreAFew) {
    std::string annotations = "{";
    for (int i = 0; i < 20; ++i)
        annotations += R"("tessera.dev/thing)" + std::to_string(i) + R"(": "x",)";
    annotations.back() = '}';
    EXPECT_EQ(slips_of(annotations).size(), kMostSlips);
}

}  // namespace
}  // namespace tessera
