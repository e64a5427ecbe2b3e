#include "wire/tessera/cluster_dump_json.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

#include "testing/builders/random_text.hpp"

namespace tessera {
namespace {

const std::string kNode =
    R"({"name":"n","unit":"GiB","host":{"cpuMilli":8000,"memory":1024},"gpus":[)"
    R"({"model":"T4","memory":1000}]})";
const std::string kPod = R"({"namespace":"s","name":"p","host":{"cpuMilli":0,"memory":0},)"
                         R"("requests":[{"kind":"app","gpus":1,"memory":"wholeGpu"}]})";

std::string document(const std::string& nodes, const std::string& pods) {
    return R"({"version":3,"taken":"2026-01-01T00:00:00Z","nodes":[)" + nodes + R"(],"pods":[)" +
           pods + "]}";
}

std::string with(std::string text, const std::string& from, const std::string& to) {
    const auto at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
}

TEST(ClusterDumpJson, ReadsTheLeast) {
    const auto read = read_dump(document(kNode, kPod));
    ASSERT_TRUE(read) << read.error().text;
    EXPECT_EQ(read->nodes[0], (DumpNode{.name = "n",
                                        .host = {8'000, {1'024}},
                                        .gpus = {{.model = "T4", .memory = {1'000}}}}));
    EXPECT_EQ(read->pods[0].requests, (std::vector<DumpRequest>{{}}));
    EXPECT_FALSE(read->pods[0].gang);
    EXPECT_EQ(read->pods[0].gpu_rules, GpuRuleTexts{});
}

// Goal: a byte order mark before the text is ignored.
TEST(ClusterDumpJson, ByteOrderMark) {
    const std::string text = document(kNode, kPod);
    EXPECT_EQ(read_dump("\xEF\xBB\xBF" + text)->nodes, read_dump(text)->nodes);
}

// Goal: snapshots of older versions are read and recognized as such; a newer one is refused.
TEST(ClusterDumpJson, Versions) {
    const std::string text = document(kNode, kPod);
    const auto now = read_dump(text);
    const auto second = read_dump(with(text, R"("version":3)", R"("version":2)"));
    const auto first = read_dump(with(text, R"("version":3)", R"("version":1)"));
    ASSERT_TRUE(now && second && first);
    EXPECT_TRUE(now->tells_gpu_rules && now->tells_links);
    EXPECT_TRUE(second->tells_gpu_rules && !second->tells_links);
    EXPECT_FALSE(first->tells_gpu_rules || first->tells_links);
    EXPECT_EQ(second->pods, now->pods);
    EXPECT_EQ(first->pods, now->pods);
    for (const char* other : {"4", "1000000"}) {
        const auto later =
            read_dump(with(text, R"("version":3)", std::string(R"("version":)") + other));
        ASSERT_FALSE(later);
        EXPECT_EQ(later.error().code, Code::unsupported);
        EXPECT_TRUE(later.error().text.starts_with(std::string("version: ") + other +
                                                   " is not one of 1 to 3"))
            << later.error().text;
    }
}

struct Fault {
    std::string text;
    std::string error;
};

void expect_faults(const std::vector<Fault>& faults) {
    for (const Fault& c : faults) {
        const auto read = read_dump(c.text);
        ASSERT_FALSE(read) << c.text;
        EXPECT_EQ(read.error().code, Code::invalid_argument);
        EXPECT_TRUE(read.error().text.starts_with(c.error)) << read.error().text;
    }
}

// Goal: an error names the field. Method: one thing wrong at a time.
TEST(ClusterDumpJson, NamesTheField) {
    const std::string allocated = with(kPod, R"("host")",
                                       R"("node":"n","allocated":[{"kind":"app","shares":[)"
                                       R"({"gpu":0,"memory":5}]}],"host")");
    expect_faults({
        {"{", "no snapshot: "},
        {"{}", "version: missing"},
        {R"({"version":1})", "taken: missing"},
        {R"({"version":1,"taken":"2026-01-01T00:00:00Z"})", "nodes: missing"},
        {R"({"version":1,"taken":"2026-01-01T00:00:00Z","nodes":[]})", "pods: missing"},
        {document("7", kPod), "nodes[0].name: missing"},
        {document(with(kNode, R"("model":"T4")", R"("model":"T4","model":"A10")"), kPod),
         "nodes[0].gpus[0]: \"model\" appears twice"},
        {document(kNode, with(kPod, R"("host")", R"("later":{"x":1,"x":2},"host")")),
         "pods[0].later: \"x\" appears twice"},
        {with(document(kNode, kPod), R"("taken")", R"("nodes":[],"taken")"),
         "\"nodes\" appears twice"},
        {document(kNode + "," + kNode, kPod), "nodes[1].name: \"n\" appears twice"},
        {document(
             with(kNode, R"({"model":"T4")", R"({"uuid":"G","memory":1},{"uuid":"G","model":"T4")"),
             kPod),
         "nodes[0].gpus[1].uuid: \"G\" appears twice"},
        {document(with(kNode, "GiB", "TiB"), ""), "nodes[0].unit: \"TiB\" is not known"},
        {document(with(kNode, "8000", "-1"), ""),
         "nodes[0].host.cpuMilli: is not a whole number from 0 to 1000000000"},
        {document(with(kNode, R"("memory":1000)", R"("memory":"x")"), ""),
         "nodes[0].gpus[0].memory: is not a whole number from 1 to"},
        {document(with(kNode, R"("unit")", R"("closed":1,"unit")"), ""),
         "nodes[0].closed: is neither true nor false"},
        {document(with(kNode, R"("unit")", R"("closed":1.5,"unit")"), ""),
         "nodes[0].closed: is neither true nor false"},
        {document(kNode, kPod + "," + kPod), "pods[1].name: \"s/p\" appears twice"},
        {document(kNode, with(kPod, R"("host")", R"("created":"today","host")")),
         "pods[0].created: is not a time such as 2026-01-31T11:00:00Z"},
        {document(kNode, with(kPod, R"("host")", R"("deleted":"2026-02-30T00:00:00Z","host")")),
         "pods[0].deleted: is not a time such as"},
        {R"({"version":1,"taken":"now"})", "taken: is not a time such as"},
        {document(kNode, with(kPod, R"("gpus":1)", R"("gpus":65)")),
         "pods[0].requests[0].gpus: is not a whole number from 1 to 64"},
        {document(kNode, with(kPod, "wholeGpu", "bytes")), "pods[0].requests[0].amount: missing"},
        {document(kNode, kPod + "," + with(kPod, R"("kind":"app")", R"("kind":"x")")),
         "pods[1].requests[0].kind: \"x\" is not known"},
        {document(kNode, with(kPod, R"("host")", R"("node":"n","host")")),
         "pods[0].allocated: present for a pod without a node, or missing for a pod on a node"},
        {document(kNode, with(allocated, R"("gpu":0)", R"("gpu":1)")),
         "pods[0].allocated[0].shares[0].gpu: the node has 1 GPU"},
        {document(kNode, with(allocated, R"("node":"n")", R"("node":"m")")),
         "pods[0].node: no node \"m\" in nodes"},
    });
}

TEST(ClusterDumpJson, NamesTheFieldOfGangsRulesAndLinks) {
    expect_faults({
        {document(kNode, with(kPod, R"("host")", R"("gang":{"name":"g"},"host")")),
         "pods[0].gang.size: missing"},
        {document(with(kNode, R"("model")", R"("nvlink":[64],"model")"), kPod),
         "nodes[0].gpus[0].nvlink[0]: "},
        {document(with(kNode, R"("model")", R"("numa":"x","model")"), kPod),
         "nodes[0].gpus[0].numa: "},
        {document(kNode, with(kPod, R"("host")", R"("rules":{"topology":"wire"},"host")")),
         "pods[0].rules: annotation tessera.dev/gpu-topology: \"wire\" is no kind of link"},
        {with(document(kNode, kPod), R"("pods")", R"("leftOut":{"gated":-1},"pods")"),
         "leftOut.gated: "},
        {document(kNode, with(kPod, R"("host")", R"("rules":"A100","host")")),
         "pods[0].rules: is not an object"},
        {document(kNode, with(kPod, R"("host")", R"("rules":{"antiAffinity":7},"host")")),
         "pods[0].rules.antiAffinity: is not a text, or is empty"},
        {document(kNode, with(kPod, R"("host")", R"("rules":{"models":","},"host")")),
         "pods[0].rules: annotation tessera.dev/gpu-models: \",\" is no list of models"},
    });
}

// Goal: impossible contents are refused: shares larger than their GPU, links to missing GPUs.
TEST(ClusterDumpJson, NamesWhatCannotBe) {
    const std::string allocated = with(kPod, R"("host")",
                                       R"("node":"n","allocated":[{"kind":"app","shares":[)"
                                       R"({"gpu":0,"memory":500}]}],"host")");
    const std::string other = with(allocated, R"("name":"p")", R"("name":"q")");
    const auto over = read_dump(document(
        kNode, with(allocated, R"("memory":500)", R"("memory":1000,"whole":true)") + "," + other));
    EXPECT_TRUE(over) << "together more than the GPU: " << over.error().text;
    const std::string two = with(kNode, R"({"model")", R"({"memory":7},{"model")");
    EXPECT_TRUE(
        read_dump(document(with(two, R"({"memory":7)", R"({"nvlink":[1],"memory":7)"), "")));
    expect_faults({
        {document(kNode, with(allocated, R"("memory":500)", R"("memory":1001)")),
         "pods[0].allocated[0].shares[0].memory: is more than the GPU's 1000"},
        {document(kNode, with(allocated, R"("memory":500)", R"("memory":999,"whole":true)")),
         "pods[0].allocated[0].shares[0].memory: is less than the GPU's 1000 bytes, of a whole "
         "GPU"},
        {document(kNode, with(allocated, R"({"gpu":0,"memory":500})",
                              R"({"gpu":0,"memory":5},{"gpu":0,"memory":6})")),
         "pods[0].allocated[0].shares[1].gpu: 0 appears twice in one container"},
        {document(with(two, R"({"memory":7)", R"({"nvlink":[2],"memory":7)"), ""),
         "nodes[0].gpus[0].nvlink: names the GPU itself, or an index that is not among the 2 "
         "GPUs of the node"},
        {document(with(two, R"({"memory":7)", R"({"pcie":[0],"memory":7)"), ""),
         "nodes[0].gpus[0].pcie: names the GPU itself"},
    });
}

// Goal: no text in a snapshot can send control characters to a terminal. Method: also bytes that
// are control characters only in UTF-8.
TEST(ClusterDumpJson, NamesAreNames) {
    expect_faults({
        {document(with(kNode, R"("n")", R"("\u001b[2J")"), ""),
         "nodes[0].name: is not a valid name in Kub"},
        {document(with(kNode, R"("n")", R"("Node")"), ""),
         "nodes[0].name: is not a valid name in Kubernetes"},
        {document(kNode, with(kPod, R"("p")", R"("p\u0007")")),
         "pods[0].name: is not a valid name in Kub"},
        {document(kNode, with(kPod, R"("s")", R"("s.s")")),
         "pods[0].namespace: is not a valid namespace"},
        {document(kNode, with(kPod, R"("host")", R"("node":"\u001b","host")")),
         "pods[0].node: is not a valid name in Kubernetes"},
        {document(with(kNode, R"("T4")", R"("T\u009b4")"), ""),
         "nodes[0].gpus[0].model: has control characters"},
        {document(kNode, with(kPod, R"("host")", R"("gang":{"name":"g\n","size":2},"host")")),
         "pods[0].gang.name: has control characters"},
        {document(kNode, with(kPod, R"("host")", R"("rules":{"models":"T\u001b"},"host")")),
         "pods[0].rules.models: has control characters"},
        {document(with(kNode, "GiB", R"(\u001b)"), ""), R"(nodes[0].unit: "\u001b" is not known)"},
    });
    EXPECT_TRUE(read_dump(document(with(kNode, R"("n")", R"("node-1.example")"), kPod)));
}

std::string random_name() {
    std::string out = "x";
    for (const std::string& piece : *rc::gen::container<std::vector<std::string>>(
             rc::gen::element<std::string>("a", "0", "-b")))
        out += piece;
    return out.substr(0, 40) + "z";
}

// Characters that JSON must escape and that are harmless on a terminal.
std::string random_plain_text() {
    std::string out = random_text();
    std::erase_if(out, [](char c) { return (c >= 0 && c < ' ') || c == '\x7f'; });
    return out;
}

// Goal: what is written reads back the same.
RC_GTEST_PROP(ClusterDumpJson, RoundTrip, ()) {
    const auto amount = [] { return *rc::gen::inRange<std::int64_t>(0, std::int64_t{1} << 40); };
    ClusterDump dump{.taken = "2026-01-31T12:00:00Z",
                     .tells_gpu_rules = *rc::gen::arbitrary<bool>()};
    dump.tells_links = dump.tells_gpu_rules && *rc::gen::arbitrary<bool>();
    for (int i = *rc::gen::inRange(1, 4); i > 0; --i) {
        DumpNode node{.name = random_name() + std::to_string(i),
                      .unit = *rc::gen::element(MemoryUnit::gib, MemoryUnit::mib),
                      .host = {amount() >> 20, {amount()}},
                      .others = {amount() >> 20, {amount()}},
                      .closed = *rc::gen::arbitrary<bool>(),
                      .gpus = {}};
        for (int gpu = 0; gpu < 2; ++gpu) {
            node.gpus.push_back(
                {random_plain_text(),
                 {amount() + 1},
                 {amount()},
                 *rc::gen::arbitrary<bool>(),
                 GpuUuid(*rc::gen::element(std::string(), "GPU-" + std::to_string(gpu))),
                 {*rc::gen::inRange(-1, 4), *rc::gen::element<std::uint64_t>(0, gpu == 0 ? 2 : 1),
                  *rc::gen::element<std::uint64_t>(0, gpu == 0 ? 2 : 1)}});
        }
        dump.nodes.push_back(std::move(node));
    }
    for (int i = *rc::gen::inRange(0, 4); i > 0; --i) {
        DumpPod pod{.name = {random_name(), random_name() + std::to_string(i)},
                    .created = "2026-01-31T11:00:00Z",
                    .host = {amount() >> 20, {amount()}},
                    .chooses_nodes = *rc::gen::arbitrary<bool>(),
                    .requests = {{}, {ContainerKind::sidecar, 3, {}, {7}}}};
        pod.requests[0].memory = {MemoryRequest::Kind::bytes, amount() + 1};
        if (*rc::gen::arbitrary<bool>())
            pod.gpu_rules = {"A100, !T4", *rc::gen::element("", "!GPU-8f6c"), "a", "t",
                             *rc::gen::element("", "pcie")};
        if (*rc::gen::arbitrary<bool>()) pod.gang = GangMembership{random_plain_text(), 8};
        if (*rc::gen::arbitrary<bool>()) {
            pod.node = dump.nodes.front().name;
            const bool whole = *rc::gen::arbitrary<bool>();
            const Bytes gpu = dump.nodes.front().gpus[1].memory;
            const Bytes part{*rc::gen::inRange<std::int64_t>(0, gpu.count + 1)};
            pod.allocated = {{ContainerKind::app, {{1, whole ? gpu : part, {5}, whole}}}};
        }
        dump.pods.push_back(std::move(pod));
    }
    const auto some = [] { return *rc::gen::inRange(0, 3); };
    dump.left_out = {some(), some(), some(), some()};
    const auto again = read_dump(write_dump(dump));
    RC_ASSERT(again.has_value());
    RC_ASSERT(*again == dump);
}

}  // namespace
}  // namespace tessera
