#include "wire/kube/unknown_annotations.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

std::vector<std::string> unknown_annotations_of(const std::string& annotations) {
    const auto document = JsonDocument::parse(annotations);
    EXPECT_TRUE(document) << annotations;
    return unknown_annotations(document->root(), {});
}

std::string unknown_label_of(const std::string& name) {
    const auto document = JsonDocument::parse(R"({"tessera.dev/)" + name + R"(": "a"})");
    const auto unknown = unknown_annotations({}, document->root());
    return unknown.empty() ? "" : unknown.front();
}

std::string unknown_annotation_of(const std::string& name) {
    const auto unknown_annotations =
        unknown_annotations_of(R"({"tessera.dev/)" + name + R"(": "A100"})");
    EXPECT_EQ(unknown_annotations.size(), 1U) << name;
    return unknown_annotations.empty() ? "" : unknown_annotations.front();
}

// Goal: the message names the annotation that the user probably meant: another letter, a singular,
// a part of the name, or a resource that was written as an annotation.
TEST(UnknownAnnotations, NameWhatWasMeant) {
    struct Case {
        std::string unknown_annotation;
        std::string meant;
    };
    for (const Case& of : std::vector<Case>{{"gpu-model", "tessera.dev/gpu-models?"},
                                            {"gpu_models", "tessera.dev/gpu-models?"},
                                            {"GPU-Models", "tessera.dev/gpu-models?"},
                                            {"models", "tessera.dev/gpu-models?"},
                                            {"gpu-topologi", "tessera.dev/gpu-topology?"},
                                            {"gpu-uuid", "tessera.dev/gpu-uuids?"},
                                            {"memory-limit", "tessera.dev/gpu-memory-limit?"},
                                            {"policy", "tessera.dev/placement-policy?"},
                                            {"gangs", "tessera.dev/gang?"},
                                            {"gangsize", "tessera.dev/gang-size?"},
                                            {"moveable", "tessera.dev/movable?"}}) {
        EXPECT_EQ(unknown_annotation_of(of.unknown_annotation),
                  "annotation tessera.dev/" + of.unknown_annotation +
                      " is not known: did you mean " + of.meant);
    }
    EXPECT_EQ(unknown_annotation_of("gpu-afinity"),
              "annotation tessera.dev/gpu-afinity is not known: did you mean the label "
              "tessera.dev/gpu-affinity?");
    EXPECT_EQ(unknown_annotation_of("gpu-affinity"),
              "annotation tessera.dev/gpu-affinity does nothing: it is a label of the pod");
    EXPECT_EQ(unknown_annotation_of("gpu-memori"),
              "annotation tessera.dev/gpu-memori is not known: did you mean the resource "
              "tessera.dev/gpu-memory?");
    EXPECT_EQ(unknown_annotation_of("gpu-memory"),
              "annotation tessera.dev/gpu-memory does nothing: it is a resource, for a container's "
              "limits");
}

// Goal: for a name like none of ours, the message lists all known annotations.
TEST(UnknownAnnotations, NameAllWhereNothingIsNear) {
    EXPECT_EQ(unknown_annotation_of("team"),
              "annotation tessera.dev/team is not known; known are the annotations "
              "tessera.dev/gpu-models, tessera.dev/gpu-uuids, tessera.dev/gpu-topology, "
              "tessera.dev/isolation, tessera.dev/gpu-memory-limit, tessera.dev/gpu-cores-limit, "
              "tessera.dev/placement-policy, tessera.dev/gang, tessera.dev/gang-size, "
              "tessera.dev/movable, tessera.dev/resize-request and the labels "
              "tessera.dev/gpu-affinity, tessera.dev/gpu-anti-affinity");
}

// Goal: the same for labels of the pod.
TEST(UnknownAnnotations, Labels) {
    EXPECT_EQ(unknown_label_of("gpu-affinity"), "");
    EXPECT_EQ(unknown_label_of("gpu-anti-afinity"),
              "label tessera.dev/gpu-anti-afinity is not known: did you mean "
              "tessera.dev/gpu-anti-affinity?");
    EXPECT_EQ(unknown_label_of("gpu-models"),
              "label tessera.dev/gpu-models does nothing: it is an annotation of the pod");
    EXPECT_EQ(unknown_label_of("gpu-model"),
              "label tessera.dev/gpu-model is not known: did you mean the annotation "
              "tessera.dev/gpu-models?");
}

// Goal: a value of `movable` that allows no moves by mistake is reported. A wrong value of any
// other annotation refuses the pod.
TEST(UnknownAnnotations, ValueThatHasNoEffect) {
    for (const char* wrong : {R"("yes")", R"("True")", R"("")", "true"}) {
        EXPECT_EQ(unknown_annotations_of(R"({"tessera.dev/movable": )" + std::string(wrong) + "}"),
                  std::vector<std::string>{
                      "annotation tessera.dev/movable is neither \"true\" nor \"false\": tessera "
                      "defrag does not move the pod"})
            << wrong;
    }
    EXPECT_TRUE(unknown_annotations_of(R"({"tessera.dev/movable": "false"})").empty());
}

// Goal: annotations for users, those that Tessera writes and those of other tools are not reported.
TEST(UnknownAnnotations, OthersAreNone) {
    EXPECT_TRUE(unknown_annotations_of(R"({
        "tessera.dev/gpu-models": "A100", "tessera.dev/gpu-uuids": "GPU-1",
        "tessera.dev/gpu-topology": "nvlink", "tessera.dev/gpu-cores-limit": "50",
        "tessera.dev/gpu-memory-limit": "3Gi",
        "tessera.dev/placement-policy": "fgd", "tessera.dev/gang": "g",
        "tessera.dev/gang-size": "2", "tessera.dev/movable": "true", "tessera.dev/resize-request": "{}",
        "tessera.dev/allocation": "{}", "tessera.dev/allocation-mac": "m",
        "tessera.dev/enforced-by": "guard", "tessera.dev/resize-refused": "no",
        "example.com/gpu-model": "A100", "gpu-model": "A100"})")
                    .empty());
    EXPECT_TRUE(unknown_annotations_of("[]").empty());
}

// Goal: a pod with many unknown annotations gets an event of limited length.
TEST(UnknownAnnotations, AreAFew) {
    std::string annotations = "{";
    for (int i = 0; i < 20; ++i)
        annotations += R"("tessera.dev/thing)" + std::to_string(i) + R"(": "x",)";
    annotations.back() = '}';
    EXPECT_EQ(unknown_annotations_of(annotations).size(), kMostUnknownAnnotations);
}

}  // namespace
}  // namespace tessera
