#include "wire/kube/admission_json.hpp"

#include <gtest/gtest.h>

#include "wire/text/base64.hpp"

namespace tessera {
namespace {

std::string review_of(const std::string& pod) {
    return R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u1",)"
           R"("kind":{"kind":"Pod"},"operation":"CREATE","object":)" +
           pod + "}}";
}

Result<AdmissionRequest> read(const std::string& text) {
    auto document = JsonDocument::parse(text);
    if (!document) return fail(document.error());
    return read_admission_review(document->root(), all_dialects());
}

// Goal: a review shows what decides about the pod: limits of dialects with the containers' places,
// init containers apart from the others, and the keys of annotations.
TEST(AdmissionJson, ReadsThePod) {
    const auto request = read(review_of(R"({"metadata":{"annotations":{"a":"1","b/c":""}},"spec":{
        "schedulerName":"other","runtimeClassName":"nvidia","nodeName":"n1",
        "initContainers":[{"name":"i","resources":{"limits":{"aliyun.com/gpu-mem":"3"}}}],
        "containers":[{"name":"x","resources":{"limits":{"cpu":"1"}}},
            {"name":"m","resources":{"limits":{"cpu":"1","tessera.dev/gpu-memory":"3Gi"}}}]}})"));
    ASSERT_TRUE(request) << request.error().text;
    EXPECT_EQ(request->id.uid, "u1");
    EXPECT_TRUE(request->is_pod);
    const CreatedPod& pod = request->checked.pod;
    EXPECT_EQ(pod.node.str(), "n1");
    EXPECT_EQ(pod.scheduler, "other");
    EXPECT_EQ(pod.runtime_class, "nvidia");
    EXPECT_FALSE(pod.is_mirror);
    EXPECT_EQ(pod.annotations, (std::vector<std::string>{"a", "b/c"}));
    ASSERT_EQ(pod.containers.size(), 2U);
    EXPECT_EQ(pod.containers[0].position, 0U);
    EXPECT_EQ(pod.containers[0].spec,
              (ContainerSpec{"i", ContainerKind::init, {{"aliyun.com/gpu-mem", "3"}}}));
    EXPECT_EQ(pod.containers[1].position, 1U);
    EXPECT_EQ(pod.containers[1].spec,
              (ContainerSpec{"m", ContainerKind::app, {{"tessera.dev/gpu-memory", "3Gi"}}}));
    const auto mirror =
        read(review_of(R"({"metadata":{"annotations":{"kubernetes.io/config.mirror":"h"}}})"));
    ASSERT_TRUE(mirror);
    EXPECT_TRUE(mirror->checked.pod.is_mirror);
}

// Goal: anything else is refused, and the error names the field.
TEST(AdmissionJson, RefusesOthers) {
    const auto fault = [](const std::string& text) {
        const auto request = read(text);
        return request ? "" : request.error().text;
    };
    const std::string head = R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview")";
    EXPECT_TRUE(fault("[]").starts_with("apiVersion: ")) << fault("[]");
    EXPECT_TRUE(fault(R"({"apiVersion":"admission.k8s.io/v2"})").starts_with("apiVersion: "));
    EXPECT_TRUE(fault(R"({"apiVersion":"admission.k8s.io/v1"})").starts_with("kind: "));
    EXPECT_TRUE(fault(head + "}").starts_with("request.uid: "));
    EXPECT_TRUE(fault(head + R"(,"request":{"uid":"u","kind":{"kind":"Node"}}})")
                    .starts_with("request.kind.kind: \"Node\""));
    EXPECT_TRUE(
        fault(head + R"(,"request":{"uid":"u","kind":{"kind":"Pod"},"operation":"UPDATE"}})")
            .starts_with("request.operation: \"UPDATE\""));
    EXPECT_TRUE(
        fault(head + R"(,"request":{"uid":"u","kind":{"kind":"Pod"},"operation":"CREATE"}})")
            .starts_with("request.object: "));
    EXPECT_FALSE(fault("{").empty());
}

// Goal: the patch has one operation per change, with keys escaped as RFC 6901 demands.
TEST(AdmissionJson, WritesThePatch) {
    EXPECT_EQ(write_pod_patch({}), "");
    EXPECT_EQ(write_pod_patch({.scheduler = "s",
                               .runtime_class = "r",
                               .limits = {{ContainerKind::app, 2, "tessera.dev/gpu-share", "1"},
                                          {ContainerKind::init, 0, "a~b", "1"}},
                               .removed_annotations = {"tessera.dev/allocation"}}),
              R"([{"op":"remove","path":"/metadata/annotations/tessera.dev~1allocation"},)"
              R"({"op":"add","path":"/spec/schedulerName","value":"s"},)"
              R"({"op":"add","path":"/spec/runtimeClassName","value":"r"},)"
              R"({"op":"add","path":"/spec/containers/2/resources/limits/tessera.dev~1gpu-share",)"
              R"("value":"1"},)"
              R"({"op":"add","path":"/spec/initContainers/0/resources/limits/a~0b","value":"1"}])");
}

// Goal: the answer allows the request by its uid, and has a patch only if something changes.
TEST(AdmissionJson, WritesTheAnswer) {
    EXPECT_EQ(write_admission_answer({"admission.k8s.io/v1", "u1"}, PodEdits{}),
              R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview",)"
              R"("response":{"uid":"u1","allowed":true}})");
    const PodEdits edits{.scheduler = "s"};
    EXPECT_EQ(write_admission_answer({"admission.k8s.io/v1", "u1"}, edits),
              R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview",)"
              R"("response":{"uid":"u1","allowed":true,"patchType":"JSONPatch","patch":")" +
                  encode_base64(write_pod_patch(edits)) + R"("}})");
    EXPECT_EQ(write_admission_answer({"admission.k8s.io/v1beta1", "u1"},
                                     fail(Code::invalid_argument, "write 3Gi")),
              R"({"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview",)"
              R"("response":{"uid":"u1","allowed":false,"status":{"code":400,)"
              R"("reason":"BadRequest","message":"write 3Gi"}}})");
}

std::string shares(const std::string& memory) {
    return R"({"spec":{"containers":[{"name":"c"},{"name":"m","resources":{"limits":)"
           R"({"tessera.dev/gpu-memory":")" +
           memory + R"("}}}]}})";
}

std::string review_of_kind(const std::string& kind, const std::string& object,
                           const std::string& before = "") {
    return R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u1",)"
           R"("kind":{"kind":")" +
           kind + R"("},"operation":")" + (before.empty() ? "CREATE" : "UPDATE") +
           R"(","object":)" + object + (before.empty() ? "" : R"(,"oldObject":)" + before) + "}}";
}

std::string in_template(const std::string& pod) {
    return R"({"spec":{"template":)" + pod + "}}";
}

// Why the review is denied; empty if it is allowed.
std::string denial(const std::string& review) {
    const auto request = read(review);
    if (!request) return "unreadable: " + request.error().text;
    const auto verdict = validate_pod(request->checked, all_dialects());
    return verdict ? "" : verdict.error().text;
}

// Goal: a request that can never be met is denied where it is written, in pods and in all objects
// that make pods. What the webhook adds is not missing.
TEST(AdmissionJson, DeniesWhatCanNeverGetItsGpus) {
    EXPECT_EQ(denial(review_of_kind("Pod", shares("3Gi"))), "");
    const std::string wrong = denial(review_of_kind("Pod", shares("3Gib")));
    EXPECT_TRUE(wrong.starts_with("container m: tessera.dev/gpu-memory: ")) << wrong;
    for (const char* kind : {"Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job"}) {
        EXPECT_EQ(denial(review_of_kind(kind, in_template(shares("3Gi")))), "") << kind;
        EXPECT_EQ(denial(review_of_kind(kind, in_template(shares("3Gib")))), wrong) << kind;
    }
    const auto cron = [](const std::string& pod) {
        return R"({"spec":{"jobTemplate":)" + in_template(pod) + "}}";
    };
    EXPECT_EQ(denial(review_of_kind("CronJob", cron(shares("3Gi")))), "");
    EXPECT_EQ(denial(review_of_kind("CronJob", cron(shares("3Gib")))), wrong);
    EXPECT_EQ(denial(review_of_kind("Job", in_template(R"({"spec":{"containers":[{}]}})"))), "");
    EXPECT_TRUE(denial(review_of_kind("Job", "{}")).starts_with("unreadable: request.object"));
    EXPECT_TRUE(denial(review_of_kind("Node", "{}")).starts_with("unreadable: request.kind"));
    EXPECT_NE(denial(review_of_kind("Pod", shares("3Gi"), shares("3Gi"))), "")
        << "pods are not changed by the webhook later";
}

// Goal: an object that was wrong before the webhook came can be scaled, and not be made wrong in
// another way.
TEST(AdmissionJson, AChangeThatLeavesTheErrorIsAllowed) {
    const std::string wrong = in_template(shares("3Gib"));
    EXPECT_EQ(denial(review_of_kind("Deployment", wrong, wrong)), "");
    EXPECT_NE(denial(review_of_kind("Deployment", wrong, in_template(shares("3Gi")))), "");
    EXPECT_NE(denial(review_of_kind("Deployment", in_template(shares("-1")), wrong)), "");
    EXPECT_EQ(denial(review_of_kind("Deployment", in_template(shares("3Gi")), wrong)), "");
}

// Goal: requests in a dialect that is switched off are left alone: another product may serve them.
TEST(AdmissionJson, OnlyDialectsThatAreOn) {
    const auto native = all_dialects().only(std::vector<std::string>{"native"});
    ASSERT_TRUE(native);
    const auto document = JsonDocument::parse(
        review_of_kind("Pod", R"({"spec":{"containers":[{"name":"m","resources":{"limits":)"
                              R"({"aliyun.com/gpu-mem":"x"}}}]}})"));
    ASSERT_TRUE(document);
    const auto request = read_admission_review(document->root(), *native);
    ASSERT_TRUE(request);
    EXPECT_TRUE(validate_pod(request->checked, *native));
    EXPECT_FALSE(validate_pod(request->checked, all_dialects()));
}

}  // namespace
}  // namespace tessera
