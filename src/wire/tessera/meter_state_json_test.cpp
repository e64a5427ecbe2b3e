#include "wire/tessera/meter_state_json.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

MeterState state() {
    const MeteredShare share{.container = "main",
                             .gpu = GpuUuid("GPU-a"),
                             .model = "A100",
                             .memory = gibibytes(3),
                             .capacity = gibibytes(80),
                             .compute = Percent{25},
                             .whole = false};
    PodMeter meter{.pod = {.name = {"lab", "train"}, .shares = {share}},
                   .charged_to_ns = 90'500'000'000,
                   .running_ns = 7'000'000'000,
                   .open = {60, 90},
                   .most = {share, share}};
    meter.most[1].container = "side";
    meter.most[1].whole = true;
    MeterState state{.boot = "b1", .pods = {{PodUid("u1"), meter}}};
    meter.open = {};
    meter.most = {};
    state.pods.emplace(PodUid("u2"), meter);
    return state;
}

// Goal: the next agent goes on where the last one ended.
TEST(MeterStateJson, IsReadBack) {
    EXPECT_EQ(read_meter_state(write_meter_state(state())).value(), state());
    EXPECT_EQ(read_meter_state(write_meter_state({.boot = "b", .pods = {}})).value().boot, "b");
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

TEST(MeterStateJson, RefusesWhatIsNoState) {
    struct Case {
        const char* from;
        const char* to;
        const char* error;
    };
    const std::string good = write_meter_state(state());
    for (const Case& c : std::initializer_list<Case>{
             {"\"version\":1", "\"version\":2", "version: 2 is of a newer release"},
             {"\"boot\":\"b1\"", "\"boot\":\"\"", "boot: is not a text, or is empty"},
             {"\"pods\":[", "\"pads\":[", "pods: missing"},
             {"\"u2\"", "\"u1\"", "pods: u1 is there twice"},
             {"\"chargedToNs\":90500000000", "\"chargedToNs\":-1",
              "pods[0].chargedToNs: is not a whole number from 0 to 9223372036854775807"},
             {"\"openTo\":90", "\"openTo\":150",
              "pods[0].openTo: is not of the interval that openFrom is of"},
             {"\"openTo\":90", "\"openTo\":91", "pods[0].openTo: is later than chargedToNs"},
             {"\"memoryBytes\":3221225472", "\"memoryBytes\":99999999999",
              "pods[0].shares[0].memoryBytes: is not a whole number from 0 to 85899345920"},
             {"\"capacityBytes\":85899345920", "\"capacityBytes\":0",
              "pods[0].shares[0].capacityBytes: is not a whole number from 1 to "
              "1125899906842624"},
             {"\"model\":\"A100\"", "\"model\":7",
              "pods[0].shares[0].model: is not a text, or is empty"}}) {
        const auto read = read_meter_state(replaced(good, c.from, c.to));
        ASSERT_FALSE(read) << c.to;
        EXPECT_EQ(read.error().text, c.error);
    }
    EXPECT_FALSE(read_meter_state(""));
    EXPECT_FALSE(read_meter_state(good.substr(0, good.size() / 2)));
}

}  // namespace
}  // namespace tessera
