#include "domain/autoscaling/request_counter.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

// Goal: what is written is read, and no text makes another address than one of the pod.
TEST(RequestCounter, Texts) {
    const RequestCounter triton{8002, "/metrics", "nv_inference_request_success"};
    EXPECT_EQ(to_string(triton), "8002/metrics nv_inference_request_success");
    EXPECT_EQ(parse_request_counter(to_string(triton)).value(), triton);
    EXPECT_EQ(parse_request_counter("1/ :a").value(), (RequestCounter{1, "/", ":a"}));
    for (const char* text :
         {"", "/metrics n", "8002 n", "0/metrics n", "65536/metrics n", "-1/metrics n",
          "x/metrics n", "80/a?b n", "80/a#b n", "80/a%20 n", "80/a@b:1/ n", "80/metrics",
          "80/metrics ", "80/metrics n m", "80/metrics 2n", "80/metrics n{a=\"b\"}",
          "80 /metrics n", "80/a\nb n"})
        EXPECT_EQ(parse_request_counter(text).error().code, Code::invalid_argument) << text;
    EXPECT_FALSE(parse_request_counter("80/" + std::string(300, 'a') + " n"));
    EXPECT_FALSE(parse_request_counter("80/a " + std::string(300, 'a')));
}

TEST(RequestCounter, MetricNames) {
    for (const char* name : {"n", "_a", ":a:b_c2"})
        EXPECT_TRUE(is_metric_name(name)) << name;
    for (const char* name : {"", "2a", "a-b", "a{", "a b", "\xc3\xa4"})
        EXPECT_FALSE(is_metric_name(name)) << name;
}

}  // namespace
}  // namespace tessera
