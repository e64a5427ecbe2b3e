#include "domain/serving/traffic_split.hpp"

#include <gtest/gtest.h>

namespace tessera::workload {
namespace {

using Texts = std::vector<std::string>;
using Ints = std::vector<int>;

std::string parsed(const Texts& texts) {
    const auto weights = parse_weights(texts);
    return weights ? weights_text(*weights) : weights.error().text;
}

// Goal: Arena's rules: the weights total 100, no version twice, a bare version gets all.
TEST(TrafficSplit, Weights) {
    struct Row {
        Texts texts;
        std::string result;
    };
    const std::vector<Row> rows{
        {{"v1:30", "v2:70"}, "v1:30,v2:70"},
        {{"v1"}, "v1:100"},
        {{"v1", "v2:0"}, "v1:100,v2:0"},
        {{":40", "v2:60"}, ":40,v2:60"},
        {{"v1:30", "v2:60"}, "-v: the weights total 90, and must total 100, as in v1:30 and v2:70"},
        {{"v1", "v2"}, "-v: the weights total 200, and must total 100, as in v1:30 and v2:70"},
        {{"v1:50", "v1:50"},
         "-v: \"v1:50\" names a version that was named before; name each version once"},
        {{"v1:030", "v2:70"},
         "-v: \"v1:030\" does not end with a weight from 0 to 100; write v1:30"},
        {{"v1:101"}, "-v: \"v1:101\" does not end with a weight from 0 to 100; write v1:30"},
        {{"v1:-1"}, "-v: \"v1:-1\" does not end with a weight from 0 to 100; write v1:30"},
        {{"v1:"}, "-v: \"v1:\" does not end with a weight from 0 to 100; write v1:30"},
        {{"V1:100"}, "-v: \"V1:100\" does not begin with a version; write VERSION:30"},
        {{""}, "-v: \"\" does not begin with a version; write VERSION:30"},
    };
    for (const Row& row : rows)
        EXPECT_EQ(parsed(row.texts), row.result);
}

TEST(TrafficSplit, GatewaysAndHosts) {
    EXPECT_EQ(parse_gateway("web", "team").value(), (GatewayName{"team", "web"}));
    EXPECT_EQ(parse_gateway("web/infra", "team").value(), (GatewayName{"infra", "web"}));
    for (const char* text : {"", "/infra", "web/", "a/b/c", "We"})
        EXPECT_EQ(parse_gateway(text, "team").error().code, Code::invalid_argument) << text;
    EXPECT_EQ(parse_hostname("a.example.com").value(), "a.example.com");
    EXPECT_EQ(parse_hostname("*.example.com").value(), "*.example.com");
    EXPECT_EQ(parse_hostname("*").value(), "");
    for (const char* text : {"", "*.", "a b", "http://a", "*a"})
        EXPECT_EQ(parse_hostname(text).error().code, Code::invalid_argument) << text;
}

// Goal: the smallest numbers of pods have exactly the ratio of the weights.
TEST(TrafficSplit, Replicas) {
    EXPECT_EQ(smallest_replicas(Ints{30, 70}, 0), (Ints{3, 7}));
    EXPECT_EQ(smallest_replicas(Ints{25, 75}, 4), (Ints{1, 3}));
    EXPECT_EQ(smallest_replicas(Ints{100}, 0), (Ints{1}));
    EXPECT_EQ(smallest_replicas(Ints{1, 99}, 2), (Ints{1, 99}));
    // No capacity is lost.
    EXPECT_EQ(smallest_replicas(Ints{50, 50}, 10), (Ints{5, 5}));
    EXPECT_EQ(smallest_replicas(Ints{50, 50}, 11), (Ints{6, 6}));
    EXPECT_EQ(smallest_replicas(Ints{25, 75}, 5), (Ints{2, 6}));
    EXPECT_TRUE(is_split(Ints{30, 70}, Ints{6, 14}));
    EXPECT_FALSE(is_split(Ints{30, 70}, Ints{1, 2}));
    EXPECT_TRUE(is_split(Ints{100}, Ints{5}));
    EXPECT_FALSE(is_split(Ints{100}, Ints{0}));
    for (int first = 0; first <= 100; ++first) {
        const Ints percents{first, 100 - first};
        EXPECT_TRUE(is_split(percents, smallest_replicas(percents, first))) << first;
    }
    EXPECT_EQ(parts_of_sum(Ints{1, 2}), (Ints{33, 67}));
    EXPECT_EQ(parts_of_sum(Ints{0, 0}), (Ints{0, 0}));
}

ServingStatus version(const std::string& name, int available, bool in_split = true) {
    ServingStatus job;
    job.id = {"half", name, ServingType::tensorflow};
    job.ns = "team";
    job.object = job.id.object();
    job.uid = "uid-" + name;
    job.available = available;
    job.in_split = in_split;
    return job;
}

TrafficRoute route() {
    TrafficRoute out;
    out.hostname = "half.team";
    out.backends = {{version("v1", 1).object, 8501, 30}, {version("v2", 1).object, 8501, 70}};
    return out;
}

// Goal: what each version gets: of a route by its weights, whatever pods there are; of a Service by
// the pods that are available.
TEST(TrafficSplit, Parts) {
    std::vector<ServingStatus> jobs{version("v1", 1), version("v2", 2), version("v3", 9, false)};
    const auto percents = [&] {
        Ints out;
        for (const ServingStatus& job : jobs)
            out.push_back(job.traffic->takes_part ? job.traffic->percent : -1);
        return out;
    };
    set_traffic(jobs, nullptr, "");
    EXPECT_FALSE(jobs[0].traffic);
    set_traffic(jobs, nullptr, "10.0.0.9");
    EXPECT_EQ(percents(), (Ints{33, 67, -1}));
    EXPECT_EQ(jobs[0].traffic->address, "10.0.0.9");
    EXPECT_FALSE(jobs[0].traffic->is_alone);
    jobs[1].in_split = false;
    set_traffic(jobs, nullptr, "10.0.0.9");
    EXPECT_TRUE(jobs[0].traffic->is_alone);
    EXPECT_FALSE(jobs[1].traffic->is_alone);
    jobs[1].in_split = true;
    const TrafficRoute split = route();
    set_traffic(jobs, &split, "10.0.0.9");
    EXPECT_EQ(percents(), (Ints{30, 70, -1}));
    EXPECT_EQ(jobs[0].traffic->address, "half.team");
    // A Service that is gone has its part, too.
    jobs.erase(jobs.begin());
    set_traffic(jobs, &split, "");
    EXPECT_EQ(percents(), (Ints{70, -1}));
}

// Goal: a version that gets traffic is not deleted while another one could get it.
TEST(TrafficSplit, Removal) {
    std::vector<ServingStatus> jobs{version("v1", 1), version("v2", 1), version("v3", 1, false)};
    EXPECT_TRUE(check_removal(jobs[0], jobs));
    const TrafficRoute split = route();
    set_traffic(jobs, &split, "");
    EXPECT_EQ(check_removal(jobs[0], jobs).error().text,
              "version v1 of half gets 30% of the traffic of httproute/half, which would fail; "
              "first send it elsewhere, as in: tessera serve traffic-split --name half -n team -v "
              "v2:100");
    EXPECT_TRUE(check_removal(jobs[2], jobs));
    EXPECT_TRUE(check_removal(jobs[0], std::span(jobs).first(1)));  // the last one
    // Of a Service, the other pods get all.
    set_traffic(jobs, nullptr, "10.0.0.9");
    EXPECT_TRUE(check_removal(jobs[0], jobs));
    jobs.erase(jobs.begin());
    EXPECT_EQ(check_removal(jobs[0], jobs).error().code, Code::conflict);
}

}  // namespace
}  // namespace tessera::workload
