#include "app/cli/doctor_text.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

using doctor::Finding;
using doctor::Status;

const std::vector<Finding> findings_of_test = {
    {"api_server", Status::ok, "v1.36.3", ""},
    {"key", Status::failed, "no \"Secret\"", "make one"},
    {"gpus", Status::warning, "sick", "reset"},
};

// Goal: one line per check, with the fix after an arrow; the same in JSON; only a failed check
// changes the exit status.
TEST(DoctorText, LinesAndJson) {
    EXPECT_EQ(doctor_text(findings_of_test),
              "ok       api_server     v1.36.3\n"
              "failed   key            no \"Secret\" -> make one\n"
              "warning  gpus           sick -> reset\n");
    EXPECT_EQ(doctor_json(findings_of_test),
              R"({"version":1,"status":"failed","checks":[)"
              R"({"check":"api_server","status":"ok","found":"v1.36.3","fix":""},)"
              R"({"check":"key","status":"failed","found":"no \"Secret\"","fix":"make one"},)"
              R"({"check":"gpus","status":"warning","found":"sick","fix":"reset"}]})");
    EXPECT_EQ(doctor_exit_status(findings_of_test), 1);
    EXPECT_EQ(doctor_exit_status(std::span(findings_of_test).subspan(2)), 0);
}

}  // namespace
}  // namespace tessera
