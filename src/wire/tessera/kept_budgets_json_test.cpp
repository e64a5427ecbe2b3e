#include "wire/tessera/kept_budgets_json.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "domain/budget/budget_spec.hpp"
#include "testing/builders/random_text.hpp"

namespace tessera {
namespace {

constexpr const char* kTeam =
    R"("uid":"u-1","reported":80,"lastSeen":1767225600,)"
    R"("period":{"kind":"monthly","timeZone":"Europe/Berlin"},"from":1767222000,"to":1769900400,)"
    R"("gpuTime":"20h","carryOver":"1h30m","balance":"-1h","closed":[)"
    R"({"from":1761951600,"to":1764543600,"gpuTime":"20h","carryOver":"0s"},)"
    R"({"from":1764543600,"to":1767222000,"gpuTime":"2h","carryOver":"1s"}]})";

constexpr const char* kLab =
    R"("uid":"u-2","reported":0,"lastSeen":100,"period":{"kind":"sliding","seconds":3600},)"
    R"("from":-3500,"to":100,"gpuTime":"0.5s","carryOver":"0s","balance":"0s","closed":[]})";

KeptBudget team() {
    return {.uid = "u-1",
            .state = {.last_seen_s = 1'767'225'600,
                      .period = {.kind = PeriodKind::monthly, .time_zone = "Europe/Berlin"},
                      .current = {1'767'222'000, 1'769'900'400},
                      .gpu_time = gpu_hours(20),
                      .carry_over = gpu_seconds(5400),
                      .balance = gpu_hours(-1),
                      .closed = {{{1'761'951'600, 1'764'543'600}, gpu_hours(20), {}},
                                 {{1'764'543'600, 1'767'222'000}, gpu_hours(2), gpu_seconds(1)}}},
            .reported = 80};
}

// Of a clock that shows 1970.
KeptBudget lab() {
    return {.uid = "u-2",
            .state = {.last_seen_s = 100,
                      .period = {.kind = PeriodKind::sliding, .sliding_s = 3600},
                      .current = {-3500, 100},
                      .gpu_time = {500'000'000}}};
}

std::string one(const std::string& members) {
    return R"({"version":1,)" + members;
}

std::string list(const std::string& budgets) {
    return R"({"version":1,"budgets":[)" + budgets + "]}";
}

std::string named(const std::string& ns, const std::string& members) {
    return R"({"namespace":")" + ns + "\"," + members;
}

// Goal: the controller goes on with the state that the last one left, as a list or one at a time.
TEST(KeptBudgetsJson, IsReadBack) {
    const std::map<std::string, KeptBudget> both = {{"lab", lab()}, {"team", team()}};
    EXPECT_EQ(write_kept_budgets(both),
              list(named("lab", kLab) + "," + named("team", kTeam)) + "\n");
    EXPECT_EQ(read_kept_budgets(write_kept_budgets(both)).value(), both);
    EXPECT_TRUE(read_kept_budgets(write_kept_budgets({})).value().empty());
    EXPECT_EQ(write_kept_budget(team()), one(kTeam));
    EXPECT_EQ(read_kept_budget(one(kTeam)).value(), team());
    EXPECT_EQ(read_kept_budget(one(kLab)).value(), lab());
}

GpuDuration any_grant() {
    return {(WideInt{1} << *rc::gen::inRange(0, 72)) + *rc::gen::inRange<std::int64_t>(0, 1000)};
}

GpuDuration any_balance() {
    if (*rc::gen::arbitrary<bool>()) return any_grant();
    WideInt debt = kMostDebt.nanos - *rc::gen::arbitrary<std::uint32_t>();
    debt >>= *rc::gen::inRange(0, 127);
    return {-debt};
}

KeptBudget any_budget() {
    KeptBudget budget{.uid = random_text(), .reported = *rc::gen::inRange(0, 101)};
    BudgetState& state = budget.state;
    state.last_seen_s = *rc::gen::inRange<std::int64_t>(0, kEndOfTime);
    state.gpu_time = any_grant();
    state.carry_over = any_grant();
    state.period.kind = *rc::gen::element(PeriodKind::daily, PeriodKind::weekly,
                                          PeriodKind::monthly, PeriodKind::sliding);
    if (state.period.kind == PeriodKind::sliding) {
        state.period.sliding_s = *rc::gen::inRange(kLeastSlidingSeconds, kMostSlidingSeconds + 1);
        state.current = {state.last_seen_s - state.period.sliding_s, state.last_seen_s};
        return budget;
    }
    const auto any_length = [] { return *rc::gen::inRange<std::int64_t>(1, 32 * 86'400); };
    state.balance = any_balance();
    state.period.time_zone = random_text();
    state.current = {state.last_seen_s - any_length(), state.last_seen_s + any_length()};
    std::int64_t to_s = state.current.from_s;
    for (int i = *rc::gen::inRange(0, 10); i > 0 && to_s > 0; --i) {
        const Window window{to_s - any_length(), to_s};
        state.closed.insert(state.closed.begin(), ClosedPeriod{window, any_grant(), any_grant()});
        to_s = window.from_s;
    }
    return budget;
}

// Goal: no state changes on its way to the ledger and back. 128 bits of debt survive.
RC_GTEST_PROP(KeptBudgetsJsonProperty, AnyStateIsReadBack, ()) {
    std::map<std::string, KeptBudget> budgets;
    for (int i = *rc::gen::inRange(0, 4); i > 0; --i)
        budgets.emplace(random_text(), any_budget());
    const auto read = read_kept_budgets(write_kept_budgets(budgets));
    RC_ASSERT(read.has_value());
    RC_ASSERT(*read == budgets);
    for (const auto& each : budgets)
        RC_ASSERT(read_kept_budget(write_kept_budget(each.second)).value() == each.second);
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

// Goal: a state that cannot be evaluated is refused, and the error names the field.
TEST(KeptBudgetsJson, RefusesWhatIsNoState) {
    struct Case {
        std::string from;
        std::string to;
        std::string error;
    };
    for (const Case& c : std::initializer_list<Case>{
             {R"("version":1)", R"("version":2)", "version: 2 is of a newer release"},
             {R"("uid":"u-1")", R"("uid":"")", "uid: is not a text, or is empty"},
             {":80", ":101", "reported: is not a whole number from 0 to 100"},
             {R"("lastSeen":1767225600)", R"("lastSeen":-1)",
              "lastSeen: is not a whole number from 0 to 16725225599"},
             {R"("lastSeen":1767225600)", R"("lastSeen":1767221999)",
              "from: is later than lastSeen, which the period contains"},
             {R"("lastSeen":1767225600)", R"("lastSeen":1769900400)",
              "to: is not after lastSeen, which the period contains"},
             {"monthly", "yearly",
              "period.kind: \"yearly\" is unknown; write daily, weekly, monthly or sliding"},
             {"timeZone", "zone", "period.timeZone: missing"},
             {"monthly", "sliding", "period.seconds: missing"},
             {R"("from":1767222000)", R"("from":-31622401)",
              "from: is not a whole number from -31622400 to 16756848000"},
             {R"("to":1769900400)", R"("to":1767222000)",
              "to: is not a whole number from 1767222001 to 16756848000"},
             {R"("gpuTime":"20h")", R"("gpuTime":"-20h")",
              "gpuTime: \"-20h\" is negative; write a positive amount"},
             {R"("carryOver":"1h30m")", R"("carryOver":5400)",
              "carryOver: is not a text, or is empty"},
             {R"("balance":"-1h")", R"("balance":"-1")",
              "balance: \"1\" ends without a unit; write d, h, m or s at its end"},
             {R"("balance":"-1h")", R"("balance":"1000000001h")",
              "balance: \"1000000001h\" is too large; write at most 1000000000h"},
             {"closed", "open", "closed: missing"},
             {R"("gpuTime":"2h")", R"("gpuTime":"2")",
              "closed[1].gpuTime: \"2\" ends without a unit; write d, h, m or s at its end"},
             {R"("to":1764543600)", R"("to":1764543599)",
              "closed: period 0 ends at 1764543599, and the next one begins at 1764543600; periods "
              "follow each other until the current one"},
             {R"("to":1767222000)", R"("to":1767222001)",
              "closed: period 1 ends at 1767222001, and the next one begins at 1767222000; periods "
              "follow each other until the current one"}}) {
        const auto read = read_kept_budget(replaced(one(kTeam), c.from, c.to));
        ASSERT_FALSE(read) << c.to;
        EXPECT_EQ(read.error().text, c.error);
    }
    EXPECT_EQ(read_kept_budget(R"({"version":2})").error().code, Code::unsupported);
}

TEST(KeptBudgetsJson, RefusesWhatIsNoSlidingState) {
    const std::string closed =
        R"("closed":[{"from":-3600,"to":-3500,"gpuTime":"1s","carryOver":"0s"}])";
    const std::pair<std::array<std::string, 2>, const char*> cases[] = {
        {{"-3500", "-3501"}, "from: is not -3500, seconds before lastSeen"},
        {{R"("to":100)", R"("to":101)"}, "to: is not lastSeen"},
        {{":3600", ":59"}, "period.seconds: is not a whole number from 60 to 31622400"},
        {{R"("closed":[])", closed}, "closed: a sliding period has none; remove them"}};
    for (const auto& [change, error] : cases) {
        const auto read = read_kept_budget(replaced(one(kLab), change[0], change[1]));
        ASSERT_FALSE(read) << change[1];
        EXPECT_EQ(read.error().text, error);
    }
}

// Goal: as many closed periods as are allowed, and no more.
TEST(KeptBudgetsJson, LimitsTheClosedPeriods) {
    KeptBudget budget = team();
    budget.state.closed.clear();
    std::int64_t from_s = budget.state.current.from_s - kMostClosedPeriods;
    for (std::size_t i = 0; i < kMostClosedPeriods; ++i, ++from_s)
        budget.state.closed.push_back({{from_s, from_s + 1}, gpu_hours(1), {}});
    EXPECT_EQ(read_kept_budget(write_kept_budget(budget)).value(), budget);
    const std::int64_t first_s = budget.state.closed.front().window.from_s;
    budget.state.closed.insert(budget.state.closed.begin(),
                               ClosedPeriod{{first_s - 1, first_s}, {}, {}});
    EXPECT_EQ(read_kept_budget(write_kept_budget(budget)).error().text,
              "closed: has 401 periods; keep at most 400");
}

// Goal: an error in a list says which entry it is of, and a namespace has one budget.
TEST(KeptBudgetsJson, RefusesWhatIsNoList) {
    const std::string two = list(named("team", kTeam) + "," + named("team", kLab));
    const std::string broken = list(named("lab", kLab) + "," + named("team", R"("uid":1})"));
    const std::pair<std::string, const char*> cases[] = {
        {"{}", "version: missing"},
        {R"({"version":2})", "version: 2 is of a newer release"},
        {one(kTeam), "budgets: missing"},
        {R"({"version":1,"budgets":{}})", "budgets: is not a list"},
        {list("{" + std::string(kTeam)), "budgets[0].namespace: missing"},
        {broken, "budgets[1].uid: is not a text, or is empty"},
        {two, "budgets: \"team\" is listed twice"}};
    for (const auto& [text, error] : cases) {
        const auto read = read_kept_budgets(text);
        ASSERT_FALSE(read) << text;
        EXPECT_EQ(read.error().text, error);
    }
    EXPECT_FALSE(read_kept_budgets(two.substr(0, two.size() / 2)));
}

}  // namespace
}  // namespace tessera
